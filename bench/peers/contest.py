"""The contest: contest.py SIZE REPETITIONS WORK BIN PYTHON CLASSPATH [WORKLOAD ...].

BIN is the folder of tarnbench and tarn.

Runs every contestant of each workload in a process of its own, interleaved (repetition 1 of all,
then 2 of all, …), checks what they print against sums by DuckDB, has every table written read back
by Java, keeps the raw lines, and prints one Markdown table, a workload at a time. A peer that can be run in several
ways runs in all of them in repetition 1; its fastest goes on. Exits with 1 when a result is wrong, not
when a demand on speed is missed. scripts/bench-peers.sh calls it.
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
    options = [m for m in more if m.startswith("-X")] or ["-XX:+UseG1GC"]
    if not any(o.startswith("-Xmx") for o in options):
        options.append("-Xmx8g")
    more = [m for m in more if not m.startswith("-X")]
    return ["java", *options, f"-Djava.io.tmpdir={scratch}", "-cp", classpath, "Peer", workload, size, *more]


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
}
# What Java can choose: its collector, and of ingest with compaction to wait for it in each commit or not.
GC = [["-XX:+UseG1GC"], ["-XX:+UseParallelGC"]]
SMALL = [[*gc, "-Xmx512m"] for gc in GC]
MODES = [[f"mode={mode}", *gc] for mode in ("stream", "batch") for gc in GC]
COMPACTED = ["mor0", "mor1", "mor2"]  # of full compaction: copies of mor, one after the other in one process
THRICE = {"memory": 350, "java": {"wall": 3, "bytes": 1}}
LSM = {  # title: as in WORKLOADS, then the ways of peers and what is demanded of Tarn
    "upsert ingest with compaction": ("ingest", ["mode=stream", "warmup=5"], "upsert", ["tarn", "java"], {"java": MODES},
                                      {"memory": 350, "java": {"wall": 3, "CPU": 2, "bytes": 1}}),
    "upsert ingest, lookup changelog": ("ingest", ["mode=stream", "changelog=lookup", "warmup=5"], "upsert", ["tarn", "java"], {"java": GC}, THRICE),
    "200 partitions × 2 buckets": ("ingest", ["mode=batch", "parts=200", "warmup=20"], "partitions", ["tarn", "java"], {"java": SMALL},
                                   {"memory": 512, "java": {"wall": 6, "bytes": 1}}),
    "full compaction": ("compact", ["tables=" + ",".join(COMPACTED)], "mor", ["tarn", "java", "duckdb, files only"],
                        {"java": GC, "duckdb, files only": [[], ["sorted=true"]]},
                        {"memory": 350, "java": {"wall": 3, "CPU": 2, "bytes": 1}, "duckdb, files only": {"wall": 1}}),
    "partial-update scan, 2 threads": ("scan", ["table=partial", "threads=2"], "partial", ["tarn", "java"], {"java": GC}, THRICE),
    "partial-update scan with sequence groups, 2 threads": ("scan", ["table=groups", "threads=2"], "groups", ["tarn", "java"], {"java": GC}, THRICE),
    "aggregation scan, 2 threads": ("scan", ["table=aggregation", "threads=2"], "aggregation", ["tarn", "java"], {"java": GC}, THRICE),
}
WORKLOADS = {  # title: workload, its settings, reference, who takes part
    "upsert ingest, write-only": ("ingest", ["mode=writeonly"], "upsert", ["tarn", "java", "pypaimon-native"]),
    "append ingest": ("ingest", ["pk=false"], "append", ["tarn", "java", "pypaimon-native"]),
    "merge-on-read, 2 threads": ("scan", ["table=mor", "threads=2"], "mor", ["tarn", "java", "pypaimon-native"]),
    "raw scan, 2 threads": ("scan", ["table=comp", "threads=2"], "mor", ["tarn", "java", "pypaimon-native", "duckdb, files only"]),
    "look-up, merge-on-read": ("lookup", ["table=mor"], "lookup", ["tarn", "java", "pypaimon-native"]),
    "look-up, compacted": ("lookup", ["table=comp"], "lookup", ["tarn", "java", "pypaimon-native", "duckdb, files only"]),
    "tiny read, whole process": ("tiny-read", [], None, ["tarn", "java", "pypaimon-native"]),
    "tiny query in SQL, whole process": ("tiny-query", ["query=" + QUERY], "tiny", ["tarn", "duckdb, files only"]),
    "commits, 1k files": ("commit-latency", ["1k"], None, ["tarn", "java"]),
    "commits, 10k files": ("commit-latency", ["10k"], None, ["tarn", "java"]),
    "commits, 100k files": ("commit-latency", ["100k"], None, ["tarn", "java"]),
    "commits, contention of 8 × 20": ("contention", [], "contention", ["tarn", "java"]),
} | {title: workload[:4] for title, workload in LSM.items()}
TIMED = 400  # commits of ten rows in one process, so that its p99 is not its worst
COMMITS = TIMED + 10  # with those whose storage calls tarnbench counts
PARTS = {  # what the table shows of workloads of several metrics
    "full": "10 columns", "two": "2 columns", "range": "1 % of keys",
    "write-app": "append, opening a writer and flushing", "commit-app": "append, commit",
    "write-pk": "key table, opening a writer and flushing", "commit-pk": "key table, commit",
}


class Failed(Exception):
    """A contestant's process came to no end."""


def run(command):
    """Runs a process; gives its results, wall seconds, CPU seconds and peak memory in MiB."""
    start = time.perf_counter()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": scratch})
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        raise Failed(f"{command[:4]} failed with exit code {p.returncode}:\n{out}")
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
    if not os.path.exists(reference) or "changes" not in json.load(open(reference)):
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
    if workload == "ingest":  # the tables that count, read back by Java
        written = sorted(r for r in os.listdir(f"{where}/b.db") if r.startswith("ingest") and not (r == "ingest0" and len(results) > 1 and results[0]["variant"] == "warm-up"))
        results = run(java("scan", where, data, "table=" + ",".join(written), "kinds=full", "iters=1"))[0]
        if any(s.startswith("changelog=") for s in settings):  # what is added minus what is taken away is the table
            changes = run(java("changes", where, data, "table=" + written[-1]))[0]
            results += changes
            if changes[0]["rows"] != reference["changes"]:
                return f"WRONG: {changes[0]['rows']} changes, want {reference['changes']}"
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
        results = run(java("scan", where, data, "table=" + ",".join(COMPACTED), "kinds=full", "iters=1"))[0]
        if any(r["records"] != reference["mor"]["n"] for r in results):
            return f"WRONG: {[r['records'] for r in results]} records are left"
    for r in results:
        if "answer" in r and (want := reference.setdefault("tiny", r["answer"])) != r["answer"]:
            return f"WRONG: {r['answer']}, others say {want}"
        if "check" not in r:
            continue
        want = reference[f"{expected} range"] if r["metric"] == "range" else reference.setdefault("lookup", r["check"]) if expected == "lookup" else reference.get(expected, {})
        if bad := differences(r["check"], want):
            return f"WRONG: {r['metric']} {bad}"
    return "OK"


def measured(r):
    """The metrics that the table shows of a result, with their seconds. Of commits p99 is one, too."""
    if r.get("variant") in ("last20", "warm-up"):
        return []
    if r["metric"].startswith(("write-", "commit-", "contention")):
        return [(f"{r['metric']} {p}", r[f"{p}_ms"] / 1e3) for p in ("p50", "p99")]
    return [(r["metric"], r["p50_ms"] / 1e3 if "p50_ms" in r else r["secs"])]


def measure(title, name, way, repetition, reference, raw):
    """Runs a contestant once; gives of each metric its best seconds, CPU seconds, peak MiB, bytes written and verdict."""
    workload, settings = WORKLOADS[title][:2]
    where = tables
    if workload in ("ingest", "compact", "contention", "commit-latency"):
        where = f"{scratch}/{name}"
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
    if workload == "compact":
        for copy in COMPACTED:
            shutil.copytree(f"{tables}/b.db/mor", f"{where}/b.db/{copy}")
        shutil.copy(f"{tables}/mor.files", where)
    if workload == "commit-latency":
        shutil.copytree(many_files(settings[0]), where, dirs_exist_ok=True)
        command = CONTESTANTS[name](workload, where, data, f"q={TIMED}", size=settings[0])
    else:
        command = CONTESTANTS[name](workload, where, data, *settings, *way)
    os.sync()  # what others have left to be written is not charged
    results, wall, cpu, memory = run(command)
    check = verdict(title, name, results, where, reference)
    if workload.startswith("tiny"):
        results = [r | {"secs": wall, "cpu": cpu} for r in results]
    found = {}
    for r in results:
        raw.write(json.dumps({"workload": title, "contestant": name, "way": way, "repetition": repetition, "memory": memory, "verdict": check} | r) + "\n")
        for metric, value in measured(r):
            secs, charged = found.get(metric, (value, r["cpu"]))[:2]
            found[metric] = min(secs, value), min(charged, r["cpu"]), memory, r.get("wbytes", 0), check
    raw.flush()
    print(f"{title}, repetition {repetition + 1}: {' '.join([name, *way])} {wall:.2f} s, {check}", file=sys.stderr, flush=True)
    return found


def contest(title, reference, raw):
    """Gives the lines of the table and whether all was right."""
    ways = {name: LSM.get(title, ({},) * 6)[4].get(name, [[]]) for name in WORKLOADS[title][3]}
    seen = {}  # contestant → measurements of its way, one a repetition
    for repetition in range(int(repetitions)):
        for name in ways:
            tried = []
            for way in ways[name]:
                try:
                    tried.append((way, measure(title, name, way, repetition, reference, raw)))
                except Failed as e:
                    if len(ways[name]) == 1 or name == "tarn":
                        sys.exit(str(e))
                    print(f"{title}: {name} does not come to an end in this way: {e}", file=sys.stderr, flush=True)
            if not tried:
                sys.exit(f"{title}: {name} comes to an end in no way")
            way, found = min(tried, key=lambda t: next(iter(t[1].values()))[0])
            if bad := [f for _, f in tried if next(iter(f.values()))[4] != "OK"]:
                found = bad[0]
            ways[name] = [way]
            seen.setdefault(name, []).append(found)
    demands = LSM.get(title, ({},) * 6)[5]
    right = all(m[4] == "OK" for ms in seen.values() for f in ms for m in f.values())
    lines = []
    for metric in seen["tarn"][0]:
        for name in list(ways)[1:]:
            if metric in seen[name][0]:
                lines.append(line(title, metric, " ".join([name, *ways[name][0]]), [f[metric] for f in seen["tarn"]], [f[metric] for f in seen[name]],
                                  demands.get("memory"), demands.get(name, {})))
    return lines, right


def line(title, metric, peer, ours, theirs, memory, demanded):
    """One line of the table. Demands by wall are held against the ratio of minima and that of medians."""

    def middle(ms, i):
        return statistics.median(m[i] for m in ms)

    part, _, percentile = metric.partition(" ")
    what = ", ".join(filter(None, [f"{title}: {PARTS[part]}" if part in PARTS else title, percentile]))
    best = min(m[0] for m in ours), min(m[0] for m in theirs)
    wall = best[1] / best[0], middle(theirs, 0) / middle(ours, 0)
    cpu = middle(theirs, 1) / middle(ours, 1) if metric != "lookup" and not percentile and middle(ours, 1) else 0
    peaks, written = [max(m[2] for m in ms) for ms in (ours, theirs)], [middle(ms, 3) for ms in (ours, theirs)]
    judged = [("wall ≥ {}", "wall", min(wall)), ("CPU ≥ {}", "CPU", cpu)]
    judged = [(text.format(demanded[key]), got >= demanded[key]) for text, key, got in judged if key in demanded]
    if memory:
        judged.append((f"peak ≤ {memory} MiB", peaks[0] <= memory))
    if "bytes" in demanded and written[1]:
        judged.append(("bytes ≤ the peer's", 0 < written[0] <= written[1]))
    verdicts = ", ".join(f"{text}: {'ok' if ok else 'MISSED'}" for text, ok in judged)
    checks = ", ".join(sorted({m[4] for m in ours + theirs}))
    mb = " / ".join(f"{b / 1e6:.1f}" if b else "–" for b in written)
    return (f"| {what} | {best[0]:.3f} / {middle(ours, 0):.3f} | {peer} | {best[1]:.3f} / {middle(theirs, 0):.3f} | {wall[0]:.2f} / {wall[1]:.2f} | "
            f"{f'{cpu:.2f}' if cpu else '–'} | {peaks[0]:.0f} / {peaks[1]:.0f} | {mb} | "
            f"{verdicts or '–'} | {checks} |")


reference = prepare()
print(f"{size} rows, {repetitions} repetitions, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at first. × is what the peer took divided by what Tarn took.\n")
print("| workload | Tarn s: min / median | peer | peer s: min / median | × min / median | × CPU | peak MiB: Tarn / peer | MB written: Tarn / peer | demanded | check |")
print("|" + "---|" * 10, flush=True)
right = True
with open(f"{work}/raw-{size}.jsonl", "a") as raw:
    for title in WORKLOADS:
        if len(sys.argv) == 7 or any(w == "lsm" and title in LSM or w in title for w in sys.argv[7:]):
            lines, ok = contest(title, reference, raw)
            print("\n".join(lines), flush=True)
            right &= ok
shutil.rmtree(scratch)
sys.exit(0 if right else 1)
