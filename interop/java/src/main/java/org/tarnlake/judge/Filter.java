package org.tarnlake.judge;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

/** Filters of scenarios: {@code col OP json} joined by AND, or {@code col is null}, {@code col is not null}. */
final class Filter {
    private static final Pattern TERM = Pattern.compile(
            "\\s*(\\w+)\\s*(=|!=|<=|>=|<|>|in\\b|prefix\\b|is not null|is null)\\s*(.*?)\\s*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private Filter() {}

    static Predicate parse(String text, RowType type) {
        List<Predicate> terms = new ArrayList<>();
        for (String term : text.split("(?i)\\s+and\\s+")) {
            Matcher m = TERM.matcher(term);
            if (!m.matches() || !type.containsField(m.group(1))) {
                throw new IllegalArgumentException("filter term: " + term);
            }
            terms.add(term(new PredicateBuilder(type), type.getFieldIndex(m.group(1)), type.getField(m.group(1)).type(),
                    m.group(2).toLowerCase(), m.group(3)));
        }
        return PredicateBuilder.and(terms);
    }

    private static Predicate term(PredicateBuilder b, int column, DataType t, String op, String literal) {
        return switch (op) {
            case "is null" -> b.isNull(column);
            case "is not null" -> b.isNotNull(column);
            case "in" -> {
                List<Object> values = new ArrayList<>();
                json(literal).forEach(n -> values.add(Values.value(n, t)));
                yield b.in(column, values);
            }
            case "prefix" -> b.startsWith(column, Values.value(json(literal), t));
            case "=" -> b.equal(column, Values.value(json(literal), t));
            case "!=" -> b.notEqual(column, Values.value(json(literal), t));
            case "<" -> b.lessThan(column, Values.value(json(literal), t));
            case "<=" -> b.lessOrEqual(column, Values.value(json(literal), t));
            case ">" -> b.greaterThan(column, Values.value(json(literal), t));
            case ">=" -> b.greaterOrEqual(column, Values.value(json(literal), t));
            default -> throw new IllegalArgumentException("operator " + op);
        };
    }

    private static JsonNode json(String literal) {
        try {
            return Json.parse(literal);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("literal is not JSON: " + literal, e);
        }
    }
}
