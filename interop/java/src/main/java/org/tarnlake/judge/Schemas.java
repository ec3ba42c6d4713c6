package org.tarnlake.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;

/** Creating, altering, renaming and dropping tables. */
final class Schemas {
    private final Warehouse warehouse;

    Schemas(Warehouse warehouse) {
        this.warehouse = warehouse;
    }

    void create(String table, JsonNode op) throws Exception {
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode c : op.get("columns")) {
            schema.column(c.get(0).asText(), TypeText.parse(c.get(1).asText()), c.size() > 2 ? c.get(2).asText() : null);
        }
        schema.primaryKey(Json.texts(op.path("primary_keys")));
        schema.partitionKeys(Json.texts(op.path("partition_keys")));
        schema.options(Json.map(op.path("options")));
        schema.comment(Json.text(op, "comment"));
        Identifier id = Warehouse.identifier(table);
        warehouse.catalog.createDatabase(id.getDatabaseName(), true);
        warehouse.catalog.createTable(id, schema.build(), false);
    }

    void alter(String table, JsonNode changes) throws Exception {
        List<SchemaChange> list = new ArrayList<>();
        for (JsonNode c : changes) {
            String name = c.fieldNames().next();
            list.add(change(name, c.get(name)));
        }
        warehouse.catalog.alterTable(Warehouse.identifier(table), list, false);
    }

    void rename(String table, String to) throws Exception {
        warehouse.catalog.renameTable(Warehouse.identifier(table), Warehouse.identifier(to), false);
    }

    void drop(String table) throws Exception {
        warehouse.catalog.dropTable(Warehouse.identifier(table), false);
    }

    private static SchemaChange change(String name, JsonNode v) {
        return switch (name) {
            case "add_column" -> addColumn(v);
            case "rename_column" -> SchemaChange.renameColumn(path(v.get(0)), v.get(1).asText());
            case "drop_column" -> SchemaChange.dropColumn(path(v));
            case "update_type" -> SchemaChange.updateColumnType(path(v.get(0)), TypeText.parse(v.get(1).asText()), false);
            case "nullability" -> SchemaChange.updateColumnNullability(path(v.get(0)), v.get(1).asBoolean());
            case "move" -> SchemaChange.updateColumnPosition(move(v, Json.need(v, "column")));
            case "set_option" -> SchemaChange.setOption(v.get(0).asText(), v.get(1).asText());
            case "remove_option" -> SchemaChange.removeOption(v.asText());
            case "comment" -> SchemaChange.updateComment(v.asText());
            case "column_comment" -> SchemaChange.updateColumnComment(path(v.get(0)), v.get(1).asText());
            case "default_value" -> SchemaChange.updateColumnDefaultValue(path(v.get(0)), v.get(1).asText());
            default -> throw new UnsupportedOperationException("schema change " + name);
        };
    }

    private static SchemaChange addColumn(JsonNode v) {
        String[] path = path(v.get("name"));
        SchemaChange.Move move = v.hasNonNull("first") || v.hasNonNull("after") ? move(v, path[path.length - 1]) : null;
        return SchemaChange.addColumn(path, TypeText.parse(Json.need(v, "type")), Json.text(v, "comment"), move);
    }

    private static SchemaChange.Move move(JsonNode v, String column) {
        if (v.hasNonNull("after")) {
            return SchemaChange.Move.after(column, v.get("after").asText());
        }
        if (v.hasNonNull("before")) {
            return SchemaChange.Move.before(column, v.get("before").asText());
        }
        return v.hasNonNull("first") ? SchemaChange.Move.first(column) : SchemaChange.Move.last(column);
    }

    /** A column by name, or a nested one as the list of names that leads to it. */
    private static String[] path(JsonNode n) {
        return n.isArray() ? Json.texts(n).toArray(new String[0]) : new String[] {n.asText()};
    }
}
