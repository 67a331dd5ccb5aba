#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""On a terminal: pager, colours, widths, progress, and the defaults of the perfconfig. Looked at through a pty."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

COLOR = re.compile(r"\x1b\[[0-9;]*m")
CLEAR = "\x1b[K"


class Terminal:
    """Runs perf-latency with standard output, error and input on a pty."""

    def __init__(self, test, columns=100, rows=50):
        self.test = test
        self.columns, self.rows = columns, rows

    def run(self, *arguments, status=0, stdin=None, stdout=None, meanwhile=None, **environment):
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("PAGER", "LESS") and not name.startswith("PERF_")}
        clean.update(TERM="xterm", PERF_CONFIG="/dev/null", PERF_PAGER="cat")
        clean.update({name: value for name, value in environment.items() if value is not None})
        for name in [name for name, value in environment.items() if value is None]:
            clean.pop(name, None)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        settings = termios.tcgetattr(slave)
        settings[1] &= ~termios.OPOST  # line ends as they were written
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        process = subprocess.Popen([str(self.test.program), *map(str, arguments)], stdin=stdin or slave,
                                   stdout=stdout or slave, stderr=slave, env=clean, start_new_session=True)
        os.close(slave)
        output = b""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.02)
            if meanwhile:
                meanwhile(process)
            if not ready:
                if process.poll() is not None:
                    break
                continue
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            output += got
        os.close(master)
        code = process.wait(timeout=10)
        what = " ".join(map(str, arguments))
        self.test.equal(code, status, f"{what}: exit status; {output[-300:]!r}")
        return output.decode(errors="replace")


def report_of(test, case="lt-mixed-stat"):
    return ["report", "-i", test.data / case / "perf.data", "--kallsyms", test.data / case / "kallsyms"]


def check_pager(test, folder):
    terminal = Terminal(test)
    report = report_of(test)
    plain = terminal.run(*report)
    test.check(plain.startswith("Why tasks slept"), f"without a pager: {plain[:100]!r}")

    def paged(text):
        lines = text.splitlines()
        return len(lines) > 5 and all(line.startswith("P:") for line in lines)

    pager = "sed s/^/P:/"
    config = folder / "perfconfig"
    test.check(paged(terminal.run(*report, PERF_PAGER=pager)), "PERF_PAGER")
    test.check(paged(terminal.run(*report, PERF_PAGER=None, PAGER=pager)), "PAGER")
    test.check(paged(terminal.run(*report, PERF_PAGER=pager, PAGER="cat")), "PERF_PAGER goes before PAGER")
    test.equal(terminal.run(*report, PERF_PAGER=pager, PAGER=pager).replace("P:", ""), plain, "all of it is paged")
    for arguments in ([*report, "--no-pager"], ["--no-pager", *report]):
        test.equal(terminal.run(*arguments, PERF_PAGER=pager), plain, "--no-pager")
    for value in ("cat", ""):
        test.equal(terminal.run(*report, PERF_PAGER=value, PAGER=pager), plain, f"PERF_PAGER={value!r}")
    test.check("P:" not in terminal.run(*report, "--format", "json", PERF_PAGER=pager), "JSON is not paged")
    test.check("P:" not in terminal.run(*report, "-o", folder / "out", PERF_PAGER=pager), "a file is not paged")
    test.check("P:" not in test.run(*report, env=dict(os.environ, PERF_PAGER=pager)).text, "a pipe is not paged")
    for command in (["info", "-i", report[2]], ["causes"], [*report, "--format", "timehist"]):
        test.check(paged(terminal.run(*command, PERF_PAGER=pager)), f"{command[0]} is paged")
    config.write_text(f'[latency]\n\tpager = "{pager}"\n', encoding="utf-8")
    test.check(paged(terminal.run(*report, PERF_CONFIG=str(config), PERF_PAGER=None, PAGER="cat")), "latency.pager")
    test.equal(terminal.run(*report, PERF_CONFIG=str(config)), plain, "PERF_PAGER goes before latency.pager")
    config.write_text("[latency]\n\tpager = false\n", encoding="utf-8")
    test.equal(terminal.run(*report, PERF_CONFIG=str(config), PERF_PAGER=None, PAGER=pager), plain, "pager = false")
    less = "echo LESS=$LESS; cat"
    test.check(terminal.run(*report, PERF_PAGER=less).startswith("LESS=FRSX\n"), "LESS where there is none")
    test.check(terminal.run(*report, PERF_PAGER=less, LESS="-i").startswith("LESS=-i\n"), "the user's LESS")
    # A pager that is left early ends the program quietly.
    terminal.run(*report, PERF_PAGER="head -n 1", status=0)


def check_colors(test, folder):
    terminal = Terminal(test)
    report = report_of(test)
    test.check(COLOR.search(terminal.run(*report)), "colours on a terminal")
    test.check(COLOR.search(terminal.run(*report, PERF_PAGER="sed s/x/x/")), "colours through a pager")
    for options in (["--color=never"], ["--color", "never"]):
        test.check(not COLOR.search(terminal.run(*report, *options)), f"{options}")
    test.check(not COLOR.search(terminal.run(*report, TERM="dumb")), "TERM=dumb")
    test.check(not COLOR.search(test.run(*report).text), "a pipe has no colours")
    for options in (["--color=always"], ["--color"]):
        test.check(COLOR.search(test.run(*report, *options).text), f"{options} on a pipe")
    done = test.run(*report, "--color=pink", ok=(129,))
    test.check("pink" in done.errors, f"--color=pink: {done.errors}")
    config = folder / "perfconfig"
    for text, colored in (("[latency]\ncolor = never\n", False), ("[latency]\ncolor = false\n", False),
                          ("[color]\nui = false\n", False), ("[color]\nui = true\n", True),
                          ("[color]\nui = false\n[latency]\ncolor = always\n", True)):
        config.write_text(text, encoding="utf-8")
        shown = terminal.run(*report, PERF_CONFIG=str(config))
        test.equal(COLOR.search(shown) is not None, colored, f"colours with {text!r}")


def check_widths(test):
    """No line is wider than the terminal, headers and notes included; nothing is cut on a pipe."""
    lt, locks = report_of(test), ["-i", test.data / "lk-locks/perf.data"]
    for columns in (60, 80, 132):
        terminal = Terminal(test, columns)
        for command in ([*lt], [*lt, "--callchain"], [*lt, "--by", "stack"], [*lt, "--by", "thread,cause,waker"],
                        [*lt, "--by", "class", "--format", "text"], ["contention", *locks],
                        ["contention", *locks, "--holder"], ["hold-time", *locks], ["info", *locks],
                        ["diff", lt[2], test.data / "lt-dir-stat/perf.data"]):
            shown = COLOR.sub("", terminal.run(*command))
            wide = [line for line in shown.splitlines() if len(line) > columns]
            test.check(not wide, f"{columns} columns: {' '.join(map(str, command[:1] + command[3:]))}: {wide[:3]}")
            test.check(len(shown.splitlines()) > 3, f"{command[0]} prints something")
    # A long command line in the header.
    whole = [line for line in test.run(*lt).text.splitlines() if line.startswith("command:")]
    cut = [line for line in COLOR.sub("", Terminal(test, 40).run(*lt)).splitlines() if line.startswith("command:")]
    test.check(len(whole) == 1 and len(cut) == 1 and len(cut[0]) <= 40 < len(whole[0]) and "\u2026" in cut[0],
               f"the command line: {cut} of {whole}")


def grown(source, target, least_bytes):
    """A recording whose data section is that of `source` again and again, at least so many bytes."""
    content = source.read_bytes()
    attrs_end = struct.unpack_from("<QQ", content, 24)
    offset, size = struct.unpack_from("<QQ", content, 40)
    assert content[:8] == b"PERFILE2" and attrs_end
    times = least_bytes // size + 1
    added = size * (times - 1)
    head = bytearray(content[:offset])
    struct.pack_into("<Q", head, 48, size * times)
    tail = bytearray(content[offset + size:])
    bits = struct.unpack_from("<4Q", content, 72)
    for index in range(sum(bin(word).count("1") for word in bits)):
        at = struct.unpack_from("<Q", tail, 16 * index)[0]
        struct.pack_into("<Q", tail, 16 * index, at + added)
    with open(target, "wb") as out:
        out.write(head)
        for _ in range(times):
            out.write(content[offset:offset + size])
        out.write(tail)
    return times


class Pause:
    """Stops the program once it has the input open, for longer than the second that must pass."""

    def __init__(self, name):
        self.name, self.stopped, self.done = name, None, False

    def __call__(self, process):
        if self.done:
            return
        if self.stopped is None:
            try:
                files = {os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()}
            except OSError:
                return
            if any(name.endswith(self.name) for name in files):
                process.send_signal(signal.SIGSTOP)
                self.stopped = time.monotonic()
        elif time.monotonic() > self.stopped + 1.2:
            process.send_signal(signal.SIGCONT)
            self.done = True


def check_progress(test, folder):
    terminal = Terminal(test, 100)
    source = test.data / "fmt-sched-record/perf.data"
    plain = terminal.run("report", "-i", source)
    test.check(CLEAR not in plain, "no progress of a short input")
    large = folder / "large.data"
    grown(source, large, 150_000_000)
    with open(os.devnull, "wb") as nothing:
        shown = terminal.run("report", "-j1", "-i", large, stdout=nothing, meanwhile=Pause("large.data"))
    lines = [line for line in shown.split("\r") if line]
    bars = [re.fullmatch(r".*: \[(=*>? *)\] +(\d+) %  [\d.]+ [kMG]?B of [\d.]+ [kMG]?B  [\d.]+ [kMG]?B/s  \d+ s left"
                         + re.escape(CLEAR), line) for line in lines[:-1]]
    test.check(lines and lines[-1] == CLEAR, f"the line is removed at the end: {lines[-1:]!r}")
    test.check(bars and all(bars), f"progress of a long input: {lines[:3]!r}")
    if bars and all(bars):
        percents = [int(bar.group(2)) for bar in bars]
        test.equal(percents, sorted(percents), "it only grows")
        for bar, percent in zip(bars, percents):
            drawn = len(bar.group(1).replace(">", "").rstrip()) / len(bar.group(1))
            test.near(100 * drawn, percent, 1 + 100 / len(bar.group(1)), "length of the bar")
    test.check(all(len(line.replace(CLEAR, "")) < 100 for line in lines), "no wider than the terminal")
    with open(os.devnull, "wb") as nothing:
        quiet = terminal.run("report", "-q", "-j1", "-i", large, stdout=nothing, meanwhile=Pause("large.data"))
    test.equal(quiet, "", "-q has no progress")
    large.unlink()


def check_config(test, folder):
    config, home = folder / "perfconfig", folder / "home"
    home.mkdir()
    report = [*report_of(test), "-q"]

    def rows(text, *options, status=0, arguments=report, **environment):
        config.write_text(text, encoding="utf-8")
        environment = {"PERF_CONFIG": str(config), **environment}
        done = test.run(*arguments, *options, ok=(status,),
                        env={**{n: v for n, v in os.environ.items() if not n.startswith("PERF_CONFIG")}, **environment})
        table = [line for line in done.text.splitlines() if line and not line.startswith("Waiting for work")]
        return len(table), done.errors

    everything = rows("")[0]
    # The row "Waiting for a CPU" stays; one line is the head, one says what is left out.
    test.equal(rows("[latency]\nlimit = 2\n")[0], 5, "latency.limit")
    test.equal(rows("[latency]\nlimit = 2\n", "--limit", "0")[0], everything, "the command line goes before")
    test.equal(rows('[latency]\nlimit = 2\n[latency "report"]\nlimit = 3\n')[0], 6, "the command's own section")
    test.equal(rows('[latency "contention"]\nlimit = 2\n')[0], everything, "another command's section")
    test.equal(rows("[latency]\nlimit = 2\nlimit = 3\n")[0], 6, "later ones win")
    test.check(rows("[latency]\nkernel-threads\n")[0] > everything, "a flag")
    test.equal(rows("[latency]\nkernel-threads = no\n")[0], everything, "a flag that is off")
    test.equal(rows("[other]\nlimit = 2\n[core]\nfoo = bar\n"), (everything, ""), "other sections are not ours")
    by_count = test.run(*report, "--sort", "count", "--format", "csv").text
    config.write_text("[latency]\nsort = count\n", encoding="utf-8")
    environment = dict(os.environ, PERF_CONFIG=str(config))
    test.equal(test.run(*report, "--format", "csv", env=environment).text, by_count, "latency.sort")
    test.run("info", "-i", report[2], env=environment)
    test.run("causes", env=environment)
    shown, errors = rows("[latency]\nlimt = 2\n")
    test.equal(shown, everything, "an unknown key has no effect")
    test.check(errors.count("\n") == 1 and "latency.limt" in errors and "'limit'" in errors, f"unknown key: {errors!r}")
    test.check("bad config file line 2" in rows("[latency]\n5 = 3\n", status=129)[1], "a bad line")
    test.check("latency.limit" in rows("[latency]\nlimit = many\n", status=129)[1], "a bad value")
    test.check("latency.kernel-threads" in rows("[latency]\nkernel-threads = perhaps\n", status=129)[1], "a bad flag")
    # Where the file is looked for.
    base = {name: value for name, value in os.environ.items() if not name.startswith("PERF_CONFIG")}
    (home / ".perfconfig").write_text("[latency]\nlimit = 2\n", encoding="utf-8")
    for extra, limited in (({}, True), ({"PERF_CONFIG_NOGLOBAL": "1"}, False), ({"PERF_CONFIG": "/dev/null"}, False),
                           ({"PERF_CONFIG_NOSYSTEM": "1"}, True)):
        text = test.run(*report, env=dict(base, HOME=str(home), **extra)).text
        test.equal("not shown" in text, limited, f"~/.perfconfig with {extra}")
    if os.geteuid() == 0:
        os.chown(home / ".perfconfig", 12345, 12345)
        done = test.run(*report, env=dict(base, HOME=str(home)))
        test.check("not owned" in done.errors and "not shown" not in done.text, f"somebody else's file: {done.errors!r}")


def check_help(test):
    usage = test.run("help").text
    test.equal(usage, test.run("--help").text, "help is --help")
    for command in re.findall(r"^   ([a-z][a-z-]*) ", usage, re.M):
        test.equal(test.run("help", command).text, test.run(command, "--help").text, f"help {command}")
    done = test.run("help", "repotr", ok=(129,))
    test.check("'report'" in done.errors, f"help repotr: {done.errors}")


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_pager(test, folder)
        check_colors(test, folder)
        check_widths(test)
        check_config(test, folder)
        check_help(test)
        if not test.sanitized:
            check_progress(test, folder)
    test.finish()


main()
