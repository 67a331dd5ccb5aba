// SPDX-License-Identifier: GPL-2.0-only
// lock_pairs MODE SECONDS: a thread "holder" that has a kernel lock for long, and a thread "asker"
// that wants it again and again. Nobody else uses that lock, so whoever the asker waits for is known.
//   dir      the inode lock of a directory: listing it against creating a file in it
//   mmap     the mmap_lock: mapping much memory against mapping little
//   pipe     the mutex of a pipe: writing much against asking how much is in it
//   hold     two threads hold the mutex of a pipe in turn, kHoldMs each time: they write from memory
//            that is missing, and its page comes (userfaultfd) after that time only
//   preempt  as mmap, and a thread "hog" of real-time priority takes the holder's CPU now and then
// Needs no privileges, except for hold and preempt.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static char directory[] = "/tmp/lock_pairs.XXXXXX";
static int pipe_ends[2];

enum { kHoldMs = 100, kHolds = 12 };
enum { kFiles = 4000, kBigBytes = 64 << 20, kPipeBytes = 1 << 20 };

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void burn_ms(long ms) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void* dir_holder(void* unused) {
  static char buffer[1 << 20];
  prctl(PR_SET_NAME, "holder");
  while (!atomic_load(&stop)) {
    const int fd = open(directory, O_RDONLY | O_DIRECTORY);
    if (fd < 0) die(directory);
    while (syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0) continue;
    close(fd);
  }
  return unused;
}

static void* dir_asker(void* unused) {
  char path[64];
  prctl(PR_SET_NAME, "asker");
  snprintf(path, sizeof path, "%s/asked", directory);
  while (!atomic_load(&stop)) {
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    unlink(path);
    usleep(200);
  }
  return unused;
}

static void* mmap_holder(void* argument) {
  prctl(PR_SET_NAME, "holder");
  if (argument != NULL) pin(0);
  while (!atomic_load(&stop)) {
    char* const memory = mmap(NULL, kBigBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    mprotect(memory, kBigBytes, PROT_READ);
    munmap(memory, kBigBytes);
  }
  return argument;
}

static void* mmap_asker(void* argument) {
  prctl(PR_SET_NAME, "asker");
  if (argument != NULL) pin(1);
  while (!atomic_load(&stop)) {
    void* const memory = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) munmap(memory, 4096);
    usleep(200);
  }
  return argument;
}

static void* pipe_holder(void* unused) {
  char* const buffer = calloc(1, kPipeBytes);
  prctl(PR_SET_NAME, "holder");
  while (!atomic_load(&stop)) {
    if (write(pipe_ends[1], buffer, kPipeBytes) < 0) break;
    for (size_t left = kPipeBytes; left > 0;) {
      const ssize_t got = read(pipe_ends[0], buffer, left);
      if (got <= 0) break;
      left -= (size_t)got;
    }
  }
  free(buffer);
  return unused;
}

static void* pipe_asker(void* unused) {
  int bytes;
  prctl(PR_SET_NAME, "asker");
  while (!atomic_load(&stop)) ioctl(pipe_ends[0], FIONREAD, &bytes);
  return unused;
}

static int uffd;

static char* missing_pages(void) {
  char* const pages =
      mmap(NULL, kHolds * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) die("mmap");
  struct uffdio_register range = {
      {(unsigned long)pages, kHolds * 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
  if (ioctl(uffd, UFFDIO_REGISTER, &range) != 0) die("UFFDIO_REGISTER");
  return pages;
}

static void* mutex_holder(void* pages) {
  prctl(PR_SET_NAME, "holder");
  for (int i = 0; i < kHolds; ++i)
    if (write(pipe_ends[1], (char*)pages + i * 4096, 4096) != 4096) die("write");
  return pages;
}

static void* page_server(void* unused) {
  const struct timespec hold = {0, kHoldMs * 1000000L};
  struct uffd_msg message;
  while (read(uffd, &message, sizeof message) == (ssize_t)sizeof message) {
    struct uffdio_zeropage page = {{message.arg.pagefault.address & ~4095ul, 4096}, 0, 0};
    nanosleep(&hold, NULL);
    if (ioctl(uffd, UFFDIO_ZEROPAGE, &page) != 0) die("UFFDIO_ZEROPAGE");
  }
  return unused;
}

static int hold_in_turn(void) {
  pthread_t threads[3];
  struct uffdio_api api = {UFFD_API, 0, 0};
  uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (uffd < 0) die("userfaultfd");
  if (ioctl(uffd, UFFDIO_API, &api) != 0) die("UFFDIO_API");
  if (pipe(pipe_ends) != 0) die("pipe");
  if (fcntl(pipe_ends[1], F_SETPIPE_SZ, kPipeBytes) < 0) die("F_SETPIPE_SZ");
  pthread_create(&threads[2], NULL, page_server, NULL);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, mutex_holder, missing_pages());
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}

static void* hog(void* unused) {
  const struct sched_param param = {.sched_priority = 10};
  prctl(PR_SET_NAME, "hog");
  pin(0);
  if (sched_setscheduler(0, SCHED_FIFO, &param) != 0) die("sched_setscheduler");
  while (!atomic_load(&stop)) {
    usleep(7000);
    burn_ms(15);
  }
  return unused;
}

static void fill_directory(void) {
  char path[64];
  if (mkdtemp(directory) == NULL) die(directory);
  for (int i = 0; i < kFiles; ++i) {
    snprintf(path, sizeof path, "%s/file-%d", directory, i);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
  }
}

static void empty_directory(void) {
  char path[64];
  for (int i = 0; i < kFiles; ++i) {
    snprintf(path, sizeof path, "%s/file-%d", directory, i);
    unlink(path);
  }
  rmdir(directory);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const mode = argv[1];
  if (strcmp(mode, "hold") == 0) return hold_in_turn();
  const int preempt = strcmp(mode, "preempt") == 0;
  void* (*holder)(void*) = mmap_holder;
  void* (*asker)(void*) = mmap_asker;
  if (strcmp(mode, "dir") == 0) {
    fill_directory();
    holder = dir_holder;
    asker = dir_asker;
  } else if (strcmp(mode, "pipe") == 0) {
    if (pipe(pipe_ends) != 0) die("pipe");
    if (fcntl(pipe_ends[1], F_SETPIPE_SZ, kPipeBytes) < 0) die("F_SETPIPE_SZ");
    holder = pipe_holder;
    asker = pipe_asker;
  }
  pthread_t threads[3];
  void* const argument = preempt ? &stop : NULL;
  pthread_create(&threads[0], NULL, holder, argument);
  pthread_create(&threads[1], NULL, asker, argument);
  if (preempt) pthread_create(&threads[2], NULL, hog, NULL);
  usleep((useconds_t)(atof(argv[2]) * 1e6));
  atomic_store(&stop, 1);
  for (int i = 0; i < 2 + preempt; ++i) pthread_join(threads[i], NULL);
  if (strcmp(mode, "dir") == 0) empty_directory();
  return 0;
}
