"""Carries out the operations of a scenario that pypaimon has."""

import json
import re

import pyarrow as pa
from pypaimon import Schema
from pypaimon.schema.data_types import (
    AtomicInteger, DataField, DataTypeParser, PyarrowFieldParser, reassign_field_id)

import canonical
import reading


def load(request):
    if "file" in request:
        with open(request["file"], encoding="utf-8") as f:
            return json.load(f)
    return request["scenario"]


def run(warehouse, scenario):
    """Returns the number of operations; raises at the first that fails or is not met."""
    for n, op in enumerate(scenario["ops"], 1):
        operation = _OPERATIONS.get(op["op"])
        if operation is None:
            raise NotImplementedError(f"op {n}: pypaimon's peer has no operation {op['op']}")
        try:
            operation(warehouse, {"table": scenario.get("table", "db.t"), **op})
        except Exception as e:
            raise RuntimeError(f"op {n} {op['op']} failed") from e
    return len(scenario["ops"])


def create_table(warehouse, op):
    catalog = reading.open_catalog(warehouse)
    catalog.create_database(op["table"].split(".")[0], True)
    ids = AtomicInteger(-1)
    fields = []
    for name, text, *comment in op["columns"]:
        id = ids.increment_and_get()  # before those of its nested fields
        fields.append(DataField(id, name, reassign_field_id(parse_type(text), ids), comment[0] if comment else None))
    schema = Schema(fields, op.get("partition_keys"), op.get("primary_keys"), op.get("options"), op.get("comment"))
    catalog.create_table(op["table"], schema, False)


def write(warehouse, op):
    """One batch commit. pypaimon knows other kinds than +I only through rowkind.field."""
    reading.refuse(
        op, "columns", "first_row_id", "bucket", "fixed_bucket", "compact", "properties", "watermark", "keep_writer")
    table = reading.open_table(warehouse, {"table": op["table"], "options": op.get("options")})
    kinds = {row[0] for row in op["rows"]}
    if kinds - {"+I"}:
        raise NotImplementedError(f"pypaimon cannot write rows of kind {sorted(kinds - {'+I'})}")
    columns = zip(*(row[1:] for row in op["rows"])) if op["rows"] else [[] for _ in table.fields]
    schema = PyarrowFieldParser.from_paimon_schema(table.fields)
    arrays = [canonical.values(c, f.type) for c, f in zip(columns, table.fields, strict=True)]
    builder = table.new_batch_write_builder()
    if op.get("overwrite") is not None:
        builder = builder.overwrite(op["overwrite"])
    writer, commit = builder.new_write(), builder.new_commit()
    try:
        writer.write_arrow(pa.Table.from_arrays(arrays, schema=schema))
        commit.commit(writer.prepare_commit())
    finally:
        writer.close()
        commit.close()


def expect(warehouse, op):
    table = reading.open_table(warehouse, op)
    types = {f.name: f.type for f in table.fields}
    names = op.get("project") or list(types)
    columns = zip(*op["rows"]) if op["rows"] else [[] for _ in names]
    arrays = [canonical.values(c, types[n]) for c, n in zip(columns, names, strict=True)]
    want = canonical.lines(pa.Table.from_arrays(arrays, names=names))
    got, _ = reading.read(warehouse, op)
    if want != got:
        missing = [line for line in want if line not in got][:4]
        extra = [line for line in got if line not in want][:4]
        raise AssertionError(f"want {len(want)} rows, got {len(got)}; missing {missing}; too many {extra}")


_OPERATIONS = {"create_table": create_table, "write": write, "expect": expect}


def parse_type(text):
    """A type such as MAP<STRING, ARRAY<INT NOT NULL>>, which pypaimon reads only in the form of schema files."""
    json_form, rest = _type(text.strip())
    if rest:
        raise ValueError(f"rest of type {text}: {rest}")
    return DataTypeParser.parse_data_type(json_form, AtomicInteger(-1))


def _type(s):
    """Returns the type at the start of s in the form of schema files, and what follows it."""
    head = re.match(r"(ARRAY|MULTISET|MAP|VECTOR|ROW)\s*<", s, re.IGNORECASE)
    if head is None:
        end = re.match(r"(?:\([^)]*\)|[^,>(])*", s).end()
        return s[:end].strip(), s[end:].lstrip()
    name = head[1].upper()
    rest = s[head.end():].lstrip()
    form = {}
    if name == "ROW":
        form["fields"] = []
        while True:
            field = re.match(r"`([^`]+)`|(\w+)", rest)
            type_form, rest = _type(rest[field.end():].lstrip())
            form["fields"].append({"name": field[1] or field[2], "type": type_form})
            if not rest.startswith(","):
                break
            rest = rest[1:].lstrip()
    elif name == "MAP":
        form["key"], rest = _type(rest)
        form["value"], rest = _type(rest.removeprefix(",").lstrip())
    else:
        form["element"], rest = _type(rest)
        if name == "VECTOR":
            length = re.match(r",\s*(\d+)\s*", rest)
            form["length"], rest = int(length[1]), rest[length.end():]
    if not rest.startswith(">"):
        raise ValueError(f"expected > at {rest} in type {s}")
    rest = rest[1:]
    not_null = re.match(r"\s*NOT\s+NULL", rest, re.IGNORECASE)
    if not_null:
        rest = rest[not_null.end():]
    form["type"] = name + (" NOT NULL" if not_null else "")
    if name in ("ROW", "MAP"):
        form["nullable"] = not not_null
    return form, rest.lstrip()
