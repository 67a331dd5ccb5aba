#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Maps that come behind all samples, as `perf record --tail-synthesize` writes them, name the user frames of
those samples: recordings whose MMAP2 records are moved to the end give the same chains as before.

Rounds are ended before, so that every sample has been handed on when the maps come.
"""
import shutil
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402
from perffile import FINISHED_ROUND, PerfFile  # noqa: E402

MMAP, MMAP2, CPUMODE, USER = 1, 10, 7, 2
TRAILER = (1 << 1, 1 << 2, 1 << 6, 1 << 9, 1 << 7, 1 << 16)  # TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER


def with_maps_at_the_end(source, path):
    """A synthesized record's trailer is all zero."""
    file = PerfFile(source)
    sample_type = struct.unpack_from("<Q", file.attrs[0][0], 24)[0]
    trailer = 8 * sum(1 for bit in TRAILER if sample_type & bit)
    kept, moved = b"", b""
    for kind, record in file.records():
        misc = struct.unpack_from("<H", record, 4)[0]
        if kind in (MMAP, MMAP2) and misc & CPUMODE == USER:
            moved += record[:-trailer] + bytes(trailer)
        else:
            kept += record
    assert moved
    rounds = struct.pack("<IHH", FINISHED_ROUND, 0, 8) * 3
    file.write_file(path, kept + rounds + moved, file.features)


def chains_of(test, path, symfs):
    report = test.json("report", "-f", "-i", path, "--callchain=user", "--limit", "0", "--symfs", symfs,
                       "--kallsyms", "/dev/null")
    return [(row["cause"], row["count"], row["total_ns"], row.get("stacks")) for row in report["rows"]], report


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "opt/workloads/wl").mkdir(parents=True)
        shutil.copy(test.data / "perfdata/sched_dwarf/wl_nofp", folder / "opt/workloads/wl")
        (folder / "usr").symlink_to("/usr")
        for case in ("sched_dwarf", "fp_user"):
            for program in (test.data / "perfdata" / case).glob("wl_*"):
                shutil.copy(program, folder / "opt/workloads/wl")
            source = test.data / "perfdata" / case / "perf.data"
            with_maps_at_the_end(source, folder / "late.data")
            early, report = chains_of(test, source, folder)
            late, _ = chains_of(test, folder / "late.data", folder)
            frames = [frame for row in early for stack in row[3] or () for frame in stack["frames"]]
            test.check(any(frame in ("worker", "main") for frame in frames), f"{case}: named frames in {frames}")
            test.equal(late, early, f"{case}: rows and chains")
            why = {entry["reason"] for entry in report["frames"].get("unknown_why", [])}
            unknown = sum(entry["count"] for entry in report["frames"].get("unknown_why", []))
            test.equal(unknown, report["frames"]["unknown"], f"{case}: reasons {why} add up")
    test.finish()


main()
