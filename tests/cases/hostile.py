#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^perfdata perfdata/[a-z]
# Timeout: 1800
"""Damaged files: each recording cut at many places and with random bytes changed.

Whatever stands in a file: no crash, no report of a sanitizer, no run above 10 s or 1 GiB. A few of each
by default, which the sanitizer build runs too; HOSTILE=full is 200 cuts and 2,000 changes a file.
The changes come from a fixed seed, so that a find can be seen again: keep it with HOSTILE_KEEP=DIR.
"""
import concurrent.futures
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import SANITIZER_MARKS, Test, recordings_of  # noqa: E402

CUTS, CHANGES = {"full": (200, 2000)}.get(os.environ.get("HOSTILE", ""), (6, 14))
LONGEST_S = 10
LARGEST_KIB = 1 << 20
COMMANDS = (("report", "--kernel-threads", "--state", "all"), ("info",),
            ("report", "--by", "stack", "--format", "json", "--limit", "5"),
            ("script", "--kernel-threads", "--state", "all"), ("explain", "--kernel-threads"))


def damaged(content, random_source):
    """Names and contents of the damaged versions, one at a time."""
    size = len(content)
    places = {size * i // CUTS for i in range(CUTS)} | {random_source.randrange(size) for _ in range(2)}
    for place in sorted(places)[:CUTS]:
        yield f"cut-{place}", content[:place]
    for number in range(CHANGES):
        changed = bytearray(content)
        # The header and the first records are small but decide most: every other change hits them.
        end = size if number % 2 else min(size, 4096)
        place = random_source.randrange(end)
        changed[place] = random_source.choice((0, 0xff, 0x7f, 0x80, random_source.randrange(256)))
        yield f"byte-{place}-{changed[place]}", bytes(changed)


def run_one(program, folder, name, content, number, suffix):
    """What is wrong with a run over this content; None when nothing is."""
    path = folder / (name + suffix)
    if suffix:
        path.mkdir()
        for other in suffix_files(folder):
            shutil.copy(other, path)
        (path / "data").write_bytes(content)
    else:
        path.write_bytes(content)
    command = [str(program), *COMMANDS[number % len(COMMANDS)], "-i", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False,
                              stdin=subprocess.DEVNULL)
        errors = done.stderr.decode(errors="replace")
        wrong = None
        if done.returncode < 0:
            wrong = f"killed by signal {-done.returncode}"
        elif any(mark in errors for mark in SANITIZER_MARKS):
            wrong = "a sanitizer's report"
        elif done.returncode not in (0, 1):
            wrong = f"exit status {done.returncode}"
        elif b"\x1b" in done.stdout:
            wrong = "a terminal escape in its output"
    except subprocess.TimeoutExpired:
        wrong, errors = f"longer than {LONGEST_S} s", ""
    keep = os.environ.get("HOSTILE_KEEP")
    if wrong and keep:
        Path(keep).mkdir(parents=True, exist_ok=True)
        (Path(keep) / name).write_bytes(content)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    return f"{name}: {' '.join(command[1:-1])}: {wrong}\n{errors[-1500:]}" if wrong else None


def suffix_files(folder):
    return sorted(folder.glob("ring/data.*"))


def attack(test, path, folder, pool):
    main_file = path / "data" if path.is_dir() else path
    suffix = ".dir" if path.is_dir() else ""
    if path.is_dir():
        (folder / "ring").mkdir(exist_ok=True)
        for ring in path.glob("data.*"):
            shutil.copy(ring, folder / "ring")
    content = main_file.read_bytes()
    name = f"{path.parent.name}-{path.name}"
    source = random.Random(zlib.crc32(name.encode()))
    runs = [pool.submit(run_one, test.program, folder, f"{name}-{kind}", text, number, suffix)
            for number, (kind, text) in enumerate(damaged(content, source))]
    for run in runs:
        wrong = run.result()
        test.check(wrong is None, wrong)


def main():
    test = Test()
    case = test.data / test.case
    paths = recordings_of(case)
    if (case / "swapped").is_dir():
        paths += recordings_of(case / "swapped")
    # ctest itself runs as many tests side by side as there are CPUs.
    workers = os.cpu_count() if os.environ.get("HOSTILE") == "full" else 1
    with tempfile.TemporaryDirectory(prefix="pl-hostile-") as name, \
            concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for path in paths:
            attack(test, path, Path(name), pool)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    test.check(largest <= LARGEST_KIB, f"a run took {largest} KiB of memory")
    print(f"largest run: {largest} KiB")
    test.finish()


main()
