# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts in tests/cases share: arguments, running the program, and the sum of the checks."""
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

SKIP = 77
SANITIZER_MARKS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:",
                   "ERROR: UndefinedBehaviorSanitizer")


class Test:
    """One run of a script: its arguments, and what has failed so far."""

    def __init__(self):
        self.program = Path(sys.argv[1]).resolve()
        self.data = Path(sys.argv[2]).resolve()
        self.source = Path(sys.argv[3]).resolve()
        self.case = sys.argv[4] if len(sys.argv) > 4 and sys.argv[4] else None
        self.programs = Path(os.environ.get("PL_PROGRAMS", self.source / "build/tests/programs"))
        self.sanitized = os.environ.get("PL_SANITIZED") == "1"
        self.checks = 0
        self.faults = []

    # ---- running

    def run(self, *arguments, ok=(0,), timeout=300, binary=False, **options):
        """Runs perf-latency; a signal, a sanitizer's report or an unexpected status is a fault."""
        command = [str(self.program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False,
                              stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        errors = done.stderr.decode(errors="replace")
        line = " ".join(command)
        if done.returncode < 0:
            self.fault(f"{line}: killed by {signal.Signals(-done.returncode).name}\n{errors[-3000:]}")
        elif any(mark in errors for mark in SANITIZER_MARKS):
            self.fault(f"{line}:\n{errors[-3000:]}")
        elif ok is not None and done.returncode not in ok:
            self.fault(f"{line}: exit status {done.returncode}\n{errors[-3000:]}")
        done.errors = errors
        done.text = done.stdout if binary else done.stdout.decode(errors="replace")
        return done

    def json(self, *arguments, **options):
        """The JSON object that a command prints; without one the test ends here."""
        done = self.run(*arguments, "--format", "json", **options)
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            self.fault(f"{' '.join(map(str, arguments))}: no JSON: {error}: {done.text[:200]!r}")
            return self.finish()

    # ---- judging

    def fault(self, text):
        self.checks += 1
        self.faults.append(text)

    def check(self, holds, text):
        self.checks += 1
        if not holds:
            self.faults.append(text)
        return holds

    def equal(self, got, want, what):
        return self.check(got == want, f"{what}: {got!r}, should be {want!r}")

    def near(self, got, want, tolerance, what):
        return self.check(got is not None and abs(got - want) <= tolerance,
                          f"{what}: {got!r}, should be {want!r} ± {tolerance!r}")

    def finish(self):
        for text in self.faults:
            print("FAULT:", text)
        print(f"{self.checks} checks, {len(self.faults)} faults")
        if self.checks == 0:
            print("nothing was checked")
            sys.exit(1)
        sys.exit(1 if self.faults else 0)


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def recordings_of(folder):
    """Each recording of a case's folder: files, pipe streams and directories, swapped twins left out."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "data").is_file():
            found.append(path)
        elif path.is_file() and (path.name.startswith("perf.data") or
                                 path.suffix == ".data" or path.name.startswith("perf.pipe")):
            found.append(path)
    return found


def symbols_of(folder):
    """The options that name the kernel's symbols of a case."""
    kallsyms = folder / "kallsyms"
    return ["--kallsyms", kallsyms] if kallsyms.is_file() else []


def limit_memory(maximum_bytes):
    """For preexec_fn: an address space limit, which a sanitizer's shadow memory would not fit in."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (maximum_bytes, maximum_bytes))


def kernel_lets_record():
    """Why this machine cannot record system-wide tracepoints; None when it can."""
    if os.geteuid() != 0:
        try:
            paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        except OSError:
            return "no perf events in this kernel"
        if paranoid > -1:
            return "neither root nor kernel.perf_event_paranoid=-1"
    if not Path("/sys/kernel/tracing/events/sched/sched_switch/id").exists():
        return "tracefs with sched_switch is not mounted at /sys/kernel/tracing"
    return None


def skip_where_idle_is_hidden(test):
    if idle_is_hidden(test):
        skip("this kernel hides some tasks' events from perf")


def idle_is_hidden(test):
    """Some kernels keep the idle task's events, and those of other chosen tasks, from perf now and then. What
    ends a wait is then in no recording, so that counts of single events of other tasks prove nothing."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "probe"
        test.run("record", "-q", "-B", "-o", data, "--", "sleep", "1")
        report = test.json("report", "-i", data, "--kernel-threads")
    return any(entry["id"] in ("idle-hidden", "hidden-threads") for entry in report["diagnostics"])
