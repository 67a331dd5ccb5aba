#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""A load with known sleeps, recorded again and again: diff finds the sleep that became 20 % longer, and that
alone; between recordings of the same load it finds nothing.

Recordings of the two sides alternate. What chance there is of a mark where nothing has changed is at most
5 %, so each statement gets a second try with new recordings.
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, kernel_lets_record, skip  # noqa: E402

RUNS = 3
SAME = (20, 10, 12, 8)
LONGER = (20, 12, 12, 8)  # the poll


def record(test, folder, name, sleeps):
    data = folder / name
    test.run("record", "-q", "-B", "-o", data, "--", test.programs / "naps", *sleeps)
    return data


def record_sides(test, folder, changed):
    """RUNS recordings of the same on each side, and as many of what was changed, in turn."""
    before, after = [], []
    for run in range(RUNS):
        before.append(record(test, folder, f"before{run}", SAME))
        after.append(record(test, folder, f"after{run}", changed))
    return before, after


def marked_rows(test, before, after, *options):
    diff = test.json("diff", *options, "--before", *before, "--after", *after)
    tested = [row for row in diff["rows"] if row["total_ns"]["p_value"] is not None]
    test.check(all(row["marked"] in (True, False) for row in diff["rows"]), "each row is marked or not")
    return [row for row in diff["rows"] if row["marked"]], tested


def finds_the_longer_sleep(test, folder):
    before, after = record_sides(test, folder, LONGER)
    marked, tested = marked_rows(test, before, after, "-c", "naps")
    found = [(row["cause_id"], round(row["total_ns"]["change_percent"])) for row in marked]
    print(f"20 % longer: {found} of {len(tested)} rows")
    return len(marked) == 1 and marked[0]["cause_id"] == "poll" and \
        15 < marked[0]["total_ns"]["change_percent"] < 25 and len(tested) >= 4


def finds_nothing(test, folder):
    before, after = record_sides(test, folder, SAME)
    found = []
    for options in ((), ("-c", "naps"), ("--by", "process,cause"), ("--of", "contention")):
        marked, tested = marked_rows(test, before, after, *options)
        found += [(options, row.get("cause_id"), row["total_ns"]) for row in marked]
        print(f"the same, {' '.join(options)}: {len(marked)} of {len(tested)} rows marked")
    if found:
        print(found)
    return not found


def main():
    test = Test()
    reason = kernel_lets_record()
    if reason:
        skip(reason)
    for statement in (finds_the_longer_sleep, finds_nothing):
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                holds = statement(test, Path(folder))
            if holds:
                break
        test.check(holds, statement.__name__)
    test.finish()


main()
