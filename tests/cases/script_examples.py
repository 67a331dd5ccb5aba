#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The examples of Documentation/examples, run as their comments say, give what `report` gives."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402

CASE = "lt-mixed-nodelay"


def piped(test, program, text, *arguments):
    done = subprocess.run([str(program), *arguments], input=text, capture_output=True, text=True, timeout=120,
                          check=False)
    test.equal((done.returncode, done.stderr), (0, ""), f"{program.name}: exit status and stderr")
    return done.stdout


def check_jq(test, examples, text, report):
    if shutil.which("jq") is None:
        test.fault("jq is not installed: scripts/deps installs it")
        return
    lines = piped(test, examples / "off-cpu-by-comm.sh", text).splitlines()
    test.equal(lines[0].split("\t"), ["comm", "cause", "count", "total ms", "longest ms"], "jq: head")
    got = {}
    for line in lines[1:]:
        comm, cause, count, total, longest = line.split("\t")
        test.check(float(longest) <= float(total), f"jq: {line}")
        key = cause
        old = got.get(key, (0, 0.0, 0.0))
        got[key] = (old[0] + int(count), old[1] + float(total), max(old[2], float(longest)))
        test.check(comm != "", "jq: a command has no name")
    want = {row["cause"]: (row["count"], row["total_ns"], row["max_ns"]) for row in report["rows"]
            if row["cause_id"] != "cpu-wait"}
    test.equal(set(got), set(want), "jq: causes")
    for cause, (count, total, longest) in want.items():
        test.equal(got[cause][0], count, f"jq: sleeps of {cause}")
        test.near(got[cause][1] * 1e6, total, 100, f"jq: total of {cause}")
        test.near(got[cause][2] * 1e6, longest, 1, f"jq: longest of {cause}")


def check_python(test, examples, text):
    want = {}
    for line in text.splitlines():
        interval = json.loads(line)
        if interval["type"] == "sleep" and interval["class"] != "idle" and interval["waker"]:
            pair = (interval["comm"], interval["waker"]["comm"])
            count, total = want.get(pair, (0, 0))
            want[pair] = (count + 1, total + interval["duration_ns"])
    got = {}
    for line in piped(test, examples / "wakeup-graph.py", text).splitlines():
        total, count, sleeper, waker = re.fullmatch(r" *([\d.]+) ms +(\d+) sleeps  (.*) waited for (.*)", line).groups()
        got[sleeper, waker] = (int(count), round(float(total) * 1e6))
    test.equal({pair: (count, round(total, -3)) for pair, (count, total) in got.items()},
               {pair: (count, round(total, -3)) for pair, (count, total) in want.items()}, "python: pairs")
    test.check(any(waker.startswith("[") for _, waker in got), "python: no interrupt woke anybody")
    dot = piped(test, examples / "wakeup-graph.py", text, "--dot")
    test.equal(dot.count("->"), len(want), "python: edges of the graph")


def check_sqlite(test, examples, common, report):
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "waits.db"
        test.run("script", *common, "--format", "sqlite", "-o", database)
        done = subprocess.run(["sqlite3", str(database)], input=(examples / "slowest.sql").read_text(encoding="utf-8"),
                              capture_output=True, text=True, timeout=120, check=False)
    test.equal((done.returncode, done.stderr), (0, ""), "sqlite: exit status and stderr")
    lines = [line.split(" | ") for line in done.stdout.splitlines()]
    heads = [number for number, cells in enumerate(lines) if cells[0] in ("class", "comm")]
    test.equal(len(heads), 2, "sqlite: tables")
    rows = [row for row in report["rows"] if row["cause_id"] != "cpu-wait"]
    rows.sort(key=lambda row: (-row["total_ns"], row["cause"]))
    test.equal([(cells[0], cells[1], int(cells[2]), round(float(cells[3]) * 1000)) for cells in lines[1:heads[1]]],
               [(row["class"], row["cause"], row["count"], round(row["total_ns"] / 1000)) for row in rows[:10]],
               "sqlite: causes")
    longest = sorted(((row["max_ns"], row["cause"]) for row in rows if row["cause_id"] != "asleep-before"),
                     key=lambda row: (-row[0], row[1]))
    test.equal([(round(float(cells[2]) * 1000), cells[3]) for cells in lines[heads[1] + 1:]],
               [(round(ns / 1000), cause) for ns, cause in longest[:10]], "sqlite: longest")
    test.check(all(cells[4].startswith("__schedule <- ") for cells in lines[heads[1] + 1:]), "sqlite: call chains")


def main():
    test = Test()
    common = ["-i", test.data / CASE / "perf.data", *symbols_of(test.data / CASE)]
    examples = test.source / "Documentation/examples"
    text = test.run("script", *common).text
    report = test.json("report", *common)
    check_jq(test, examples, text, report)
    check_python(test, examples, text)
    check_sqlite(test, examples, common, report)
    test.finish()


main()
