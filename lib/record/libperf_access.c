/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/libperf_access.h"

#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>
#include <internal/xyarray.h>
#include <perf/cpumap.h>

size_t pl_evsel_attr_bytes(void) { return sizeof(struct perf_event_attr); }

void pl_evsel_set_cpus(struct perf_evsel* evsel, struct perf_cpu_map* cpus) {
  evsel->own_cpus = cpus;
}

int pl_evsel_fd(struct perf_evsel* evsel, int cpu, int thread) {
  const int* fd = evsel->fd ? xyarray__entry(evsel->fd, cpu, thread) : NULL;
  return fd ? *fd : -1;
}

int pl_evsel_fd_cpus(struct perf_evsel* evsel) { return evsel->fd ? xyarray__max_x(evsel->fd) : 0; }

int pl_evsel_fd_threads(struct perf_evsel* evsel) {
  return evsel->fd ? xyarray__max_y(evsel->fd) : 0;
}

int pl_evsel_cpu(struct perf_evsel* evsel, int cpu) {
  return perf_cpu_map__cpu(evsel->cpus, cpu).cpu;
}

void pl_evlist_forget_ids(struct perf_evlist* evlist) {
  struct perf_evsel* evsel;
  perf_evlist__for_each_entry(evlist, evsel) perf_evsel__free_id(evsel);
  perf_evlist__reset_id_hash(evlist);
}

void* pl_mmap_base(struct perf_mmap* map) { return map->base; }
uint64_t pl_mmap_data_bytes(struct perf_mmap* map) { return (uint64_t)(unsigned int)map->mask + 1; }
int pl_mmap_fd(struct perf_mmap* map) { return map->fd; }
int pl_mmap_cpu(struct perf_mmap* map) { return map->cpu.cpu; }
