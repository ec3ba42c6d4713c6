package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.reader.FileRecordIterator;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/** DELETE on an append table: deletion vectors for the rows that a filter matches. */
final class Deleting {
    private final Warehouse warehouse;
    private final Identifiers identifiers;

    Deleting(Warehouse warehouse, Identifiers identifiers) {
        this.warehouse = warehouse;
        this.identifiers = identifiers;
    }

    void delete(String name, JsonNode op) throws Exception {
        FileStoreTable table = warehouse.store(name);
        String user = Json.text(op, "user", "deleter");
        ManifestCommittable committable = new ManifestCommittable(identifiers.take(name, user, op));
        Predicate where = Filter.parse(Json.need(op, "filter"), table.rowType());
        for (Map.Entry<Routing.Bucket, Map<String, DeletionVector>> hit : hits(table, where).entrySet()) {
            committable.addFileCommittable(message(table, hit.getKey(), hit.getValue()));
        }
        try (TableCommitImpl commit = (TableCommitImpl) table.newStreamWriteBuilder().withCommitUser(user).newCommit()) {
            commit.commit(committable);
        }
    }

    /** Matching positions per bucket and file. */
    private Map<Routing.Bucket, Map<String, DeletionVector>> hits(FileStoreTable table, Predicate where) throws Exception {
        Map<Routing.Bucket, Map<String, DeletionVector>> hits = new LinkedHashMap<>();
        boolean wide = table.coreOptions().deletionVectorBitmap64();
        for (Split s : table.newReadBuilder().newScan().plan().splits()) {
            DataSplit d = (DataSplit) s;
            Routing.Bucket bucket = new Routing.Bucket(d.partition().copy(), d.bucket());
            try (RecordReader<InternalRow> rows =
                    table.newReadBuilder().newRead().withIOManager(warehouse.io).createReader(s)) {
                RecordReader.RecordIterator<InternalRow> batch;
                while ((batch = rows.readBatch()) != null) {
                    FileRecordIterator<InternalRow> it = (FileRecordIterator<InternalRow>) batch;
                    InternalRow row;
                    while ((row = it.next()) != null) {
                        if (where.test(row)) {
                            hits.computeIfAbsent(bucket, b -> new LinkedHashMap<>())
                                    .computeIfAbsent(it.filePath().getName(),
                                            f -> wide ? new Bitmap64DeletionVector() : new BitmapDeletionVector())
                                    .delete(it.returnedPosition());
                        }
                    }
                    batch.releaseBatch();
                }
            }
        }
        return hits;
    }

    private static CommitMessage message(FileStoreTable table, Routing.Bucket bucket, Map<String, DeletionVector> vectors) {
        boolean unaware = table.bucketMode() == BucketMode.BUCKET_UNAWARE;
        IndexFileHandler handler = table.store().newIndexFileHandler();
        Snapshot latest = table.snapshotManager().latestSnapshot();
        BaseAppendDeleteFileMaintainer maintainer = unaware
                ? BaseAppendDeleteFileMaintainer.forUnawareAppend(handler, latest, bucket.partition())
                : BaseAppendDeleteFileMaintainer.forBucketedAppend(handler, latest, bucket.partition(), bucket.number());
        vectors.forEach(maintainer::notifyNewDeletionVector);
        List<IndexFileMeta> added = new ArrayList<>();
        List<IndexFileMeta> removed = new ArrayList<>();
        for (IndexManifestEntry e : maintainer.persist()) {
            (e.kind() == FileKind.ADD ? added : removed).add(e.indexFile());
        }
        DataIncrement increment = new DataIncrement(
                new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), added, removed);
        return new CommitMessageImpl(bucket.partition(), bucket.number(), unaware ? -1 : table.coreOptions().bucket(),
                increment, CompactIncrement.emptyIncrement());
    }
}
