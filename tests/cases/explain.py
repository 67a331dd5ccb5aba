#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Timeout: 900
"""explain tells the wait that it was asked for, in steps that add up, along who woke whom."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402

CASES = ("alt-nanosleep-poll", "lt-mixed-nodelay", "lt-disk", "lt-rt", "mmap-lock", "fmt-lost", "fmt-zstd")
KEYS = {"start_ns", "end_ns", "tid", "comm", "what", "cause", "cause_id", "stack", "by", "cpu", "state", "preempted",
        "began_before", "depth"}


def recording(test, case):
    return ["-i", test.data / case / "perf.data", *symbols_of(test.data / case)]


def lines_of(test, case, *options):
    text = test.run("script", *recording(test, case), "--only", "sleep,runnable", *options).text
    return [json.loads(line) for line in text.splitlines()]


def check_story(test, what, story):
    """The steps fill the wait, and each has a task that the step before may have been told by."""
    wait, steps = story["wait"], story["steps"]
    at = wait["start_ns"]
    for step in steps:
        test.equal(set(step), KEYS, f"{what}: keys of a step")
        test.check(step["start_ns"] == at < step["end_ns"], f"{what}: a gap or an overlap at {at}: {step}")
        at = step["end_ns"]
    test.equal(at, wait["end_ns"], f"{what}: the end of the last step")
    return wait, steps


def check_against_lines(test, what, steps, lines):
    """A step that slept or waited lies inside a line of the same task, of the same cause."""
    of_task = {}
    for line in lines:
        of_task.setdefault(line["tid"], []).append(line)
    for step in steps:
        if step["what"] not in ("sleeping", "runnable") or step["began_before"]:
            continue
        inside = [line for line in of_task.get(step["tid"], [])
                  if line["start_ns"] <= step["start_ns"] and step["end_ns"] <= line["end_ns"]]
        test.check(inside and inside[0]["cause_id"] == step["cause_id"],
                   f"{what}: no line of script for {step}: {inside[:1]}")
        if inside and step["what"] == "sleeping":
            test.equal(step["by"], inside[0]["waker"], f"{what}: who ended the sleep of {step['comm']}")
    # Who runs is not waiting anywhere else.
    for step in steps:
        if step["what"] == "running":
            busy = [line for line in of_task.get(step["tid"], [])
                    if line["start_ns"] < step["end_ns"] and line["end_ns"] > step["start_ns"]]
            test.equal(busy[:1], [], f"{what}: {step['comm']} ran and waited")


def check_case(test, case):
    everything = lines_of(test, case, "--kernel-threads", "--state", "all")
    lines = lines_of(test, case)
    story = test.json("explain", *recording(test, case))
    wait, steps = check_story(test, case, story)
    test.equal(story["schema"], "perf-latency.explain.v1", f"{case}: schema")
    candidates = [line for line in lines if not line["began_before"]]
    pool = [line for line in candidates if line["class"] != "idle"] or candidates
    longest = max(line["duration_ns"] for line in pool)
    test.equal(wait["duration_ns"], longest, f"{case}: the longest wait")
    test.check(wait in everything, f"{case}: the wait is no line of script: {wait}")
    check_against_lines(test, case, steps, everything)

    # Every cause, and every task at some time.
    for cause in sorted({line["cause_id"] for line in lines if line["cause_id"]}):
        found = test.json("explain", *recording(test, case), "--cause", cause)
        wait, steps = check_story(test, f"{case} --cause {cause}", found)
        test.equal(wait["duration_ns"], max(line["duration_ns"] for line in lines if line["cause_id"] == cause),
                   f"{case}: longest of {cause}")
        check_against_lines(test, f"{case} --cause {cause}", steps, everything)
    of_length = [line for line in everything if line["duration_ns"] > 1]
    for line in of_length[:: max(1, len(of_length) // 5)]:
        middle = (line["start_ns"] + line["end_ns"]) // 2
        found = test.json("explain", *recording(test, case), "--at", f"{middle // 10**9}.{middle % 10**9:09}", "--tid",
                          line["tid"])
        wait, steps = check_story(test, f"{case} --at {middle}", found)
        test.equal(wait, line, f"{case} --at {middle}")
        check_against_lines(test, f"{case} --at {middle}", steps, everything)


def check_nanosleep(test):
    """The program's 5 ms poll is ended by a timer, and there is nothing behind it."""
    common = recording(test, "alt-nanosleep-poll")
    story = test.json("explain", *common, "--comm", "alt", "--caller", "do_sys_poll")
    wait, steps = check_story(test, "poll", story)
    test.check(5.0 <= wait["duration_ns"] / 1e6 <= 5.5, f"poll: {wait['duration_ns']} ns")
    test.equal([(step["what"], step["cause_id"], step["depth"]) for step in steps], [("sleeping", "poll", 0)], "poll: steps")
    test.check(steps[0]["by"] in (None, {"tid": None, "comm": "[timer]"}), f"poll: ended by {steps[0]['by']}")
    story = test.json("explain", *common, "--comm", "alt", "--cause", "nanosleep")
    test.check(49.0 <= story["wait"]["duration_ns"] / 1e6 <= 51.0, f"nanosleep: {story['wait']['duration_ns']} ns")
    text = test.run("explain", *common, "--comm", "alt", "--caller", "do_sys_poll").text
    test.check("slept: A program waits for events (poll) [poll]; woken by" in text, f"poll: text\n{text}")
    test.check("in 1 step\n" in text, f"poll: text\n{text}")


def check_depth(test):
    """Somewhere in a mixed load a waker had itself been waiting for another."""
    deepest = 0
    for cause in ("futex", "pipe-read", "fsync"):
        done = test.run("explain", *recording(test, "lt-mixed-nodelay"), "--cause", cause, "--format", "json", ok=(0, 1, 129))
        if done.returncode == 0:
            deepest = max([deepest] + [step["depth"] for step in json.loads(done.text)["steps"]])
    test.check(deepest >= 2, f"no chain of three tasks: {deepest}")


def check_refusals(test):
    common = recording(test, "alt-nanosleep-poll")
    for arguments, status, words in (
            (["--at", "2470.15"], 129, "--tid"),
            (["--at", "soon", "--tid", "1"], 129, "no time in seconds"),
            (["--at", "1.0", "--tid", "1"], 1, "was not there"),
            (["--cause", "no-such-cause"], 129, "no-such-cause"),
            (["--caller", "no_such_function"], 1, "no_such_function"),
            (["--max", "--cause", "poll"], 129, "is enough"),
            (["-i", "x"], 129, "once"),
            (["--comm", "nobody"], 1, "no thread that was asked for waited")):
        done = test.run("explain", *common, *arguments, ok=(status,))
        test.check(words in done.errors and done.errors.count("\n") == 1, f"{arguments}: {done.errors!r}")
        test.equal(done.text, "", f"{arguments}: standard output")
    done = test.run("explain", "-i", "-", ok=(129,))
    test.check("twice" in done.errors, f"a pipe: {done.errors!r}")


def main():
    test = Test()
    for case in CASES:
        check_case(test, case)
    check_nanosleep(test)
    check_depth(test)
    check_refusals(test)
    test.finish()


main()
