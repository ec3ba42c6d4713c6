package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Carries out the operations of a scenario, one after another, in one warehouse. */
final class Scenario {
    private final Warehouse warehouse;
    private final JsonNode scenario;
    private final String defaultTable;
    /** Whether expectations marked "judge" are checked too: those only this version has to meet. */
    private final boolean judge;

    private final Schemas schemas;
    private final Writing writing;
    private final Compaction compaction;
    private final Deleting deleting;
    private final Upkeep upkeep;
    private final List<String> unmet = new ArrayList<>();

    Scenario(Warehouse warehouse, JsonNode scenario, boolean judge) {
        this.warehouse = warehouse;
        this.scenario = scenario;
        this.defaultTable = Json.text(scenario, "table", "db.t");
        this.judge = judge;
        Identifiers identifiers = new Identifiers();
        schemas = new Schemas(warehouse);
        writing = new Writing(warehouse, identifiers);
        compaction = new Compaction(warehouse, identifiers);
        deleting = new Deleting(warehouse, identifiers);
        upkeep = new Upkeep(warehouse);
    }

    /** Returns the number of operations, or throws with all expectations that were not met. */
    int run() throws Exception {
        int n = 0;
        try (writing) {
            for (JsonNode op : scenario.get("ops")) {
                n++;
                step(op, "op " + n + " " + Json.need(op, "op"));
            }
        }
        if (!unmet.isEmpty()) {
            throw new IllegalStateException("expectations not met\n" + String.join("\n", unmet));
        }
        return n;
    }

    private void step(JsonNode op, String where) throws Exception {
        String fails = Json.text(op, "fails");
        try {
            apply(op, where);
        } catch (Exception e) {
            if (fails == null) {
                throw new IllegalStateException(where + " failed", e);
            }
            if (!Failures.text(e).contains(fails)) {
                unmet.add(where + ": failed, but not with \"" + fails + "\": " + Failures.text(e));
            }
            return;
        }
        if (fails != null) {
            unmet.add(where + ": should have failed with \"" + fails + "\"");
        }
    }

    private void apply(JsonNode op, String where) throws Exception {
        String table = Json.text(op, "table", defaultTable);
        switch (Json.need(op, "op")) {
            case "create_table" -> schemas.create(table, op);
            case "alter" -> schemas.alter(table, op.get("changes"));
            case "rename_table" -> schemas.rename(table, Json.need(op, "to"));
            case "drop_table" -> schemas.drop(table);
            case "write" -> writing.write(table, op);
            case "compact" -> compaction.compact(table, op);
            case "delete_where" -> deleting.delete(table, op);
            case "truncate" -> upkeep.truncate(table);
            case "drop_partition" -> upkeep.dropPartitions(table, op.get("partitions"));
            case "expire_snapshots" -> upkeep.expire(table, op);
            case "compact_manifests" -> upkeep.compactManifests(table);
            case "analyze" -> upkeep.analyze(table, op);
            case "consumer" -> upkeep.consumer(table, Json.need(op, "id"), Json.number(op, "next_snapshot"));
            case "create_tag" -> upkeep.createTag(table, Json.need(op, "tag"), Json.number(op, "snapshot"));
            case "delete_tag" -> warehouse.table(table).deleteTag(Json.need(op, "tag"));
            case "create_branch" -> upkeep.createBranch(table, Json.need(op, "branch"), Json.text(op, "tag"));
            case "delete_branch" -> warehouse.table(table).deleteBranch(Json.need(op, "branch"));
            case "fast_forward" -> warehouse.table(table).fastForward(Json.need(op, "branch"));
            case "rollback" -> upkeep.rollback(table, Json.text(op, "tag"), Json.number(op, "snapshot"));
            case "sleep_ms" -> Thread.sleep(Json.number(op, "ms"));
            case "expect" -> expect(table, op, where);
            default -> throw new UnsupportedOperationException("operation " + op.get("op"));
        }
    }

    private void expect(String table, JsonNode op, String where) throws Exception {
        if (Json.flag(op, "judge", false) && !judge) {
            return;
        }
        Reading reading = new Reading(warehouse);
        Query query = Query.of(op, table);
        Reading.Rows got = reading.read(query);
        Canonical.Row form = Canonical.row(got.type());
        List<String> want = new ArrayList<>();
        for (JsonNode row : op.get("rows")) {
            StringBuilder b = new StringBuilder();
            form.write(b, Values.row(row, got.type(), false));
            want.add(b.toString());
        }
        want = Canonical.sorted(want);
        if (!want.equals(got.lines())) {
            unmet.add(where + ": want " + want.size() + " rows, got " + got.lines().size()
                    + "; missing " + without(want, got.lines()) + "; too many " + without(got.lines(), want));
        }
    }

    /** The first few lines of a that b lacks. */
    private static List<String> without(List<String> a, List<String> b) {
        List<String> rest = new ArrayList<>(a);
        b.forEach(rest::remove);
        return rest.subList(0, Math.min(4, rest.size()));
    }
}
