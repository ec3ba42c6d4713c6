"""DuckDB and pypaimon-native as contestants, and DuckDB as the reference.

peer.py NAME WORKLOAD SIZE DIR DATA [key=value ...], with the workloads and output of tarnbench.
pypaimon-native is pypaimon with its Rust core. DuckDB reads the data files of a table as they
are: no manifests and no merge, the floor of a reader.
"""

import json
import os
import resource
import sys
import time

name, workload, size, dir_, data = sys.argv[1:6]
settings = dict(a.split("=", 1) for a in sys.argv[6:])
rows = int(size.rstrip("km")) * {"k": 1_000, "m": 1_000_000}.get(size[-1], 1)
threads = int(settings.get("threads", 2))
iters = int(settings.get("iters", 3))
low, high = rows * 40 // 100, rows * 41 // 100


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


class Clock:
    def __init__(self):
        self.wall = self.cpu = 0.0

    def __enter__(self):
        self.since = time.perf_counter(), cpu()

    def __exit__(self, *_):
        self.wall += time.perf_counter() - self.since[0]
        self.cpu += cpu() - self.since[1]


def result(metric, variant, n, clock, **more):
    print("RESULT", json.dumps({"metric": metric, "variant": variant, "rows": n, "secs": clock.wall, "cpu": clock.cpu, **more}), flush=True)


def nth(i):
    return f"warm{i}" if i else "cold"


def keys(n):
    """The keys of package bench/rows."""
    mask = (1 << 64) - 1
    for i in range(77_000_000, 77_000_000 + n):
        z = (i * 16 + 42 * 1000003 + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) >> 1) % rows


def sums(t, kind):
    """What package bench/rows sums; not charged, the rows lie in an Arrow table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def total(a):
        return pc.sum(a).as_py() or 0

    out = {"n": t.num_rows, "id": total(t["id"]), "amt": int(total(t["amount"]) * 100)}
    if kind == "two":
        return out
    first = pc.value_counts(pc.binary_slice(t["note"].cast(pa.binary()), 0, 1))
    return out | {
        "seq": total(t["seq"]), "st": total(pc.utf8_slice_codeunits(t["status"], 7, 9).cast(pa.int64())), "qty": total(t["qty"]),
        "pnull": t["price"].null_count, "price": round(total(t["price"]), 1),
        "note": sum(v["values"].as_py()[0] * v["counts"].as_py() for v in first),
        "ts": total(t["ts"].cast(pa.timestamp("ms")).cast(pa.int64())), "d": total(t["d"].cast(pa.int32()).cast(pa.int64())), "flag": total(t["flag"]),
    }


def scans(read):
    for kind in settings.get("kinds", "full,two,range").split(","):
        for i in range(iters):
            clock = Clock()
            with clock:
                t = read(kind)
            result(kind, nth(i), t.num_rows, clock, threads=threads, check=sums(t, kind))


def lookups(read):
    for variant in ("cold", "warm"):
        each, n, seq = [], 0, 0
        for key in keys(int(settings.get("q", 100))):
            clock = Clock()
            with clock:
                found = read(key)
            each.append(clock.wall * 1e3)
            n, seq = n + len(found), seq + sum(found)
        total = Clock()
        total.wall = sum(each) / 1e3
        s = sorted(each)
        result("lookup", variant, len(s), total, first_ms=each[0], p50_ms=s[len(s) // 2], p99_ms=s[min(len(s) * 99 // 100, len(s) - 1)],
               min_ms=s[0], max_ms=s[-1], check={"n": n, "seq": seq})


SUMS = """select count(*)::bigint n, sum(id)::bigint id, sum(seq)::bigint seq, sum(right(status, 2)::int)::bigint st,
  (sum(amount) * 100)::bigint amt, sum(qty)::bigint qty, count(*) filter (price is null)::bigint pnull, round(sum(price), 1) price,
  sum(ascii(note))::bigint note, sum(epoch_ms(ts))::bigint ts, sum(d - date '1970-01-01')::bigint d, count(*) filter (flag)::bigint flag from """
NEWEST = "(select * from read_parquet('{}') qualify row_number() over (partition by id order by seq desc) = 1)"

# The tables of other merge engines, see buildEngines of Peer.java: rows of base and updates, and which
# columns an update leaves null. seq grows with age, and is never null.
ENGINES = """create table layers as select *, case when seq < {base} then 4 else seq % 4 end part
  from read_parquet('{data}/mor_*.parquet')"""


def newest(column, parts):
    return f"arg_max({column}, seq) filter ({column} is not null and part in {parts}) {column}"


MERGED = {
    "partial": "select id, max(seq) seq, " + ", ".join(
        [newest(c, "(0, 3, 4)") for c in ("status", "amount", "qty")] + [newest(c, "(1, 3, 4)") for c in ("price", "note")] +
        [newest(c, "(2, 3, 4)") for c in ("ts", "d", "flag")]),
    "groups": "select id, max(seq) seq, " + ", ".join(f"arg_max({c}, seq) {c}" for c in ("status", "amount", "qty")) + "".join(
        f", (arg_max({{'v': {c}}}, {{'ts': ts, 'seq': seq}}) filter (part <> 0))['v'] {c}" for c in ("price", "note", "ts", "d", "flag")),
    "aggregation": "select id, max(seq) seq, arg_max(status, seq) status, sum(amount) amount, sum(qty) qty, max(price) price, min(note) note, "
                   "max(ts) ts, min(d) d, bool_or(flag) flag",
}


def reference(con):
    """What the rows sum up to, from the files that tarnbench made."""

    def total(source):
        r = con.execute(SUMS + source)
        return dict(zip([c[0] for c in r.description], r.fetchone()))

    con.execute("create table mor as from " + NEWEST.format(f"{data}/mor_*.parquet"))
    con.execute(ENGINES.format(data=data, base=20_000_000_000))
    found = {name: total(f"({query} from layers group by id)") for name, query in MERGED.items()}
    found |= {
        "append": total(f"read_parquet('{data}/batch_*.parquet')"), "upsert": total(NEWEST.format(f"{data}/batch_*.parquet")),
        "mor": total("mor"),
    }
    found["partitions"] = found["upsert"] | {"p": con.execute(f"select sum(id % 200)::bigint from {NEWEST.format(f'{data}/batch_*.parquet')}").fetchone()[0]}
    ranges = {"mor": "mor"} | {name: f"({query} from layers group by id)" for name, query in MERGED.items()}
    found |= {f"{name} range": total(f"(from {source} where id >= {low} and id < {high})") for name, source in ranges.items()}
    # Each commit tells of a key once: what it was and is, or only what it is.
    found["changes"] = con.execute(f"""select 2 * (select count(*) from (select distinct filename, id from read_parquet('{data}/batch_*.parquet', filename=true)))
        - (select count(distinct id) from read_parquet('{data}/batch_*.parquet'))""").fetchone()[0]
    with open(f"{data}/reference.json", "w") as f:
        json.dump(found, f, default=float)


def duckdb_peer():
    import duckdb

    con = duckdb.connect()
    con.execute(f"set threads={threads}")
    if workload == "reference":
        reference(con)
        return
    if workload == "compact":
        compact(con)
        return
    if workload == "tiny-query":  # an answer as tarn sql -o csv prints it
        con.sql(f"{settings['query']} '{dir_}/b.db/tiny/**/*.parquet'").write_csv("/dev/stdout")
        return
    with open(f"{dir_}/{settings.get('table', 'comp')}.files") as f:
        source = f"read_parquet({f.read().split()})"
    columns = "id,seq,status,amount,qty,price,note,ts,d,flag"
    if workload == "scan":
        scans(lambda kind: con.sql("select {} from {}{}".format(
            "id, amount" if kind == "two" else columns, source, f" where id >= {low} and id < {high}" if kind == "range" else "")).to_arrow_table())
    elif workload == "lookup":
        lookups(lambda key: [r[1] for r in con.execute(f"select {columns} from {source} where id = {key}").fetchall()])
    else:
        sys.exit(f"duckdb does not take part in {workload}")


def compact(con):
    """What is left of a full compaction without levels and manifests: the newest row of each key to one file."""
    with open(f"{dir_}/{settings.get('table', 'mor')}.files") as f:
        source = f"read_parquet({f.read().split()})"
    order = " order by id" if settings.get("sorted") == "true" else ""
    out = f"{dir_}/compacted.parquet"
    for i in range(iters):
        clock = Clock()
        with clock:
            con.execute(f"""copy (from {source} qualify row_number() over (partition by id order by "_SEQUENCE_NUMBER" desc) = 1{order})
                to '{out}' (format parquet, compression zstd, compression_level 1)""")
        con.execute(SUMS + f"read_parquet('{out}')")
        found = dict(zip([c[0] for c in con.description], con.fetchone()))
        result("compact", nth(i), rows, clock, wbytes=os.path.getsize(out), check={k: float(v) if k == "price" else int(v) for k, v in found.items()})


def paimon_peer():
    from pypaimon import CatalogFactory, Schema

    native = {"read.native.enabled": "true", "write.native.enabled": "true", "commit.native.enabled": "true"}
    catalog = CatalogFactory.create({"warehouse": dir_})

    def read(table, columns=None, where=None):
        builder = table.new_read_builder()
        if columns:
            builder = builder.with_projection(columns)
        if where:
            builder = builder.with_filter(where(builder.new_predicate_builder()))
        return builder.new_read().to_arrow(builder.new_scan().plan().splits(), parallelism=threads)

    if workload == "ingest":
        ingest(catalog, Schema, native)
        return
    clock = Clock()
    with clock:
        table = catalog.get_table("b." + ("tiny" if workload == "tiny-read" else settings.get("table", "comp"))).copy(native)
        if workload == "tiny-read":
            t = read(table)
    if workload == "tiny-read":
        result("tiny-read", "in-process", t.num_rows, clock)
    elif workload == "lookup":
        lookups(lambda key: read(table, where=lambda p: p.equal("id", key)).column("seq").to_pylist())
    elif workload == "scan":
        scans(lambda kind: read(table, ["id", "amount"] if kind == "two" else None,
                                (lambda p: p.and_predicates([p.greater_or_equal("id", low), p.less_than("id", high)])) if kind == "range" else None))


def ingest(catalog, schema_class, native):
    import pyarrow as pa
    import pyarrow.parquet as pq

    keyed = settings.get("pk", "true") == "true"
    catalog.create_database("b", True)
    first = pq.read_schema(f"{data}/batch_00.parquet")
    schema = pa.schema([pa.field(f.name, f.type, not (keyed and f.name == "id")) for f in first])
    for it in range(int(settings.get("iters", 2))):
        table_name = f"b.ingest{it}"
        catalog.drop_table(table_name, True)
        options = {"bucket": "2", "write-only": "true"} if keyed else {"bucket": "-1"}
        catalog.create_table(table_name, schema_class.from_pyarrow_schema(schema, primary_keys=["id"] if keyed else None, options=options), False)
        table = catalog.get_table(table_name).copy(native)
        clock = Clock()
        for b in range(10):
            batch = pq.read_table(f"{data}/batch_{b:02d}.parquet").cast(schema)
            with clock:
                builder = table.new_batch_write_builder()
                write, commit = builder.new_write(), builder.new_commit()
                write.write_arrow(batch)
                commit.commit(write.prepare_commit())
                write.close()
                commit.close()
        result("ingest", "warm" if it else "cold", rows, clock)


if name == "duckdb":
    duckdb_peer()
else:
    paimon_peer()
