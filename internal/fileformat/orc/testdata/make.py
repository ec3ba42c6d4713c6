"""Makes the ORC files of pyarrow in this folder, and what they hold as canonical
JSON lines. Run with pyarrow installed; see README.md."""

import datetime as dt
import decimal
import json

import pyarrow as pa
from pyarrow import orc

D = decimal.Decimal
N = 150


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
    return v


def frac(us):
    return ("." + "%06d" % us).rstrip("0") if us else ""


def lines(name, table):
    with open(name + ".jsonl", "w") as f:
        for row in table.to_pylist():
            f.write(json.dumps({k: canon(v) for k, v in row.items()}, separators=(",", ":"), ensure_ascii=False) + "\n")


def some(f, every=7):
    return [None if i % every == 3 else f(i) for i in range(N)]


def mixed(i):
    """Small numbers, long runs of one, a steady climb, and a few huge ones."""
    if i < 40:
        return 7
    if i < 80:
        return -100 + 3 * i
    return (i * 7919) % 97 - 40 + (1 << 50 if i % 23 == 0 else 0)


utc = dt.timezone.utc
base = dt.datetime(1969, 11, 30, 23, 59, 58)
step = dt.timedelta(days=3, milliseconds=777, microseconds=11)

scalars = pa.table({
    "id": pa.array(range(N), pa.int64()),
    "b": pa.array(some(lambda i: i % 3 == 0), pa.bool_()),
    "i8": pa.array(some(lambda i: i - 75), pa.int8()),
    "i16": pa.array(some(lambda i: i * 400 - 30000), pa.int16()),
    "i32": pa.array(some(lambda i: -(1 << 31) + i * 28000000), pa.int32()),
    "i64": pa.array(some(mixed), pa.int64()),
    "f": pa.array(some(lambda i: i * 0.25 - 7), pa.float32()),
    "d": pa.array(some(lambda i: i * 1.5 + 0.125), pa.float64()),
    "s": pa.array(some(lambda i: "grün-%d" % i), pa.string()),
    "few": pa.array(some(lambda i: "wort" * (i % 5)), pa.string()),
    "y": pa.array(some(lambda i: bytes(range(i % 9))), pa.binary()),
    "day": pa.array(some(lambda i: dt.date(1, 1, 1) + dt.timedelta(days=i * 24000)), pa.date32()),
    "ts": pa.array(some(lambda i: base + i * step), pa.timestamp("us")),
    "tz": pa.array(some(lambda i: (base + i * step).replace(tzinfo=utc)), pa.timestamp("us", "UTC")),
    "dec9": pa.array(some(lambda i: D(i * 31 - 2000).scaleb(-2)), pa.decimal128(9, 2)),
    "dec38": pa.array(some(lambda i: D((i - 75) * 10**36 + i).scaleb(-1)), pa.decimal128(38, 1)),
    "none": pa.array([None] * N, pa.int32()),
    "full": pa.array(range(N), pa.int32()),
})

nested = pa.table({
    "l": pa.array(some(lambda i: [None if k == 2 else i * k for k in range(i % 5)]), pa.list_(pa.int32())),
    "ll": pa.array(some(lambda i: [None if k == 1 else ["a%d" % j for j in range(k)] for k in range(i % 4)]), pa.list_(pa.list_(pa.string()))),
    "st": pa.array(
        some(lambda i: {"a": i, "b": None if i % 4 == 1 else {"c": "x%d" % i, "l": [i, None, i + 1][: i % 4]}}),
        pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("l", pa.list_(pa.int16()))]))])),
    "m": pa.array(some(lambda i: [("k%d" % k, None if k == 1 else k * i) for k in range(i % 3)]), pa.map_(pa.string(), pa.int32())),
    "lst": pa.array(
        some(lambda i: [None if k == 1 else {"x": k, "y": "y%d" % i, "ok": None if k == 2 else k % 2 == 0} for k in range(i % 4)]),
        pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string()), ("ok", pa.bool_())]))),
})

lines("scalars", scalars)
lines("nested", nested)
small = dict(compression_block_size=1 << 16, batch_size=50)
for codec in ["uncompressed", "zlib", "snappy", "lz4", "zstd"]:
    name = {"uncompressed": "none"}.get(codec, codec)
    orc.write_table(scalars, "scalars-%s.orc" % name, compression=codec, **small)
orc.write_table(scalars, "scalars-stripes.orc", compression="uncompressed", stripe_size=1, row_index_stride=10, **small)
orc.write_table(scalars, "scalars-dictionary.orc", compression="zlib", dictionary_key_size_threshold=1.0, row_index_stride=40, **small)
orc.write_table(scalars, "scalars-0.11.orc", compression="zlib", file_version="0.11", dictionary_key_size_threshold=1.0, **small)
orc.write_table(nested, "nested-zstd.orc", compression="zstd", **small)
orc.write_table(nested, "nested-stripes.orc", compression="uncompressed", stripe_size=1, row_index_stride=10, **small)
orc.write_table(nested, "nested-0.11.orc", compression="snappy", file_version="0.11", **small)
