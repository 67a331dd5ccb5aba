/* SPDX-License-Identifier: GPL-2.0-only
 *
 * What libperf's public headers leave out: the file descriptors of an event, the memory of a ring
 * buffer, and an event's own CPU map. libperf's internal headers are no C++ and shadow the system's,
 * so libperf_access.c is the only file that sees them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct perf_cpu_map;
struct perf_evlist;
struct perf_evsel;
struct perf_mmap;

#ifdef __cplusplus
extern "C" {
#endif

/* Not in a public header, and not exported from a shared libperf. */
int perf_evsel__apply_filter(struct perf_evsel* evsel, const char* filter);

/* The bytes that perf_evsel__new() copies from its argument: libperf may have been built with a
 * larger perf_event_attr than the system's header has. */
size_t pl_evsel_attr_bytes(void);
/* Must precede perf_evlist__add(): the event is opened on these CPUs, not on those of the list. Takes
 * over one reference. */
void pl_evsel_set_cpus(struct perf_evsel* evsel, struct perf_cpu_map* cpus);
/* The descriptor on the cpu'th CPU of the event's map for the thread'th thread; -1 for none. */
int pl_evsel_fd(struct perf_evsel* evsel, int cpu, int thread);
/* How many CPUs and threads the event was opened on. */
int pl_evsel_fd_cpus(struct perf_evsel* evsel);
int pl_evsel_fd_threads(struct perf_evsel* evsel);
int pl_evsel_cpu(struct perf_evsel* evsel, int cpu);

/* After a perf_evlist__mmap() that failed half-way: a second try would add the ids once more, behind
 * the end of their array. */
void pl_evlist_forget_ids(struct perf_evlist* evlist);

/* One control page, then a power of two of data bytes. */
void* pl_mmap_base(struct perf_mmap* map);
uint64_t pl_mmap_data_bytes(struct perf_mmap* map);
int pl_mmap_fd(struct perf_mmap* map);
int pl_mmap_cpu(struct perf_mmap* map);

#ifdef __cplusplus
}
#endif
