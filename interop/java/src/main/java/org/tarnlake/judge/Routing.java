package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.TableWrite;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** Decides the bucket of each row, as the engine above Paimon does, and remembers which were touched. */
abstract class Routing {
    record Bucket(BinaryRow partition, int number) {}

    private final TableWrite write;
    private final Set<Bucket> touched = new LinkedHashSet<>();

    private Routing(TableWrite write) {
        this.write = write;
    }

    static Routing of(FileStoreTable table, TableWrite write, String user, JsonNode op, IOManager io) throws Exception {
        if (op.hasNonNull("bucket")) {
            return new Explicit(write, op.get("bucket").asInt());
        }
        return switch (table.bucketMode()) {
            case HASH_DYNAMIC -> new Dynamic(table, write, user);
            case KEY_DYNAMIC -> new CrossPartition(table, write, io);
            default -> new Fixed(write);
        };
    }

    abstract void write(GenericRow row) throws Exception;

    /** Called after the writer's own prepareCommit. */
    void prepareCommit(long identifier) throws Exception {}

    Set<Bucket> touched() {
        return touched;
    }

    final void into(GenericRow row, BinaryRow partition, int bucket) throws Exception {
        write.write(row, bucket);
        touched.add(new Bucket(partition.copy(), bucket));
    }

    /** Into the bucket that the scenario names. */
    private static final class Explicit extends Routing {
        private final TableWrite write;
        private final int bucket;

        Explicit(TableWrite write, int bucket) {
            super(write);
            this.write = write;
            this.bucket = bucket;
        }

        @Override
        void write(GenericRow row) throws Exception {
            into(row, write.getPartition(row), bucket);
        }
    }

    /** By the table's own hash, or into the only bucket. */
    private static final class Fixed extends Routing {
        private final TableWrite write;

        Fixed(TableWrite write) {
            super(write);
            this.write = write;
        }

        @Override
        void write(GenericRow row) throws Exception {
            into(row, write.getPartition(row), write.getBucket(row));
        }
    }

    /** Dynamic buckets with one assigner. */
    private static final class Dynamic extends Routing {
        private final RowKeyExtractor keys;
        private final HashBucketAssigner assigner;

        Dynamic(FileStoreTable table, TableWrite write, String user) {
            super(write);
            CoreOptions options = table.coreOptions();
            keys = table.createRowKeyExtractor();
            assigner = new HashBucketAssigner(table.snapshotManager(), user, table.store().newIndexFileHandler(),
                    1, 1, 0, options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets());
        }

        @Override
        void write(GenericRow row) throws Exception {
            keys.setRecord(row);
            into(row, keys.partition(), assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
        }

        @Override
        void prepareCommit(long identifier) {
            assigner.prepareCommit(identifier);
        }
    }

    /**
     * A key that lacks the partition columns: a row that moves gets a -D in its old partition. Paimon
     * keeps key to partition in RocksDB, which the bundle lacks, so a map of the table's rows does it.
     */
    private static final class CrossPartition extends Routing {
        private record Owner(Bucket bucket, GenericRow row) {}

        private final FileStoreTable table;
        private final RowKeyExtractor keys;
        private final Map<List<Object>, Owner> owners = new HashMap<>();

        CrossPartition(FileStoreTable table, TableWrite write, IOManager io) throws Exception {
            super(write);
            this.table = table;
            keys = table.createRowKeyExtractor();
            for (Split s : table.newReadBuilder().newScan().plan().splits()) {
                DataSplit d = (DataSplit) s;
                Bucket bucket = new Bucket(d.partition().copy(), d.bucket());
                try (RecordReader<InternalRow> rows = table.newReadBuilder().newRead().withIOManager(io).createReader(s)) {
                    rows.forEachRemaining(r -> owners.put(key(r), new Owner(bucket, copy(r))));
                }
            }
        }

        @Override
        void write(GenericRow row) throws Exception {
            keys.setRecord(row);
            BinaryRow partition = keys.partition().copy();
            Owner old = owners.get(key(row));
            boolean stays = old != null && old.bucket().partition().equals(partition);
            if (old != null && !stays) {
                into(deletion(row, old), old.bucket().partition(), old.bucket().number());
            }
            int bucket = stays ? old.bucket().number() : 0;
            into(row, partition, bucket);
            owners.put(key(row), new Owner(new Bucket(partition, bucket), copy(row)));
        }

        private GenericRow deletion(GenericRow row, Owner old) {
            GenericRow d = copy(row);
            for (String c : table.partitionKeys()) {
                int i = table.rowType().getFieldIndex(c);
                d.setField(i, old.row().getField(i));
            }
            d.setRowKind(RowKind.DELETE);
            return d;
        }

        private List<Object> key(InternalRow row) {
            List<Object> key = new ArrayList<>();
            for (String c : table.primaryKeys()) {
                key.add(field(row, table.rowType().getFieldIndex(c)));
            }
            return key;
        }

        private GenericRow copy(InternalRow row) {
            GenericRow c = new GenericRow(table.rowType().getFieldCount());
            for (int i = 0; i < c.getFieldCount(); i++) {
                c.setField(i, field(row, i));
            }
            return c;
        }

        private Object field(InternalRow row, int i) {
            RowType type = table.rowType();
            Object v = InternalRow.createFieldGetter(type.getTypeAt(i).copy(true), i).getFieldOrNull(row);
            return v instanceof BinaryString s ? s.copy() : v;
        }
    }
}
