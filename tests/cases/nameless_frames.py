#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Frames that cannot be named: their module and offset, how many they are, and why.

sched_dwarf without the symbols of its kernel and without its program. Addresses and file offsets are those
that perf prints for it.
"""
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

KERNEL_START = 0xffffffff81000000
FRAME = re.compile(r"\[unknown\] (\S+)\+0x([0-9a-f]+)$")


def kernel_addresses(script):
    return {int(word, 16) for word in re.findall(r"^\t\s*(ffffffff[0-9a-f]+) ", script.read_text(), re.MULTILINE)}


def main():
    test = Test()
    case = test.data / "perfdata/sched_dwarf"
    with tempfile.TemporaryDirectory() as nothing:
        options = ["-f", "-i", case / "perf.data", "--callchain=both", "--symfs", nothing, "--kallsyms", "/dev/null",
                   "--limit", "0"]
        report = test.json("report", *options)
        text = test.run("report", *options).text
    frames = {frame for row in report["rows"] for stack in row.get("stacks", []) for frame in stack["frames"]}
    recorded = kernel_addresses(case / "expected/data.script.txt")
    kernel = 0
    for frame in frames:
        if frame.startswith("[chain cut"):
            continue
        match = FRAME.match(frame)
        if not test.check(match is not None, f"a frame without a file is {frame!r}"):
            continue
        if match[1] == "[kernel.kallsyms]":
            kernel += 1
            test.check(KERNEL_START + int(match[2], 16) in recorded, f"{frame} was recorded")
    test.check(kernel >= 8, f"{kernel} kernel frames")
    counts = report["frames"]
    test.equal(counts["unknown"], counts["total"], "none has a name")
    why = {entry["reason"]: entry["count"] for entry in counts["unknown_why"]}
    test.equal(sum(why.values()), counts["unknown"], "the reasons' sum")
    test.check("the file is not here" in why, f"reasons: {why}")
    test.equal(len(why), 2, f"reasons: {why}")
    line = " ".join(text.split("symbols:", 1)[1].split("accounted", 1)[0].split())
    test.check(line.startswith(f"{counts['unknown']} of {counts['total']} frames have no name: "), line)
    for reason, count in why.items():
        test.check(f"{count} x {reason}" in line, f"{line!r} lacks {count} x {reason}")
    test.finish()


main()
