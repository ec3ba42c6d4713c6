#!/usr/bin/env bash
# The contest between Tarn and its peers on this machine: Java Paimon, pypaimon with its Rust
# core, and DuckDB on the bare files. Prints one Markdown table; docs/performance.md says what is
# measured. Runs take minutes; the peers are installed once.
#
#   scripts/bench-peers.sh [SIZE [REPETITIONS [WORKLOAD...]]]   1m rows and 5 repetitions if not said
#
# A WORKLOAD is part of a title, such as upsert, append, merge, scan, look-up, tiny or commits, or lsm: all with
# demands on compaction, changelogs and merge engines (5m 5 lsm: about 45 minutes on 2 cores). TARN_CACHE is
# the cache folder (default ~/.cache/tarn); all goes into its folder contest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

size=${1:-1m} repetitions=${2:-5}
shift $(($# < 2 ? $# : 2))
work=${TARN_CACHE:-$HOME/.cache/tarn}/contest
mkdir -p "$work"

bash scripts/interop-env.sh >&2
lib=$(bash scripts/interop-env.sh --paths | sed -n 's/^classpath\t[^:]*://p')
pins=$(sha256sum bench/peers/requirements.txt | cut -c1-12)
venv=$work/venv-$pins
if [ ! -e "$venv/stamp" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r bench/peers/requirements.txt
  touch "$venv/stamp"
fi
javac -nowarn -d "$work/classes" -cp "$lib" bench/peers/Peer.java
go build -o "$work/" ./bench/tarnbench ./cmd/tarn

exec "$venv/bin/python" bench/peers/contest.py "$size" "$repetitions" "$work" "$work" "$venv/bin/python" "$work/classes:$lib" "$@"
