package org.tarnlake.judge;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;

/** Paimon's values as canonical JSON text, the form in which implementations are compared. */
final class Canonical {
    private static final long MILLIS_OF_DAY = 86_400_000;

    private Canonical() {}

    /** How values of one type are written; a value is never null. */
    private interface Form {
        void write(StringBuilder b, Object value);
    }

    static Row row(RowType type) {
        return new Row(type);
    }

    /** Sorts by the UTF-8 bytes: Java's own order of strings differs beyond the basic plane. */
    static List<String> sorted(List<String> lines) {
        return lines.stream()
                .map(l -> l.getBytes(StandardCharsets.UTF_8))
                .sorted(Arrays::compareUnsigned)
                .map(l -> new String(l, StandardCharsets.UTF_8))
                .toList();
    }

    /** The SHA-256 of lines, each with its end. */
    static String digest(List<String> lines) throws NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        for (String l : lines) {
            digest.update((l + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static Form form(DataType t) {
        return switch (t.getTypeRoot()) {
            case BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT -> StringBuilder::append;
            case FLOAT -> (b, v) -> number(b, (Float) v, v.toString(), s -> Float.parseFloat(s) == (Float) v);
            case DOUBLE -> (b, v) -> number(b, (Double) v, v.toString(), s -> Double.parseDouble(s) == (Double) v);
            case DECIMAL -> (b, v) -> quote(b, ((Decimal) v).toBigDecimal().toPlainString());
            case CHAR, VARCHAR -> (b, v) -> quote(b, v.toString());
            case BINARY, VARBINARY -> (b, v) -> hex(b, (byte[]) v);
            case BLOB -> (b, v) -> hex(b, ((Blob) v).toData());
            case DATE -> (b, v) -> quote(b, LocalDate.ofEpochDay((Integer) v).toString());
            case TIME_WITHOUT_TIME_ZONE -> (b, v) -> quote(b, timeOfDay((Integer) v));
            case TIMESTAMP_WITHOUT_TIME_ZONE -> (b, v) -> quote(b, timestamp((Timestamp) v));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> (b, v) -> quote(b, timestamp((Timestamp) v) + "Z");
            case VARIANT -> (b, v) -> quote(b, ((Variant) v).toJson());
            case ARRAY -> array(((ArrayType) t).getElementType());
            case VECTOR -> array(((VectorType) t).getElementType());
            case MULTISET -> map(((MultisetType) t).getElementType(), new IntType());
            case MAP -> map(((MapType) t).getKeyType(), ((MapType) t).getValueType());
            case ROW -> new Row((RowType) t);
        };
    }

    /** A row as a JSON object, columns in schema order. */
    static final class Row implements Form {
        private final List<String> heads = new ArrayList<>();
        private final List<InternalRow.FieldGetter> getters = new ArrayList<>();
        private final List<Form> forms = new ArrayList<>();

        private Row(RowType type) {
            for (DataField f : type.getFields()) {
                StringBuilder head = new StringBuilder();
                quote(head, f.name());
                heads.add(head.append(':').toString());
                // Read as nullable: a NOT NULL column can still lack a value.
                getters.add(InternalRow.createFieldGetter(f.type().copy(true), getters.size()));
                forms.add(form(f.type()));
            }
        }

        @Override
        public void write(StringBuilder b, Object value) {
            b.append('{');
            writeFields(b, (InternalRow) value, true);
            b.append('}');
        }

        void writeFields(StringBuilder b, InternalRow row, boolean first) {
            for (int i = 0; i < forms.size(); i++) {
                b.append(first && i == 0 ? "" : ",").append(heads.get(i));
                orNull(b, forms.get(i), getters.get(i).getFieldOrNull(row));
            }
        }
    }

    private static void orNull(StringBuilder b, Form form, Object value) {
        if (value == null) {
            b.append("null");
        } else {
            form.write(b, value);
        }
    }

    private static Form array(DataType element) {
        Form form = form(element);
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(element.copy(true));
        return (b, v) -> {
            InternalArray a = (InternalArray) v;
            b.append('[');
            for (int i = 0; i < a.size(); i++) {
                b.append(i > 0 ? "," : "");
                orNull(b, form, getter.getElementOrNull(a, i));
            }
            b.append(']');
        };
    }

    private static Form map(DataType key, DataType value) {
        Form keys = form(key);
        Form values = form(value);
        InternalArray.ElementGetter keyOf = InternalArray.createElementGetter(key.copy(true));
        InternalArray.ElementGetter valueOf = InternalArray.createElementGetter(value.copy(true));
        return (b, v) -> {
            InternalMap m = (InternalMap) v;
            List<String> pairs = new ArrayList<>();
            for (int i = 0; i < m.size(); i++) {
                StringBuilder pair = new StringBuilder("[");
                orNull(pair, keys, keyOf.getElementOrNull(m.keyArray(), i));
                orNull(pair.append(','), values, valueOf.getElementOrNull(m.valueArray(), i));
                pairs.add(pair.append(']').toString());
            }
            b.append('[').append(String.join(",", sorted(pairs))).append(']');
        };
    }

    static void quote(StringBuilder b, String s) {
        b.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '"' || c == '\\') {
                b.append('\\').append(c);
            } else if (c < 0x20) {
                b.append(String.format("\\u%04x", (int) c));
            } else {
                b.append(c);
            }
        }
        b.append('"');
    }

    private static void hex(StringBuilder b, byte[] v) {
        b.append("\"hex:").append(HexFormat.of().formatHex(v)).append('"');
    }

    private static String timeOfDay(int millis) {
        // Values outside the day occur in tables that Java's own tests write.
        return millis < 0 || millis >= MILLIS_OF_DAY ? "ms:" + millis : time(LocalTime.ofNanoOfDay(millis * 1_000_000L));
    }

    private static String timestamp(Timestamp v) {
        LocalDateTime t = v.toLocalDateTime();
        return t.toLocalDate() + "T" + time(t.toLocalTime());
    }

    private static String time(LocalTime t) {
        String hms = String.format("%02d:%02d:%02d", t.getHour(), t.getMinute(), t.getSecond());
        return t.getNano() == 0 ? hms : hms + String.format(".%09d", t.getNano()).replaceAll("0+$", "");
    }

    /** Whether a decimal text reads back to the value at hand. */
    private interface ReadsBack {
        boolean test(String text);
    }

    /**
     * The fewest decimal digits that read back to the same value: plain from 1e-3 to below 1e7,
     * else d.dE±n. Java's own text of a number reads back, but may have a digit too many.
     */
    private static void number(StringBuilder b, double d, String text, ReadsBack readsBack) {
        if (Double.isNaN(d) || Double.isInfinite(d)) {
            b.append('"').append(d).append('"');
            return;
        }
        if (d == 0) {
            b.append(text);
            return;
        }
        BigDecimal exact = new BigDecimal(d);
        BigDecimal best = new BigDecimal(text);
        for (int digits = best.precision() - 1; digits > 0; digits--) {
            BigDecimal shorter = shorter(exact, digits, readsBack);
            if (shorter == null) {
                break;
            }
            best = shorter;
        }
        best = best.stripTrailingZeros();
        String digits = best.unscaledValue().abs().toString();
        int exponent = digits.length() - 1 - best.scale();
        if (exponent >= -3 && exponent < 7) {
            String plain = best.toPlainString();
            b.append(plain).append(plain.indexOf('.') < 0 ? ".0" : "");
            return;
        }
        b.append(d < 0 ? "-" : "").append(digits.charAt(0)).append('.');
        b.append(digits.length() > 1 ? digits.substring(1) : "0").append('E').append(exponent);
    }

    /** The nearest number of so many digits that reads back, or null: at powers of two the second nearest may. */
    private static BigDecimal shorter(BigDecimal exact, int digits, ReadsBack readsBack) {
        BigDecimal nearest = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
        if (readsBack.test(nearest.toString())) {
            return nearest;
        }
        RoundingMode other = nearest.abs().compareTo(exact.abs()) > 0 ? RoundingMode.DOWN : RoundingMode.UP;
        BigDecimal second = exact.round(new MathContext(digits, other));
        return readsBack.test(second.toString()) ? second : null;
    }
}
