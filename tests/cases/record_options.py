#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""The options of `record`, each seen in what it does to a recording of this machine."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, idle_is_hidden, kernel_lets_record, skip  # noqa: E402

NAP = "import time; [time.sleep(0.02) for _ in range({n})]"


def napper(n):
    return [sys.executable, "-S", "-c", NAP.format(n=n)]


def events_of(test, data):
    info = test.json("info", "-i", data)
    return {event["name"]: event["samples"] for event in info["events"]} if info else {}


def seconds_of(test, data):
    recording = test.json("info", "-i", data)["recording"]
    return (recording["end_ns"] - recording["start_ns"]) / 1e9


def threads_with_time(test, data):
    report = test.json("report", "-i", data, "--by", "thread", "--limit", "0", "--state", "all",
                       "--kernel-threads")
    return {row["thread"]["tid"] for row in report["rows"]}


def check_usage(test, folder):
    def fails(status, text, *arguments):
        done = test.run("record", *arguments, ok=(status,))
        test.check(text in done.errors, f"record {arguments}: {done.errors!r} without {text!r}")

    fails(129, "--duration", "--durtion", "1s", "true")
    fails(129, "-x", "-x", "true")
    fails(129, "-z", "-z99", "true")
    fails(129, "-m", "-m", "12X", "true")
    fails(129, "-k", "-k", "sundial", "true")
    fails(129, "--call-graph", "--call-graph", "lbr", "true")
    fails(129, "--only-command", "--only-command")
    fails(129, "--switch-output", "--switch-output=5parsec", "true")
    fails(129, "-D", "-D", "later", "true")
    fails(1, "no event set \"nonsense\"", "-e", "nonsense", "true")
    fails(1, "sched:nonsense", "-e", "sched:nonsense", "true")
    fails(1, "command not found: no-such-command", "-o", folder / "none", "no-such-command")
    fails(1, "no process 999999999", "-p", "999999999", "--duration", "1s")
    fails(1, "CPU 99999 is not online", "-C", "99999", "--duration", "1s")
    fails(1, "cannot create", "-o", folder / "no" / "folder", "true")
    test.check(not (folder / "none").exists(), "a command that is not found leaves no file")
    help_text = test.run("record", "--help").text
    for option in ("-a", "-p", "-t", "-C", "-G", "-o", "-m", "-g", "--call-graph", "-e", "-D", "--duration",
                   "-z", "--max-size", "--switch-output", "-k", "--only-command", "--list"):
        test.check(option in help_text, f"--help does not name {option}")


def check_list(test):
    text = test.run("record", "--list").text
    for name in ("sched", "lock", "latencytop", "lockdep", "rstat", "mmap_lock", "vmstat", "spin", "irq"):
        test.check(re.search(rf"^{name} ", text, re.M), f"--list: no set {name}")
    test.check(re.search(r"^ +sched:sched_switch$", text, re.M), "--list: sched_switch is there")


def check_status(test, folder):
    data = folder / "status"
    for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["true"], 0)):
        test.run("record", "-q", "-B", "-o", data, "--", *command, ok=(status,))
    done = test.run("record", "-B", "-o", data, "--", "true")
    test.check(re.fullmatch(r"\[ perf latency record: \d+ samples, .* of records\), .*; "
                            r"the recorder used [\d.]+ % of a CPU \(.+\) \]\n", done.errors),
               f"the last line: {done.errors!r}")
    test.check(data.with_name("status.old").exists(), "the recording before is kept as FILE.old")


def check_times(test, folder):
    data = folder / "times"
    test.run("record", "-q", "-B", "--duration", "700ms", "-o", data)
    test.near(seconds_of(test, data), 0.7, 0.3, "--duration 700ms")
    begun = time.monotonic()
    test.run("record", "-q", "-B", "--duration", "500ms", "-o", data, "--", "sleep", "60")
    test.check(time.monotonic() - begun < 30, "--duration ends a command that runs on")
    # The command naps from 0 to 0.6 s; the first 0.4 s are not recorded.
    test.run("record", "-q", "-B", "-D", "400", "--only-command", "-o", data, "--", *napper(60))
    test.check(0.2 < seconds_of(test, data) < 1.2, f"-D 400: {seconds_of(test, data)} s")


def check_events(test, folder):
    data = folder / "events"
    test.run("record", "-q", "-B", "-e", "sched", "-o", data, "--", *napper(5))
    events = events_of(test, data)
    test.equal(sorted(events), sorted(["dummy:HG", "sched:sched_migrate_task", "sched:sched_process_exec",
                                       "sched:sched_process_exit", "sched:sched_process_fork",
                                       "sched:sched_switch", "sched:sched_wakeup_new", "sched:sched_waking",
                                       "task:task_rename"]), "events of -e sched")
    test.run("record", "-q", "-B", "-e", "spin,irq:softirq_entry", "--duration", "1s", "-o", data)
    events = events_of(test, data)
    test.equal(sorted(events), ["cpu-clock", "dummy:HG", "irq:softirq_entry"], "events of -e spin,irq:…")
    test.run("record", "-q", "-B", "-e", "vmstat", "--duration", "2500ms", "-o", data)
    events = events_of(test, data)
    test.check(events.get("workqueue:workqueue_queue_work", 0) > 0, f"vmstat work in 2.5 s: {events}")
    test.check(events["workqueue:workqueue_queue_work"] < 200, f"vmstat work only: {events}")
    done = test.run("record", "-B", "-e", "latencytop", "-o", data, "true")
    if not Path("/sys/kernel/tracing/events/sched/sched_stat_sleep").exists():
        test.check("this kernel has no sched:sched_stat_sleep" in done.errors, f"warning: {done.errors}")


def check_tasks(test, folder):
    data = folder / "tasks"
    command = ["sh", "-c", "sleep 0.1; (sleep 0.1; sleep 0.1) & wait; echo $$"]
    done = test.run("record", "-q", "-B", "--only-command", "-o", data, "--", *command)
    shell = int(done.text)
    report = test.json("report", "-i", data, "--by", "process", "--limit", "0", "--state", "all")
    names = {row["process"]["comm"] for row in report["rows"]}
    test.equal(names - {"sleep", "sh", "perf-latency"}, set(), "--only-command keeps nobody else")
    test.check("sleep" in names, "--only-command follows children")
    test.check(shell in {row["process"]["pid"] for row in report["rows"]}, "--only-command: the command")
    sleeps = [row for row in test.json("report", "-i", data, "--comm", "sleep", "--limit", "0")["rows"]
              if row["class"] == "idle"]
    if not idle_is_hidden(test):
        test.equal(sum(row["count"] for row in sleeps), 3, f"sleeps of 3 × sleep 0.1: {sleeps}")

    with subprocess.Popen(napper(500)) as one, subprocess.Popen(napper(500)) as other:
        for option in ("-p", "-t"):
            test.run("record", "-q", "-B", option, str(one.pid), "--duration", "500ms", "-o", data)
            tids = threads_with_time(test, data)
            test.check(one.pid in tids and other.pid not in tids, f"{option}: {tids} of {one.pid}")
        test.run("record", "-q", "-B", "-p", f"{one.pid},{other.pid}", "--duration", "500ms", "-o", data)
        test.check({one.pid, other.pid} <= threads_with_time(test, data), "-p with two processes")
        one.kill()
        other.kill()


def cgroup_folder():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup" and "perf_event" in options.split(","):
            return Path(folder)
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    return None


def check_cgroup(test, folder):
    top = cgroup_folder()
    group = top / f"perf-latency-test-{os.getpid()}" if top else None
    try:
        (group / "inner").mkdir(parents=True)
    except (OSError, TypeError) as error:
        print(f"-G is not tested: {error}")
        return
    data = folder / "cgroup"
    with subprocess.Popen(napper(500)) as member, subprocess.Popen(napper(500)) as outsider:
        (group / "inner" / "cgroup.procs").write_text(str(member.pid))
        test.run("record", "-q", "-B", "-G", group.name, "--duration", "500ms", "-o", data)
        tids = threads_with_time(test, data)
        test.check(member.pid in tids and outsider.pid not in tids, f"-G: {tids} of {member.pid}")
        (top / "cgroup.procs").write_text(str(member.pid))
        member.kill()
        outsider.kill()
    (group / "inner").rmdir()
    group.rmdir()
    done = test.run("record", "-G", "no-such-group", "--duration", "1s", ok=(1,))
    test.check("no cgroup \"no-such-group\"" in done.errors, done.errors)


def check_cpus(test, folder):
    data = folder / "cpus"
    done = test.run("record", "-B", "-C", "0", "--duration", "500ms", "-o", data)
    if os.cpu_count() > 1:
        test.check("only CPU 0 is recorded" in done.errors, f"-C says what is unknown: {done.errors}")
    report = test.json("report", "-i", data, "--by", "cpu", "--limit", "0", "--kernel-threads")
    test.equal({row["cpu"] for row in report["rows"]} - {0}, set(), "CPUs of -C 0")


def check_files(test, folder):
    data = folder / "files"
    hackbench = ["perf", "bench", "sched", "messaging", "-p", "-g", "5", "-l", "500"]
    test.run("record", "-q", "-B", "--max-size", "200K", "-o", data, "--", *hackbench)
    test.check(200_000 < data.stat().st_size < 1_500_000, f"--max-size 200K: {data.stat().st_size}")
    test.run("record", "-q", "-B", "--switch-output=200ms", "--duration", "900ms", "-o", folder / "parts")
    parts = sorted(folder.glob("parts.*"))
    test.check(3 <= len(parts) <= 6, f"--switch-output=200ms in 900 ms: {len(parts)} files")
    # The recording may end right after a new file was begun.
    for part in parts:
        info = test.json("info", "-i", part)
        test.check(info["recording"]["complete"], f"{part}: {info}")
        test.check(info["recording"]["samples"] > 0 or part == parts[-1], f"{part}: no samples")
        test.check(info["records"]["COMM"] > 10, f"{part}: names of what runs: {info['records']}")
    test.check(not (folder / "parts").exists(), "--switch-output leaves files with time stamps only")

    command = [test.program, "record", "-q", "-B", "--switch-output", "-o", folder / "signalled"]
    with subprocess.Popen(command) as recorder:
        time.sleep(0.7)
        recorder.send_signal(signal.SIGUSR2)
        time.sleep(0.5)
        recorder.send_signal(signal.SIGINT)
        test.equal(recorder.wait(30), 0, "exit status")
    test.equal(len(list(folder.glob("signalled.*"))), 2, "files after one SIGUSR2")


def check_formats(test, folder):
    data = folder / "formats"
    for options in (["-z", "0"], ["-z19"], ["-k", "CLOCK_MONOTONIC_RAW"], ["-k", "perf"], ["-m", "256K"], ["-a"],
                    ["--call-graph", "fp"], ["--call-graph", "dwarf,4096"]):
        test.run("record", "-q", "-B", *options, "-o", data, "--", *napper(5))
        info = test.json("info", "-i", data)
        test.equal((info["recording"]["complete"], info["undecodable"], info["unknown_id"]), (True, 0, 0),
                   f"{options}")
        test.equal("COMPRESSED" in info["features"], options != ["-z", "0"], f"{options}: compressed")
        test.equal("CLOCK_DATA" in info["features"], options != ["-k", "perf"], f"{options}: clock data")
    done = test.run("record", "-q", "-B", "-o", "-", "--", "sh", "-c", "echo to stderr", binary=True)
    test.equal(done.errors, "to stderr\n", "the command's output leaves the pipe alone")
    (folder / "stream").write_bytes(done.stdout)
    info = test.json("info", "-i", folder / "stream")
    test.equal(info["mode"], "pipe", "-o -")
    test.check(info["recording"]["samples"] > 0, "samples in the pipe")


def main():
    test = Test()
    if reason := kernel_lets_record():
        skip(reason)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_usage(test, folder)
        check_list(test)
        check_status(test, folder)
        check_times(test, folder)
        check_events(test, folder)
        check_tasks(test, folder)
        check_cgroup(test, folder)
        check_cpus(test, folder)
        check_files(test, folder)
        check_formats(test, folder)
    test.finish()


main()
