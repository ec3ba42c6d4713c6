package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.paimon.Snapshot;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;

/** Turns a request into a reply. */
final class Requests {
    private Requests() {}

    static ObjectNode answer(String text) {
        ObjectNode reply = Json.object();
        try {
            JsonNode request = Json.parse(text);
            if (request.has("id")) {
                reply.set("id", request.get("id"));
            }
            reply.put("ok", true);
            carryOut(request, reply);
        } catch (Throwable e) { // an Error of one request must not end the others
            reply.put("ok", false);
            reply.put("error", Failures.text(e));
            reply.set("chain", Json.array(Failures.chain(e)));
            e.printStackTrace();
        }
        return reply;
    }

    private static void carryOut(JsonNode request, ObjectNode reply) throws Exception {
        String cmd = Json.need(request, "cmd");
        if (cmd.equals("version")) {
            reply.put("paimon", FileStoreTable.class.getPackage().getImplementationVersion());
            reply.put("java", System.getProperty("java.version"));
            return;
        }
        if (cmd.equals("trees")) {
            reply.set("compactions", Trees.play(request));
            return;
        }
        if (cmd.equals("aggregate")) {
            reply.set("groups", Aggregates.fold(request));
            return;
        }
        if (cmd.equals("sketch")) {
            reply.put("bytes", Aggregates.sketch(request));
            return;
        }
        if (cmd.equals("estimate")) {
            reply.put("estimate", Aggregates.estimate(request));
            return;
        }
        try (Warehouse warehouse = new Warehouse(Json.need(request, "warehouse"))) {
            switch (cmd) {
                case "read" -> rows(request, reply, new Reading(warehouse).read(Query.of(request, null)));
                case "stream" -> rows(request, reply, stream(new Reading(warehouse), request));
                case "reads" -> reads(new Reading(warehouse), request, reply);
                case "plan" -> reply.set("splits", Json.array(Wire.splits(new Reading(warehouse).plan(Query.of(request, null)))));
                case "check" -> check(new Reading(warehouse), Query.of(request, null), reply);
                case "scenario" -> reply.put("ops", scenario(warehouse, request));
                case "prepare" -> reply.set("messages", Json.array(Wire.prepare(warehouse, request)));
                case "commit" -> reply.put("snapshot", Wire.commit(warehouse, request));
                case "expire" -> new Upkeep(warehouse).expire(Json.need(request, "table"), Json.map(request.path("options")));
                default -> throw new IllegalArgumentException("unknown cmd " + cmd);
            }
        }
    }

    private static Reading.Rows stream(Reading reading, JsonNode request) throws Exception {
        return reading.stream(Query.of(request, null), Json.text(request, "from", "earliest"), Json.number(request, "to"));
    }

    /** What several read and stream requests of one warehouse ask for. */
    private static void reads(Reading reading, JsonNode request, ObjectNode reply) throws Exception {
        ArrayNode all = reply.putArray("reads");
        for (JsonNode one : request.get("reads")) {
            rows(one, all.addObject(), one.has("from") ? stream(reading, one) : reading.read(Query.of(one, null)));
        }
    }

    private static void rows(JsonNode request, ObjectNode reply, Reading.Rows rows) throws Exception {
        List<String> lines = rows.lines();
        String out = Json.text(request, "out");
        if (out == null) {
            reply.set("lines", Json.array(lines));
        } else {
            Files.write(Path.of(out), lines);
        }
        reply.put("rows", lines.size());
        RowType type = rows.type();
        reply.set("columns", Json.array(type.getFieldNames()));
        reply.set("types", Json.array(type.getFields().stream().map(DataField::type).map(Object::toString).toList()));
    }

    /** Reads every snapshot in full: a broken one is an entry with an error, not the end. */
    private static void check(Reading reading, Query query, ObjectNode reply) throws Exception {
        ArrayNode list = reply.putArray("snapshots");
        for (Snapshot s : reading.snapshots(query)) {
            ObjectNode entry = list.addObject().put("snapshot", s.id()).put("kind", s.commitKind().name());
            try {
                List<String> lines = reading.read(query.at(s.id())).lines();
                entry.put("rows", lines.size()).put("digest", Canonical.digest(lines));
            } catch (Exception e) {
                entry.put("error", Failures.text(e));
            }
        }
        reply.put("rows", reading.read(query).lines().size());
    }

    private static int scenario(Warehouse warehouse, JsonNode request) throws Exception {
        JsonNode scenario = request.hasNonNull("file")
                ? Json.parse(Files.readString(Path.of(request.get("file").asText())))
                : request.get("scenario");
        return new Scenario(warehouse, scenario, Json.flag(request, "judge", true)).run();
    }
}
