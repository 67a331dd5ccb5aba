#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Serial
"""A recording that is cut by somebody while it is read: what was read counts, and it is said to be cut."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, skip  # noqa: E402

COPIES = 600


def long_recording(test, path):
    """A killed recording goes on to the end of its file, so its records can be repeated."""
    content = (test.data / "perfdata/sigkilled_tracepoint/perf.data").read_bytes()
    records = int.from_bytes(content[40:48], "little")
    with open(path, "wb") as file:
        file.write(content)
        # Whole records only: the last one is cut, so every copy would be behind a broken one.
        end = records
        while end + 8 <= len(content):
            size = int.from_bytes(content[end + 6:end + 8], "little")
            if size < 8 or end + size > len(content):
                break
            end += size
        file.truncate(end)
        file.seek(end)
        for _ in range(COPIES):
            file.write(content[records:end])


def stopped_in_the_middle(process):
    """Stops the program when it has read a part of the file; False when it was too fast."""
    counters = Path(f"/proc/{process.pid}/io")
    for _ in range(100000):
        if process.poll() is not None:
            return False
        try:
            read = int(re.search(r"rchar: (\d+)", counters.read_text()).group(1))
        except (OSError, AttributeError):
            continue
        if read > 4 << 20:
            process.send_signal(signal.SIGSTOP)
            return True
    return False


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "long.data"
        cut = 0
        for command in ("info", "report"):
            long_recording(test, path)
            process = subprocess.Popen([test.program, command, "-f", "-i", path, "--format", "json"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if stopped_in_the_middle(process):
                os.truncate(path, 4096)
                process.send_signal(signal.SIGCONT)
            out, errors = process.communicate(timeout=120)
            test.equal(process.returncode, 0, f"{command}: exit status: {errors.decode()}")
            report = json.loads(out)
            told = [entry for entry in report["diagnostics"] if "cut while it was read" in json.dumps(entry)]
            if not told:
                continue
            cut += 1
            test.equal(report["recording"]["complete"], False, f"{command}: complete")
            test.check(report["recording"]["samples"] > 0, f"{command}: samples")
        if cut == 0:
            skip("the program was always faster")
    test.finish()


main()
