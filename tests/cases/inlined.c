// SPDX-License-Identifier: GPL-2.0-only
// Sleeps in a function that the compiler puts into its caller, for tests/cases/user_chains.py, which knows
// the lines by their marks.
//
// usage: inlined MILLISECONDS TIMES
#include <stdlib.h>
#include <time.h>

static volatile int naps;

static inline __attribute__((always_inline)) void nap(long ns) {
  struct timespec length = {0, ns};
  nanosleep(&length, NULL);  // mark: in nap
  ++naps;
}

__attribute__((noinline)) static void work(long ns) {
  nap(ns);  // mark: in work
  ++naps;
}

int main(int argc, char** argv) {
  const long ns = argc > 1 ? atol(argv[1]) * 1000000 : 1000000;
  const int times = argc > 2 ? atoi(argv[2]) : 10;
  for (int i = 0; i < times; ++i) {
    work(ns);  // mark: in main
    ++naps;
  }
  return 0;
}
