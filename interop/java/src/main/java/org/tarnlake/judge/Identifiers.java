package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/** Commit identifiers of a scenario: 1, 2, … for each user of a table, unless the operation names one. */
final class Identifiers {
    private final Map<String, Long> next = new HashMap<>();

    long take(String table, String user, JsonNode op) {
        String key = table + "/" + user;
        long id = op.hasNonNull("commit_id") ? op.get("commit_id").asLong() : next.getOrDefault(key, 1L);
        next.put(key, id + 1);
        return id;
    }
}
