#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Live
"""Without rights: the message names the setting, and a command's context switches are recorded all the same."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test, skip  # noqa: E402

NOBODY = 65534


def main():
    test = Test()
    if os.geteuid() != 0:
        skip("only root becomes another user")
    try:
        paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        skip("no perf events in this kernel")
    if paranoid < 2 or os.access("/sys/kernel/tracing/events", os.R_OK) is False:
        skip(f"kernel.perf_event_paranoid is {paranoid}: users have rights here")

    def as_nobody(*arguments, ok=(0,)):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False,
                              user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder,
                              env={"PATH": os.environ["PATH"], "HOME": str(folder)})
        test.check(done.returncode in ok, f"{arguments}: exit status {done.returncode}: {done.stderr}")
        return done

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        os.chown(folder, NOBODY, NOBODY)
        # The build tree may be closed to other users.
        program = folder / "perf-latency"
        shutil.copy(test.program, program)
        program.chmod(0o755)
        data = folder / "perf.data"

        done = as_nobody("record", "-o", data, "--", "sh", "-c", "for i in 1 2 3; do sleep 0.05; done")
        test.check("kernel.perf_event_paranoid" in done.stderr and "CAP_PERFMON" in done.stderr and
                   "tracefs" in done.stderr, f"what is missing: {done.stderr}")
        test.check("context switches only" in done.stderr, f"what is recorded: {done.stderr}")
        switches = re.search(r"(\d+) context switches, ", done.stderr)
        test.check(switches and int(switches[1]) >= 12, f"three sleeps and waits: {done.stderr}")
        os.chown(data, 0, 0)
        info = test.json("info", "-i", data)
        test.equal(info["records"].get("SWITCH"), int(switches[1]) if switches else None, "SWITCH records")
        test.equal(info["recording"]["complete"], True, "complete")

        for arguments in (["-a", "true"], ["--duration", "1s"], ["-e", "irq", "true"]):
            done = as_nobody("record", "-o", folder / "none", *arguments, ok=(1,))
            test.check("kernel.perf_event_paranoid" in done.stderr, f"{arguments}: {done.stderr}")
        done = as_nobody("record", "-m", "64M", "-o", folder / "none", "true", ok=(1,))
        test.check("kernel.perf_event_mlock_kb" in done.stderr, f"-m 64M: {done.stderr}")
    test.finish()


main()
