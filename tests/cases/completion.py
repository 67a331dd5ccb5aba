#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bash completion: the file is sourced, and COMPREPLY looked at, for each kind of word."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, skip  # noqa: E402

test = Test()
if shutil.which("bash") is None:
    skip("no bash")

folder = tempfile.TemporaryDirectory()
bin_folder = Path(folder.name) / "bin"
bin_folder.mkdir()
(bin_folder / "perf-latency").symlink_to(test.program)
(Path(folder.name) / "recording.data").touch()


def complete(*words):
    """COMPREPLY for these words, of which the last is being typed."""
    line = " ".join("'" + word + "'" for word in ("perf-latency", *words))
    script = (f"source '{test.source}/scripts/completion.bash'\nCOMP_WORDS=({line})\n"
              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_perf_latency\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "-c", script], cwd=folder.name, capture_output=True, text=True, timeout=60,
                          check=False, env=dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}"))
    test.equal(done.stderr, "", f"{words}: messages")
    return [word for word in done.stdout.split("\n") if word]


def help_of(command):
    return test.run(command, "--help").text


commands = re.findall(r"^   ([a-z][a-z-]*) ", test.run("--help").text, re.M)
test.check({"record", "report", "diff", "causes"} <= set(commands), f"commands of --help: {commands}")
test.equal(sorted(complete("")), sorted([*commands, "help", "--help", "--version", "--no-pager"]), "commands")
test.equal(complete("cont"), ["contention"], "cont")
test.equal(complete("help", "hold"), ["hold-time"], "help hold")
test.equal(complete("--no-pager", "vm"), ["vmstat-sync"], "--no-pager vm")

for command in commands:
    options = set(complete(command, "-"))
    wanted = set()
    for names in re.findall(r"^  (-\S+)", help_of(command), re.M):
        wanted |= set(names.split(","))
    test.equal(options, wanted, f"options of {command}")
    test.check("--help" in options, f"{command} has --help")

test.equal(complete("report", "--kal"), ["--kallsyms"], "--kal")
test.equal(complete("record", "-e", "mmap"), ["mmap_lock"], "an event set")
test.equal(complete("record", "-e", "sched,loc"), ["sched,lock", "sched,lockdep"], "a second event set")
test.equal(set(complete("record", "--event", "")),
           {"sched", "lock", "latencytop", "lockdep", "rstat", "mmap_lock", "vmstat", "spin", "irq"}, "event sets")
test.equal(complete("report", "--by", "cau"), ["cause"], "--by")
test.equal(complete("report", "--by", "thread,sys"), ["thread,syscall"], "a second key")
test.equal(complete("contention", "--by", "=", "hol"), ["holder"], "--by=, as bash splits it")
test.equal(complete("report", "--sort", "max_"), ["max_ns", "max_start_ns", "max_tid", "max_comm"], "sort keys")
test.equal(complete("report", "-s", "count,-p9"), ["count,-p95_ns", "count,-p99_ns"], "a reversed sort key")
test.equal(complete("contention", "-F", "spin"), ["spin_ns"], "columns")
test.equal(complete("report", "--by", "process", "-s", "process"), ["process.comm", "process.pid"],
           "columns of --by process")
test.equal(complete("diff", "--of", "spin", "--by", "fun"), ["function"], "keys of the compared report")
test.equal(complete("diff", "--measure", "cou"), ["count"], "measures")
test.equal(complete("contention", "--type", "rwsem"), ["rwsem:R", "rwsem:W"], "lock types")
test.equal(complete("report", "--format", "s"), ["svg", "speedscope", "sqlite"], "formats")
test.equal(complete("hold-time", "--format", "lo"), ["lock_stat"], "formats of hold-time")
test.equal(complete("info", "--format", "j"), ["json"], "formats of info")
test.equal(complete("report", "-i", "rec"), ["recording.data"], "files")
test.equal(complete("report", "--color", "a"), ["always", "auto"], "--color")
test.finish()
