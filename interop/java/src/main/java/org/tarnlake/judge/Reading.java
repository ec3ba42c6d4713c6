package org.tarnlake.judge;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.predicate.PredicateVisitor;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.IncrementalSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.RowType;

/** Reads tables into canonical lines. */
final class Reading {
    /** Rows read, as lines, and their type. */
    record Rows(List<String> lines, RowType type) {}

    private final Warehouse warehouse;

    Reading(Warehouse warehouse) {
        this.warehouse = warehouse;
    }

    /** All rows of a batch read, sorted. Filters are executed, not only used for pruning. */
    Rows read(Query q) throws Exception {
        Table table = open(q);
        ReadBuilder builder = builder(q, table);
        List<Split> splits = q.splits() == null ? builder.newScan().plan().splits() : Wire.splitsOf(q.splits());
        TableRead read = builder.newRead();
        if (q.filter() != null) {
            read.executeFilter();
        }
        read.withIOManager(warehouse.io);
        RowType type = type(q, table);
        List<String> lines = new ArrayList<>();
        for (Split s : splits) {
            append(lines, read.createReader(s), type, "", q.kind());
        }
        return new Rows(Canonical.sorted(lines), type);
    }

    List<Split> plan(Query q) throws Exception {
        return builder(q, open(q)).newScan().plan().splits();
    }

    /** The changes of one snapshot after another, from one (or the full state) up to another. */
    Rows stream(Query q, String from, Long to) throws Exception {
        FileStoreTable base = (FileStoreTable) open(q);
        Long latest = base.snapshotManager().latestSnapshotId();
        if (latest == null) {
            return new Rows(List.of(), base.rowType());
        }
        long end = to == null ? latest : to;
        Map<String, String> start = new HashMap<>();
        if (from.equals("latest-full")) {
            start.put("scan.mode", "latest-full");
        } else {
            start.put("scan.mode", "from-snapshot");
            start.put("scan.snapshot-id",
                    from.equals("earliest") ? String.valueOf(base.snapshotManager().earliestSnapshotId()) : from);
        }
        FileStoreTable table = base.copy(start);
        ReadBuilder builder = table.newReadBuilder();
        StreamTableScan scan = builder.newStreamScan();
        TableRead read = builder.newRead().withIOManager(warehouse.io);
        List<String> lines = new ArrayList<>();
        Long before = null;
        for (int idle = 0; idle < 3; ) { // the scan may need empty rounds to step over snapshots without changes
            Long next = scan.checkpoint();
            if (next != null && next > end) {
                break;
            }
            List<Split> splits = scan.plan().splits();
            boolean still = next == null ? before == null : next.equals(before);
            idle = splits.isEmpty() && still ? idle + 1 : 0;
            before = next;
            for (Split s : splits) {
                append(lines, read.createReader(s), table.rowType(), "\"_snapshot\":" + snapshotOf(s), true);
            }
        }
        return new Rows(lines, table.rowType());
    }

    private static long snapshotOf(Split s) {
        return s instanceof IncrementalSplit i ? i.snapshotId() : ((DataSplit) s).snapshotId();
    }

    List<Snapshot> snapshots(Query q) throws Exception {
        List<Snapshot> out = new ArrayList<>();
        Iterator<Snapshot> all = warehouse.store(q.table()).snapshotManager().snapshots();
        all.forEachRemaining(out::add);
        out.sort(Comparator.comparingLong(Snapshot::id));
        return out;
    }

    /** The type of the rows that a query gives. */
    RowType type(Query q) throws Exception {
        return type(q, open(q));
    }

    private Table open(Query q) throws Exception {
        Table table = warehouse.table(q.table());
        return q.options().isEmpty() ? table : table.copy(q.options());
    }

    private static ReadBuilder builder(Query q, Table table) {
        ReadBuilder builder = table.newReadBuilder();
        if (q.filter() != null) {
            builder.withFilter(Filter.parse(q.filter(), table.rowType()));
        }
        if (q.project() != null) {
            builder.withProjection(indexes(readColumns(q, table.rowType()), table.rowType()));
        }
        return builder;
    }

    private static RowType type(Query q, Table table) {
        return q.project() == null ? table.rowType() : table.rowType().project(indexes(q.project(), table.rowType()));
    }

    /**
     * The columns asked for, then those that only the filter needs: Paimon takes a filter's column
     * that is not read for null.
     */
    private static List<String> readColumns(Query q, RowType all) {
        Set<String> columns = new LinkedHashSet<>(q.project());
        if (q.filter() != null) {
            columns.addAll(PredicateVisitor.collectFieldNames(Filter.parse(q.filter(), all)));
        }
        return List.copyOf(columns);
    }

    private static int[] indexes(List<String> columns, RowType all) {
        return columns.stream().mapToInt(name -> {
            if (!all.containsField(name)) {
                throw new IllegalArgumentException("no column " + name + " in " + all);
            }
            return all.getFieldIndex(name);
        }).toArray();
    }

    private void append(List<String> lines, RecordReader<InternalRow> rows, RowType type, String head, boolean kind)
            throws Exception {
        Canonical.Row form = Canonical.row(type);
        try (rows) {
            rows.forEachRemaining(row -> {
                StringBuilder b = new StringBuilder("{").append(head);
                if (kind) {
                    b.append(b.length() > 1 ? "," : "").append("\"_kind\":\"").append(row.getRowKind().shortString()).append('"');
                }
                form.writeFields(b, row, b.length() == 1);
                lines.add(warehouse.portable(b.append('}').toString()));
            });
        }
    }
}
