package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HexFormat;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.mergetree.compact.aggregate.FieldAggregator;
import org.apache.paimon.mergetree.compact.aggregate.factory.FieldAggregatorFactory;
import org.apache.paimon.shade.org.apache.datasketches.hll.HllSketch;
import org.apache.paimon.shade.org.apache.datasketches.hll.TgtHllType;
import org.apache.paimon.shade.org.apache.datasketches.memory.Memory;
import org.apache.paimon.shade.org.apache.datasketches.theta.Sketches;
import org.apache.paimon.shade.org.apache.datasketches.theta.UpdateSketch;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.RoaringBitmap32;
import org.apache.paimon.utils.RoaringBitmap64;

/** Aggregate functions without a table, and the sets and sketches that some of them take. */
final class Aggregates {
    private static final String COLUMN = "v";

    private Aggregates() {}

    /** Folds groups of [op, value], where op is "+", "~" late, "-" retract or "=" set. */
    static ArrayNode fold(JsonNode request) {
        DataType type = TypeText.parse(Json.need(request, "type"));
        CoreOptions options = CoreOptions.fromMap(Json.map(request.path("options")));
        String function = Json.need(request, "function");
        Canonical.Row form = Canonical.row(RowType.builder().field(COLUMN, type.copy(true)).build());
        ArrayNode replies = Json.object().putArray("replies");
        FieldAggregator aggregator = FieldAggregatorFactory.create(type, COLUMN, function, options);
        for (JsonNode group : request.path("groups")) {
            ObjectNode reply = replies.addObject();
            try {
                aggregator.reset();
                Object acc = null;
                for (JsonNode row : group) {
                    Object value = Values.value(row.get("value"), type);
                    acc = switch (Json.need(row, "op")) {
                        case "+" -> aggregator.agg(acc, value);
                        case "~" -> aggregator.aggReversed(acc, value);
                        case "-" -> aggregator.retract(acc, value);
                        case "=" -> value;
                        default -> throw new IllegalArgumentException("op of " + row);
                    };
                }
                StringBuilder text = new StringBuilder();
                form.write(text, GenericRow.of(acc));
                reply.put("value", text.substring(("{\"" + COLUMN + "\":").length(), text.length() - 1));
            } catch (RuntimeException e) {
                reply.put("error", Failures.text(e));
            }
        }
        return replies;
    }

    /** The bytes, in hex, of a set or sketch of count numbers from one on, step apart. */
    static String sketch(JsonNode request) throws Exception {
        long from = request.path("from").asLong();
        long step = request.path("step").asLong(1);
        int count = request.path("count").asInt();
        int lgK = request.path("lgK").asInt(12);
        boolean compact = Json.flag(request, "compact", true);
        byte[] bytes;
        switch (Json.need(request, "kind")) {
            case "rbm32" -> {
                RoaringBitmap32 set = new RoaringBitmap32();
                for (int i = 0; i < count; i++) {
                    set.add((int) (from + i * step));
                }
                bytes = set.serialize();
            }
            case "rbm64" -> {
                RoaringBitmap64 set = new RoaringBitmap64();
                for (int i = 0; i < count; i++) {
                    set.add(from + i * step);
                }
                bytes = set.serialize();
            }
            case "hll_sketch" -> {
                HllSketch sketch = new HllSketch(lgK, TgtHllType.valueOf(Json.text(request, "pack", "HLL_4")));
                for (int i = 0; i < count; i++) {
                    sketch.update(from + i * step);
                }
                bytes = compact ? sketch.toCompactByteArray() : sketch.toUpdatableByteArray();
            }
            case "theta_sketch" -> {
                UpdateSketch sketch = UpdateSketch.builder().setNominalEntries(1 << lgK).build();
                for (int i = 0; i < count; i++) {
                    sketch.update(from + i * step);
                }
                bytes = !compact ? sketch.toByteArray()
                        : sketch.compact(Json.flag(request, "ordered", true), null).toByteArray();
            }
            default -> throw new IllegalArgumentException("kind of " + request);
        }
        return HexFormat.of().formatHex(bytes);
    }

    /** What Java estimates from the bytes of a sketch. */
    static double estimate(JsonNode request) {
        byte[] bytes = HexFormat.of().parseHex(Json.need(request, "bytes"));
        return Json.need(request, "kind").equals("hll_sketch")
                ? HllSketch.heapify(bytes).getEstimate()
                : Sketches.wrapSketch(Memory.wrap(bytes)).getEstimate();
    }
}
