#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""User call chains of a program of known shape (cases/inlined.c, -O2 -g, no frame pointers).

Its naps are in main <- work <- nap, where nap is inlined. --inline shows nap, --srcline the lines marked in
the source. And a recording whose maps come at its end (perf record --tail-synthesize) names the frames of
a process that ran before as one with the maps at its beginning does.
"""
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, kernel_lets_record, skip  # noqa: E402

EVENT = "sched:sched_switch"


def lines_of_marks(source):
    return {text.split("mark: in ")[1].strip(): number
            for number, text in enumerate(source.read_text().splitlines(), 1) if "mark: in " in text}


def record(folder, name, options, command=(), pid=None):
    data = folder / name
    target = ["-p", str(pid)] if pid else []
    done = subprocess.run(["perf", "record", "-q", "-e", EVENT, *options, "-o", data, *target, "--", *command],
                          capture_output=True, text=True, timeout=120, check=False)
    if not data.exists() or data.stat().st_size == 0:
        skip(f"perf does not record here: {done.stderr.strip()[-200:]}")
    return data


def chains_of(test, data, *options):
    """User chains of the program's sleeps, those of its naps only (it also waits for its start)."""
    report = test.json("report", "-i", data, "--comm", "inlined", "--callchain=user", "--limit", "0", *options)
    chains = [stack["frames"] for row in report["rows"] for stack in row.get("stacks", [])]
    return [chain for chain in chains if any("nanosleep" in frame for frame in chain)]


def part_in_program(chain):
    """From the frame behind the C library's to main."""
    inside = [frame for frame in chain if frame.split()[0] in ("nap", "work", "main")]
    return inside


def check_inlined(test, data, marks):
    plain = chains_of(test, data)
    if not plain:
        skip("this kernel keeps the program's switches from perf")
    inlined = chains_of(test, data, "--inline")
    lines = chains_of(test, data, "--inline", "--srcline")
    paths = chains_of(test, data, "--srcline", "--full-source-path")
    for chain in plain:
        test.equal(part_in_program(chain), ["work", "main"], "frames")
    for chain in inlined:
        test.equal(part_in_program(chain), ["nap (inlined)", "work", "main"], "frames with --inline")
    wanted = [f"nap (inlined) inlined.c:{marks['nap']}", f"work inlined.c:{marks['work']}",
              f"main inlined.c:{marks['main']}"]
    for chain in lines:
        test.equal(part_in_program(chain), wanted, "frames with --inline --srcline")
    source = str(test.source / "tests/cases/inlined.c")
    for chain in paths:
        test.equal([frame.split()[-1] for frame in part_in_program(chain)],
                   [f"{source}:{marks['work']}", f"{source}:{marks['main']}"], "whole paths")
    print(f"{len(plain)} chains of naps")


def check_late_maps(test, folder, options):
    """The process runs before, so its maps are synthesized: at the beginning, or at the end."""
    process = subprocess.Popen([str(test.programs / "inlined"), "5", "2000"])
    try:
        time.sleep(0.2)
        early = record(folder, "early", options, ["sleep", "0.5"], process.pid)
        late = record(folder, "late", [*options, "--tail-synthesize"], ["sleep", "0.5"], process.pid)
    finally:
        process.kill()
        process.wait()
    early_chains, late_chains = chains_of(test, early), chains_of(test, late)
    if not early_chains:
        skip("this kernel keeps the program's switches from perf")
    test.equal({tuple(chain) for chain in late_chains}, {tuple(chain) for chain in early_chains},
               f"chains with {options}: maps at the end, at the beginning")


def main():
    test = Test()
    reason = kernel_lets_record()
    if reason:
        skip(reason)
    if shutil.which("perf") is None:
        skip("no perf here")
    marks = lines_of_marks(test.source / "tests/cases/inlined.c")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = record(folder, "dwarf", ["--call-graph", "dwarf,4096"], [test.programs / "inlined", "2", "30"])
        check_inlined(test, data, marks)
        for options in (["-g"], ["--call-graph", "dwarf,4096"]):
            check_late_maps(test, folder, options)
        for option in ("--inline", "--srcline"):
            done = test.run("report", "-i", data, option, ok=(129,))
            test.check("--callchain" in done.errors, f"{option} alone: {done.errors!r}")
    test.finish()


main()
