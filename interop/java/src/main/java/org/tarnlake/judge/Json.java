package org.tarnlake.judge;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The few shapes that requests and scenarios are made of. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    static JsonNode parse(String text) throws JsonProcessingException {
        return MAPPER.readTree(text);
    }

    static byte[] bytes(JsonNode n) throws JsonProcessingException {
        return MAPPER.writeValueAsBytes(n);
    }

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static ArrayNode array(Iterable<String> texts) {
        ArrayNode a = MAPPER.createArrayNode();
        texts.forEach(a::add);
        return a;
    }

    /** The text of a field, null when it is absent or null. */
    static String text(JsonNode n, String field) {
        return n.hasNonNull(field) ? n.get(field).asText() : null;
    }

    static String text(JsonNode n, String field, String otherwise) {
        return n.hasNonNull(field) ? n.get(field).asText() : otherwise;
    }

    static String need(JsonNode n, String field) {
        if (!n.hasNonNull(field)) {
            throw new IllegalArgumentException("missing field " + field + " in " + n);
        }
        return n.get(field).asText();
    }

    static Long number(JsonNode n, String field) {
        return n.hasNonNull(field) ? n.get(field).asLong() : null;
    }

    static boolean flag(JsonNode n, String field, boolean otherwise) {
        return n.hasNonNull(field) ? n.get(field).asBoolean() : otherwise;
    }

    static List<String> texts(JsonNode n) {
        List<String> out = new ArrayList<>();
        for (JsonNode x : n) {
            out.add(x.asText());
        }
        return out;
    }

    /** A flat object as a map; null stays null. */
    static Map<String, String> map(JsonNode n) {
        Map<String, String> out = new LinkedHashMap<>();
        n.fields().forEachRemaining(e -> out.put(e.getKey(), e.getValue().isNull() ? null : e.getValue().asText()));
        return out;
    }
}
