// Prints the test vectors of this module with Apache Paimon 1.4.2; see README.md.
import org.apache.paimon.data.*;
import org.apache.paimon.data.serializer.*;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.*;
import org.apache.paimon.io.*;
import org.apache.paimon.index.*;
import org.apache.paimon.manifest.*;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.utils.*;
import org.apache.paimon.codegen.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.io.*;
import java.util.*;

public class Vectors {
  static String hex(byte[] b) { StringBuilder s = new StringBuilder(); for (byte x : b) s.append(String.format("%02x", x)); return s.toString(); }
  static PrintStream out;
  static void file(String n) throws Exception { if (out != null) out.close(); out = new PrintStream(new FileOutputStream(n), true, "UTF-8"); }
  static Decimal dec(String s, int p, int sc) { return Decimal.fromBigDecimal(new BigDecimal(s), p, sc); }
  static Timestamp ts(long ms, int n) { return Timestamp.fromEpochMillis(ms, n); }
  static BinaryString str(String s) { return BinaryString.fromString(s); }

  static void row(String name, RowType t, Object... vs) {
    BinaryRow r = new InternalRowSerializer(t).toBinaryRow(GenericRow.of(vs)).copy();
    // the generated projection that computes bucket keys must give the same bytes
    int[] all = new int[t.getFieldCount()]; for (int i = 0; i < all.length; i++) all[i] = i;
    String p;
    try {
      BinaryRow q = CodeGenUtils.newProjection(t, all).apply(GenericRow.of(vs)).copy();
      p = q.equals(r) ? "same" : hex(q.toBytes());
    } catch (Throwable e) { p = "none"; }
    out.println(name + "\t" + hex(SerializationUtils.serializeBinaryRow(r)) + "\t" + r.hashCode() + "\t" + p);
  }
  static RowType rt(DataType... ts) { return RowType.of(ts); }

  static void rows() {
    row("scalars", rt(DataTypes.BOOLEAN(), DataTypes.TINYINT(), DataTypes.SMALLINT(), DataTypes.INT(), DataTypes.BIGINT(), DataTypes.FLOAT(), DataTypes.DOUBLE(), DataTypes.DATE(), DataTypes.TIME(3)),
      true, (byte) -2, (short) -300, -70000, -5000000000L, -1.5f, 2.25d, -1, 86399999);
    row("nan", rt(DataTypes.FLOAT(), DataTypes.DOUBLE()), Float.intBitsToFloat(0x7fc00001), Double.longBitsToDouble(0xfff8000000000001L));
    row("strings", rt(DataTypes.STRING(), DataTypes.STRING(), DataTypes.CHAR(8), DataTypes.BYTES(), DataTypes.BINARY(9), DataTypes.STRING()),
      str(""), str("1234567"), str("12345678"), new byte[]{0, (byte) 0xff}, new byte[]{1,2,3,4,5,6,7,8,9}, str("grüße 😀"));
    row("decimals", rt(DataTypes.DECIMAL(18, 2), DataTypes.DECIMAL(19, 2), DataTypes.DECIMAL(38, 0), DataTypes.DECIMAL(38, 10), DataTypes.DECIMAL(19, 0)),
      dec("-1234567890123456.78", 18, 2), dec("-1.28", 19, 2), dec("99999999999999999999999999999999999999", 38, 0), dec("-99999999999999999999999999.9999999999", 38, 10), dec("0", 19, 0));
    row("decimal-edges", rt(DataTypes.DECIMAL(38, 0), DataTypes.DECIMAL(38, 0), DataTypes.DECIMAL(38, 0), DataTypes.DECIMAL(38, 0)),
      dec("127", 38, 0), dec("128", 38, 0), dec("-128", 38, 0), dec("-129", 38, 0));
    row("timestamps", rt(DataTypes.TIMESTAMP(3), DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP(9), DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(9)),
      ts(-1, 0), ts(1700000000123L, 456000), ts(-62135596800000L, 999999), ts(253402300799999L, 0), ts(-1, 1));
    row("nulls", rt(DataTypes.BOOLEAN(), DataTypes.INT(), DataTypes.STRING(), DataTypes.DECIMAL(18, 2), DataTypes.DECIMAL(19, 2), DataTypes.TIMESTAMP(3), DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(9), DataTypes.ARRAY(DataTypes.INT()), DataTypes.STRING()),
      null, null, null, null, null, null, null, null, null, str("after the room"));
    DataType[] many = new DataType[57]; Object[] vals = new Object[57];
    for (int i = 0; i < 57; i++) { many[i] = DataTypes.INT(); vals[i] = i % 3 == 0 ? null : (Object) i; }
    row("arity-57", rt(many), vals);
    row("arity-56", rt(Arrays.copyOf(many, 56)), Arrays.copyOf(vals, 56));
    row("empty", rt());
    row("array", rt(DataTypes.ARRAY(DataTypes.INT()), DataTypes.ARRAY(DataTypes.STRING()), DataTypes.ARRAY(DataTypes.BOOLEAN()), DataTypes.ARRAY(DataTypes.SMALLINT()), DataTypes.ARRAY(DataTypes.BIGINT())),
      new GenericArray(new Object[]{1, null, 3}), new GenericArray(new Object[]{str("a"), null, str("longer than seven")}), new GenericArray(new Object[]{true, false, null}), new GenericArray(new Object[]{(short) 1, (short) 2}), new GenericArray(new Object[0]));
    row("array-wide", rt(DataTypes.ARRAY(DataTypes.DECIMAL(38, 2)), DataTypes.ARRAY(DataTypes.TIMESTAMP(9)), DataTypes.ARRAY(DataTypes.TIMESTAMP(3)), DataTypes.ARRAY(DataTypes.DECIMAL(5, 2)), DataTypes.ARRAY(DataTypes.DOUBLE()), DataTypes.ARRAY(DataTypes.FLOAT())),
      new GenericArray(new Object[]{dec("1.00", 38, 2), null}), new GenericArray(new Object[]{ts(5, 6), null}), new GenericArray(new Object[]{ts(5, 0), null}), new GenericArray(new Object[]{dec("1.25", 5, 2), null}),
      new GenericArray(new Object[]{Double.longBitsToDouble(0xfff8000000000001L), 0.5}), new GenericArray(new Object[]{Float.intBitsToFloat(0xffc00001)}));
    Object[] big = new Object[33]; for (int i = 0; i < 33; i++) big[i] = i == 32 ? null : (Object) (byte) i;
    row("array-33", rt(DataTypes.ARRAY(DataTypes.TINYINT())), new GenericArray(big));
    LinkedHashMap<Object, Object> m = new LinkedHashMap<>(); m.put(str("k"), 1L); m.put(str("a longer key"), null);
    LinkedHashMap<Object, Object> ms = new LinkedHashMap<>(); ms.put(str("x"), 2);
    row("maps", rt(DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT()), DataTypes.MULTISET(DataTypes.STRING())), new GenericMap(m), new GenericMap(ms));
    RowType inner = rt(DataTypes.INT(), DataTypes.DECIMAL(38, 2), DataTypes.TIMESTAMP(9), DataTypes.STRING());
    row("rows", rt(inner, inner, DataTypes.ARRAY(inner)), GenericRow.of(7, null, null, str("seven seven")), GenericRow.of(null, dec("1.00", 38, 2), ts(1, 2), null), new GenericArray(new Object[]{GenericRow.of(1, null, null, null), null}));
    row("variant", rt(DataTypes.VARIANT()), new GenericVariant(new byte[]{12, 5}, new byte[]{1, 0, 0}));
  }

  static void part(DataType t, String text, Object v) {
    RowType r = RowType.of(new DataType[]{t}, new String[]{"p"});
    String[] two = new String[2];
    for (int i = 0; i < 2; i++) {
      try {
        LinkedHashMap<String, String> spec = new InternalRowPartitionComputer("__DEFAULT_PARTITION__", r, new String[]{"p"}, i == 0).generatePartValues(GenericRow.of(v));
        two[i] = PartitionPathUtils.generatePartitionPath(spec);
      } catch (Throwable e) { two[i] = "!" + e; }
    }
    out.println(t.asSQLString() + "\t" + text + "\t" + two[0] + "\t" + two[1]);
  }
  static void parts() {
    for (String s : new String[]{"a", "", " ", "\u2003", "\u00a0", "a/b", "a=b", "%41", "a b", "grüße", "\u0001", "\u007f", "a\"b'c#d%e*f/g:h=i?j\\k{l}m[n]o^p|q&r+s~t.u<v>w;x,y!z", "__DEFAULT_PARTITION__", "😀", " x "}) part(DataTypes.STRING(), "utf8:" + hex(s.getBytes(StandardCharsets.UTF_8)), str(s));
    part(DataTypes.CHAR(4), "utf8:" + hex("ab  ".getBytes()), str("ab  "));
    part(DataTypes.INT(), "null", null);
    part(DataTypes.BOOLEAN(), "true", true); part(DataTypes.BOOLEAN(), "false", false);
    part(DataTypes.TINYINT(), "-128", (byte) -128); part(DataTypes.SMALLINT(), "32767", (short) 32767); part(DataTypes.INT(), "-5", -5); part(DataTypes.BIGINT(), "9223372036854775807", Long.MAX_VALUE);
    for (float f : new float[]{0f, -0f, 1f, 1.5f, 1e7f, 9999999f, 1e-3f, 9.99e-4f, 3.4028235E38f, 1.4E-45f, 123456.79f, 0.1f, Float.NaN, Float.POSITIVE_INFINITY}) part(DataTypes.FLOAT(), Float.toString(f), f);
    for (double f : new double[]{0d, -0d, 1d, 1.5d, 1e7d, 9999999d, 1e-3d, 9.99e-4, 1.7976931348623157E308, 123456.789, 0.1, Double.NaN, Double.NEGATIVE_INFINITY}) part(DataTypes.DOUBLE(), Double.toString(f), f);
    part(DataTypes.DECIMAL(10, 2), "1.50", dec("1.50", 10, 2)); part(DataTypes.DECIMAL(10, 2), "-0.01", dec("-0.01", 10, 2)); part(DataTypes.DECIMAL(38, 10), "0.0000000000", dec("0", 38, 10)); part(DataTypes.DECIMAL(38, 38), "0.00000000000000000000000000000000000001", dec("0.00000000000000000000000000000000000001", 38, 38)); part(DataTypes.DECIMAL(38, 0), "99999999999999999999999999999999999999", dec("99999999999999999999999999999999999999", 38, 0));
    for (Object[] d : new Object[][]{{"1970-01-01", 0}, {"2024-01-01", 19723}, {"0001-01-01", -719162}, {"1969-12-31", -1}, {"9999-12-31", 2932896}}) part(DataTypes.DATE(), (String) d[0], d[1]);
    for (int p : new int[]{0, 3, 6, 9}) for (int ms : new int[]{0, 1, 100, 1000, 45296789, 86399999, 43200000}) part(DataTypes.TIME(p), "ms:" + ms, ms);
    long[] millis = {0, 1, -1, 1704112200000L, 1704112205000L, 1704112205123L, 1704112205100L, -62135596800000L, 253402300799999L, -1356022717123L};
    for (int p : new int[]{0, 1, 3, 6, 9}) for (long ms : millis) for (int nano : new int[]{0, 456000, 456789}) {
      if (nano > 0 && p <= 3 || nano == 456789 && p <= 6) continue;
      part(DataTypes.TIMESTAMP(p), "i:" + ms + "." + nano, ts(ms, nano));
      part(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(p), "i:" + ms + "." + nano, ts(ms, nano));
    }
  }

  static BinaryRow brow(RowType t, Object... vs) { return new InternalRowSerializer(t).toBinaryRow(GenericRow.of(vs)).copy(); }
  static SimpleStats stats(RowType t, Object[] min, Object[] max, Long... nulls) { return new SimpleStats(brow(t, min), brow(t, max), BinaryArray.fromLongArray(nulls)); }
  static DataFileMeta full(String name) {
    RowType k = rt(DataTypes.INT()), v = rt(DataTypes.INT(), DataTypes.STRING());
    return DataFileMeta.create(name, 1234L, 10L, brow(k, 1), brow(k, 9), stats(k, new Object[]{1}, new Object[]{9}, 0L), stats(v, new Object[]{1, str("a")}, new Object[]{9, null}, 0L, (Long) null),
      5L, 14L, 2L, 3, Arrays.asList(name + ".index"), Timestamp.fromEpochMillis(1700000000123L), 4L, new byte[]{1, 2, 3}, FileSource.COMPACT, Arrays.asList("k", "v"), "oss://b/p/" + name, 77L, Arrays.asList("k", "v"));
  }
  static DataFileMeta bare(String name) {
    return DataFileMeta.create(name, 1L, 2L, BinaryRow.EMPTY_ROW, BinaryRow.EMPTY_ROW, SimpleStats.EMPTY_STATS, SimpleStats.EMPTY_STATS, 0L, 1L, 0L, 0, new ArrayList<>(), null, null, null, null, null, null, null, null);
  }
  static void messages() throws Exception {
    CommitMessageSerializer s = new CommitMessageSerializer();
    LinkedHashMap<String, DeletionVectorMeta> dv = new LinkedHashMap<>();
    dv.put("data-1.parquet", new DeletionVectorMeta("data-1.parquet", 1, 22, 3L)); dv.put("data-2.parquet", new DeletionVectorMeta("data-2.parquet", 31, 22, null));
    IndexFileMeta di = new IndexFileMeta("DELETION_VECTORS", "index-1", 50L, 2L, dv, "oss://b/index-1");
    IndexFileMeta hi = new IndexFileMeta("HASH", "index-2", 40L, 10L, (LinkedHashMap<String, DeletionVectorMeta>) null, null);
    IndexFileMeta gi = new IndexFileMeta("btree", "btree-global-index-1.index", 60L, 11L, new GlobalIndexMeta(5L, 15L, 3, new int[]{4, 5}, new byte[]{9}), null);
    IndexFileMeta gn = new IndexFileMeta("bitmap", "g2.index", 61L, 12L, new GlobalIndexMeta(0L, 1L, 1, null, null), null);
    out.println("version\t" + s.getVersion());
    BinaryRow p = brow(rt(DataTypes.STRING(), DataTypes.INT()), str("2024-01-01"), 5);
    out.println("empty\t" + hex(s.serialize(new CommitMessageImpl(BinaryRow.EMPTY_ROW, 0, null, DataIncrement.emptyIncrement(), CompactIncrement.emptyIncrement()))));
    out.println("full\t" + hex(s.serialize(new CommitMessageImpl(p, 3, 16, new DataIncrement(Arrays.asList(full("a"), bare("b")), Arrays.asList(bare("c")), Arrays.asList(bare("d")), Arrays.asList(di, hi), Arrays.asList(gi)),
      new CompactIncrement(Arrays.asList(bare("e")), Arrays.asList(full("f")), Arrays.asList(bare("g"), bare("h")), Arrays.asList(gn), Arrays.asList(hi))))));
  }
  static void splits() throws Exception {
    BinaryRow p = brow(rt(DataTypes.STRING(), DataTypes.INT()), str("2024-01-01"), 5);
    DataSplit a = DataSplit.builder().withSnapshot(7).withPartition(p).withBucket(3).withBucketPath("file:/w/db.db/t/dt=2024-01-01/h=5/bucket-3").withTotalBuckets(16)
      .withDataFiles(Arrays.asList(full("a"), bare("b"))).withDataDeletionFiles(Arrays.asList(new DeletionFile("file:/w/db.db/t/index/index-1", 1L, 22L, 3L), null)).isStreaming(true).rawConvertible(false).build();
    DataSplit b = DataSplit.builder().withSnapshot(1).withPartition(BinaryRow.EMPTY_ROW).withBucket(0).withBucketPath("grüße\u0000😀").withTotalBuckets(null)
      .withDataFiles(Arrays.asList(bare("b"))).isStreaming(false).rawConvertible(true).build();
    DataSplit c = DataSplit.builder().withSnapshot(1).withPartition(BinaryRow.EMPTY_ROW).withBucket(0).withBucketPath("x").withTotalBuckets(-1)
      .withDataFiles(Arrays.asList(bare("b"))).withDataDeletionFiles(Arrays.asList(new DeletionFile("y", 1L, 22L, null))).isStreaming(false).rawConvertible(true).build();
    int i = 0;
    for (DataSplit s : new DataSplit[]{a, b, c}) {
      ByteArrayOutputStream o = new ByteArrayOutputStream(); s.serialize(new DataOutputViewStreamWrapper(o));
      out.println(new String[]{"full", "bare", "unknown-cardinality"}[i++] + "\t" + hex(o.toByteArray()));
    }
  }
  public static void main(String[] a) throws Exception {
    file(a[0] + "/rows.txt"); rows(); file(a[0] + "/partitions.txt"); parts(); file(a[0] + "/messages.txt"); messages(); file(a[0] + "/splits.txt"); splits(); out.close();
  }
}
