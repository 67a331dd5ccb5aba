#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The RPM's description fits the project: version, and every folder that is installed stands in %files."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

test = Test()
spec = test.source / "packaging/perf-latency.spec"
text = spec.read_text(encoding="utf-8")
project = re.search(r"project\(perf_latency VERSION ([\d.]+)", (test.source / "CMakeLists.txt").read_text(encoding="utf-8"))
test.equal(re.search(r"^Version: +(\S+)", text, re.M).group(1), project.group(1), "Version")
test.check(test.run("--version").text.startswith(f"perf latency {project.group(1)} "), "--version")
files = text.split("%files")[1].split("%changelog")[0]
places = {"CMAKE_INSTALL_BINDIR": "%{_bindir}/perf-latency", "CMAKE_INSTALL_MANDIR": "%{_mandir}/man1/perf-latency*.1.gz",
          "CMAKE_INSTALL_DATADIR}/bash-completion/completions": "%{_datadir}/bash-completion/completions/perf-latency",
          "CMAKE_INSTALL_DATADIR}/perf-latency": "%{_datadir}/perf-latency\n",
          "CMAKE_INSTALL_DOCDIR": "%{_datadir}/doc/perf-latency"}
install = (test.source / "cmake/Install.cmake").read_text(encoding="utf-8")
destinations = re.findall(r"DESTINATION \$\{([^\s)]*)", install)
for destination in destinations:
    listed = [line for place, line in places.items() if destination.replace("}/man1", "").rstrip("}") == place]
    test.check(len(listed) == 1 and listed[0] in files, f"{destination} is not in %files")
test.equal(len(set(destinations)), len(places), "places of installed files")
if shutil.which("rpmspec"):
    parsed = subprocess.run(["rpmspec", "-P", spec], capture_output=True, text=True, timeout=60, check=False)
    test.equal((parsed.returncode, parsed.stderr), (0, ""), "rpmspec")
else:
    print("no rpmspec: the spec file was not parsed")
test.finish()
