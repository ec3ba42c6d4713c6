package org.tarnlake.judge;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;

/** One warehouse directory, opened without caches: others write into it between two requests. */
final class Warehouse implements AutoCloseable {
    final Path root;
    final Catalog catalog;
    /** Where Paimon spills. */
    final IOManager io;

    private final Path spill;

    Warehouse(String directory) throws Exception {
        root = Path.of(directory).toAbsolutePath();
        Options options = new Options();
        options.set("warehouse", root.toString());
        options.set("cache-enabled", "false");
        catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        spill = Files.createTempDirectory("tarn-judge");
        io = IOManager.create(spill.toString());
    }

    static Identifier identifier(String name) {
        int dot = name.indexOf('.');
        if (dot < 0) {
            throw new IllegalArgumentException("not database.table: " + name);
        }
        return Identifier.create(name.substring(0, dot), name.substring(dot + 1));
    }

    Table table(String name) throws Exception {
        return catalog.getTable(identifier(name));
    }

    /** A table of data files, not a system table. */
    FileStoreTable store(String name) throws Exception {
        return (FileStoreTable) table(name);
    }

    /** The line with this warehouse's place written as $WAREHOUSE, for comparing across machines. */
    String portable(String line) {
        return line.replace("file:" + root, "$WAREHOUSE").replace(root.toString(), "$WAREHOUSE");
    }

    @Override
    public void close() throws Exception {
        io.close();
        catalog.close();
        Files.deleteIfExists(spill);
    }
}
