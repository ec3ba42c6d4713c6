// Prints commit messages and splits of a small key table with any release's public API; see README.md.
import org.apache.paimon.catalog.*;
import org.apache.paimon.data.*;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataOutputViewStreamWrapper;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.DataTypes;
import java.io.*;
import java.util.*;

public class OlderReleases {
  static String hex(byte[] b) { StringBuilder s = new StringBuilder(); for (byte x : b) s.append(String.format("%02x", x)); return s.toString(); }

  static String names(List<org.apache.paimon.io.DataFileMeta> files) {
    StringJoiner j = new StringJoiner(",");
    for (org.apache.paimon.io.DataFileMeta f : files) j.add(f.fileName() + ":" + f.rowCount() + ":" + f.schemaId() + ":" + f.level() + ":" + f.maxSequenceNumber());
    return j.toString();
  }

  static String files(CommitMessage message) {
    CommitMessageImpl m = (CommitMessageImpl) message;
    return m.bucket() + "|" + names(m.newFilesIncrement().newFiles()) + "|" + names(m.compactIncrement().compactBefore()) + "|" + names(m.compactIncrement().compactAfter());
  }

  public static void main(String[] args) throws Exception {
    Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(new Path(args[1])));
    catalog.createDatabase("db", true);
    Identifier id = Identifier.create("db", "t");
    catalog.createTable(id, Schema.newBuilder().column("p", DataTypes.STRING()).column("k", DataTypes.INT()).column("v", DataTypes.STRING())
      .partitionKeys("p").primaryKey("p", "k").option("bucket", "2").option("file.format", "avro").option("deletion-vectors.enabled", "true").build(), false);
    Table table = catalog.getTable(id);
    for (int commit = 1; commit <= 3; commit++) {
      StreamWriteBuilder builder = table.newStreamWriteBuilder().withCommitUser("u");
      try (StreamTableWrite write = builder.newWrite(); StreamTableCommit c = builder.newCommit()) {
        write.withIOManager(new org.apache.paimon.disk.IOManagerImpl(args[1] + "/tmp"));
        for (int k = 0; k < 40; k += commit) write.write(GenericRow.of(BinaryString.fromString("a"), k, BinaryString.fromString("value " + (k + commit))));
        List<CommitMessage> messages = write.prepareCommit(true, commit);
        for (CommitMessage m : messages) {
          CommitMessageSerializer s = new CommitMessageSerializer();
          System.out.println(args[0] + "\tmessage\t" + s.getVersion() + "\t" + hex(s.serialize(m)) + "\t" + files(m));
        }
        c.commit(commit, messages);
      }
    }
    for (Split split : table.newReadBuilder().newScan().plan().splits()) {
      ByteArrayOutputStream o = new ByteArrayOutputStream();
      ((DataSplit) split).serialize(new DataOutputViewStreamWrapper(o));
      System.out.println(args[0] + "\tsplit\t0\t" + hex(o.toByteArray()) + "\t" + ((DataSplit) split).bucket() + "|" + names(((DataSplit) split).dataFiles()));
    }
  }
}
