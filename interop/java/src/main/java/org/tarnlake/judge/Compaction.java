package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.sink.TableCommitImpl;

/** Compaction as a job of its own. */
final class Compaction {
    private final Warehouse warehouse;
    private final Identifiers identifiers;

    Compaction(Warehouse warehouse, Identifiers identifiers) {
        this.warehouse = warehouse;
        this.identifiers = identifiers;
    }

    void compact(String name, JsonNode op) throws Exception {
        FileStoreTable table = warehouse.store(name).copy(Json.map(op.path("options"))).copy(Map.of("write-only", "false"));
        String user = Json.text(op, "user", "compactor");
        long identifier = identifiers.take(name, user, op);
        StreamWriteBuilder builder = table.newStreamWriteBuilder().withCommitUser(user);
        ManifestCommittable committable = new ManifestCommittable(identifier);
        if (table.primaryKeys().isEmpty() && table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            packSmallFiles(table, user, committable);
        } else {
            compactBuckets(table, builder, op, committable);
        }
        try (TableCommitImpl commit = (TableCommitImpl) builder.newCommit()) {
            commit.commit(committable);
        }
    }

    private void compactBuckets(FileStoreTable table, StreamWriteBuilder builder, JsonNode op, ManifestCommittable committable)
            throws Exception {
        Set<Routing.Bucket> buckets = new LinkedHashSet<>();
        for (ManifestEntry e : table.store().newScan().plan().files()) {
            boolean wanted = !op.hasNonNull("bucket") || op.get("bucket").asInt() == e.bucket();
            if (e.bucket() >= 0 && wanted) {
                buckets.add(new Routing.Bucket(e.partition().copy(), e.bucket()));
            }
        }
        try (StreamTableWrite write = builder.newWrite()) {
            write.withIOManager(warehouse.io);
            for (Routing.Bucket b : buckets) {
                write.compact(b.partition(), b.number(), Json.flag(op, "full", true));
            }
            List<CommitMessage> messages = write.prepareCommit(true, committable.identifier());
            messages.forEach(committable::addFileCommittable);
        }
    }

    private void packSmallFiles(FileStoreTable table, String user, ManifestCommittable committable) throws Exception {
        BaseAppendFileStoreWrite write = (BaseAppendFileStoreWrite) table.store().newWrite(user);
        if (table.coreOptions().rowTrackingEnabled()) {
            // As the compactions of Flink and Spark do: without it rows lose their ids.
            write.withWriteType(SpecialFields.rowTypeWithRowTracking(table.rowType()));
        }
        try {
            write.withIOManager(warehouse.io);
            for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                committable.addFileCommittable(task.doCompact(table, write));
            }
        } finally {
            write.close();
        }
    }
}
