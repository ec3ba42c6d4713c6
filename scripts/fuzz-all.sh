#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME (default 3s).
#
#   scripts/fuzz-all.sh                      all packages
#   scripts/fuzz-all.sh ./internal/manifest  only these
#   scripts/fuzz-all.sh --plain              with the test binaries as they are: inputs are
#                                            changed blindly, but nothing is compiled anew
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

FUZZTIME=${FUZZTIME:-3s}
module=$(go list -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build=(go test -c -vet=off -fuzz .)
if [ "${1:-}" = --plain ]; then
  build=(go test -c -vet=off)
  shift
fi
if [ $# -gt 0 ]; then dirs=("$@"); else
  mapfile -t dirs < <(grep -rlE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' . | xargs -r -n 1 dirname | sort -u)
fi

# run TARGET runs one target of the test binary of the current folder.
run() {
  "$work/fuzz.test" -test.run '^$' -test.fuzz "^$1\$" -test.fuzztime "$FUZZTIME" \
    -test.fuzzcachedir "$work/cache" >"$work/log" 2>&1
}

count=0
for dir in "${dirs[@]}"; do
  dir=${dir#./}
  "${build[@]}" -o "$work/fuzz.test" "$module/$dir"
  mapfile -t targets < <(grep -hoE '^func Fuzz[A-Za-z0-9_]*\(' "$dir"/*_test.go | sed -E 's/^func //; s/\($//')
  for target in "${targets[@]}"; do
    printf '%s %s: ' "$dir" "$target"
    # The deadline can end a worker between two inputs, which the testing package
    # reports as a failure without an input: that alone is worth a second run.
    if ! (cd "$dir" && run "$target"); then
      if grep -q 'Failing input written' "$work/log" || ! grep -q 'context deadline exceeded' "$work/log" ||
        ! (cd "$dir" && run "$target"); then
        echo FAILED
        cat "$work/log"
        exit 1
      fi
    fi
    grep -oE 'execs: [0-9]+' "$work/log" | tail -n 1
    count=$((count + 1))
  done
done
if [ "$count" -eq 0 ]; then
  echo "No fuzz target found: the search in scripts/fuzz-all.sh is broken." >&2
  exit 1
fi
echo "$count fuzz targets, $FUZZTIME each"
