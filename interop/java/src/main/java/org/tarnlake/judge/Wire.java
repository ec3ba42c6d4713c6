package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.paimon.io.DataInputDeserializer;
import org.apache.paimon.io.DataOutputViewStreamWrapper;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/** Commit messages and splits in the bytes that Java workers send each other, as base64. */
final class Wire {
    private Wire() {}

    static List<String> splits(List<Split> splits) throws Exception {
        List<String> out = new ArrayList<>();
        for (Split s : splits) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            ((DataSplit) s).serialize(new DataOutputViewStreamWrapper(bytes));
            out.add(Base64.getEncoder().encodeToString(bytes.toByteArray()));
        }
        return out;
    }

    static List<Split> splitsOf(List<String> texts) throws Exception {
        List<Split> out = new ArrayList<>();
        for (String s : texts) {
            out.add(DataSplit.deserialize(new DataInputDeserializer(Base64.getDecoder().decode(s))));
        }
        return out;
    }

    /** Writes rows and gives the messages, uncommitted. */
    static List<String> prepare(Warehouse warehouse, JsonNode request) throws Exception {
        CommitMessageSerializer serializer = new CommitMessageSerializer();
        List<String> out = new ArrayList<>();
        try (Writing writing = new Writing(warehouse, new Identifiers())) {
            for (CommitMessage m : writing.prepare(Json.need(request, "table"), request)) {
                out.add(Base64.getEncoder().encodeToString(serializer.serialize(m)));
            }
        }
        return out;
    }

    /** Commits messages, written by whomever, and gives the latest snapshot id. */
    static long commit(Warehouse warehouse, JsonNode request) throws Exception {
        FileStoreTable table = warehouse.store(Json.need(request, "table"));
        CommitMessageSerializer serializer = new CommitMessageSerializer();
        ManifestCommittable committable = new ManifestCommittable(Long.parseLong(Json.need(request, "commit_id")));
        for (String m : Json.texts(request.path("messages"))) {
            byte[] bytes = Base64.getDecoder().decode(m);
            committable.addFileCommittable(serializer.deserialize(serializer.getVersion(), bytes));
        }
        StreamWriteBuilder builder = table.newStreamWriteBuilder().withCommitUser(Json.need(request, "user"));
        try (TableCommitImpl commit = (TableCommitImpl) builder.newCommit()) {
            commit.commit(committable);
        }
        return table.snapshotManager().latestSnapshotId();
    }
}
