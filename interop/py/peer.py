"""pypaimon as a second implementation: it reads what Tarn wrote and writes what Tarn reads.

Answers one JSON request per line of standard input with one JSON reply per line of standard
output, as the Java judge does; each argument is taken as a request instead, and then standard
input is not read. A request has cmd, warehouse and, if it likes, id. A reply has ok; when it is
false, error is the exception's chain as text and chain the same as a list, outermost first.

    read      table, branch, sys, filter, project, snapshot, tag, options
              -> lines (canonical, sorted by bytes; to a file with out), rows, columns, types
    check     table, branch -> snapshots, each read in full, with rows and the SHA-256 of its lines, or error
    scenario  scenario (an object) or file -> ops; knows create_table, write and expect
    version   -> pypaimon, python
"""

import importlib.metadata
import json
import platform
import sys
import traceback

import reading
import scenario


def carry_out(request):
    cmd = request["cmd"]
    if cmd == "version":
        return {"pypaimon": importlib.metadata.version("pypaimon"), "python": platform.python_version()}
    if cmd == "read":
        return with_lines(request, *reading.read(request["warehouse"], request))
    if cmd == "check":
        return reading.check(request["warehouse"], request)
    if cmd == "scenario":
        return {"ops": scenario.run(request["warehouse"], scenario.load(request))}
    raise ValueError("unknown cmd " + cmd)


def with_lines(request, lines, fields):
    reply = {"rows": len(lines), "columns": [f.name for f in fields], "types": [reading.type_text(f.type) for f in fields]}
    if request.get("out"):
        with open(request["out"], "w", encoding="utf-8", newline="\n") as f:
            f.writelines(line + "\n" for line in lines)
    else:
        reply["lines"] = lines
    return reply


def chain(error):
    texts = []
    while error is not None:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return texts


def answer(text):
    reply = {"ok": True}
    try:
        request = json.loads(text)
        if "id" in request:
            reply["id"] = request["id"]
        reply.update(carry_out(request))
    except Exception as e:  # one failed request must not end the others
        traceback.print_exc()
        texts = chain(e)
        reply.update(ok=False, error="\ncaused by: ".join(texts), chain=texts)
    return reply


def main(requests):
    replies = sys.stdout
    sys.stdout = sys.stderr  # a library that prints must not break the protocol
    replies.reconfigure(encoding="utf-8", newline="\n")
    sys.stdin.reconfigure(encoding="utf-8")
    ok = True
    for text in requests or sys.stdin:
        if text.strip():
            reply = answer(text)
            ok = ok and reply["ok"]
            replies.write(json.dumps(reply, ensure_ascii=False) + "\n")
            replies.flush()
    return 0 if ok or not requests else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
