#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""However a recording ends, what was written up to there can be read; losses are counted once."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, kernel_lets_record, skip  # noqa: E402

HACKBENCH = ["perf", "bench", "sched", "messaging", "-p", "-g", "5", "-l", "300"]
MORE_THAN_A_DISK = ["perf", "bench", "sched", "messaging", "-p", "-g", "10", "-l", "3000"]


def info_of(test, data):
    return test.json("info", "-i", data)


def check_signals(test, folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        data = folder / number.name
        with subprocess.Popen([test.program, "record", "-B", "-o", data], stderr=subprocess.PIPE,
                              text=True) as recorder:
            time.sleep(1)
            recorder.send_signal(number)
            errors = recorder.communicate(timeout=30)[1]
        test.equal(recorder.returncode, 0, f"exit status after {number.name}")
        test.check("nothing lost" in errors, errors)
        info = info_of(test, data)
        test.equal(info["recording"]["complete"], True, f"{number.name}: complete")
        test.check(info["recording"]["samples"] > 0, f"{number.name}: samples")
    # A command that still runs ends with the recording.
    data = folder / "command"
    with subprocess.Popen([test.program, "record", "-q", "-B", "-o", data, "sleep", "60"]) as recorder:
        time.sleep(1)
        recorder.send_signal(signal.SIGINT)
        test.equal(recorder.wait(30), 0, "exit status after SIGINT with a command")


def check_killed(test, folder):
    """Two seconds are recorded; at most the last second or so was not yet in the file."""
    data = folder / "killed"
    with subprocess.Popen([test.program, "record", "-B", "-o", data]) as recorder:
        time.sleep(3)
        recorder.kill()
        recorder.wait()
    info = info_of(test, data)
    recording = info["recording"]
    test.equal(recording["complete"], False, "killed: complete")
    test.check(recording["samples"] > 0, f"killed: {recording}")
    test.equal((info["undecodable"], info["unknown_id"]), (0, 0), "killed: undecodable, unknown")
    length = (recording["end_ns"] - recording["start_ns"]) / 1e9
    test.check(length > 0.9, f"killed: {length} s of 3 are in the file")
    test.check(any(event["name"] == "sched:sched_switch" and event["samples"] for event in info["events"]),
               f"killed: events {info['events']}")


def check_full_disk(test, folder):
    if os.geteuid() != 0:
        print("a full disk is not tested: only root mounts a tmpfs")
        return
    mount = folder / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", mount], check=False).returncode:
        print("a full disk is not tested: no tmpfs can be mounted")
        return
    try:
        for options in (["-z", "0"], ["-z1"]):
            data = mount / "perf.data"
            done = test.run("record", "-B", *options, "-o", data, "--", *MORE_THAN_A_DISK, ok=(1,))
            test.check("No space left on device: the recording ends there, what was written can be read"
                       in done.errors, f"{options}: {done.errors}")
            info = info_of(test, data)
            test.equal((info["recording"]["complete"], info["undecodable"], info["unknown_id"]),
                       (True, 0, 0), f"{options}: complete, undecodable, unknown")
            test.check(info["recording"]["samples"] > 1000, f"{options}: {info['recording']}")
            test.check({"TRACING_DATA", "BUILD_ID", "SAMPLE_TIME", "EVENT_DESC"} <= set(info["features"]),
                       f"{options}: {info['features']}")
            if shutil.which("perf"):
                timehist = subprocess.run(["perf", "sched", "timehist", "-i", data], capture_output=True,
                                          check=False)
                test.equal(timehist.returncode, 0, f"{options}: perf reads it")
            data.unlink()
    finally:
        subprocess.run(["umount", mount], check=False)


def check_losses(test, folder):
    """Rings of 16 KiB overflow; LOST and LOST_SAMPLES both say by how much."""
    data = folder / "lost"
    for _ in range(5):
        done = test.run("record", "-B", "-m", "16K", "-z19", "-o", data, "--", *HACKBENCH)
        found = re.search(r"(\d+) events lost on CPU [\d,-]+", done.errors)
        if found:
            break
    else:
        print("losses are not tested: the reader kept up with rings of 16 KiB")
        return
    test.check("-m takes more" in done.errors, done.errors)
    info = info_of(test, data)
    test.equal(info["recording"]["lost"], int(found[1]), "lost events: the last line's and the file's")
    if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 0):
        test.check(info["records"].get("LOST_SAMPLES", 0) > 0, f"records: {info['records']}")


def check_pipe(test):
    command = [test.program, "record", "-B", "-o", "-", "--duration", "1s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        recorder.stdout.read(100)
        recorder.stdout.close()
        errors = recorder.stderr.read().decode()
        test.equal(recorder.wait(30), 0, "a reader that goes away: exit status")
    test.check("Broken pipe" not in errors, errors)


def main():
    test = Test()
    if reason := kernel_lets_record():
        skip(reason)
    if not shutil.which("perf"):
        skip("no perf on this machine, whose bench is the load")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_signals(test, folder)
        check_killed(test, folder)
        check_full_disk(test, folder)
        check_losses(test, folder)
        check_pipe(test)
    test.finish()


main()
