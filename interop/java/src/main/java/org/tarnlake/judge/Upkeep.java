package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.consumer.Consumer;
import org.apache.paimon.consumer.ConsumerManager;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.stats.ColStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.DataField;

/** Operations on a table's history and partitions, and on what lies beside its data. */
final class Upkeep {
    private interface Work {
        void on(BatchTableCommit commit);
    }

    private final Warehouse warehouse;

    Upkeep(Warehouse warehouse) {
        this.warehouse = warehouse;
    }

    void truncate(String table) throws Exception {
        commit(table, BatchTableCommit::truncateTable);
    }

    void dropPartitions(String table, JsonNode partitions) throws Exception {
        List<Map<String, String>> specs = new ArrayList<>();
        partitions.forEach(p -> specs.add(Json.map(p)));
        commit(table, c -> c.truncatePartitions(specs));
    }

    void compactManifests(String table) throws Exception {
        commit(table, BatchTableCommit::compactManifests);
    }

    /** Expires by number alone: age never keeps a snapshot here. */
    void expire(String table, JsonNode op) throws Exception {
        ExpireConfig.Builder config = ExpireConfig.builder()
                .snapshotRetainMax(op.path("retain_max").asInt(Integer.MAX_VALUE))
                .snapshotRetainMin(op.path("retain_min").asInt(1))
                .snapshotTimeRetain(Duration.ZERO);
        if (op.hasNonNull("changelog_retain_max")) {
            config.changelogRetainMax(op.get("changelog_retain_max").asInt())
                    .changelogRetainMin(op.path("changelog_retain_min").asInt(1))
                    .changelogTimeRetain(Duration.ofDays(365));
        }
        warehouse.table(table).newExpireSnapshots().config(config.build()).expire();
    }

    /**
     * Expires consumers, snapshots and changelogs as a commit does, with options besides the
     * table's.
     */
    void expire(String table, Map<String, String> options) throws Exception {
        FileStoreTable t = warehouse.store(table).copy(options);
        Duration unread = t.coreOptions().consumerExpireTime();
        if (unread != null) {
            t.consumerManager().expire(LocalDateTime.now().minus(unread));
        }
        try (TableCommitImpl c = t.newCommit("expiry")) {
            c.expireSnapshots();
        }
    }

    void createTag(String table, String tag, Long snapshot) throws Exception {
        Table t = warehouse.table(table);
        if (snapshot == null) {
            t.createTag(tag);
        } else {
            t.createTag(tag, snapshot);
        }
    }

    void createBranch(String table, String branch, String tag) throws Exception {
        Table t = warehouse.table(table);
        if (tag == null) {
            t.createBranch(branch);
        } else {
            t.createBranch(branch, tag);
        }
    }

    void rollback(String table, String tag, Long snapshot) throws Exception {
        Table t = warehouse.table(table);
        if (tag == null) {
            t.rollbackTo(snapshot);
        } else {
            t.rollbackTo(tag);
        }
    }

    void consumer(String table, String id, long nextSnapshot) throws Exception {
        FileStoreTable t = warehouse.store(table);
        new ConsumerManager(t.fileIO(), t.location()).resetConsumer(id, new Consumer(nextSnapshot));
    }

    void analyze(String table, JsonNode op) throws Exception {
        FileStoreTable t = warehouse.store(table);
        Map<String, ColStats<?>> columns = new HashMap<>();
        op.path("columns").fields().forEachRemaining(
                e -> columns.put(e.getKey(), columnStatistics(t.rowType().getField(e.getKey()), e.getValue())));
        Snapshot latest = t.snapshotManager().latestSnapshot();
        Statistics statistics = new Statistics(
                latest.id(), latest.schemaId(), Json.number(op, "merged_rows"), Json.number(op, "merged_size"), columns);
        commit(table, c -> c.updateStatistics(statistics));
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // the type of min and max is known only at run time
    private static ColStats<?> columnStatistics(DataField f, JsonNode v) {
        Comparable min = (Comparable) Values.value(v.get("min"), f.type());
        Comparable max = (Comparable) Values.value(v.get("max"), f.type());
        return ColStats.newColStats(f.id(), Json.number(v, "distinct"), min, max,
                Json.number(v, "nulls"), Json.number(v, "avg_len"), Json.number(v, "max_len"));
    }

    private void commit(String table, Work work) throws Exception {
        try (BatchTableCommit c = warehouse.table(table).newBatchWriteBuilder().newCommit()) {
            work.on(c);
        }
    }
}
