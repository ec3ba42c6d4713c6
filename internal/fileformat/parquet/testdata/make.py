"""Makes the files of other writers in this folder, and what they hold as
canonical JSON lines. Run with pyarrow and duckdb installed; see README.md."""

import datetime as dt
import decimal
import json

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

D = decimal.Decimal
N = 60


def canon(v):
    if isinstance(v, dict):
        return {k: canon(x) for k, x in v.items()}
    if isinstance(v, list):
        if v and isinstance(v[0], tuple):
            return sorted(([canon(k), canon(x)] for k, x in v), key=lambda p: json.dumps(p))
        return [canon(x) for x in v]
    if isinstance(v, D):
        return format(v, "f")
    if isinstance(v, bytes):
        return "hex:" + v.hex()
    if isinstance(v, dt.datetime):
        z = "Z" if v.tzinfo else ""
        v = v.replace(tzinfo=None)
        return "%04d-%02d-%02dT%02d:%02d:%02d" % v.timetuple()[:6] + frac(v.microsecond) + z
    if isinstance(v, dt.date):
        return v.isoformat()
    if isinstance(v, dt.time):
        return v.strftime("%H:%M:%S") + frac(v.microsecond // 1000 * 1000)
    return v


def frac(us):
    return ("." + "%06d" % us).rstrip("0") if us else ""


def lines(name, table):
    with open(name + ".jsonl", "w") as f:
        for row in table.to_pylist():
            f.write(json.dumps({k: canon(v) for k, v in row.items()}, separators=(",", ":"), ensure_ascii=False) + "\n")


def some(f, every=7):
    return [None if i % every == 3 else f(i) for i in range(N)]


utc = dt.timezone.utc
base = dt.datetime(1969, 12, 31, 23, 59, 58)
step = dt.timedelta(milliseconds=777)
fine = dt.timedelta(milliseconds=777, microseconds=11)

scalars = pa.table({
    "b": pa.array(some(lambda i: i % 3 == 0), pa.bool_()),
    "i8": pa.array(some(lambda i: i - 30), pa.int8()),
    "i16": pa.array(some(lambda i: i * 500 - 15000), pa.int16()),
    "i32": pa.array(some(lambda i: i * 70_000_000 - 2_000_000_000), pa.int32()),
    "i64": pa.array(some(lambda i: (i - 30) * 10**17), pa.int64()),
    "u8": pa.array(some(lambda i: i + 190), pa.uint8()),
    "u16": pa.array(some(lambda i: i * 1000 + 5000), pa.uint16()),
    "u32": pa.array(some(lambda i: i * 70_000_000), pa.uint32()),
    "f": pa.array(some(lambda i: i / 4 - 7), pa.float32()),
    "d": pa.array(some(lambda i: i / 8 - 3), pa.float64()),
    "s": pa.array(some(lambda i: "grün-%d" % (i // 5)), pa.string()),
    "ls": pa.array(some(lambda i: "x" * (i % 11)), pa.large_string()),
    "y": pa.array(some(lambda i: bytes([i, 255 - i])), pa.binary()),
    "fy": pa.array(some(lambda i: bytes([i, 0, 255 - i])), pa.binary(3)),
    "day": pa.array(some(lambda i: dt.date(1969, 12, 1) + dt.timedelta(days=i)), pa.date32()),
    "t32": pa.array(some(lambda i: dt.time(i % 24, i, 7, 123000)), pa.time32("ms")),
    "t64": pa.array(some(lambda i: dt.time(i % 24, i, 7, 123456)), pa.time64("us")),
    "ts_ms": pa.array(some(lambda i: base + i * step), pa.timestamp("ms")),
    "ts_us": pa.array(some(lambda i: base + i * fine), pa.timestamp("us")),
    "tz_us": pa.array(some(lambda i: (base + i * fine).replace(tzinfo=utc)), pa.timestamp("us", "UTC")),
    "dec9": pa.array(some(lambda i: D(i - 20) / 100), pa.decimal128(9, 2)),
    "dec18": pa.array(some(lambda i: D(i - 20) * 10**12 / 1000), pa.decimal128(18, 3)),
    "dec38": pa.array(some(lambda i: D(i - 20) * 10**30 / 10), pa.decimal128(38, 1)),
})
lines("pyarrow-scalars", scalars)

delta = {
    "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "i8": "DELTA_BINARY_PACKED", "i16": "DELTA_BINARY_PACKED",
    "s": "DELTA_BYTE_ARRAY", "ls": "DELTA_LENGTH_BYTE_ARRAY", "y": "DELTA_BYTE_ARRAY", "fy": "DELTA_BYTE_ARRAY",
    "f": "BYTE_STREAM_SPLIT", "d": "BYTE_STREAM_SPLIT", "b": "RLE", "ts_us": "DELTA_BINARY_PACKED", "dec38": "BYTE_STREAM_SPLIT",
}
pq.write_table(scalars, "pyarrow-scalars-v1.parquet", compression="snappy", row_group_size=25)
pq.write_table(scalars, "pyarrow-scalars-v2.parquet", compression="gzip", data_page_version="2.0", data_page_size=64, write_batch_size=8, write_page_index=True)
pq.write_table(scalars, "pyarrow-scalars-delta.parquet", compression="brotli", data_page_version="2.0", use_dictionary=False, column_encoding=delta)
pq.write_table(scalars, "pyarrow-scalars-split.parquet", compression="lz4", use_dictionary=False, store_decimal_as_integer=True,
               column_encoding={c: "BYTE_STREAM_SPLIT" for c in ["i32", "i64", "f", "d", "fy", "dec9", "dec18"]})
pq.write_table(scalars, "pyarrow-scalars-int96.parquet", compression="none", use_deprecated_int96_timestamps=True)

nested = pa.table({
    "l": pa.array(some(lambda i: [None if j == 1 else i * j for j in range(i % 4)]), pa.list_(pa.int32())),
    "ll": pa.array(some(lambda i: [[str(i)] * j for j in range(i % 3)]), pa.large_list(pa.list_(pa.string()))),
    "st": pa.array(some(lambda i: {"a": i if i % 2 else None, "b": {"c": "c%d" % i, "l": [i]}}),
                   pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("l", pa.list_(pa.int16()))]))])),
    "m": pa.array(some(lambda i: [("k%d" % j, i + j) for j in range(i % 3)]), pa.map_(pa.string(), pa.int32())),
    "lst": pa.array(some(lambda i: [{"x": j, "y": None if j else "y"} for j in range(i % 3)]),
                    pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]))),
})
lines("pyarrow-nested", nested)
pq.write_table(nested, "pyarrow-nested-v1.parquet", compression="zstd", use_compliant_nested_type=False)
pq.write_table(nested, "pyarrow-nested-v2.parquet", compression="snappy", data_page_version="2.0", data_page_size=50, write_batch_size=4, write_page_index=True)

con = duckdb.connect()
con.register("scalars", scalars)
con.register("nested", nested)
con.execute("SET TimeZone='UTC'")
con.execute("COPY (SELECT b, i8, i16, i32, i64, u8, u16, u32, f, d, s, ls, y, fy, day, t32, t64, ts_ms, ts_us, tz_us, dec9, dec18, dec38 FROM scalars) "
            "TO 'duckdb-scalars.parquet' (FORMAT parquet, COMPRESSION zstd)")
con.execute("COPY (SELECT * FROM scalars) TO 'duckdb-scalars-v2.parquet' (FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION v2)")
con.execute("COPY (SELECT l, ll, st, m, lst FROM nested) TO 'duckdb-nested.parquet' (FORMAT parquet, COMPRESSION snappy)")
