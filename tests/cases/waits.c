// SPDX-License-Identifier: GPL-2.0-only
// Waits whose kind, number and length are known, for tests/cases/live_waits.py.
//
// usage: waits FOLDER
//
// One process for each kind of wait, named w-KIND; each measures its waits with the monotonic clock. On
// stdout, a line for each kind: "KIND PID COUNT NOMINAL_NS MEASURED_NS CPU_NS". The process w-hung waits
// for ever and is left behind; the caller ends it by the pid of its line.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 10 };
static const uint64_t kMs = 1000000;

static void die(const char* what) {
  perror(what);
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(uint64_t ms) {
  struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000 * kMs)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

// What a kind hands back through memory shared with its process.
struct Result {
  uint64_t count;
  uint64_t nominal_ns;
  uint64_t measured_ns;
  uint64_t cpu_ns;
};

static void took(struct Result* result, uint64_t start_ns, uint64_t nominal_ms) {
  result->count++;
  result->measured_ns += now_ns() - start_ns;
  result->nominal_ns += nominal_ms * kMs;
}

static void wait_nanosleep(struct Result* result) {
  for (int i = 0; i < kRounds; i++) {
    const uint64_t start = now_ns();
    sleep_ms(20);
    took(result, start, 20);
  }
}

static void wait_poll(struct Result* result) {
  for (int i = 0; i < kRounds; i++) {
    const uint64_t start = now_ns();
    poll(NULL, 0, 15);
    took(result, start, 15);
  }
}

static pid_t spawn(void (*body)(void*), void* argument, const char* comm) {
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid > 0) return pid;
  prctl(PR_SET_NAME, comm);
  body(argument);
  _exit(0);
}

static void write_slowly(void* argument) {
  const int fd = *(int*)argument;
  for (int i = 0; i < kRounds; i++) {
    sleep_ms(25);
    if (write(fd, "x", 1) != 1) _exit(1);
  }
}

static void wait_pipe(struct Result* result) {
  int fds[2];
  char byte;
  if (pipe(fds) != 0) die("pipe");
  const pid_t writer = spawn(write_slowly, &fds[1], "w-pipe-wr");
  for (int i = 0; i < kRounds; i++) {
    const uint64_t start = now_ns();
    if (read(fds[0], &byte, 1) != 1) die("read");
    took(result, start, 25);
  }
  waitpid(writer, NULL, 0);
}

static void wake_slowly(void* argument) {
  uint32_t* word = argument;
  for (uint32_t i = 0; i < kRounds; i++) {
    // Until the other side waits for this round, then 20 ms more.
    while (__atomic_load_n(&word[1], __ATOMIC_ACQUIRE) != i + 1) sleep_ms(1);
    sleep_ms(20);
    __atomic_store_n(&word[0], i + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word[0], FUTEX_WAKE, 1, NULL, NULL, 0);
  }
}

static void wait_futex(struct Result* result) {
  uint32_t* word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (word == MAP_FAILED) die("mmap");
  const pid_t waker = spawn(wake_slowly, word, "w-futex-wk");
  for (uint32_t i = 0; i < kRounds; i++) {
    const uint64_t start = now_ns();
    __atomic_store_n(&word[1], i + 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&word[0], __ATOMIC_ACQUIRE) == i)
      syscall(SYS_futex, &word[0], FUTEX_WAIT, i, NULL, NULL, 0);
    took(result, start, 20);
  }
  waitpid(waker, NULL, 0);
}

struct FlockShared {
  const char* path;
  int ready[2];  // the holder has the lock
  int again[2];  // the waiter wants the next round
};

static void hold_flock(void* argument) {
  struct FlockShared* shared = argument;
  const int fd = open(shared->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  char byte;
  if (fd < 0) _exit(1);
  for (int i = 0; i < kRounds; i++) {
    if (flock(fd, LOCK_EX) != 0 || write(shared->ready[1], "x", 1) != 1) _exit(1);
    sleep_ms(30);
    flock(fd, LOCK_UN);
    if (read(shared->again[0], &byte, 1) != 1) _exit(1);
  }
}

static void wait_flock(struct Result* result) {
  struct FlockShared shared = {.path = "flock-file"};
  char byte;
  if (pipe(shared.ready) != 0 || pipe(shared.again) != 0) die("pipe");
  const pid_t holder = spawn(hold_flock, &shared, "w-flock-hd");
  const int fd = open(shared.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) die("flock-file");
  for (int i = 0; i < kRounds; i++) {
    if (read(shared.ready[0], &byte, 1) != 1) die("read");
    const uint64_t start = now_ns();
    if (flock(fd, LOCK_EX) != 0) die("flock");
    took(result, start, 30);
    flock(fd, LOCK_UN);
    if (write(shared.again[1], "x", 1) != 1) die("write");
  }
  waitpid(holder, NULL, 0);
}

// How often an fsync sleeps, and how long, is up to the disk: only the measured time is known.
static void wait_fsync(struct Result* result) {
  static char block[1 << 20];
  const int fd = open("fsync-file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) die("fsync-file");
  for (int i = 0; i < kRounds; i++) {
    memset(block, i + 1, sizeof block);
    if (pwrite(fd, block, sizeof block, 0) != (ssize_t)sizeof block) die("pwrite");
    const uint64_t start = now_ns();
    if (fsync(fd) != 0) die("fsync");
    took(result, start, 0);
  }
}

static void end_after_40_ms(void* argument) {
  (void)argument;
  sleep_ms(40);
}

static void wait_waitpid(struct Result* result) {
  for (int i = 0; i < kRounds; i++) {
    const uint64_t start = now_ns();
    const pid_t child = spawn(end_after_40_ms, NULL, "w-waitpid-c");
    waitpid(child, NULL, 0);
    took(result, start, 40);
  }
}

static void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

// The first CPU that this process may use.
static int first_cpu(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) die("sched_getaffinity");
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &set)) return cpu;
  return 0;
}

// Two of these share a CPU for a second: what one does not run, it waits for the CPU.
static void wait_hog(struct Result* result) {
  pin_to(first_cpu());
  const uint64_t start = now_ns();
  while (now_ns() - start < 1000 * kMs) {
  }
  took(result, start, 1000);
}

static void wait_hung(struct Result* result) {
  int fds[2];
  char byte;
  if (pipe(fds) != 0) die("pipe");
  // Its output must not keep the caller's pipe open.
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  result->count = 1;
  if (read(fds[0], &byte, 1) != 0) _exit(1);
}

static const struct {
  const char* name;
  void (*body)(struct Result*);
} kKinds[] = {
    {"hung", wait_hung},   {"nanosleep", wait_nanosleep}, {"poll", wait_poll},
    {"pipe", wait_pipe},   {"futex", wait_futex},         {"flock", wait_flock},
    {"fsync", wait_fsync}, {"waitpid", wait_waitpid},     {"hog", wait_hog},
    {"hog", wait_hog},
};
enum { kKindCount = sizeof kKinds / sizeof kKinds[0] };

static void run_kind(int kind, struct Result* result) {
  char comm[16];
  snprintf(comm, sizeof comm, "w-%s", kKinds[kind].name);
  prctl(PR_SET_NAME, comm);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  kKinds[kind].body(result);
  getrusage(RUSAGE_SELF, &after);
  const struct timeval user = after.ru_utime, system = after.ru_stime;
  result->cpu_ns =
      (uint64_t)(user.tv_sec + system.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec) *
          1000000000u +
      (uint64_t)(user.tv_usec + system.tv_usec - before.ru_utime.tv_usec -
                 before.ru_stime.tv_usec) *
          1000u;
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) {
    fprintf(stderr, "usage: waits FOLDER\n");
    return 129;
  }
  struct Result* results =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (results == MAP_FAILED) die("mmap");
  pid_t pids[kKindCount];
  for (int i = 0; i < kKindCount; i++) {
    pids[i] = fork();
    if (pids[i] < 0) die("fork");
    if (pids[i] == 0) run_kind(i, &results[i]);
  }
  int status = 0, failed = 0;
  for (int i = 1; i < kKindCount; i++) {
    waitpid(pids[i], &status, 0);
    if (status != 0) failed = 1;
  }
  for (int i = 0; i < kKindCount; i++)
    printf("%s %d %llu %llu %llu %llu\n", kKinds[i].name, (int)pids[i],
           (unsigned long long)results[i].count, (unsigned long long)results[i].nominal_ns,
           (unsigned long long)results[i].measured_ns, (unsigned long long)results[i].cpu_ns);
  return failed;
}
