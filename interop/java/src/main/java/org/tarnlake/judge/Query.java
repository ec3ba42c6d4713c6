package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What to read. Null means: not restricted. */
record Query(String table, String filter, List<String> project, Map<String, String> options, boolean kind, List<String> splits) {

    static Query of(JsonNode n, String defaultTable) {
        String table = n.hasNonNull("table") || defaultTable == null ? Json.need(n, "table") : defaultTable;
        String branch = Json.text(n, "branch");
        if (branch != null && !branch.equals("main")) {
            table += "$branch_" + branch;
        }
        if (n.hasNonNull("sys")) {
            table += "$" + n.get("sys").asText();
        }
        Map<String, String> options = Json.map(n.path("options"));
        option(options, "scan.snapshot-id", Json.text(n, "snapshot"));
        option(options, "scan.tag-name", Json.text(n, "tag"));
        option(options, "scan.timestamp-millis", Json.text(n, "timestamp"));
        return new Query(table, Json.text(n, "filter"), n.hasNonNull("project") ? Json.texts(n.get("project")) : null,
                options, Json.flag(n, "kind", false), n.hasNonNull("splits") ? Json.texts(n.get("splits")) : null);
    }

    private static void option(Map<String, String> options, String key, String value) {
        if (value != null) {
            options.put(key, value);
        }
    }

    /** The same at one snapshot. */
    Query at(long snapshot) {
        Map<String, String> o = new LinkedHashMap<>(options);
        o.put("scan.snapshot-id", String.valueOf(snapshot));
        return new Query(table, filter, project, o, kind, splits);
    }
}
