#!/usr/bin/env bash
# Packs a folder of golden tables (one sub-folder each, see testdata/README.md) into
# testdata/golden.tar.zst. The same input gives the same bytes. Needs GNU tar and zstd.
#
#   scripts/pack-golden.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source=${1:?"usage: scripts/pack-golden.sh FOLDER"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Files of a kind side by side compress best.
(cd "$source" && find . -mindepth 2 -type f -printf '%P\n') | awk '{
  kind = "9"
  if (/\.parquet$/) kind = "1"
  else if (/\.orc$/) kind = "2"
  else if (/manifest-list/) kind = "4"
  else if (/\/manifest\//) kind = "3"
  else if (/\/schema-/) kind = "5"
  else if (/\/snapshot-/) kind = "6"
  else if (/\.jsonl$/) kind = "7"
  print kind "\t" $0
}' | LC_ALL=C sort | cut -f 2 >"$work/list"

tar --format=gnu --no-recursion -C "$source" --verbatim-files-from -T "$work/list" \
  --mtime='2026-01-01 00:00Z' --owner=0 --group=0 --numeric-owner --mode='u=rw,go=r' -cf "$work/golden.tar"
zstd --ultra -22 --long=27 -q -f "$work/golden.tar" -o testdata/golden.tar.zst
echo "$(wc -l <"$work/list") files, $(stat -c %s testdata/golden.tar.zst) bytes in testdata/golden.tar.zst"
