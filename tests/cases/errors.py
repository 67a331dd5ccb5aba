#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong is said in one clear line on stderr, with the exit status of INTERFACE: 1 or 129."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402


def expect(test, arguments, status, words, **options):
    """The run ends with status, prints nothing on stdout, and the words stand in its last lines."""
    done = test.run(*arguments, ok=(status,), **options)
    what = " ".join(map(str, arguments))
    test.equal(done.text, "", f"{what}: stdout")
    missing = [word for word in words if word.lower() not in done.errors.lower()]
    test.check(not missing, f"{what}: stderr lacks {missing}: {done.errors!r}")
    lines = done.errors.strip().splitlines()
    test.check(1 <= len(lines) <= 4, f"{what}: {len(lines)} lines on stderr: {done.errors!r}")
    return done


def files_that_are_none(test, folder):
    empty = folder / "empty.data"
    empty.write_bytes(b"")
    text = folder / "notes.txt"
    text.write_text("not a recording\n" * 10)
    expect(test, ["report", "-i", folder / "none.data"], 1, ["none.data", "no such file"])
    expect(test, ["report", "-i", empty], 1, ["empty.data", "empty"])
    expect(test, ["report", "-i", text], 1, ["notes.txt", "perf.data"])
    expect(test, ["info", "-i", text], 1, ["notes.txt", "perf.data"])
    expect(test, ["report", "-i", folder], 1, [str(folder)])


def files_without_sched_events(test):
    """It says which events there are, and how to record what is missing."""
    path = test.data / "perfdata/buildid_mmap/perf.data"
    expect(test, ["report", "-i", path], 1, ["cpu-clock", "perf latency record"])


def files_not_permitted(test, folder):
    path = folder / "secret.data"
    path.write_bytes((test.data / "perfdata/sched_record/perf.data").read_bytes())
    if os.geteuid() != 0:
        path.chmod(0)
        expect(test, ["report", "-i", path], 1, ["secret.data", "permission denied"])
        path.chmod(0o600)
        return
    # perf refuses files of other users unless asked with -f. Root may read its own only, likewise.
    os.chown(path, 65534, 65534)
    expect(test, ["report", "-i", path], 1, ["secret.data", "-f"])
    test.run("report", "-f", "-i", path)


def bad_usage(test):
    path = test.data / "alt-nanosleep-poll/perf.data"
    expect(test, ["reprot", "-i", path], 129, ["reprot", "report"])
    expect(test, ["report", "--formt", "json", "-i", path], 129, ["formt", "--format"])
    expect(test, ["report", "--sort", "totl", "-i", path], 129, ["totl", "total"])
    expect(test, ["report", "--by", "coz", "-i", path], 129, ["coz", "cause"])
    expect(test, ["report", "--format", "xml", "-i", path], 129, ["xml"])
    expect(test, ["report", "--limit", "many", "-i", path], 129, ["many"])
    expect(test, ["report", "--min-latency", "5 parsecs", "-i", path], 129, ["parsecs"])
    for window in ("abc", "5,1", "20%-10%", "1,2,3"):
        expect(test, ["report", "--time", window, "-i", path], 129, ["--time"])


def percent_of_a_pipe(test):
    with open(test.data / "perfdata/pipe_to_file/perf.pipe", "rb") as stream:
        expect(test, ["report", "--time", "10%-20%", "-i", "-"], 1, ["percent"], stdin=stream)


def quiet_end(test):
    """A reader that goes away ends the program without a word."""
    path = test.data / "lt-many/perf.data"
    done = subprocess.run(
        f"'{test.program}' report --by stack --limit 0 --callchain -i '{path}' 2>&1 >&3 | cat >&2",
        shell=True, capture_output=True, check=False, text=True, executable="/bin/bash",
        preexec_fn=lambda: os.dup2(os.open("/dev/null", os.O_WRONLY), 3))
    test.equal(done.returncode, 0, "report into /dev/null")
    done = subprocess.run(f"'{test.program}' report --by stack --limit 0 --callchain -i '{path}' | head -n 1 | wc -l",
                          shell=True, capture_output=True, check=False, text=True)
    test.equal((done.stdout.strip(), "pipe" in done.stderr.lower()), ("1", False), "report into head")


def help_and_version(test):
    version = test.run("--version").text
    for library in ("libperf", "zstd"):
        test.check(library in version.lower(), f"--version does not name {library}: {version!r}")
    for arguments in ([], ["--help"]):
        usage = test.run(*arguments, ok=(0, 129))
        for command in ("record", "report", "info", "causes"):
            test.check(command in usage.text + usage.errors, f"usage lacks {command}")
    for command in ("record", "report", "info", "causes"):
        test.check("--" in test.run(command, "--help").text, f"{command} --help prints no options")


def main():
    test = Test()
    with tempfile.TemporaryDirectory(prefix="pl-errors-") as name:
        files_that_are_none(test, Path(name))
        files_not_permitted(test, Path(name))
    files_without_sched_events(test)
    bad_usage(test)
    percent_of_a_pipe(test)
    quiet_end(test)
    help_and_version(test)
    test.finish()


main()
