package org.tarnlake.judge;

import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;

/**
 * Reads types such as {@code DECIMAL(10, 2) NOT NULL}, {@code MAP<STRING, ARRAY<INT>>} and {@code
 * ROW<a INT, `b c` STRING>}. Paimon's own parser knows only the types without angle brackets.
 */
final class TypeText {
    private final String text;
    private int at = 0;
    private int nextFieldId = 0;

    private TypeText(String text) {
        this.text = text;
    }

    static DataType parse(String text) {
        TypeText t = new TypeText(text);
        DataType type = t.type();
        if (t.at != text.length()) {
            throw t.wrong("end of type");
        }
        return type;
    }

    private DataType type() {
        blanks();
        DataType type;
        if (take("ARRAY<")) {
            type = DataTypes.ARRAY(type());
        } else if (take("MULTISET<")) {
            type = DataTypes.MULTISET(type());
        } else if (take("MAP<")) {
            DataType key = type();
            need(",");
            type = DataTypes.MAP(key, type());
        } else if (take("VECTOR<")) {
            DataType element = type();
            need(",");
            type = DataTypes.VECTOR(number(), element);
        } else if (take("ROW<")) {
            type = row();
        } else {
            return atomic();
        }
        need(">");
        if (take(" NOT NULL")) {
            type = type.notNull();
        }
        blanks();
        return type;
    }

    private int number() {
        blanks();
        int begin = at;
        while (at < text.length() && Character.isDigit(text.charAt(at))) {
            at++;
        }
        return Integer.parseInt(text.substring(begin, at));
    }

    private DataType row() {
        List<DataField> fields = new ArrayList<>();
        do {
            String name = name();
            int id = nextFieldId++;
            fields.add(new DataField(id, name, type()));
        } while (take(","));
        return DataTypes.ROW(fields.toArray(new DataField[0]));
    }

    /** Everything up to the comma or bracket that ends it; commas in parentheses belong to it. */
    private DataType atomic() {
        int begin = at;
        for (int depth = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (depth == 0 && (c == ',' || c == '>')) {
                break;
            }
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        }
        return DataTypeJsonParser.parseAtomicTypeSQLString(text.substring(begin, at).trim());
    }

    private String name() {
        blanks();
        int begin = at;
        if (take("`")) {
            at = text.indexOf('`', at) + 1;
            return text.substring(begin + 1, at - 1);
        }
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '_')) {
            at++;
        }
        return text.substring(begin, at);
    }

    private void blanks() {
        while (at < text.length() && text.charAt(at) == ' ') {
            at++;
        }
    }

    private boolean take(String word) {
        if (!text.regionMatches(true, at, word, 0, word.length())) {
            return false;
        }
        at += word.length();
        return true;
    }

    private void need(String word) {
        blanks();
        if (!take(word)) {
            throw wrong(word);
        }
    }

    private IllegalArgumentException wrong(String expected) {
        return new IllegalArgumentException("expected " + expected + " at " + at + " in type " + text);
    }
}
