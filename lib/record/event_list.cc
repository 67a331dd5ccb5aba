// SPDX-License-Identifier: GPL-2.0-only
#include "record/event_list.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "base/range_list.h"
#include "record/libperf_access.h"
#include "record/small_files.h"

extern "C" {
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
}

namespace perf_latency {

namespace {

int print_nothing(libperf_print_level, const char*, va_list) { return 0; }

perf_cpu_map* cpu_map(const std::vector<uint32_t>& cpus) {
  return perf_cpu_map__new(format_range_list(cpus).c_str());
}

perf_thread_map* thread_map(const std::vector<pid_t>& tasks) {
  if (tasks.empty()) return perf_thread_map__new_dummy();  // pid -1: all
  std::vector<pid_t> copy = tasks;
  return perf_thread_map__new_array(static_cast<int>(copy.size()), copy.data());
}

// A machine with many CPUs needs more descriptors than the usual soft limit.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Error open_error(const std::string& name, int error) {
  const std::string paranoid = read_line_of("/proc/sys/kernel/perf_event_paranoid");
  switch (error) {
    case EACCES:
    case EPERM:
      return make_error(
          "no right to record " + name + ": kernel.perf_event_paranoid is " + paranoid +
          "; run as root, give the program CAP_PERFMON (\"setcap cap_perfmon+ep\"), or "
          "\"sysctl kernel.perf_event_paranoid=-1\"");
    case EMFILE:
    case ENFILE:
      return make_error("too many open files for " + name +
                        " on every CPU: raise the limit (\"ulimit -n\")");
    case ENOSYS:
      return make_error("this kernel has no perf events (CONFIG_PERF_EVENTS)");
    case ESRCH:
      return make_error("cannot record " + name + ": the process has ended");
    default:
      return make_error("cannot record " + name + ": " + std::strerror(error));
  }
}

Error map_error(uint64_t ring_bytes, int error) {
  const std::string size = std::to_string(ring_bytes / 1024) + " KiB";
  if (error == EPERM)
    return make_error("the kernel does not grant " + size +
                      " of ring buffer per CPU: kernel.perf_event_mlock_kb is " +
                      read_line_of("/proc/sys/kernel/perf_event_mlock_kb") +
                      "; use a smaller -m, raise it, or run with CAP_IPC_LOCK");
  return make_error("cannot map " + size + " of ring buffer per CPU: " + std::strerror(error));
}

}  // namespace

Result<std::unique_ptr<EventList>> EventList::open(const std::vector<ChosenEvent>& events,
                                                   const AttrOptions& options,
                                                   const KernelSupport& support,
                                                   const EventTarget& target, bool& denied) {
  denied = false;
  if (!support.any) return open_error("events", ENOSYS);
  libperf_init(print_nothing);
  raise_descriptor_limit();
  auto list = std::unique_ptr<EventList>(new EventList());
  list->counts_losses_ = support.lost_count;
  list->evlist_ = perf_evlist__new();
  PL_CHECK(list->evlist_ != nullptr);
  // The list takes references of its own.
  perf_cpu_map* cpus = cpu_map(target.cpus);
  perf_thread_map* threads = thread_map(target.tasks);
  perf_evlist__set_maps(list->evlist_, cpus, threads);
  perf_cpu_map__put(cpus);
  perf_thread_map__put(threads);

  for (const ChosenEvent& event : events) {
    // The part with a call chain speaks for the others in the file.
    const auto main_part = std::find_if(event.parts.begin(), event.parts.end(),
                                        [](const EventPart& part) { return part.with_chain; });
    const size_t file_event = list->file_events_.size();
    list->make_file_event(
        event.name,
        event_attr(event, main_part != event.parts.end() ? *main_part : event.parts.front(),
                   options, support));
    for (const EventPart& part : event.parts) {
      const perf_event_attr attr = event_attr(event, part, options, support);
      if (auto added = list->add(attr, part, file_event, event.name, denied); !added)
        return added.error();
    }
  }
  const perf_event_attr last =
      events.empty() ? switch_attr(options, support) : tracking_attr(options, support);
  const char* name = events.empty() ? "dummy:u" : "dummy:HG";
  list->make_file_event(name, last);
  auto added = list->add(last, EventPart{}, list->file_events_.size() - 1, name, denied);
  if (!added) return added.error();
  return list;
}

EventList::~EventList() {
  rings_.clear();
  // Closes the descriptors and unmaps the rings too.
  if (evlist_ != nullptr) perf_evlist__delete(evlist_);
}

void EventList::make_file_event(const std::string& name, const perf_event_attr& attr) {
  const std::byte* bytes = reinterpret_cast<const std::byte*>(&attr);
  WriterEvent event;
  event.attr.assign(bytes, bytes + sizeof attr);
  event.name = name;
  file_events_.push_back(std::move(event));
}

Result<void> EventList::add(perf_event_attr attr, const EventPart& part, size_t file_event,
                            const std::string& name, bool& denied) {
  // libperf copies an attr of its own size.
  std::vector<std::byte> room(std::max(pl_evsel_attr_bytes(), sizeof attr));
  std::memcpy(room.data(), &attr, sizeof attr);
  perf_evsel* evsel = perf_evsel__new(reinterpret_cast<perf_event_attr*>(room.data()));
  PL_CHECK(evsel != nullptr);
  if (!part.cpus.empty()) pl_evsel_set_cpus(evsel, cpu_map(part.cpus));
  perf_evlist__add(evlist_, evsel);
  const int error = perf_evsel__open(evsel, perf_evsel__cpus(evsel), perf_evsel__threads(evsel));
  denied = error == -EACCES || error == -EPERM;
  if (error < 0) return open_error(name, -error);
  for (int cpu = 0; cpu < pl_evsel_fd_cpus(evsel); ++cpu)
    for (int thread = 0; thread < pl_evsel_fd_threads(evsel); ++thread)
      ::fcntl(pl_evsel_fd(evsel, cpu, thread), F_SETFD, FD_CLOEXEC);
  if (!part.filter.empty() && perf_evsel__apply_filter(evsel, part.filter.c_str()) != 0)
    return make_error("the kernel refuses the filter \"" + part.filter + "\" of " + name + ": " +
                      std::strerror(errno));
  opened_.push_back({evsel, file_event});
  return {};
}

Result<void> EventList::map(uint64_t ring_bytes, bool exact) {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (;; ring_bytes /= 2) {
    if (perf_evlist__mmap(evlist_, static_cast<int>(ring_bytes / page)) == 0) break;
    const int error = errno;
    if (exact || (error != EPERM && error != ENOMEM) || ring_bytes / 2 < 4 * page)
      return map_error(ring_bytes, error);
    pl_evlist_forget_ids(evlist_);
  }
  ring_bytes_ = ring_bytes;
  perf_mmap* map = nullptr;
  perf_evlist__for_each_mmap(evlist_, map, false) {
    if (pl_mmap_base(map) == nullptr) continue;
    rings_.emplace_back(pl_mmap_base(map), pl_mmap_data_bytes(map), pl_mmap_fd(map),
                        static_cast<uint32_t>(pl_mmap_cpu(map)));
  }
  read_ids();
  return {};
}

void EventList::read_ids() {
  for (const Opened& opened : opened_)
    for (int cpu = 0; cpu < pl_evsel_fd_cpus(opened.evsel); ++cpu)
      for (int thread = 0; thread < pl_evsel_fd_threads(opened.evsel); ++thread) {
        perf_counts_values counts{};
        if (perf_evsel__read(opened.evsel, cpu, thread, &counts) == 0)
          file_events_[opened.file_event].ids.push_back(counts.id);
      }
}

std::vector<WriterEvent> EventList::file_events() const { return file_events_; }

Result<void> EventList::enable_tracking() {
  if (perf_evsel__enable(opened_.back().evsel) == 0) return {};
  return make_error(std::string("cannot start recording: ") + std::strerror(errno));
}

Result<void> EventList::enable() {
  for (size_t i = 0; i + 1 < opened_.size(); ++i)
    if (perf_evsel__enable(opened_[i].evsel) != 0)
      return make_error("cannot start recording " + file_events_[opened_[i].file_event].name +
                        ": " + std::strerror(errno));
  return {};
}

void EventList::disable() {
  for (const Opened& opened : opened_) perf_evsel__disable(opened.evsel);
}

std::vector<EventLoss> EventList::read_losses() const {
  std::vector<EventLoss> losses;
  if (!counts_losses_) return losses;
  for (const Opened& opened : opened_)
    for (int cpu = 0; cpu < pl_evsel_fd_cpus(opened.evsel); ++cpu)
      for (int thread = 0; thread < pl_evsel_fd_threads(opened.evsel); ++thread) {
        perf_counts_values counts{};
        if (perf_evsel__read(opened.evsel, cpu, thread, &counts) == 0 && counts.lost != 0)
          losses.push_back(
              {counts.id, static_cast<uint32_t>(pl_evsel_cpu(opened.evsel, cpu)), counts.lost});
      }
  return losses;
}

}  // namespace perf_latency
