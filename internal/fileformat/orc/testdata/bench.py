"""Makes a file for BenchmarkRead with the columns of the peers' benchmark.
Usage: python bench.py FILE; then TARN_ORC_FILE=FILE go test -bench Read."""

import decimal
import random
import sys

import pyarrow as pa
from pyarrow import orc

N = 500_000
r = random.Random(1)
table = pa.table({
    "k": pa.array((i * 3 for i in range(N)), pa.int64()),
    "seq": pa.array((r.randrange(1 << 40) for _ in range(N)), pa.int64()),
    "cat": pa.array(("category-%02d" % r.randrange(100) for _ in range(N)), pa.string()),
    "amt": pa.array((decimal.Decimal(r.randrange(1_000_000)).scaleb(-2) for _ in range(N)), pa.decimal128(12, 2)),
    "n": pa.array((r.randrange(1000) for _ in range(N)), pa.int32()),
    "d": pa.array((r.random() * 1000 if r.randrange(10) else None for _ in range(N)), pa.float64()),
    "h": pa.array(("%020x" % r.getrandbits(80) for _ in range(N)), pa.string()),
    "ts": pa.array((1_700_000_000_000 + i * 37 for i in range(N)), pa.timestamp("ms")),
    "day": pa.array((19_000 + r.randrange(365) for _ in range(N)), pa.int32()).cast(pa.date32()),
    "ok": pa.array((r.randrange(2) == 0 for _ in range(N)), pa.bool_()),
})
orc.write_table(table, sys.argv[1], compression="zstd", dictionary_key_size_threshold=0.8)
