#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""The distribution's perf reads what we record, in full, and sees the same events as we do."""
import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, kernel_lets_record, skip  # noqa: E402

ALWAYS_CHAINED = {"sched:sched_waking", "lock:contention_begin"}
HEADER_LINES = ("hostname", "os release", "perf version", "arch", "nrcpus online", "nrcpus avail",
                "cpudesc", "total memory", "cmdline", "sibling sockets", "sibling threads",
                "node0 meminfo", "pmu mappings", "time of first sample", "sample duration",
                "clockid frequency", "reference time", "compressed")
SAMPLE = re.compile(r"^(?P<comm>.{1,16}?) +(?P<tid>-?\d+) +\[(?P<cpu>\d+)\] +(?P<time>[\d.]+): +"
                    r"(?P<event>[a-z_]+:[a-z_]+): (?P<text>.*)$")
SWITCH_LINE = re.compile(r"^ +\d+\.\d+ +\[\d+\] ")


def perf(test, *arguments, ok=True):
    done = subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          check=False)
    if ok:
        test.equal(done.returncode, 0, f"perf {' '.join(map(str, arguments))}: {done.stderr[-500:]}")
    return done


def samples_of(text):
    """(event, text, time, frames) of each sample that perf script prints."""
    sample = None
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if match:
            if sample:
                yield sample
            sample = [match["event"], match["text"], float(match["time"]), []]
        elif sample and line.startswith("\t"):
            sample[3].append(line.split()[1] if len(line.split()) > 1 else "")
    if sample:
        yield sample


def must_have_chain(event, text):
    """None where either is right."""
    if event in ALWAYS_CHAINED:
        return True
    if event == "sched:sched_switch":
        return not re.search(r"prev_state=R\+? ", text)
    return False


def check_script(test, data, recorded):
    done = perf(test, "script", "-i", data)
    test.check("out of order" not in done.stderr, f"perf script: {done.stderr[-300:]}")
    counts = collections.Counter()
    wrong_chains = collections.Counter()
    last_time, backwards = 0.0, 0
    for event, text, time, frames in samples_of(done.stdout):
        counts[event] += 1
        backwards += time < last_time
        last_time = time
        if bool(frames) != must_have_chain(event, text):
            wrong_chains[event] += 1
    test.equal(sum(counts.values()), recorded, "samples that perf script prints, and those we recorded")
    test.equal(backwards, 0, "samples that perf script prints out of order")
    # A chain can be cut short by the unwinder now and then; it must not be missing often.
    for event, n in wrong_chains.items():
        test.check(n <= counts[event] / 1000, f"{event}: {n} of {counts[event]} samples with a wrong chain")
    return counts


def check_timehist(test, data, switches):
    done = perf(test, "sched", "timehist", "-i", data)
    lines = sum(1 for line in done.stdout.splitlines() if SWITCH_LINE.match(line))
    test.equal(lines, switches, "switches in perf sched timehist")
    test.check("do not have callchains" not in done.stderr, "timehist finds call chains")


def check_header(test, data):
    text = perf(test, "script", "-i", data, "--header-only", "-I").stdout
    keys = {line[2:].split(":")[0].split(" = ")[0].strip() for line in text.splitlines()
            if line.startswith("# ")}
    for line in HEADER_LINES:
        test.check(line in keys, f"header: no {line!r}")
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    test.check(f"# os release : {release}\n" in text, f"header: os release is not {release}")


def check_events(test, data, counts):
    done = perf(test, "evlist", "-v", "-i", data)
    listed = {line.split(": ")[0]: line for line in done.stdout.splitlines()}
    for event in counts:
        test.check(event in listed, f"perf evlist: no {event}")
        test.check("CALLCHAIN" in listed.get(event, "") and "CGROUP" in listed.get(event, ""),
                   f"perf evlist: {listed.get(event)}")
    test.equal(sum(name == "sched:sched_switch" for name in listed), 1, "attrs of sched_switch")


def check_build_ids(test, data):
    kernel = perf(test, "buildid-list", "-k").stdout.split()
    listed = perf(test, "buildid-list", "-i", data).stdout
    if kernel:
        test.check(f"{kernel[0]} [kernel.kallsyms]" in listed, f"build ids: {listed[:300]}")


def check_state(test, data):
    text = perf(test, "script", "-i", data, "--show-task-events", "--show-mmap-events").stdout
    test.check(re.search(r"PERF_RECORD_MMAP -1/0: \[0x[0-9a-f]+\(0x[0-9a-f]+\) @ 0x[0-9a-f]+\]: "
                         r"x \[kernel\.kallsyms\]_s?text", text), "no map of the kernel")
    test.check(re.search(r"PERF_RECORD_COMM: .*:1/1\n", text), "no COMM of pid 1")
    comm = Path("/proc/self/comm").read_text().strip()
    test.check(f"PERF_RECORD_COMM: {comm}:" in text, f"no COMM of {comm}, which ran before")


def check_info(test, data, counts):
    info = test.json("info", "-i", data)
    ours = {event["name"]: event["samples"] for event in info["events"] if event["samples"]}
    test.equal(ours, dict(counts), "samples by event: ours and perf's")
    test.equal((info["undecodable"], info["unknown_id"]), (0, 0), "undecodable samples and unknown ids")
    test.equal(info["recording"]["complete"], True, "complete")


def main():
    test = Test()
    if reason := kernel_lets_record():
        skip(reason)
    if not shutil.which("perf"):
        skip("no perf on this machine")
    with tempfile.TemporaryDirectory() as name:
        for options in ([], ["-z", "0"], ["-g"]):
            data = Path(name) / "perf.data"
            done = test.run("record", *options, "-B", "-o", data, "--",
                            "perf", "bench", "sched", "messaging", "-p", "-g", "2", "-l", "100")
            summary = re.search(r"(\d+) samples, .*nothing lost", done.errors)
            if not test.check(summary, f"summary: {done.errors}"):
                continue
            counts = check_script(test, data, int(summary[1]))
            test.check(counts["sched:sched_switch"] > 1000, f"switches: {counts}")
            check_timehist(test, data, counts["sched:sched_switch"])
            check_events(test, data, counts)
            check_build_ids(test, data)
            check_state(test, data)
            check_info(test, data, counts)
            if not options:
                check_header(test, data)
                report = perf(test, "report", "--stdio", "-i", data)
                test.check("sched-messaging" in report.stdout, "perf report --stdio")
    test.finish()


main()
