"""The contest: contest.py SIZE REPETITIONS WORK BIN PYTHON CLASSPATH [WORKLOAD ...].

BIN is the folder of tarnbench and tarn.

Runs every contestant of each workload in a process of its own, interleaved (repetition 1 of all,
then 2 of all, …), checks what they print against sums by DuckDB, has every table written read back
by Java, keeps the raw lines, and prints one Markdown table. scripts/bench-peers.sh calls it.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

size, repetitions, work, binaries, python, classpath = sys.argv[1:7]
tarnbench = f"{binaries}/tarnbench"
here = os.path.dirname(os.path.abspath(__file__))
data, tables, scratch = f"{work}/data-{size}", f"{work}/tables-{size}", f"{work}/scratch"
n = int(size.rstrip("km")) * {"k": 1_000, "m": 1_000_000}.get(size[-1], 1)

def java(workload, *more, size=size):
    return ["java", "-Xmx4g", f"-Djava.io.tmpdir={scratch}", "-cp", classpath, "Peer", workload, size, *more]


QUERY = "SELECT count(*), sum(amount), min(status), max(note) FROM"


def tarn(workload, where, *more, size=size):
    if workload == "tiny-query":
        return [f"{binaries}/tarn", "sql", "-w", where, "-o", "csv", "-c", f"{QUERY} b.tiny"]
    return [tarnbench, workload, size, where, *more]


# Contestants and, of each workload, the metrics that the table shows.
CONTESTANTS = {
    "tarn": tarn,
    "java": java,
    "pypaimon-native": lambda w, *more: [python, f"{here}/peer.py", "pypaimon-native", w, size, *more],
    "duckdb, files only": lambda w, *more: [python, f"{here}/peer.py", "duckdb", w, size, *more],
    "duckdb, sorted": lambda w, *more: [python, f"{here}/peer.py", "duckdb", w, size, *more, "sorted=true"],
}
WORKLOADS = {  # title: workload, its settings, reference, who takes part
    "upsert ingest, write-only": ("ingest", ["mode=writeonly"], "upsert", ["tarn", "java", "pypaimon-native"]),
    "upsert ingest, compaction beside": ("ingest", ["mode=stream"], "upsert", ["tarn", "java"]),
    "upsert ingest, lookup changelog": ("ingest", ["mode=stream", "changelog=lookup"], "upsert", ["tarn", "java"]),
    "append ingest": ("ingest", ["pk=false"], "append", ["tarn", "java", "pypaimon-native"]),
    "merge-on-read, 2 threads": ("scan", ["table=mor", "threads=2"], "mor", ["tarn", "java", "pypaimon-native"]),
    "partial-update scan, 2 threads": ("scan", ["table=partial", "threads=2"], "partial", ["tarn", "java"]),
    "partial-update scan with sequence groups, 2 threads": ("scan", ["table=groups", "threads=2"], "groups", ["tarn", "java"]),
    "aggregation scan, 2 threads": ("scan", ["table=aggregation", "threads=2"], "aggregation", ["tarn", "java"]),
    "full compaction": ("compact", [], "mor", ["tarn", "java", "duckdb, files only", "duckdb, sorted"]),
    "raw scan, 2 threads": ("scan", ["table=comp", "threads=2"], "mor", ["tarn", "java", "pypaimon-native", "duckdb, files only"]),
    "look-up, merge-on-read": ("lookup", ["table=mor"], "lookup", ["tarn", "java", "pypaimon-native"]),
    "look-up, compacted": ("lookup", ["table=comp"], "lookup", ["tarn", "java", "pypaimon-native", "duckdb, files only"]),
    "tiny read, whole process": ("tiny-read", [], None, ["tarn", "java", "pypaimon-native"]),
    "tiny query in SQL, whole process": ("tiny-query", ["query=" + QUERY], "tiny", ["tarn", "duckdb, files only"]),
    "commits, 1k files": ("commit-latency", ["1k"], None, ["tarn", "java"]),
    "commits, 10k files": ("commit-latency", ["10k"], None, ["tarn", "java"]),
    "commits, 100k files": ("commit-latency", ["100k"], None, ["tarn", "java"]),
    "commits, contention of 8 × 20": ("contention", [], "contention", ["tarn", "java"]),
}
TIMED = 400  # commits of ten rows in one process, so that its p99 is not its worst
COMMITS = TIMED + 10  # with those whose storage calls tarnbench counts
PARTS = {  # what the table shows of workloads of several metrics
    "full": "10 columns", "two": "2 columns", "range": "1 % of keys",
    "write-app": "append, opening a writer and flushing", "commit-app": "append, commit",
    "write-pk": "key table, opening a writer and flushing", "commit-pk": "key table, commit",
}


def run(command):
    """Runs a process; gives its results, wall seconds, CPU seconds and peak memory in MiB."""
    start = time.perf_counter()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": scratch})
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        sys.exit(f"{command[:4]} failed with exit code {p.returncode}:\n{out}")
    results = [json.loads(line[7:]) for line in out.splitlines() if line.startswith("RESULT ")]
    if not results:  # tarn sql prints rows as people see them
        results = [{"metric": "tiny-query", "answer": line} for line in out.splitlines()[-1:]]
    return results, time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def prepare():
    """Makes the rows, the tables and the reference, once per size."""
    os.makedirs(scratch, exist_ok=True)
    if not os.path.exists(f"{data}/batch_00.parquet"):
        print(f"making {size} rows", file=sys.stderr)
        run([tarnbench, "data", size, data, data])
    reference = f"{data}/reference.json"
    if not os.path.exists(reference) or "aggregation" not in json.load(open(reference)):
        run([python, f"{here}/peer.py", "duckdb", "reference", size, tables, data])
    if not os.path.exists(f"{tables}/comp.files"):
        print("building the tables with Java", file=sys.stderr)
        run(java("build", tables, data))
    if not os.path.exists(f"{tables}/engines.built"):
        print("building the tables of other merge engines with Java", file=sys.stderr)
        run(java("build-engines", tables, data))
        open(f"{tables}/engines.built", "w").close()
    with open(reference) as f:
        return json.load(f)


def many_files(files):
    """The directory with tables of so many files, made once."""
    where = f"{work}/files-{files}"
    if not os.path.exists(f"{where}/built"):
        print(f"building tables of {files} files with Java", file=sys.stderr)
        shutil.rmtree(where, ignore_errors=True)
        run(java("build-files", where, data, size=files))
        open(f"{where}/built", "w").close()
    return where


def differences(got, want):
    def same(a, b):
        return abs(a - b) <= 1e-6 * max(1, abs(a), abs(b)) if isinstance(a, float) or isinstance(b, float) else a == b

    return {k: (got[k], want[k]) for k in got if k in want and not same(got[k], want[k])}


def verdict(title, contestant, results, where, reference):
    """OK, or what is wrong. Look-ups are compared with those of the other contestants."""
    workload, settings, expected, _ = WORKLOADS[title]
    if workload == "ingest":  # the last table, read back by Java
        last = max(r for r in os.listdir(f"{where}/b.db") if r.startswith("ingest"))
        results = run(java("scan", where, data, "table=" + last, "kinds=full", "iters=1"))[0]
        if any(s.startswith("changelog=") for s in settings):  # what is added minus what is taken away is the table
            changes = run(java("changes", where, data, "table=" + last))[0]
            results += changes
            told = reference.setdefault(f"changes of {title}", changes[0]["rows"])
            if changes[0]["rows"] != told:
                return f"WRONG: {changes[0]['rows']} changes, others tell {told}"
    elif workload == "commit-latency":  # as many files as commits have come, and as many records as the others have
        for table in ("app", "pk"):
            check = run(java("files", where, data, "table=" + table))[0][0]["check"]
            want = {"n": int(settings[0].rstrip("k")) * 1000 + COMMITS, "records": reference.setdefault(f"records of {title}: {table}", check["records"])}
            if bad := differences(check, want):
                return f"WRONG: {table} {bad}"
    elif workload == "contention":
        if failures := results[0]["failures"]:
            return f"{failures} FAILED"
        results = run(java("scan", where, data, "table=cont", "kinds=full", "iters=1"))[0]
        reference.setdefault("contention", results[0]["check"])
    elif workload == "compact" and not contestant.startswith("duckdb"):
        results = run(java("scan", where, data, "table=mor", "kinds=full", "iters=1"))[0]
    for r in results:
        if "answer" in r and (want := reference.setdefault("tiny", r["answer"])) != r["answer"]:
            return f"WRONG: {r['answer']}, others say {want}"
        if "check" not in r:
            continue
        if r["metric"] == "range" and expected != "mor":
            continue  # the full scan of the same table is checked
        want = reference["range"] if r["metric"] == "range" else reference.setdefault("lookup", r["check"]) if expected == "lookup" else reference.get(expected, {})
        if bad := differences(r["check"], want):
            return f"WRONG: {r['metric']} {bad}"
    return "OK"


def measured(r):
    """The metrics that the table shows of a result, with their seconds. Of commits p99 is one, too."""
    if r.get("variant") == "last20":
        return []
    if r["metric"].startswith(("write-", "commit-", "contention")):
        return [(f"{r['metric']} {p}", r[f"{p}_ms"] / 1e3) for p in ("p50", "p99")]
    return [(r["metric"], r["p50_ms"] / 1e3 if "p50_ms" in r else r["secs"])]


def contest(title, reference, raw):
    workload, settings, _, names = WORKLOADS[title]
    seen = {}  # metric → contestant → measurements
    for repetition in range(int(repetitions)):
        for name in names:
            where = tables
            if workload in ("ingest", "compact", "contention", "commit-latency"):
                where = f"{scratch}/{name}"
                shutil.rmtree(where, ignore_errors=True)
                os.makedirs(where)
            if workload == "compact":
                shutil.copytree(f"{tables}/b.db/mor", f"{where}/b.db/mor")
                shutil.copy(f"{tables}/mor.files", where)
            if workload == "commit-latency":
                shutil.copytree(many_files(settings[0]), where, dirs_exist_ok=True)
                command = CONTESTANTS[name](workload, where, data, f"q={TIMED}", size=settings[0])
            else:
                command = CONTESTANTS[name](workload, where, data, *settings)
            results, wall, cpu, memory = run(command)
            check = verdict(title, name, results, where, reference)
            if workload.startswith("tiny"):
                results = [r | {"secs": wall, "cpu": cpu} for r in results]
            for r in results:
                raw.write(json.dumps({"workload": title, "contestant": name, "repetition": repetition, "memory": memory, "verdict": check} | r) + "\n")
                for metric, value in measured(r):
                    seen.setdefault(metric, {}).setdefault(name, []).append((value, r["cpu"], memory, check))
            raw.flush()
            print(f"{title}, repetition {repetition + 1}: {name} {wall:.2f} s, {check}", file=sys.stderr)
    for metric, by_name in seen.items():
        best = {name: min(m[0] for m in ms) for name, ms in by_name.items()}
        for name, ms in by_name.items():
            part, _, percentile = metric.partition(" ")
            what = ", ".join(filter(None, [f"{title}: {PARTS[part]}" if part in PARTS else title, percentile]))
            cpu = "–" if metric == "lookup" or percentile else f"{min(m[1] for m in ms):.2f}"
            yield (f"| {what} | {name} | {best[name] * 1e3:.1f} | {statistics.median(m[0] for m in ms) * 1e3:.1f} | {cpu} | {max(m[2] for m in ms):.0f} | "
                   f"{best[name] / best['tarn']:.2f} | {', '.join(sorted({m[3] for m in ms}))} |")


reference = prepare()
print(f"{size} rows, {repetitions} repetitions, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}. "
      "Tarn is so many times as fast: its best time divides the other's.\n")
print("| workload | contestant | min ms | median ms | CPU s | peak MiB | Tarn × | check |\n|---|---|---|---|---|---|---|---|")
with open(f"{work}/raw-{size}.jsonl", "a") as raw:
    for title in WORKLOADS:
        if len(sys.argv) == 7 or any(w in title for w in sys.argv[7:]):
            for line in contest(title, reference, raw):
                print(line, flush=True)
shutil.rmtree(scratch)
