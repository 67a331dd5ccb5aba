#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
# Timeout: 120
"""`record -e vmstat` and `vmstat-sync` on this machine.

A task pinned to the last CPU dirties the CPU's counters. First at normal priority: vmstat work pushes it
off, and the report names it with the time that it lost; counts agree with counting the same events in
`perf script`. Then it spins as SCHED_FIFO from just before vmstat_update is due (it is due at the same
part of every second) until after the recording has ended: the work starves, and the report says so, with
its age. The spin is shorter than what throttling and the fair server allow, so no protection is turned off.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import skip_where_idle_is_hidden, Test, kernel_lets_record, skip  # noqa: E402

NORMAL_SECONDS = 4.0
ATTEMPTS = 5
# argv: CPU, end of normal work, end of spinning (monotonic seconds). Touching pages dirties counters.
HOG = """
import mmap, os, sys, time
cpu, busy, end = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {cpu})
open("/proc/self/comm", "w").write("vm-hog")
os.nice(-20)
while time.monotonic() < busy:
    m = mmap.mmap(-1, 1 << 20)
    for page in range(0, 1 << 20, 4096):
        m[page] = 1
    m.close()
if end > busy:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    time.sleep(0.002)  # no event tells of the new priority before the next switch
    while time.monotonic() < end:
        pass
"""
SYNC = re.compile(r"function[= ](vmstat_update|refresh_vm_stats)\b")


def start_hog(cpu, busy, end):
    return subprocess.Popen([sys.executable, "-c", HOG, str(cpu), str(busy), str(end)])


def record(test, data, cpu, busy, end, stop):
    """Records until `stop`; the hog may go on. Returns the hog's pid."""
    command = [str(test.program), "record", "-e", "vmstat", "-k", "CLOCK_MONOTONIC", "-o", str(data)]
    with start_hog(cpu, busy, end) as hog, subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
        time.sleep(max(0.0, stop - time.monotonic()))
        recorder.send_signal(signal.SIGINT)
        errors = recorder.stderr.read()
        recorder.wait()
        hog.wait()
    print(errors.strip())
    test.equal(recorder.returncode, 0, "exit status of record")
    return hog.pid


def perf_script(data):
    done = subprocess.run(["perf", "script", "-f", "-i", data, "--ns", "-F", "comm,tid,cpu,time,event,trace"],
                          capture_output=True, text=True, check=False, timeout=60)
    if not done.stdout:
        print("this perf prints nothing:", done.stderr[:200])
    for line in done.stdout.splitlines():
        head = re.search(r"\[(\d{3,})\]\s+(\d+\.\d+):", line)
        if head:
            yield int(head.group(1)), float(head.group(2)), line


def check_counts(test, data, rows, cpu):
    """Queueings and executions per CPU against perf script; when vmstat_update was last queued on the CPU."""
    queued, executed, ticks, last = Counter(), Counter(), Counter(), None
    for on, seconds, line in perf_script(data):
        sync = SYNC.search(line)
        if "workqueue_queue_work:" in line and sync:
            target = int(re.search(r" cpu=(-?\d+)", line).group(1))
            queued[target] += 1
            last = seconds if target == cpu else last
        elif "workqueue_execute_start:" in line and sync:
            executed[on] += 1
        elif "timer:tick_stop:" in line and "success=1" in line:
            ticks[on] += 1
    test.check(sum(queued.values()) > 0, "vmstat_update was queued")
    for row in rows:
        on = row["cpu"]
        test.equal(row["syncs"], executed[on], f"CPU {on}: syncs")
        test.equal(sum(row["queued_by"].values()), queued[on], f"CPU {on}: queued")
        test.equal(row["ticks_stopped"], ticks[on], f"CPU {on}: ticks stopped")
    return last


def hits_of(test, data, cpu, hog):
    tasks = test.json("vmstat-sync", "-i", data, "--by", "task", "-C", cpu)["rows"]
    return [row for row in tasks if row["task"]["tid"] == hog and row["preemptions"]]


def check_pushed_off(test, folder, cpu):
    """On a busy machine another task may have the CPU whenever the work runs: then once more."""
    for attempt in range(ATTEMPTS):
        data = folder / f"normal-{attempt}.data"
        end = time.monotonic() + NORMAL_SECONDS
        hog = record(test, data, cpu, end, end, end)
        due = check_counts(test, data, test.json("vmstat-sync", "-i", data)["rows"], cpu)
        hits = hits_of(test, data, cpu, hog)
        if hits and due is not None:
            break
    if test.check(hits, "the pinned task was pushed off"):
        test.equal((hits[0]["policy"], hits[0]["priority"], hits[0]["task"]["comm"]),
                   ("SCHED_OTHER", "nice -20", "vm-hog"), "who was pushed off")
        test.check(0 < hits[0]["preempted_ns"] < NORMAL_SECONDS * 10**9, f"time lost: {hits[0]['preempted_ns']} ns")
    return due


def check_starved(test, data, cpu, hog):
    row = next(row for row in test.json("vmstat-sync", "-i", data, "--isolated", cpu)["rows"] if row["cpu"] == cpu)
    test.equal((row["isolated"], row["verdict"]), (True, "FAIL"), "the starved CPU: isolated, verdict")
    test.check(50_000_000 < row["oldest_pending_ns"] < 900_000_000,
               f"age of the pending work: {row['oldest_pending_ns']} ns")
    lines = test.run("vmstat-sync", "-i", data, "--isolated", cpu, "--verdict", "-q", ok=(2,)).text
    test.check(re.search(rf"FAIL +{cpu} .*1 vmstat work item never ran: vmstat_update queued at \d+\.\d+ has waited "
                         rf"\d+\.\d+ ms behind vm-hog/{hog} \(SCHED_FIFO/RR 1( when it got the CPU)?\), which ran (9\d|100) % of it", lines),
               lines)


def starve(test, folder, cpu, due):
    """Until a recording ends with the work pending: how far the timer's second is off is not known beforehand."""
    for attempt in range(ATTEMPTS):
        data = folder / f"starved-{attempt}.data"
        at = due
        while at < time.monotonic() + 2:
            at += 1
        hog = record(test, data, cpu, at - 0.1, at + 0.55, at + 0.3)
        if next(row for row in test.json("vmstat-sync", "-i", data)["rows"] if row["cpu"] == cpu)["never_executed"]:
            return data, hog
        queued = [seconds for _, seconds, line in perf_script(data)
                  if "workqueue_queue_work:" in line and "vmstat_update" in line and f" cpu={cpu}" in line]
        due = queued[-1] if queued else due
    test.fault(f"no recording of {ATTEMPTS} ended with vmstat_update pending")
    return None, None


def main():
    test = Test()
    reason = kernel_lets_record()
    if reason:
        skip(reason)
    skip_where_idle_is_hidden(test)
    if os.geteuid() != 0:
        skip("real-time priorities need root")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("a real-time hog needs a second CPU for everybody else")
    if shutil.which("perf") is None:
        skip("there is no perf to count with")
    if Path("/proc/sys/vm/stat_interval").read_text().strip() != "1":
        skip("vm.stat_interval is not 1")
    cpu = cpus[-1]
    with tempfile.TemporaryDirectory(prefix="pl-vmstat-") as name:
        folder = Path(name)
        due = check_pushed_off(test, folder, cpu)
        if due is not None:
            starved, hog = starve(test, folder, cpu, due)
            if starved:
                check_starved(test, starved, cpu, hog)
                if os.environ.get("PL_KEEP"):
                    shutil.copy(starved, os.environ["PL_KEEP"])
    test.finish()


main()
