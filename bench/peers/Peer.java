import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileIOLoader;
import org.apache.paimon.fs.PositionOutputStream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.sink.TableWrite;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;

/**
 * Java Paimon as a contestant: java Peer.java WORKLOAD SIZE DIR DATA [key=value ...], with the
 * workloads and output of tarnbench, and "build", which makes the tables that all read: mor (one
 * full level and five level-0 runs), comp (the same compacted) and tiny; "build-engines" makes the
 * like of mor for other merge engines; "changes" reads the changelog of a table. "build-files" makes
 * tables of SIZE files, app and pk, and "files" counts the files and records of a table.
 */
public final class Peer {
    static final String[] NAMES = {"id", "seq", "status", "amount", "qty", "price", "note", "ts", "d", "flag"};
    static final DataType[] TYPES = {
        DataTypes.BIGINT().notNull(), DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.DECIMAL(12, 2), DataTypes.INT(),
        DataTypes.DOUBLE(), DataTypes.STRING(), DataTypes.TIMESTAMP(3), DataTypes.DATE(), DataTypes.BOOLEAN()
    };
    static final byte[] ALPHABET =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".getBytes(StandardCharsets.US_ASCII);

    static Map<String, String> settings = new HashMap<>();
    static long size;
    static String dir;

    static String text(String key, String otherwise) {
        return settings.getOrDefault(key, otherwise);
    }

    static int number(String key, int otherwise) {
        return Integer.parseInt(text(key, "" + otherwise));
    }

    public static void main(String[] args) throws Exception {
        String n = args[1].toLowerCase(Locale.ROOT);
        size = Long.parseLong(n.replaceAll("[km]$", "")) * (n.endsWith("m") ? 1_000_000 : n.endsWith("k") ? 1000 : 1);
        dir = args[2];
        for (int i = 4; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        switch (args[0]) {
            case "build" -> build();
            case "build-engines" -> buildEngines();
            case "build-files" -> buildFiles();
            case "files" -> files();
            case "commit-latency" -> commitLatency();
            case "contention" -> contention();
            case "ingest" -> ingest();
            case "scan" -> scan();
            case "lookup" -> lookup();
            case "compact" -> compact();
            case "changes" -> changes();
            case "tiny-read" -> tinyRead();
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.exit(0); // Paimon leaves threads behind
    }

    // Rows: the formula of package bench/rows.

    static long hash(long i, int k) {
        long z = i * 16 + 42 * 1000003L + k + 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    static long pick(long i, int k, long n) {
        return (hash(i, k) >>> 1) % n;
    }

    static final BinaryString[] STATUS = new BinaryString[100];

    static {
        for (int i = 0; i < 100; i++) {
            STATUS[i] = BinaryString.fromString(String.format("status-%02d", i));
        }
    }

    /** Rows as objects in memory: what a Java program hands to Paimon. */
    static InternalRow[] rows(long from, int n, long keys, long offset) {
        InternalRow[] out = new InternalRow[n];
        for (int j = 0; j < n; j++) {
            long i = from + j;
            byte[] note = new byte[20];
            for (int half = 0; half < 2; half++) {
                long h = hash(i, 5 + half);
                for (int c = 0; c < 10; c++, h >>>= 6) {
                    note[half * 10 + c] = ALPHABET[(int) (h & 63)];
                }
            }
            long price = hash(i, 4);
            out[j] = GenericRow.of(
                    keys > 0 ? pick(i, 0, keys) : i - offset, i, STATUS[(int) pick(i, 1, 100)],
                    Decimal.fromUnscaledLong(pick(i, 2, 10_000_000L), 12, 2), (int) pick(i, 3, 1000),
                    (price >>> 1) % 10 == 0 ? null : (price >>> 11) * 0x1.0p-53 * 1000.0, BinaryString.fromBytes(note),
                    Timestamp.fromEpochMillis(1704067200000L + pick(i, 7, 31_536_000_000L)), 19723 + (int) pick(i, 8, 365),
                    (hash(i, 9) & 1) == 1);
        }
        return out;
    }

    static Catalog catalog() throws Exception {
        Options o = new Options();
        o.set("warehouse", "file:" + dir);
        Catalog c = CatalogFactory.createCatalog(CatalogContext.create(o, new Counted.Loader(), null));
        c.createDatabase("b", true);
        return c;
    }

    static Table open(String name) throws Exception {
        return catalog().getTable(Identifier.create("b", name));
    }

    static Table create(String name, boolean keyed, String bucket, Map<String, String> options) throws Exception {
        return create(name, keyed, false, bucket, options);
    }

    static Table create(String name, boolean keyed, boolean partitioned, String bucket, Map<String, String> options) throws Exception {
        Catalog c = catalog();
        Identifier id = Identifier.create("b", name);
        c.dropTable(id, true);
        Schema.Builder s = Schema.newBuilder().option("bucket", bucket);
        for (int i = 0; i < NAMES.length; i++) {
            s.column(NAMES[i], TYPES[i]);
        }
        if (partitioned) {
            s.column("p", DataTypes.INT().notNull()).partitionKeys("p");
        }
        if (keyed) {
            s.primaryKey(partitioned ? List.of("p", "id") : List.of("id"));
        }
        options.forEach(s::option);
        c.createTable(id, s.build(), false);
        return c.getTable(id);
    }

    /** Writes rows in one commit; without rows it compacts the table fully. */
    static void commit(Table t, InternalRow[] rows, int buckets) throws Exception {
        BatchWriteBuilder b = t.newBatchWriteBuilder();
        try (BatchTableWrite w = b.newWrite(); BatchTableCommit c = b.newCommit()) {
            w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            if (rows != null) {
                for (InternalRow r : rows) {
                    w.write(r);
                }
            } else {
                for (int i = 0; i < buckets; i++) {
                    w.compact(BinaryRow.EMPTY_ROW, i, true);
                }
            }
            c.commit(w.prepareCommit());
        }
    }

    static void build() throws Exception {
        for (String name : List.of("mor", "comp")) {
            Table t = create(name, true, "2", Map.of());
            layered(t, rows -> {});
            if (name.equals("comp")) {
                commit(t, null, 2);
            }
            List<String> files = new ArrayList<>();
            for (Split s : t.newReadBuilder().newScan().plan().splits()) {
                for (DataFileMeta f : ((DataSplit) s).dataFiles()) {
                    files.add((((DataSplit) s).bucketPath() + "/" + f.fileName()).replace("file:", ""));
                }
            }
            Files.write(Path.of(dir, name + ".files"), files);
        }
        commit(create("tiny", true, "1", Map.of()), rows(0, 100, 0, 0), 1);
    }

    /** Fills a table: every key once, fully compacted, then five runs of a tenth of the keys at random. */
    static void layered(Table t, Consumer<InternalRow[]> change) throws Exception {
        Table writeOnly = t.copy(Map.of("write-only", "true"));
        int step = (int) Math.min(size, 500_000);
        for (long f = 0; f < size; f += step) {
            commit(writeOnly, rows(10_000_000_000L + f, (int) Math.min(step, size - f), 0, 10_000_000_000L), 2);
        }
        commit(t, null, 2);
        for (int u = 0; u < 5; u++) {
            InternalRow[] rows = rows(20_000_000_000L + u * (size / 10), (int) (size / 10), size, 0);
            change.accept(rows);
            commit(writeOnly, rows, 2);
        }
    }

    /** Tables of other merge engines. What updates leave null goes by seq, so that the reference can tell. */
    static void buildEngines() throws Exception {
        layered(create("partial", true, "2", Map.of("merge-engine", "partial-update")),
                rows -> blank(rows, new int[][] {{5, 6, 7, 8, 9}, {2, 3, 4, 7, 8, 9}, {2, 3, 4, 5, 6}, {}}));
        layered(create("groups", true, "2", Map.of(
                        "merge-engine", "partial-update", "fields.seq.sequence-group", "status,amount,qty",
                        "fields.ts.sequence-group", "price,note,d,flag")),
                rows -> blank(rows, new int[][] {{7}, {}, {}, {}}));
        layered(create("aggregation", true, "2", Map.of(
                        "merge-engine", "aggregation", "fields.seq.aggregate-function", "max", "fields.amount.aggregate-function", "sum",
                        "fields.qty.aggregate-function", "sum", "fields.price.aggregate-function", "max", "fields.note.aggregate-function", "min",
                        "fields.ts.aggregate-function", "max", "fields.d.aggregate-function", "min", "fields.flag.aggregate-function", "bool_or")),
                rows -> {});
    }

    /** Makes columns of rows null, those of the row's number modulo four. */
    static void blank(InternalRow[] rows, int[][] columns) {
        for (InternalRow r : rows) {
            for (int c : columns[(int) (r.getLong(1) % 4)]) {
                ((GenericRow) r).setField(c, null);
            }
        }
    }

    /** Ten commits: a batch write each, or with mode=stream one write. With mode=writeonly nothing compacts. */
    static void ingest() throws Exception {
        boolean keyed = text("pk", "true").equals("true");
        String mode = text("mode", keyed ? "stream" : "batch");
        int parts = number("parts", 0), warmup = number("warmup", 0);
        Map<String, String> options = new HashMap<>();
        if (settings.containsKey("changelog")) {
            options.put("changelog-producer", text("changelog", ""));
        }
        if (mode.equals("writeonly")) {
            options.put("write-only", "true");
        }
        for (int it = 0; it < number("iters", 2); it++) {
            boolean warming = it == 0 && warmup > 0;
            long all = warming ? size / warmup : size;
            Table t = create("ingest" + it, keyed, parts > 0, keyed ? "2" : "-1", options);
            Clock total = new Clock();
            long before = Counted.written.get();
            if (mode.equals("stream")) {
                StreamWriteBuilder b = t.newStreamWriteBuilder();
                try (StreamTableWrite w = b.newWrite(); StreamTableCommit commit = b.newCommit()) {
                    w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                    for (int i = 0; i < 10; i++) {
                        write(w, i, all, parts, total);
                        // Changelogs wait for compactions, as Flink's sink does; without, the last commit waits.
                        commit.commit(i + 1, w.prepareCommit(i == 9 || settings.containsKey("changelog"), i + 1));
                    }
                }
            } else {
                for (int i = 0; i < 10; i++) {
                    BatchWriteBuilder b = t.newBatchWriteBuilder();
                    try (BatchTableWrite w = b.newWrite(); BatchTableCommit commit = b.newCommit()) {
                        w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                        write(w, i, all, parts, total);
                        commit.commit(w.prepareCommit());
                    }
                }
            }
            total.stop();
            result("ingest", warming ? "warm-up" : it == 0 ? "cold" : "warm", all, total, ",\"wbytes\":" + (Counted.written.get() - before));
        }
    }

    /** Writes the i-th tenth of rows, which are made while the clock stands still, few at a time: a small heap holds them. */
    static void write(TableWrite w, int i, long all, int parts, Clock clock) throws Exception {
        int n = (int) (all / 10);
        for (int from = 0; from < n; from += 20_000) {
            clock.stop();
            InternalRow[] rows = rows((long) i * n + from, Math.min(20_000, n - from), all * 2 / 5, 0);
            for (int j = 0; parts > 0 && j < rows.length; j++) {
                rows[j] = in(rows[j], (int) (rows[j].getLong(0) % parts));
            }
            clock.start();
            for (InternalRow r : rows) {
                w.write(r);
            }
        }
    }

    static void compact() throws Exception {
        int it = 0;
        for (String name : text("tables", "mor").split(",")) {
            Table t = open(name);
            long before = Counted.written.get();
            Clock c = new Clock();
            commit(t, null, 2);
            c.stop();
            result("compact", it++ == 0 ? "cold" : "warm", size, c, ",\"wbytes\":" + (Counted.written.get() - before));
        }
    }

    /** What the changelog adds minus what it takes away. */
    static void changes() throws Exception {
        Table t = open(text("table", "ingest0"));
        ReadBuilder rb = t.newReadBuilder();
        StreamTableScan scan = rb.newStreamScan();
        scan.restore(1L);
        Clock c = new Clock();
        Sums added = new Sums(), taken = new Sums();
        long last = t.latestSnapshot().orElseThrow().id();
        while (scan.checkpoint() == null || scan.checkpoint() <= last) {
            for (Split s : scan.plan().splits()) {
                try (RecordReader<InternalRow> r = rb.newRead().createReader(s)) {
                    r.forEachRemaining(row -> (row.getRowKind().isRetract() ? taken : added).add(row, false));
                }
            }
        }
        c.stop();
        long rows = added.n + taken.n;
        added.take(taken);
        result("changes", "cold", rows, c, ",\"check\":" + added.json(false));
    }

    static Sums read(Table t, ReadBuilder rb, int threads, boolean two, boolean filtered) throws Exception {
        List<Callable<Sums>> jobs = new ArrayList<>();
        for (Split s : rb.newScan().plan().splits()) {
            jobs.add(() -> {
                Sums sums = new Sums();
                TableRead read = rb.newRead().withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                try (RecordReader<InternalRow> r = (filtered ? read.executeFilter() : read).createReader(s)) {
                    for (var batch = r.readBatch(); batch != null; batch = r.readBatch()) {
                        for (InternalRow row = batch.next(); row != null; row = batch.next()) {
                            sums.add(row, two);
                        }
                        batch.releaseBatch();
                    }
                }
                return sums;
            });
        }
        Sums total = new Sums();
        if (threads == 1) {
            for (Callable<Sums> j : jobs) {
                total.merge(j.call());
            }
            return total;
        }
        var pool = Executors.newFixedThreadPool(threads);
        for (Future<Sums> f : pool.invokeAll(jobs)) {
            total.merge(f.get());
        }
        pool.shutdown();
        return total;
    }

    static void scan() throws Exception {
        for (String name : text("table", "mor").split(",")) {
            scan((FileStoreTable) open(name), number("threads", 2));
        }
    }

    static void scan(FileStoreTable t, int threads) throws Exception {
        PredicateBuilder p = new PredicateBuilder(t.rowType());
        for (String kind : text("kinds", "full,two,range").split(",")) {
            for (int it = 0; it < number("iters", 3); it++) {
                Clock c = new Clock();
                ReadBuilder rb = t.newReadBuilder();
                if (kind.equals("two")) {
                    rb.withProjection(new int[] {0, 3});
                } else if (kind.equals("range")) {
                    rb.withFilter(PredicateBuilder.and(p.greaterOrEqual(0, size * 40 / 100), p.lessThan(0, size * 41 / 100)));
                }
                Sums sums = read(t, rb, threads, kind.equals("two"), kind.equals("range"));
                c.stop();
                result(kind, it == 0 ? "cold" : "warm" + it, sums.n, c, ",\"records\":" + t.latestSnapshot().orElseThrow().totalRecordCount()
                        + ",\"check\":" + sums.json(kind.equals("two")));
            }
        }
    }

    static void lookup() throws Exception {
        Table t = open(text("table", "comp"));
        PredicateBuilder p = new PredicateBuilder(t.rowType());
        int q = number("q", 100);
        for (String variant : List.of("cold", "warm")) {
            double[] ms = new double[q];
            Sums found = new Sums();
            for (int i = 0; i < q; i++) {
                long start = System.nanoTime();
                found.merge(read(t, t.newReadBuilder().withFilter(p.equal(0, pick(77_000_000L + i, 0, size))), 1, false, true));
                ms[i] = (System.nanoTime() - start) / 1e6;
            }
            latencies("lookup", variant, ms, String.format(",\"check\":{\"n\":%d,\"seq\":%d}", found.n, found.seq));
        }
    }

    /** Tables of size files in partitions of a hundred: one of each is there, the others are names. */
    static void buildFiles() throws Exception {
        int parts = (int) Math.max(1, size / 100), each = (int) size / parts;
        for (boolean keyed : new boolean[] {false, true}) {
            Table t = create(keyed ? "pk" : "app", keyed, true, keyed ? "1" : "-1", keyed ? Map.of("write-only", "true") : Map.of());
            BatchWriteBuilder b = t.newBatchWriteBuilder();
            List<CommitMessage> made;
            try (BatchTableWrite w = b.newWrite()) {
                w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                for (int p = 0; p < parts; p++) {
                    for (InternalRow r : few(p * 10L, 10, p)) {
                        w.write(r);
                    }
                }
                made = w.prepareCommit();
            }
            int step = Math.max(1, each / 10);
            for (int from = 0; from < each; from += step) {
                List<CommitMessage> messages = new ArrayList<>();
                for (CommitMessage m : made) {
                    CommitMessageImpl one = (CommitMessageImpl) m;
                    List<DataFileMeta> files = new ArrayList<>();
                    for (int i = from; i < Math.min(each, from + step); i++) {
                        DataFileMeta f = one.newFilesIncrement().newFiles().get(0);
                        files.add(i == 0 ? f : f.rename("data-" + UUID.randomUUID() + "-0.parquet"));
                    }
                    messages.add(new CommitMessageImpl(one.partition(), one.bucket(), one.totalBuckets(),
                            new DataIncrement(files, List.of(), List.of()), CompactIncrement.emptyIncrement()));
                }
                try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
                    c.commit(messages);
                }
            }
        }
    }

    /** Rows of one partition. */
    static List<InternalRow> few(long from, int n, int partition) {
        List<InternalRow> out = new ArrayList<>();
        for (InternalRow r : rows(from, n, 1000, 0)) {
            out.add(in(r, partition));
        }
        return out;
    }

    /** A row with its partition. */
    static InternalRow in(InternalRow r, int partition) {
        Object[] fields = new Object[NAMES.length + 1];
        for (int i = 0; i < NAMES.length; i++) {
            fields[i] = ((GenericRow) r).getField(i);
        }
        fields[NAMES.length] = partition;
        return GenericRow.of(fields);
    }

    /** Ten rows a commit, by a writer of its own, into tables of many files. */
    static void commitLatency() throws Exception {
        int q = number("q", 40), parts = (int) Math.max(1, size / 100);
        for (String name : text("tables", "app,pk").split(",")) {
            Table t = open(name);
            double[] written = new double[q], committed = new double[q];
            for (int k = 0; k < q + 10; k++) { // tarnbench makes ten more, to count storage calls
                List<InternalRow> rows = few(5_000_000 + k * 10L, 10, k % parts);
                long start = System.nanoTime();
                BatchWriteBuilder b = t.newBatchWriteBuilder();
                try (BatchTableWrite w = b.newWrite()) {
                    w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                    for (InternalRow r : rows) {
                        w.write(r);
                    }
                    List<CommitMessage> messages = w.prepareCommit();
                    long prepared = System.nanoTime();
                    try (BatchTableCommit c = b.newCommit()) {
                        c.commit(messages);
                    }
                    if (k < q) {
                        written[k] = (prepared - start) / 1e6;
                        committed[k] = (System.nanoTime() - prepared) / 1e6;
                    }
                }
            }
            latencies("write-" + name, "all", written, "");
            latencies("commit-" + name, "all", committed, "");
        }
    }

    /** Writers that commit to one table at once, each with a catalog, a stream and a partition of its own. */
    static void contention() throws Exception {
        int writers = number("threads", 8), commits = number("commits", 20);
        create("cont", true, true, "1", Map.of());
        List<Callable<double[]>> jobs = new ArrayList<>();
        for (int me = 0; me < writers; me++) {
            int partition = me;
            jobs.add(() -> {
                double[] ms = new double[commits];
                StreamWriteBuilder b = open("cont").newStreamWriteBuilder().withCommitUser("user-" + partition);
                try (StreamTableWrite w = b.newWrite(); StreamTableCommit c = b.newCommit()) {
                    w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                    for (int k = 0; k < commits; k++) {
                        for (InternalRow r : few((partition * 1000L + k) * 100, 100, partition)) {
                            w.write(r);
                        }
                        List<CommitMessage> messages = w.prepareCommit(true, k + 1);
                        long start = System.nanoTime();
                        c.commit(k + 1, messages);
                        ms[k] = (System.nanoTime() - start) / 1e6;
                    }
                }
                return ms;
            });
        }
        var pool = Executors.newFixedThreadPool(writers);
        double[] all = new double[writers * commits];
        int n = 0, failures = 0;
        for (Future<double[]> f : pool.invokeAll(jobs)) {
            try {
                for (double one : f.get()) {
                    all[n++] = one;
                }
            } catch (java.util.concurrent.ExecutionException e) {
                failures++;
                System.err.println(e.getCause());
            }
        }
        pool.shutdown();
        latencies("contention", writers + "x" + commits, Arrays.copyOf(all, Math.max(n, 1)), ",\"failures\":" + failures);
    }

    /** How many files and records the latest snapshot of a table has. */
    static void files() throws Exception {
        FileStoreTable t = (FileStoreTable) open(text("table", "app"));
        long n = 0;
        for (Split s : t.newReadBuilder().newScan().plan().splits()) {
            n += ((DataSplit) s).dataFiles().size();
        }
        result("files", "cold", n, new Clock(), ",\"check\":{\"n\":" + n + ",\"records\":" + t.latestSnapshot().orElseThrow().totalRecordCount() + "}");
    }

    static void latencies(String metric, String variant, double[] ms, String more) {
        Clock sum = new Clock();
        int q = ms.length;
        sum.nanos = (long) (Arrays.stream(ms).sum() * 1e6);
        double first = ms[0];
        Arrays.sort(ms);
        result(metric, variant, q, sum, String.format(Locale.ROOT,
                ",\"first_ms\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"min_ms\":%.3f,\"max_ms\":%.3f",
                first, ms[q / 2], ms[Math.min(q * 99 / 100, q - 1)], ms[0], ms[q - 1]) + more);
    }

    static void tinyRead() throws Exception {
        Clock c = new Clock();
        Table t = open("tiny");
        Sums sums = read(t, t.newReadBuilder(), 1, false, false);
        c.stop();
        result("tiny-read", "in-process", sums.n, c, ",\"check\":" + sums.json(false));
    }

    static void result(String metric, String variant, long rows, Clock c, String more) {
        System.out.printf(Locale.ROOT, "RESULT {\"metric\":\"%s\",\"variant\":\"%s\",\"rows\":%d,\"secs\":%.4f,\"cpu\":%.3f%s}%n",
                metric, variant, rows, c.nanos / 1e9, c.cpu / 1e9, more);
    }

    /** Wall and CPU time, started when made. */
    static final class Clock {
        long nanos, cpu, wallStart, cpuStart;

        Clock() {
            start();
        }

        void start() {
            wallStart = System.nanoTime();
            cpuStart = processCpu();
        }

        void stop() {
            nanos += System.nanoTime() - wallStart;
            cpu += processCpu() - cpuStart;
        }

        static long processCpu() {
            return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean())
                    .getProcessCpuTime();
        }
    }

    /** The local file system, with a count of the bytes written to files of tables, those deleted later included. */
    static final class Counted extends LocalFileIO {
        static final AtomicLong written = new AtomicLong();

        @Override
        public PositionOutputStream newOutputStream(org.apache.paimon.fs.Path path, boolean overwrite) throws IOException {
            if (!overwrite && exists(path)) {
                throw new FileAlreadyExistsException(path.toString());
            }
            mkdirs(path.getParent());
            return new LocalPositionOutputStream(toFile(path)) {
                boolean closed;

                @Override
                public void close() throws IOException {
                    if (!closed) {
                        closed = true;
                        written.addAndGet(getPos());
                    }
                    super.close();
                }
            };
        }

        static final class Loader implements FileIOLoader {
            @Override
            public String getScheme() {
                return "file";
            }

            @Override
            public FileIO load(org.apache.paimon.fs.Path path) {
                return new Counted();
            }
        }
    }

    /** Sums over every column, as package bench/rows has them. */
    static final class Sums {
        long n, id, seq, st, amt, qty, pnull, note, ts, d, flag, p;
        double price;

        void add(InternalRow r, boolean two) {
            n++;
            id += r.getLong(0);
            amt += r.getDecimal(two ? 1 : 3, 12, 2).toUnscaledLong();
            if (two) {
                return;
            }
            seq += r.getLong(1);
            BinaryString s = r.getString(2);
            st += (s.byteAt(7) - '0') * 10 + s.byteAt(8) - '0';
            qty += r.getInt(4);
            if (r.isNullAt(5)) {
                pnull++;
            } else {
                price += r.getDouble(5);
            }
            note += r.getString(6).byteAt(0);
            ts += r.getTimestamp(7, 3).getMillisecond();
            d += r.getInt(8);
            flag += r.getBoolean(9) ? 1 : 0;
            p += r.getFieldCount() > NAMES.length ? r.getInt(NAMES.length) : 0;
        }

        void merge(Sums o) {
            n += o.n; id += o.id; seq += o.seq; st += o.st; amt += o.amt; qty += o.qty; pnull += o.pnull;
            note += o.note; ts += o.ts; d += o.d; flag += o.flag; p += o.p; price += o.price;
        }

        void take(Sums o) {
            n -= o.n; id -= o.id; seq -= o.seq; st -= o.st; amt -= o.amt; qty -= o.qty; pnull -= o.pnull;
            note -= o.note; ts -= o.ts; d -= o.d; flag -= o.flag; p -= o.p; price -= o.price;
        }

        String json(boolean two) {
            if (two) {
                return String.format("{\"n\":%d,\"id\":%d,\"amt\":%d}", n, id, amt);
            }
            return String.format(Locale.ROOT, "{\"n\":%d,\"id\":%d,\"seq\":%d,\"st\":%d,\"amt\":%d,\"qty\":%d,\"pnull\":%d,\"price\":%.1f,"
                    + "\"note\":%d,\"ts\":%d,\"d\":%d,\"flag\":%d,\"p\":%d}", n, id, seq, st, amt, qty, pnull, price, note, ts, d, flag, p);
        }
    }
}
