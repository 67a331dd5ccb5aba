// SPDX-License-Identifier: GPL-2.0-only
// Sleeps of four kinds whose lengths are given, for tests/cases/diff_live.py.
//
// usage: naps NANOSLEEP_MS POLL_MS SELECT_MS FUTEX_MS
//
// One process for each kind, 60 sleeps each; the first kind should be the longest, since the parent
// waits for all of them.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kKinds = 4, kRounds = 60 };

static struct timespec duration(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  return t;
}

static void by_nanosleep(long ms) {
  struct timespec t = duration(ms);
  nanosleep(&t, NULL);
}

static void by_poll(long ms) { poll(NULL, 0, (int)ms); }

static void by_select(long ms) {
  struct timespec t = duration(ms);
  pselect(0, NULL, NULL, NULL, &t, NULL);
}

static void by_futex(long ms) {
  uint32_t word = 0;
  struct timespec t = duration(ms);
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

int main(int argc, char** argv) {
  static void (*const kSleep[kKinds])(long) = {by_nanosleep, by_poll, by_select, by_futex};
  if (argc != kKinds + 1) {
    fprintf(stderr, "usage: naps NANOSLEEP_MS POLL_MS SELECT_MS FUTEX_MS\n");
    return 129;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    const long ms = strtol(argv[kind + 1], NULL, 10);
    if (fork() != 0) continue;
    for (int round = 0; round < kRounds; ++round) kSleep[kind](ms);
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}
