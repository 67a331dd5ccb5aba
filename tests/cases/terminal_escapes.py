#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a terminal would obey stays out of all text, whatever it is that has it in its name.

A recording is changed: its program's name, paths, threads' names and command line, and the names of
kernel functions (--kallsyms), get escape sequences, C1 controls, DEL, backspaces and line breaks.
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

# As long as what they replace. wl_nofp is in a comm, a path and the command line.
CHANGES = {b"wl_nofp": (b"\x1b[31mxy", b"\x9b31m\x7f\x08\r", b"\xc2\x9b2Jab\n", b"\x1b]0;t\x07\x0b"),
           b"wl-0": (b"\x1b[2J", b"\x9b2J\n", b"\xc2\x9bJ\x07", b"\r\x0c\x08\x7f")}
FUNCTIONS = ("__schedule\x1b[31m", "schedule\x9b2J", "do_nanosleep\x1b]0;title\x07", "futex_do_wait\x7f\x08")
COMMANDS = [("report",), ("report", "--by", "thread"), ("report", "--by", "process,stack", "-v"),
            ("report", "--callchain=both"), ("report", "--by", "waker", "--callchain=user"),
            ("report", "--format", "csv", "--by", "thread"), ("report", "--format", "folded", "--callchain=both"),
            ("report", "--format", "timehist"), ("report", "--format", "latency_stats", "--per-task"),
            ("report", "--format", "lkp", "--by", "thread"), ("report", "--format", "json", "--callchain=both"),
            ("report", "--format", "svg", "--callchain=both"), ("report", "--stats"),
            ("report", "--fail-if", "max(wl)>0ms", "--by", "thread"),
            ("contention",), ("vmstat-sync",), ("info",), ("info", "-v"), ("info", "--format", "json")]


def kallsyms_of(script):
    """The functions that perf names in its listing, under names that bite."""
    addresses = {}
    for line in script.read_text().splitlines():
        words = line.split()
        if len(words) > 1 and words[0].startswith("ffffffff") and "+0x" in words[1]:
            name, offset = words[1].split("+0x")
            addresses[int(words[0], 16) - int(offset, 16)] = name
    lines = ["ffffffff81000000 T _text"]
    for number, (address, name) in enumerate(sorted(addresses.items())):
        bite = FUNCTIONS[number % len(FUNCTIONS)]
        lines.append(f"{address:x} t {name}{bite}" if number % 2 else f"{address:x} t {bite}")
    return "\n".join(lines + ["ffffffff8220bb08 T _etext", ""]).encode("latin-1")


def controls_in(output):
    """Bytes that a terminal obeys: C0 without line break and tab, DEL, C1 as bytes or in UTF-8."""
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError:
        return ["not UTF-8"]
    return sorted({repr(char) for char in text
                   if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"})


def main():
    test = Test()
    case = test.data / "perfdata/sched_dwarf"
    content = (case / "perf.data").read_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kallsyms = folder / "kallsyms"
        kallsyms.write_bytes(kallsyms_of(case / "expected/data.script.txt"))
        for variant in range(4):
            changed = content
            for old, news in CHANGES.items():
                test.check(old in content, f"{old} is in the recording")
                test.equal(len(news[variant]), len(old), "length")
                changed = changed.replace(old, news[variant])
            path = folder / f"changed{variant}.data"
            path.write_bytes(changed)
            for command in COMMANDS:
                options = ["-f", "-i", path]
                if command[0] != "info":
                    options += ["--kallsyms", kallsyms]
                done = test.run(*command, *options, ok=(0, 1, 2), binary=True)
                for stream, output in (("stdout", done.stdout), ("stderr", done.stderr)):
                    test.equal(controls_in(output), [], f"variant {variant}: {' '.join(command)}: {stream}")
            # The path of the recording itself, and one that does not open.
            odd = folder / "odd\x1b[31m\n.data"
            odd.write_bytes(changed)
            for odd_path in (odd, folder / "none\x1b[2J"):
                done = test.run("report", "-f", "-i", odd_path, ok=(0, 1), binary=True)
                for output in (done.stdout, done.stderr):
                    test.equal(controls_in(output), [], f"path {odd_path.name!r}")
    test.finish()


main()
