"""Reads tables of a warehouse into canonical lines."""

import hashlib
import json
import re

from pypaimon import CatalogFactory
from pypaimon.schema.data_types import ArrayType, MapType, MultisetType, RowType

import canonical

_TERM = re.compile(r"\s*(\w+)\s*(=|!=|<=|>=|<|>|in\b|prefix\b|is not null|is null)\s*(.*?)\s*", re.IGNORECASE | re.DOTALL)
_COMPARE = {"=": "equal", "!=": "not_equal", "<": "less_than", "<=": "less_or_equal", ">": "greater_than",
            ">=": "greater_or_equal", "prefix": "startswith", "in": "is_in"}


def open_catalog(warehouse):
    return CatalogFactory.create({"warehouse": warehouse})


def open_table(warehouse, query):
    refuse(query, "timestamp", "kind", "splits")
    name = query["table"]
    if query.get("branch") not in (None, "main"):
        name += "$branch_" + query["branch"]
    if query.get("sys"):
        name += "$" + query["sys"]
    table = open_catalog(warehouse).get_table(name)
    options = dict(query.get("options") or {})
    for key, option in (("snapshot", "scan.snapshot-id"), ("tag", "scan.tag-name")):
        if query.get(key) is not None:
            options[option] = str(query[key])
    return table.copy(options) if options else table


def refuse(request, *keys):
    """What a request may ask of Java but not of pypaimon fails by name."""
    for key in keys:
        if request.get(key):
            raise NotImplementedError(f"pypaimon's peer does not know {key}")


def read(warehouse, query):
    """Returns the lines of all rows, sorted by their bytes, and the fields read."""
    table = open_table(warehouse, query)
    builder = table.new_read_builder()
    if query.get("project") is not None:
        builder = builder.with_projection(list(query["project"]))
    if query.get("filter"):
        builder = builder.with_filter(predicate(table, query["filter"]))
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return canonical.lines(rows), builder.read_type()


def check(warehouse, query):
    """Reads every snapshot in full: a broken one is an entry with an error, not the end."""
    snapshots = []
    for id in snapshot_ids(open_table(warehouse, query)):
        entry = {"snapshot": id}
        try:
            lines, _ = read(warehouse, {**query, "snapshot": id})
            entry.update(rows=len(lines), digest=digest(lines))
        except Exception as e:
            entry["error"] = f"{type(e).__name__}: {e}"
        snapshots.append(entry)
    return {"snapshots": snapshots, "rows": len(read(warehouse, query)[0])}


def digest(lines):
    """The SHA-256 of lines, each with its end."""
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def snapshot_ids(table):
    manager = table.snapshot_manager()
    latest = manager.get_latest_snapshot()
    if latest is None:
        return []
    ids = range(1, latest.id + 1)
    return [id for id in ids if table.file_io.exists(manager.get_snapshot_path(id))]


def predicate(table, text):
    """A scenario's filter: `col OP json` joined by AND."""
    types = {f.name: f.type for f in table.fields}
    b = table.new_read_builder().new_predicate_builder()
    terms = []
    for term in re.split(r"\s+and\s+", text, flags=re.IGNORECASE):
        m = _TERM.fullmatch(term)
        if m is None or m[1] not in types:
            raise ValueError("filter term: " + term)
        op = m[2].lower()
        if op == "is null":
            terms.append(b.is_null(m[1]))
        elif op == "is not null":
            terms.append(b.is_not_null(m[1]))
        else:
            literal = json.loads(m[3])
            values = canonical.values(literal if op == "in" else [literal], types[m[1]]).to_pylist()
            terms.append(getattr(b, _COMPARE[op])(m[1], values if op == "in" else values[0]))
    return terms[0] if len(terms) == 1 else b.and_predicates(terms)


def type_text(t):
    """A type as Java writes it."""
    if isinstance(t, ArrayType):
        text = f"ARRAY<{type_text(t.element)}>"
    elif isinstance(t, MultisetType):
        text = f"MULTISET<{type_text(t.element)}>"
    elif isinstance(t, MapType):
        text = f"MAP<{type_text(t.key)}, {type_text(t.value)}>"
    elif isinstance(t, RowType):
        text = "ROW<" + ", ".join(f"`{f.name}` {type_text(f.type)}" for f in t.fields) + ">"
    else:
        return str(t)
    return text if t.nullable else text + " NOT NULL"
