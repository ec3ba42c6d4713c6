package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PostponeUtils;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWrite;
import org.apache.paimon.types.RowType;

/** Writes rows: each operation is one commit, by a writer of its own unless the scenario keeps it. */
final class Writing implements AutoCloseable {
    private final Warehouse warehouse;
    private final Identifiers identifiers;
    private final Map<String, StreamTableWrite> kept = new HashMap<>();

    Writing(Warehouse warehouse, Identifiers identifiers) {
        this.warehouse = warehouse;
        this.identifiers = identifiers;
    }

    void write(String name, JsonNode op) throws Exception {
        FileStoreTable table = open(name, op);
        if (op.has("overwrite") || Json.text(op, "mode", "stream").equals("batch")) {
            batch(table, op);
        } else {
            stream(name, table, op);
        }
    }

    /** Writes rows and returns what a committer needs, without committing. */
    List<CommitMessage> prepare(String name, JsonNode op) throws Exception {
        FileStoreTable table = open(name, op);
        String user = user(op);
        try (StreamTableWrite write = table.newStreamWriteBuilder().withCommitUser(user).newWrite()) {
            return fill(table, write, user, op, identifiers.take(name, user, op));
        }
    }

    @Override
    public void close() throws Exception {
        for (StreamTableWrite w : kept.values()) {
            w.close();
        }
        kept.clear();
    }

    private FileStoreTable open(String name, JsonNode op) throws Exception {
        FileStoreTable table = warehouse.store(name);
        Map<String, String> options = Json.map(op.path("options"));
        if (!options.isEmpty()) {
            table = table.copy(options);
        }
        return Json.flag(op, "fixed_bucket", false) ? PostponeUtils.tableForFixBucketWrite(table) : table;
    }

    private static String user(JsonNode op) {
        return Json.text(op, "user", "writer");
    }

    private void batch(FileStoreTable table, JsonNode op) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (op.has("overwrite")) {
            builder = builder.withOverwrite(Json.map(op.get("overwrite")));
        }
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            commit.commit(fill(table, write, user(op), op, BatchWriteBuilder.COMMIT_IDENTIFIER));
        }
    }

    private void stream(String name, FileStoreTable table, JsonNode op) throws Exception {
        String user = user(op);
        StreamWriteBuilder builder = table.newStreamWriteBuilder().withCommitUser(user);
        StreamTableWrite write = kept.remove(name + "/" + user);
        if (write == null) {
            write = builder.newWrite();
        }
        long identifier = identifiers.take(name, user, op);
        try {
            commit(builder, identifier, fill(table, write, user, op, identifier), op);
        } finally {
            if (Json.flag(op, "keep_writer", false)) {
                kept.put(name + "/" + user, write);
            } else {
                write.close();
            }
        }
    }

    private List<CommitMessage> fill(FileStoreTable table, TableWrite write, String user, JsonNode op, long identifier)
            throws Exception {
        write.withIOManager(warehouse.io);
        RowType type = table.rowType();
        if (op.has("columns")) {
            type = type.project(Json.texts(op.get("columns")));
            write.withWriteType(type);
        }
        Routing routing = Routing.of(table, write, user, op, warehouse.io);
        for (JsonNode row : op.get("rows")) {
            routing.write(Values.row(row, type, true));
        }
        if (op.hasNonNull("compact")) {
            for (Routing.Bucket b : routing.touched()) {
                write.compact(b.partition(), b.number(), op.get("compact").asText().equals("full"));
            }
        }
        List<CommitMessage> messages = write instanceof StreamTableWrite s
                ? s.prepareCommit(Json.flag(op, "wait_compaction", true), identifier)
                : ((BatchTableWrite) write).prepareCommit();
        routing.prepareCommit(identifier);
        if (op.has("first_row_id")) {
            assignRowIds(messages, op.get("first_row_id").asLong());
        }
        return messages;
    }

    /** Data evolution: the new files hold further columns of rows that exist. */
    private static void assignRowIds(List<CommitMessage> messages, long first) {
        for (CommitMessage m : messages) {
            List<DataFileMeta> files = ((CommitMessageImpl) m).newFilesIncrement().newFiles();
            long next = first;
            for (DataFileMeta f : new ArrayList<>(files)) {
                files.set(files.indexOf(f), f.assignFirstRowId(next));
                next += f.rowCount();
            }
        }
    }

    private static void commit(StreamWriteBuilder builder, long identifier, List<CommitMessage> messages, JsonNode op)
            throws Exception {
        ManifestCommittable committable = new ManifestCommittable(identifier, Json.number(op, "watermark"));
        messages.forEach(committable::addFileCommittable);
        Json.map(op.path("properties")).forEach(committable::addProperty);
        try (TableCommitImpl commit = (TableCommitImpl) builder.newCommit()) {
            commit.commit(committable);
        }
    }
}
