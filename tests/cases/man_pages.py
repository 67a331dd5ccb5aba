#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Manual pages: their options are those of --help, asciidoctor and man have nothing to say about them."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

test = Test()
documents = test.source / "Documentation"


def text_of(page):
    """The source of a page with what it includes."""
    lines = []
    for line in page.read_text(encoding="utf-8").splitlines():
        included = re.fullmatch(r"include::(\S+)\[\]", line)
        lines += text_of(page.parent / included.group(1)) if included else [line]
    return lines


def options_of_page(page):
    """The names in the labels of the lists (-x VALUE::, --xyz=VALUE::)."""
    names = set()
    for line in text_of(page):
        label = re.fullmatch(r"(--?[A-Za-z][A-Za-z-]*)[ =\[].*::|(--?[A-Za-z][A-Za-z-]*)(\[.*\])?::", line)
        if label:
            names.add(label.group(1) or label.group(2))
    return names


def options_of_help(command):
    names = set()
    for listed in re.findall(r"^  (-\S+)", test.run(command, "--help").text, re.M):
        names |= set(listed.split(","))
    return names


commands = re.findall(r"^   ([a-z][a-z-]*) ", test.run("--help").text, re.M)
for command in commands:
    page = documents / f"perf-latency-{command}.txt"
    if not test.check(page.is_file(), f"{command} has no manual page"):
        continue
    got, want = options_of_page(page) | {"-h", "--help"}, options_of_help(command)
    test.check(got == want, f"{page.name}: not in the page {sorted(want - got)}, not in --help {sorted(got - want)}")
    main_page = (documents / "perf-latency.txt").read_text(encoding="utf-8")
    test.check(f"linkperf:perf-latency-{command}[1]::" in main_page, f"perf-latency(1) does not name {command}")

for page in documents.glob("perf-latency*.txt"):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"linkperf:perf-latency-([a-z-]+)\[1\]", text):
        test.check(name in commands, f"{page.name} refers to {name}, which is no command")

if shutil.which("asciidoctor") is None:
    print("no asciidoctor: pages not built")
    test.finish()
with tempfile.TemporaryDirectory() as folder:
    pages = sorted(documents.glob("perf-latency*.txt"))
    built = subprocess.run(
        ["asciidoctor", "-r", documents / "linkperf.rb", "-b", "manpage", "-d", "manpage", "--failure-level", "WARN",
         "-a", "compat-mode", "-a", "mansource=perf-latency", "-a", "manmanual=perf latency manual", "-D", folder,
         *pages], capture_output=True, text=True, timeout=300, check=False)
    test.equal((built.returncode, built.stdout + built.stderr), (0, ""), "asciidoctor")
    man = shutil.which("man")
    if man is None or subprocess.run([man, "--version"], capture_output=True, check=False).returncode != 0:
        print("no man-db: pages not formatted")
        test.finish()
    for page in sorted(Path(folder).glob("*.1")):
        shown = subprocess.run([man, "--warnings", "-E", "UTF-8", "-l", page], capture_output=True, text=True,
                               timeout=120, check=False,
                               env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8", MANPAGER="cat", PAGER="cat"))
        test.equal((shown.returncode, shown.stderr), (0, ""), f"man -l {page.name}")
        test.check(page.stem.upper() in shown.stdout.upper() and "SYNOPSIS" in shown.stdout, f"{page.name} is empty")
        test.check("linkperf:" not in shown.stdout and "include::" not in shown.stdout, f"{page.name}: raw macros")
test.finish()
