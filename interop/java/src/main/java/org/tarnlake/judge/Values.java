package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;

/** Canonical JSON values as Paimon's values: the other direction of {@link Canonical}. */
final class Values {
    private Values() {}

    /** A scenario's row: [kind, values…], or [values…] without a kind. */
    static GenericRow row(JsonNode n, RowType type, boolean withKind) {
        int at = withKind ? 1 : 0;
        if (n.size() != type.getFieldCount() + at) {
            throw new IllegalArgumentException("row of " + (n.size() - at) + " values for " + type.getFieldCount() + " columns: " + n);
        }
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, value(n.get(i + at), type.getTypeAt(i)));
        }
        if (withKind) {
            row.setRowKind(RowKind.fromShortString(n.get(0).asText()));
        }
        return row;
    }

    static Object value(JsonNode n, DataType t) {
        if (n == null || n.isNull()) {
            return null;
        }
        return switch (t.getTypeRoot()) {
            case BOOLEAN -> n.asBoolean();
            case TINYINT -> (byte) n.asInt();
            case SMALLINT -> (short) n.asInt();
            case INTEGER -> n.asInt();
            case BIGINT -> n.asLong();
            case FLOAT -> Float.parseFloat(n.asText());
            case DOUBLE -> Double.parseDouble(n.asText());
            case DECIMAL -> decimal(n.asText(), (DecimalType) t);
            case CHAR, VARCHAR -> BinaryString.fromString(n.asText());
            case BINARY, VARBINARY -> bytes(n.asText());
            case BLOB -> Blob.fromData(bytes(n.asText()));
            case DATE -> (int) LocalDate.parse(n.asText()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE -> timeOfDay(n.asText());
            case TIMESTAMP_WITHOUT_TIME_ZONE -> Timestamp.fromLocalDateTime(LocalDateTime.parse(n.asText()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> Timestamp.fromInstant(Instant.parse(n.asText()));
            case VARIANT -> GenericVariant.fromJson(n.asText());
            case ARRAY -> array(n, ((ArrayType) t).getElementType());
            case MULTISET -> map(n, ((MultisetType) t).getElementType(), new IntType());
            case MAP -> map(n, ((MapType) t).getKeyType(), ((MapType) t).getValueType());
            case ROW -> struct(n, ((RowType) t).getFields());
            case VECTOR -> BinaryVector.fromInternalArray(array(n, ((VectorType) t).getElementType()), ((VectorType) t).getElementType());
        };
    }

    static byte[] bytes(String s) {
        return s.startsWith("hex:") ? HexFormat.of().parseHex(s.substring(4)) : s.getBytes(StandardCharsets.UTF_8);
    }

    private static Decimal decimal(String s, DecimalType t) {
        BigDecimal d = new BigDecimal(s).setScale(t.getScale(), RoundingMode.UNNECESSARY);
        return Decimal.fromBigDecimal(d, t.getPrecision(), t.getScale());
    }

    private static int timeOfDay(String s) {
        return s.startsWith("ms:") ? Integer.parseInt(s.substring(3)) : (int) (LocalTime.parse(s).toNanoOfDay() / 1_000_000);
    }

    private static GenericArray array(JsonNode n, DataType element) {
        Object[] values = new Object[n.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = value(n.get(i), element);
        }
        return new GenericArray(values);
    }

    private static GenericMap map(JsonNode n, DataType key, DataType value) {
        Map<Object, Object> m = new LinkedHashMap<>();
        for (JsonNode pair : n) {
            m.put(value(pair.get(0), key), value(pair.get(1), value));
        }
        return new GenericMap(m);
    }

    private static GenericRow struct(JsonNode n, List<DataField> fields) {
        GenericRow r = new GenericRow(fields.size());
        for (int i = 0; i < fields.size(); i++) {
            r.setField(i, value(n.get(fields.get(i).name()), fields.get(i).type()));
        }
        return r;
    }
}
