#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Installed into a PATH, the executable is `perf latency` for the distribution's perf.
set -uo pipefail
tool=$1
if ! perf --version > /dev/null 2>&1; then
  echo "skipped: no perf on this machine"
  exit 77
fi
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
ln -s "$(realpath "$tool")" "$bin/perf-latency"
direct=$("$tool" --version)
through_perf=$(PATH=$bin:$PATH perf latency --version)
echo "$through_perf"
if [ -z "$direct" ] || [ "$direct" != "$through_perf" ]; then
  printf 'FAULT: perf latency --version prints\n%s\nand perf-latency --version\n%s\n' "$through_perf" "$direct"
  exit 1
fi
