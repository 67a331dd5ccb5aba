#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^[a-z]+ vm
"""`vmstat-sync` against a straight reading of what `perf script` prints of the same recording.

The reading here knows nothing of our model: it pairs events by work address and by CPU, a line at a
time. What the recordings were made for (each case's README) is asserted in STORIES.
"""
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, skip, symbols_of  # noqa: E402

LINE = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\w+):(\w+):\s?(.*)$")
QUEUE = re.compile(r"work struct=(0x[0-9a-f]+) function=(\S+) workqueue=(\S*) req_cpu=\d+ cpu=(-?\d+)")
WORK = re.compile(r"work struct (0x[0-9a-f]+):? ?(?:function[ =](\S+))?")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> "
                    r"next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)")
SYNCS = ("vmstat_update", "refresh_vm_stats")
VMSTAT = (*SYNCS, "vmstat_shepherd")


def read_script(case):
    command = ["perf", "script", "-f", "-i", case / "perf.data", "--ns",
               "-F", "comm,pid,tid,cpu,time,event,trace", *map(str, symbols_of(case))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    for line in done.stdout.splitlines():
        match = LINE.match(line)
        if match:
            comm, _, tid, cpu, seconds, ns, _, event, rest = match.groups()
            yield comm, int(tid), int(cpu), int(seconds) * 10**9 + int(ns), event, rest


class Reading:
    """Sums per CPU."""

    def __init__(self, case):
        self.runs = defaultdict(list)        # (cpu, function): (start, length)
        self.delays = defaultdict(list)      # (cpu, function): (queued, delay)
        self.queued = defaultdict(int)       # (target cpu, function)
        self.ticks = defaultdict(int)
        self.pushes = defaultdict(list)      # cpu: (tid, prio, start, length) where vmstat work ran meanwhile
        self.unsynced = defaultdict(int)     # queued from a worker in vmstat_shepherd, idle tick stopped
        self.pending = {}                    # work: (function, cpu, time)
        executing, stay, away = {}, {}, {}
        stopped = set()
        self.first = self.last = None
        for _, tid, cpu, time, event, rest in read_script(case):
            self.first = time if self.first is None else self.first
            self.last = time
            if event == "workqueue_queue_work":
                work, function, _, target = QUEUE.match(rest).groups()
                target = int(target)
                self.queued[target, function] += 1
                self.pending[work] = (function, target, time)
                if function == "vmstat_update" and target in stopped and \
                        executing.get(tid, ("", "", 0))[1] == "vmstat_shepherd":
                    self.unsynced[target] += 1
            elif event == "workqueue_execute_start":
                work, function = WORK.match(rest).groups()
                executing[tid] = (work, function, time)
                if work in self.pending:
                    queued = self.pending.pop(work)
                    self.delays[cpu, function].append((queued[2], time - queued[2]))
                if cpu in stay and function in VMSTAT:
                    stay[cpu][3] = True
            elif event == "workqueue_execute_end":
                work = WORK.match(rest).group(1)
                if tid in executing and executing[tid][0] == work:
                    _, function, start = executing.pop(tid)
                    self.runs[cpu, function].append((start, time - start))
            elif event == "tick_stop" and "success=1" in rest:
                self.ticks[cpu] += 1
                if tid == 0:
                    stopped.add(cpu)
            elif event == "sched_switch":
                _, prev, prio, state, _, following, _ = SWITCH.match(rest).groups()
                prev, following = int(prev), int(following)
                if following:
                    stopped.discard(cpu)
                if cpu in stay and stay[cpu][3]:
                    away[stay[cpu][0]] = (cpu, *stay[cpu])
                stay.pop(cpu, None)
                if following in away:
                    on, who, priority, since, _ = away.pop(following)
                    self.pushes[on].append((who, priority, since, time - since))
                if state.startswith("R") and prev:
                    stay[cpu] = [prev, int(prio), time, False]

    def syncs(self, cpu):
        return [run for function in SYNCS for run in self.runs[cpu, function]]

    def sync_delays(self, cpu):
        return [delay for function in SYNCS for _, delay in self.delays[cpu, function]]


def check_cpus(test, rows, reading):
    test.equal([row["cpu"] for row in rows], [0, 1, 2, 3], "CPUs")
    for row in rows:
        cpu, name = row["cpu"], f"CPU {row['cpu']}"
        syncs, delays, pushes = reading.syncs(cpu), reading.sync_delays(cpu), reading.pushes[cpu]
        test.equal(row["syncs"], len(syncs), f"{name}: syncs")
        test.equal(row["sync_ns"], sum(length for _, length in syncs), f"{name}: sync_ns")
        test.equal(row["sync_max_ns"], max((length for _, length in syncs), default=None), f"{name}: sync_max_ns")
        test.equal(row["queue_delay_max_ns"], max(delays, default=None), f"{name}: queue_delay_max_ns")
        test.equal(row["ticks_stopped"], reading.ticks[cpu], f"{name}: ticks_stopped")
        test.equal(row["preempted_tasks"], len({who for who, *_ in pushes}), f"{name}: preempted_tasks")
        test.equal(row["preemptions"], len(pushes), f"{name}: preemptions")
        test.equal(row["preempted_ns"], sum(length for *_, length in pushes), f"{name}: preempted_ns")
        never = [1 for function, target, _ in reading.pending.values() if target == cpu and function in VMSTAT]
        test.equal(row["never_executed"], len(never), f"{name}: never_executed")
        if row["stopped_unsynced"] is not None:
            test.equal(row["stopped_unsynced"], reading.unsynced[cpu], f"{name}: stopped_unsynced")
        else:
            test.equal(reading.unsynced[cpu], 0, f"{name}: seen, but reported as unknown")
        test.equal(sum(row["queued_by"].values()), sum(reading.queued[cpu, f] for f in SYNCS), f"{name}: queued")
        test.equal(row["pending_ns"], None, f"{name}: pending_ns without timer events")
        other = sum(len(runs) for (on, function), runs in reading.runs.items() if on == cpu and function not in VMSTAT)
        test.equal(row["other_works"], other, f"{name}: other works")


def check_works(test, rows, reading):
    """Where no CPU is known to be isolated, every function has a row."""
    wanted = defaultdict(list)
    for (_, function), runs in list(reading.runs.items()):
        if not runs:
            continue
        wanted[function] += [length for _, length in runs]
    got = {row["work"]: row for row in rows}
    for function, lengths in wanted.items():
        if not test.check(function in got, f"no row for {function}"):
            continue
        row = got[function]
        test.equal((row["executed"], row["total_ns"], row["max_ns"]),
                   (len(lengths), sum(lengths), max(lengths)), f"{function}: executed, total, max")


def check_tasks(test, rows, reading):
    wanted = defaultdict(list)
    for pushes in reading.pushes.values():
        for tid, prio, _, length in pushes:
            wanted[tid, prio].append(length)
    got = defaultdict(lambda: [0, 0])
    policies = {}
    for row in rows:
        if row["preemptions"] and any(f in VMSTAT for f in row["work"].split(", ")):
            key = (row["task"]["tid"], row["policy"], row["priority"])
            got[key][0] += row["preemptions"]
            got[key][1] += row["preempted_ns"]
    for (tid, prio), lengths in wanted.items():
        policies[tid] = ("SCHED_FIFO/RR", str(99 - prio)) if prio < 100 else ("SCHED_OTHER", f"nice {prio - 120}")
        test.equal(tuple(got.pop((tid, *policies[tid]), (0, 0))), (len(lengths), sum(lengths)),
                   f"tid {tid}: preempted times and ns")
    test.equal(dict(got), {}, "tasks that were not preempted")


def verdicts(test, case, cpus, expected):
    done = test.run("vmstat-sync", "-f", "-i", case / "perf.data", *symbols_of(case), "--isolated", cpus,
                    "--verdict", "-q", ok=(0, 2))
    lines = [line.split(None, 2) for line in done.text.splitlines()[1:]]
    test.equal({int(cpu): verdict for verdict, cpu, _ in lines}, expected, f"verdicts with --isolated {cpus}")
    test.equal(done.returncode, 2 if "FAIL" in expected.values() else 0, f"exit status with --isolated {cpus}")
    return {int(cpu): why for _, cpu, why in lines}


def story_idle(test, case, rows, _):
    verdicts(test, case, "2-3", {2: "PASS", 3: "PASS"})
    test.equal(rows[2]["isolated"], None, "isolated without a mask in the file")


def story_isolated_busy(test, case, rows, _):
    verdicts(test, case, "2-3", {2: "PASS", 3: "PASS"})
    test.equal((rows[3]["syncs"], sum(rows[3]["queued_by"].values())), (0, 0), "CPU 3: syncs and queueings")


def story_throttled(test, case, rows, tasks):
    delays = rows[1]["queue_delay_max_ns"]
    test.check(500_000_000 < delays < 1_000_000_000, f"CPU 1: the fair server ran the work after {delays} ns")
    why = verdicts(test, case, "1", {1: "FAIL"})[1]
    test.check(re.search(r"waited 9\d\d\.\d+ ms behind VM_END/167 \(SCHED_FIFO/RR 1\), which ran 99 %", why), why)
    hit = [row for row in tasks if row["preemptions"] and row["work"] == "vmstat_update"]
    test.equal([(row["task"]["tid"], row["policy"]) for row in hit], [(167, "SCHED_FIFO/RR")], "pushed off")


def story_nohzfull(test, case, rows, _):
    verdicts(test, case, "2-3", {2: "FAIL", 3: "FAIL"})
    test.equal((rows[3]["syncs"], rows[3]["queued_by"]["timer"]), (1, 1), "CPU 3: one sync before the spin")
    # The task spins from 7.117 to 13.099: nothing is to be seen of CPU 3 then.
    window = test.json("vmstat-sync", "-f", "-i", case / "perf.data", *symbols_of(case), "--isolated", "2-3",
                       "--time", "7.117,13.099")["rows"]
    test.equal((window[3]["syncs"], window[3]["verdict"]), (0, "PASS"), "CPU 3 during the spin")


def story_starved(test, case, rows, tasks):
    test.near(rows[1]["queue_delay_max_ns"], 6_979_000_000, 1_000_000, "CPU 1: longest wait of vmstat_update")
    why = verdicts(test, case, "1", {1: "FAIL"})[1]
    test.check("vmstat_update queued at 37.824468 waited 6.979 s behind VM_END/208 (SCHED_FIFO/RR 1)" in why, why)
    held = [row for row in tasks if row["held_up_ns"] > 10**9 and row["work"] == "vmstat_update"]
    test.equal([(row["task"]["tid"], row["policy"], row["priority"]) for row in held],
               [(208, "SCHED_FIFO/RR", "1")], "who kept work waiting")
    early = test.json("vmstat-sync", "-f", "-i", case / "perf.data", *symbols_of(case), "--isolated", "1",
                      "--fail-if", "queue_delay_max(1)>5s", ok=(2,))["rows"][1]
    test.equal(early["verdict"], "FAIL", "CPU 1: verdict in JSON")


STORIES = {"vm-idle": story_idle, "vm-isolated-busy": story_isolated_busy, "vm-throttled-busy": story_throttled,
           "vm61-nohzfull-busy": story_nohzfull, "vm61-starved": story_starved}


def main():
    test = Test()
    if shutil.which("perf") is None:
        skip("there is no perf to read the recording with")
    case = test.data / test.case
    reading = Reading(case)
    if reading.first is None:
        skip("this perf prints nothing of the recording")
    common = ("vmstat-sync", "-f", "-i", case / "perf.data", *symbols_of(case))
    rows = test.json(*common)["rows"]
    check_cpus(test, rows, reading)
    check_works(test, test.json(*common, "--by", "work")["rows"], reading)
    tasks = test.json(*common, "--by", "task")["rows"]
    check_tasks(test, tasks, reading)
    STORIES[test.case](test, case, rows, tasks)
    test.finish()


main()
