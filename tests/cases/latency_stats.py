#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^latencytop (lt-|deb61-)
"""latencytop's truth: `report --format latency_stats` against the kernel's own tables.

Beside each recording stand /proc/latency_stats and /proc/PID/task/TID/latency as the kernel had them in
the window that task renames mark. Where the recording has sched_stat_sleep and sched_stat_blocked,
causes, counts, totals and maxima are the same. Elsewhere a rebuild from switches and wakeups cannot be
exact (delayed dequeue, the 5 ms edge, the distance between an event and the run queue's clock); it must
be at least as close as an independent script came, whose figures are in PLAIN.

The kernel prints names without offsets, so lines of equal text are summed on both sides.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402

GLOBAL_WINDOW = "LT_CLEARED,LT_READ"
EXACT = {"lt-default-clock", "lt-dir-stat", "lt-mixed-stat", "lt-overflow-stat", "lt-trace-env-stat",
         "deb61-mixed-stat"}
# causes with the kernel's own count, count, total in percent, largest difference of a maximum
PLAIN = {
    "lt-dir-nodelay": (7, 238, 100.05, 110),
    "lt-disk": (17, 200, 98.69, 1776),
    "lt-hackbench": (2, 311, 103.05, 30),
    "lt-lost": (1, 610, 96.71, 147),
    "lt-many": (103, 445, 102.44, 2966),
    "lt-mixed-nodelay": (27, 279, 99.44, 204),
    "lt-pingpong": (1, 886, 100.89, 24),
    "lt-rt": (14, 53, 99.89, 486),
    "lt-sleep": (2, 97, 98.27, 1239),
}
# The global table's sleep that no event of lt-trace-env-stat shows: it ended on a CPU that was just going
# offline, where perf's events had ended already.
UNSEEN = {"lt-trace-env-stat": 1}
RECORD = re.compile(r"^(\d+) (\d+) (\d+) (.*)$")
TASK = re.compile(r"^# /proc/(\d+)/task/(\d+)/latency")


def table_of(lines):
    """{frames: (count, total, maximum)}, lines of equal text summed."""
    table = {}
    for line in lines:
        match = RECORD.match(line)
        if not match:
            continue
        count, total, maximum = map(int, match.groups()[:3])
        old = table.get(match.group(4), (0, 0, 0))
        table[match.group(4)] = (old[0] + count, old[1] + total, max(old[2], maximum))
    return table


def tables_of_tasks(text):
    lines, tables, task = defaultdict(list), {}, None
    for line in text.splitlines():
        match = TASK.match(line)
        if match:
            task = (int(match.group(1)), int(match.group(2)))
            tables[task] = {}
        elif task:
            lines[task].append(line)
    return {task: table_of(lines[task]) for task in tables}


def differences(ours, kernel):
    for frames in sorted(set(ours) | set(kernel)):
        if ours.get(frames) != kernel.get(frames):
            yield f"  ours {ours.get(frames)} kernel {kernel.get(frames)}: {frames}"


def measures(ours, kernel):
    common = set(ours) & set(kernel)
    total = sum(row[1] for row in kernel.values())
    return {
        "same": sum(ours[f][0] == kernel[f][0] for f in common),
        "count": sum(row[0] for row in ours.values()),
        "percent": 100.0 * sum(row[1] for row in ours.values()) / total,
        "difference": max((abs(ours[f][2] - kernel[f][2]) for f in common), default=0),
    }


def report(test, folder, *options):
    return test.run("report", "-i", folder / "perf.data", *symbols_of(folder), "--format", "latency_stats",
                    *options).text


def task_windows(folder):
    """A function from a process to the --time of its files: cleared at LT_TCLEARED, read at LT_TREAD, or,
    by a process that was about to end, at its own LT_SREAD."""
    marks = defaultdict(list)
    for line in (folder / "marks.txt").read_text().splitlines()[1:]:
        time_ns, pid, name = line.split()
        marks[name].append((int(time_ns), int(pid)))
    seconds = "{0[0]}.{0[1]:09d}".format
    start = marks["LT_TCLEARED"][0][0]
    stop_of = {pid: time_ns for time_ns, pid in marks["LT_SREAD"]}
    last = marks["LT_TREAD"][0][0]

    def window(pid):
        stop = stop_of.get(pid, last)
        return f"{seconds(divmod(start, 10**9))},{seconds(divmod(stop, 10**9))}"
    return window


def check_exact(test, ours, kernel):
    unseen = UNSEEN.get(test.case, 0)
    missing = set(kernel) - set(ours)
    if unseen and len(missing) == unseen:
        lost = sum(kernel[frames][0] for frames in missing)
        test.equal(lost, unseen, "sleeps of the row that no event shows")
        kernel = {frames: row for frames, row in kernel.items() if frames not in missing}
    test.check(ours == kernel, "the global table differs:\n" + "\n".join(differences(ours, kernel)))


def check_plain(test, ours, kernel):
    same, count, percent, difference = PLAIN[test.case]
    kernel_count = sum(row[0] for row in kernel.values())
    got = measures(ours, kernel)
    print(f"{test.case}: {len(ours)} causes, kernel {len(kernel)}; {got}; to reach {PLAIN[test.case]}, "
          f"kernel's count {kernel_count}")
    detail = "\n" + "\n".join(differences(ours, kernel))
    test.check(not set(kernel) - set(ours), "causes of the kernel's table are missing" + detail)
    test.check(len(set(ours) - set(kernel)) <= (1 if test.case == "lt-mixed-nodelay" else 0),
               "causes that the kernel's table lacks" + detail)
    test.check(got["same"] >= same, f"{got['same']} causes with the kernel's count, not {same}" + detail)
    test.check(abs(got["count"] - kernel_count) <= abs(count - kernel_count),
               f"count {got['count']}, kernel {kernel_count}, bound {count}" + detail)
    # The bound is printed with two decimals.
    test.check(abs(got["percent"] - 100) <= abs(percent - 100) + 0.005,
               f"total {got['percent']:.2f} %, bound {percent} %" + detail)
    test.check(got["difference"] <= difference,
               f"largest difference of a maximum {got['difference']}, bound {difference}" + detail)


def is_kernel_thread(table):
    return all("entry_SYSCALL" not in frames and "asm_exc" not in frames for frames in table)


def check_thread(test, name, ours, kernel):
    test.check(ours == kernel, f"{name} differs:\n" + "\n".join(differences(ours, kernel)))


def check_kernel_thread(test, name, ours, kernel):
    """Their sleeps may have begun before the recording: those have no chain here."""
    named = {frames: row for frames, row in ours.items() if not frames.startswith("[")}
    test.check(all(frames in kernel and row[0] <= kernel[frames][0] and row[1] <= kernel[frames][1]
                   for frames, row in named.items()),
               f"{name} has more than the kernel's:\n" + "\n".join(differences(ours, kernel)))


def check_tasks(test, folder):
    window_of, tables, compared = task_windows(folder), {}, 0
    for path in sorted((folder / "tasks").glob("task-*.txt")):
        pid, tid = map(int, path.stem.split("-")[1:])
        kernel = table_of(path.read_text().splitlines())
        if not kernel:
            continue
        window = window_of(pid)
        if window not in tables:
            tables[window] = tables_of_tasks(report(test, folder, "--time", window, "--per-task"))
        ours = tables[window].get((pid, tid), {})
        compared += 1
        (check_kernel_thread if is_kernel_thread(kernel) else check_thread)(test, path.name, ours, kernel)
    print(f"{compared} tables of threads compared")
    test.check(compared > 0, "no table of a thread was compared")


def main():
    test = Test()
    folder = test.data / test.case
    derived = folder / "expected_latency_stats.txt"
    truth = derived if derived.is_file() else folder / "latency_stats.txt"
    text = report(test, folder, "--time-comm", GLOBAL_WINDOW)
    if derived.is_file():
        # The kernel prints modules' functions with " [module]"; the script that derived this table did not.
        test.check(" [ext4]" in text, "functions of modules are printed without the module")
        text = re.sub(r" \[\w+\]", "", text)
    ours = table_of(text.splitlines())
    kernel = table_of(truth.read_text().splitlines())
    if test.case in EXACT:
        check_exact(test, ours, kernel)
        # Debian's own kernel has no such files: its tasks/ are empty.
        if test.case.startswith("lt-"):
            check_tasks(test, folder)
    else:
        check_plain(test, ours, kernel)
    test.finish()


main()
