package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.compact.CompactResult;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.Levels;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.mergetree.compact.CompactRewriter;
import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.MergeTreeCompactManager;
import org.apache.paimon.mergetree.compact.MergeTreeCompactManagerFactory;
import org.apache.paimon.stats.SimpleStats;

/** A bucket of files that only exist as metadata, compacted as Java picks. Keys are one INT. */
final class Trees {
    private final Comparator<InternalRow> byKey = Comparator.comparingInt(row -> row.getInt(0));
    private final ArrayNode log = Json.object().putArray("log");
    private int merged;

    /** Adds files and compacts as told, and says of each compaction what it did. */
    static ArrayNode play(JsonNode request) throws Exception {
        return new Trees().carryOut(request);
    }

    private ArrayNode carryOut(JsonNode request) throws Exception {
        CoreOptions options = CoreOptions.fromMap(Json.map(request.path("options")));
        ExecutorService executor = Executors.newSingleThreadExecutor();
        ArrayNode replies = Json.object().putArray("replies");
        try (MergeTreeCompactManager manager = new MergeTreeCompactManager(
                executor, new Levels(byKey, new ArrayList<>(), options.numLevels()), strategy(options), byKey,
                options.compactionFileSize(true), options.numSortedRunStopTrigger(), new Pretence(), null, null,
                false, options.needLookup(), null, options.forceRewriteAllFiles(), false)) {
            for (JsonNode step : request.path("steps")) {
                if (step.has("add")) {
                    manager.addNewFile(file(step.get("add")));
                    continue;
                }
                // Until so many milliseconds have passed by the clock that the manager reads.
                for (long until = System.currentTimeMillis() + step.path("wait").asLong(); System.currentTimeMillis() < until; ) {
                    Thread.sleep(1);
                }
                log.removeAll();
                manager.triggerCompaction(step.path("full").asBoolean());
                manager.getCompactionResult(true);
                replies.add(log.deepCopy());
            }
        } finally {
            executor.shutdown();
        }
        return replies;
    }

    /** The strategy that Java chooses for a table with these options. */
    private static CompactStrategy strategy(CoreOptions options) throws Exception {
        MergeTreeCompactManagerFactory factory = new MergeTreeCompactManagerFactory(
                null, null, null, null, null, null, options, null, null, null, null, null, null, null, null);
        Method choose = MergeTreeCompactManagerFactory.class.getDeclaredMethod("createCompactStrategy", CoreOptions.class);
        choose.setAccessible(true);
        return (CompactStrategy) choose.invoke(factory, options);
    }

    private static DataFileMeta file(JsonNode f) {
        return meta(f.get("name").asText(), f.get("size").asLong(), f.get("min").asInt(), f.get("max").asInt(),
                f.get("minSeq").asLong(), f.get("maxSeq").asLong(), 0,
                f.hasNonNull("deletes") ? Long.valueOf(f.get("deletes").asLong()) : null);
    }

    private static DataFileMeta meta(String name, long size, int min, int max, long minSeq, long maxSeq, int level, Long deletes) {
        return DataFileMeta.create(name, size, 1, BinaryRow.singleColumn(min), BinaryRow.singleColumn(max),
                SimpleStats.EMPTY_STATS, SimpleStats.EMPTY_STATS, minSeq, maxSeq, 0, level, List.of(),
                Timestamp.fromEpochMillis(0), deletes, null, FileSource.APPEND, null, null, null, null);
    }

    /** Rewrites nothing: the file that comes out is as large as three quarters of those that went in. */
    private final class Pretence implements CompactRewriter {
        @Override
        public CompactResult rewrite(int level, boolean dropDelete, List<List<SortedRun>> sections) {
            ObjectNode entry = log.addObject().put("level", level).put("drop", dropDelete);
            ArrayNode list = entry.putArray("rewrite");
            List<DataFileMeta> before = new ArrayList<>();
            for (List<SortedRun> section : sections) {
                ArrayNode runs = list.addArray();
                for (SortedRun run : section) {
                    ArrayNode names = runs.addArray();
                    run.files().forEach(f -> names.add(f.fileName()));
                    before.addAll(run.files());
                }
            }
            long size = 0;
            long deletes = 0;
            int min = Integer.MAX_VALUE;
            int max = Integer.MIN_VALUE;
            long minSeq = Long.MAX_VALUE;
            long maxSeq = Long.MIN_VALUE;
            for (DataFileMeta f : before) {
                size += f.fileSize();
                deletes += f.deleteRowCount().orElse(0L);
                min = Math.min(min, f.minKey().getInt(0));
                max = Math.max(max, f.maxKey().getInt(0));
                minSeq = Math.min(minSeq, f.minSequenceNumber());
                maxSeq = Math.max(maxSeq, f.maxSequenceNumber());
            }
            DataFileMeta out = meta("m" + ++merged, size * 3 / 4, min, max, minSeq, maxSeq, level, dropDelete ? 0 : deletes);
            return new CompactResult(before, List.of(out));
        }

        @Override
        public CompactResult upgrade(int level, DataFileMeta file) {
            log.addObject().put("level", level).put("upgrade", file.fileName());
            return new CompactResult(file, file.upgrade(level));
        }

        @Override
        public void close() {}
    }
}
