#!/usr/bin/env bash
# Runs the test groups in sequence, stops at the first that fails, and prints the
# time of each.
#
#   scripts/test-groups.sh            all groups but those that run by name only
#   scripts/test-groups.sh lint race  only these, in the given order
#   scripts/test-groups.sh --list     their names
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2
GROUPS_ALL=(lint unit nocgo race cross demo interop)

# Packages whose tests take longest. Named before all others they begin first, and no
# core waits at the end for one that began last.
SLOW=(./sim ./internal/commit ./tarnsql ./internal/fileformat/parquet ./table/paimon ./internal/cli .)

# core lists the packages that must work without cgo: all but the SQL layer.
core() { go list "${SLOW[@]}" ./... | grep -v '/tarnsql\(/\|$\)'; }

# The core without what shows or measures it, which need not run on other systems.
elsewhere() { core | grep -v '/\(examples\|bench\|interop\)/'; }

# Nothing of what is built for other systems runs, so nothing is optimised.
PLAIN='-gcflags=all=-N -l'

# scratch makes a folder $out that goes away with this process.
scratch() {
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
}

# vet, gofmt and the house rules. Compilers and linters need little memory, and a sixth
# of their time to keep that so: they collect garbage less often.
group_lint() {
  local files
  export GOGC=400
  files=$(gofmt -l .)
  if [ -n "$files" ]; then
    printf 'Not formatted (mend with gofmt -w):\n%s\n' "$files" >&2
    return 1
  fi
  go vet -tags interop,interopall ./...
  env -u GOGC go test ./internal/lint
}

# What staticcheck says, and vet of the core and its tests for the system that differs most:
# the others share their files with it or with this one. Both read all dependencies first, on
# a new machine for minutes: by name only, as CI and `make lint` do.
group_checks() {
  export GOGC=400
  go run "$STATICCHECK" -tags interop,interopall ./...
  GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet "$PLAIN" -tags noarrowgo $(elsewhere)
}

# All packages as the binary is built, with cgo. Prints how often the metamorphic suite
# has reached the pairs of option values.
# The vet that go test makes by itself is off in all groups: lint has made a fuller one.
group_unit() {
  scratch
  CGO_ENABLED=1 TARN_TEST_PAIRS="$out/pairs" go test -timeout 30m -vet=off "${SLOW[@]}" ./...
  cat "$out/pairs"
}

# The core without cgo: every test, of random cases fewer than unit has run.
group_nocgo() {
  local pkgs
  pkgs=$(core)
  CGO_ENABLED=0 go test -timeout 30m -vet=off -short $pkgs
}

# The core under the race detector, with the assertions of docs/invariants.md on, without
# the programs, which link DuckDB. Every test, too, of random cases fewer. A process with
# the detector sleeps a second before it ends, lest a report of another thread is lost;
# the tests start hundreds of them. What arrow-go makes of our Parquet files (noarrowgo) is
# no question of threads, but much to compile.
group_race() {
  local pkgs detecting=(-race -tags invariants,noarrowgo)
  pkgs=$(core | grep -v '/\(internal/cli\|examples\|bench\|cmd\)\(/\|$\)')
  # Compiled first, as in lint: what runs collects its garbage as ever.
  GOGC=400 CGO_ENABLED=1 go list -export -test "${detecting[@]}" $pkgs >/dev/null
  GORACE="atexit_sleep_ms=20 ${GORACE:-}" CGO_ENABLED=1 go test -timeout 30m -vet=off -short "${detecting[@]}" $pkgs
}

# Builds the core for systems other than this one, the tarn command up to its binary.
# go list -export compiles as go build does, and links no program.
group_cross() {
  local target pkgs
  export GOGC=400 # as in lint
  scratch
  pkgs=$(elsewhere)
  for target in darwin/arm64 windows/amd64 linux/arm64; do
    echo "building for $target"
    GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go list -export "$PLAIN" $pkgs >"$out/built"
    GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go build "$PLAIN" -o "$out/" ./cmd/...
  done
}

# Every program under examples/, the demo among them, in an empty folder of its own, what
# the demo says to one who takes the tour, and what the README asks of its warehouse.
group_demo() {
  local dir told
  scratch
  for dir in examples/*/; do
    echo "running $dir"
    mkdir "$out/tmp"
    TMPDIR="$out/tmp" go run "./$dir" | tee "$out/printed"
    if [ "$dir" = examples/demo/ ]; then
      for told in ' upserted [1-9][0-9]* rows in [0-9.]* s: [1-9][0-9]* rows/s' '^Peak memory .*: [1-9][0-9]* MiB' \
        '^What to try next$' '^  go run ./cmd/tarn sql '; do
        grep -q "$told" "$out/printed" || { echo "The demo does not print: $told" >&2; return 1; }
      done
      TARN_DEMO_LAKE=$(echo "$out"/tmp/tarn-demo-*/lake) go test -vet=off -run TestReadmeDemo ./internal/cli
    fi
    rm -rf "$out/tmp"
  done
}

# Round trips with Java Paimon and pypaimon. What Tarn does alone in the same tests unit
# has run.
group_interop() {
  bash scripts/interop-env.sh
  go test -timeout 30m -vet=off -tags interop -count=1 -skip '^TestGoldenScenarios$' ./interop/...
}

# SQL of Flink with Paimon, which takes more to install and to run than the others: by
# name only, as CI does.
group_interop-all() {
  bash scripts/interop-env.sh flink
  go test -timeout 30m -vet=off -tags interopall -count=1 ./interop/flink/...
}

# A short run of every fuzz target, by name only: it draws other inputs each time, and a
# run of all groups tells of a change, not of luck. What was found once is a seed, which
# unit runs. Guided fuzzing is `make fuzz`: it has to compile all dependencies anew.
group_fuzz() { FUZZTIME=1s bash scripts/fuzz-all.sh --plain; }

report() {
  local i total=0
  echo
  printf '%-12s %8s  %s\n' group seconds result
  for i in "${!names[@]}"; do
    printf '%-12s %8d  %s\n' "${names[i]}" "${seconds[i]}" "${results[i]}"
    total=$((total + seconds[i]))
  done
  printf '%-12s %8d\n' total "$total"
}

case "${1:-}" in
  --list)
    printf '%s\n' "${GROUPS_ALL[@]}"
    exit 0
    ;;
  --in-process) # one group in a process of its own: errexit holds inside it
    "group_$2"
    exit 0
    ;;
esac

if [ $# -gt 0 ]; then todo=("$@"); else todo=("${GROUPS_ALL[@]}"); fi
for name in "${todo[@]}"; do
  if ! declare -F "group_$name" >/dev/null; then
    echo "There is no test group '$name'. Groups: ${GROUPS_ALL[*]}" >&2
    exit 2
  fi
done

# Each group, and the fetch, is a process group of its own, so that a signal to this
# process alone ends all of them.
stop() {
  trap '' INT TERM
  local group
  for group in $(jobs -rp); do
    kill -- "-$group" || true
    wait "$group" || true
  done 2>/dev/null
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What these groups need comes over the network, meanwhile: the groups install only what
# is missing then, and say what is wrong.
fetch=
if [[ ${todo[0]} != interop* && " ${todo[*]}" == *" interop"* ]]; then
  set -m
  {
    [[ " ${todo[*]} " != *" interop "* ]] || bash scripts/interop-env.sh || true
    [[ " ${todo[*]} " != *" interop-all "* ]] || bash scripts/interop-env.sh flink
  } >/dev/null 2>&1 &
  fetch=$!
  set +m
fi
fetched() {
  [ -z "$fetch" ] || wait "$fetch" || true
  fetch=
}

names=() seconds=() results=()
for name in "${todo[@]}"; do
  printf '\n== %s\n' "$name"
  names+=("$name")
  begin=$SECONDS
  status=0
  [[ $name != interop* ]] || fetched
  set -m
  bash scripts/test-groups.sh --in-process "$name" &
  set +m
  wait $! || status=$?
  seconds+=($((SECONDS - begin)))
  if [ "$status" -ne 0 ]; then
    results+=("FAILED")
    report
    printf '\nTest group %s failed (exit code %d). Run it alone: scripts/test-groups.sh %s\n' "$name" "$status" "$name" >&2
    exit 1
  fi
  results+=("ok")
done
report
