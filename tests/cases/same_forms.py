#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: (alt-nanosleep-poll|lt-mixed-stat|deb61-mixed-stat|fmt-sched-record|mmap-lock|perfdata/sched_record)$
"""One recording as a plain file, a pipe stream, compressed and a directory: the same report.

The forms are made from the plain file, record by record; the pipe stream is also read from a real pipe.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, symbols_of  # noqa: E402
from perffile import PerfFile  # noqa: E402

WRAPPINGS = ("COMPRESSED", "COMPRESSED2", "FINISHED_ROUND")
OPTIONS = ("--kernel-threads", "--state", "all", "--limit", "0", "--callchain")


def forms_of(perf_file, folder):
    perf_file.write_pipe(folder / "pipe.data")
    perf_file.write_compressed(folder / "zstd.data", 65000, newer=False)
    perf_file.write_compressed(folder / "zstd-tiny.data", 777, newer=False)
    perf_file.write_compressed(folder / "zstd2.data", 65000, newer=True)
    perf_file.write_directory(folder / "perf.data.dir")
    return ("pipe.data", "zstd.data", "zstd-tiny.data", "zstd2.data", "perf.data.dir")


def essence(report):
    """All that must not depend on the form."""
    recording = {k: v for k, v in report["recording"].items() if k not in ("path", "cmdline")}
    return {"recording": recording, "totals": report["totals"], "rows": report["rows"]}


def kernel_records(info):
    # Header records exist in pipe streams only; rounds are perf's own business.
    return {k: v for k, v in info["records"].items()
            if v and not k.startswith("HEADER_") and k not in WRAPPINGS}


def main():
    test = Test()
    case = test.data / test.case
    plain = case / "perf.data"
    common = [*symbols_of(case), *OPTIONS]
    wanted = essence(test.json("report", "-i", plain, *common))
    wanted_records = kernel_records(test.json("info", "-i", plain))
    test.check(len(wanted["rows"]) > 0, "the plain file's report is empty")
    with tempfile.TemporaryDirectory(prefix="pl-forms-") as name:
        folder = Path(name)
        for form in forms_of(PerfFile(plain), folder):
            got = essence(test.json("report", "-i", folder / form, *common))
            test.check(got == wanted, f"{form}: another report than the plain file's: {first_difference(got, wanted)}")
            info = test.json("info", "-i", folder / form)
            test.equal(kernel_records(info), wanted_records, f"{form}: records")
        with subprocess.Popen(["cat", folder / "pipe.data"], stdout=subprocess.PIPE) as cat:
            got = essence(test.json("report", "-i", "-", *common, stdin=cat.stdout))
            test.check(got == wanted, f"through a pipe: another report: {first_difference(got, wanted)}")
    test.finish()


def first_difference(got, wanted):
    for key in wanted:
        if got[key] != wanted[key]:
            if isinstance(wanted[key], dict):
                return {k: (got[key].get(k), v) for k, v in wanted[key].items() if got[key].get(k) != v}
            for one, other in zip(got[key], wanted[key]):
                if one != other:
                    return {k: (one.get(k), v) for k, v in other.items() if one.get(k) != v}
            return f"{len(got[key])} {key}, should be {len(wanted[key])}"
    return None


main()
