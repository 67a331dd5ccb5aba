// SPDX-License-Identifier: GPL-2.0-only
// RecordSession, first part: which events, on which CPUs and tasks, as far as there are rights.
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/range_list.h"
#include "record/host_info.h"
#include "record/session.h"
#include "record/small_files.h"
#include "record/synthesize.h"

namespace perf_latency {

namespace {

constexpr uint64_t kMaxDefaultRingBytes = 16u << 20;
constexpr uint64_t kMinRingBytes = 64u << 10;
// A reader is woken when a quarter of its ring is full, but at the latest at this amount: what is in
// the ring is then still in the processor's cache.
constexpr uint64_t kMaxWakeupBytes = 1u << 20;

std::vector<uint32_t> isolated_cpus() {
  std::vector<uint32_t> all;
  for (const char* file : {"isolated", "nohz_full"})
    if (const auto cpus =
            parse_range_list(read_line_of(std::string("/sys/devices/system/cpu/") + file)))
      all.insert(all.end(), cpus->begin(), cpus->end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

uint64_t memory_bytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::map<uint32_t, uint32_t> nodes_of_cpus(const std::vector<uint32_t>& online) {
  std::map<uint32_t, uint32_t> nodes;
  for (const uint32_t cpu : online) nodes[cpu] = 0;
  const std::string base = "/sys/devices/system/node/";
  const auto list = parse_range_list(read_line_of(base + "online"));
  if (!list) return nodes;
  for (const uint32_t node : *list) {
    const auto cpus =
        parse_range_list(read_line_of(base + "node" + std::to_string(node) + "/cpulist"));
    if (!cpus) continue;
    for (const uint32_t cpu : *cpus)
      if (nodes.contains(cpu)) nodes[cpu] = node;
  }
  return nodes;
}

std::string join(const std::vector<TracepointName>& names) {
  std::string text;
  for (const TracepointName& name : names) text += (text.empty() ? "" : ", ") + name.full();
  return text;
}

void add_threads_of_cgroup(const std::string& directory, std::vector<uint32_t>& tids,
                           std::unordered_set<uint64_t>& ids) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return;
  ids.insert(info.st_ino);
  for (const char* file : {"/cgroup.threads", "/tasks", "/cgroup.procs"}) {
    const auto text = read_small_file(directory + file);
    if (!text) continue;
    std::istringstream in(*text);
    for (uint32_t tid = 0; in >> tid;) tids.push_back(tid);
    break;
  }
  for (const std::string& name : list_directory(directory))
    add_threads_of_cgroup(directory + "/" + name, tids, ids);
}

// Without CAP_IPC_LOCK the kernel grants each user kernel.perf_event_mlock_kb per CPU, control pages
// included (kernel/events/core.c, perf_mmap(), 6.12).
uint64_t unprivileged_limit() {
  constexpr uint64_t kCapIpcLock = 14;
  const std::string status = read_small_file("/proc/self/status").value_or("");
  const size_t at = status.find("CapEff:");
  const uint64_t capabilities =
      at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 7, nullptr, 16);
  if ((capabilities >> kCapIpcLock & 1) != 0) return UINT64_MAX;
  const uint64_t kib =
      std::strtoull(read_line_of("/proc/sys/kernel/perf_event_mlock_kb").c_str(), nullptr, 10);
  return kib * 1024;
}

}  // namespace

uint64_t RecordSession::wanted_ring_bytes() const {
  if (options_.ring_bytes) return *options_.ring_bytes;
  uint64_t bytes = default_ring_bytes(memory_bytes(), target_cpus_.size());
  const uint64_t limit = unprivileged_limit();
  while (bytes > kMinRingBytes && bytes >= limit) bytes /= 2;
  return bytes;
}

uint64_t default_ring_bytes(uint64_t memory, size_t cpus) {
  const uint64_t share = memory / 64 / std::max<size_t>(cpus, 1);
  uint64_t bytes = kMinRingBytes;
  while (bytes * 2 <= share && bytes < kMaxDefaultRingBytes) bytes *= 2;
  return bytes;
}

Result<std::unique_ptr<RecordSession>> RecordSession::open(RecordOptions options, pid_t command) {
  auto session = std::unique_ptr<RecordSession>(new RecordSession(std::move(options)));
  session->command_ = command;
  session->wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (session->wake_fd_ < 0)
    return make_error(std::string("cannot create an eventfd: ") + std::strerror(errno));
  if (Result<void> opened = session->open_events(); !opened) return opened.error();
  return session;
}

Result<void> RecordSession::open_events() {
  support_ = probe_kernel_support();
  isolated_ = isolated_cpus();
  const std::vector<uint32_t> online = online_cpus();
  target_cpus_ = options_.cpus.empty() ? online : options_.cpus;
  for (const uint32_t cpu : target_cpus_)
    if (!std::binary_search(online.begin(), online.end(), cpu))
      return make_error("CPU " + std::to_string(cpu) + " is not online (" +
                        format_range_list(online) + " are)");
  if (!options_.cpus.empty() && options_.cpus.size() < online.size())
    warnings_.push_back(
        "only CPU " + format_range_list(options_.cpus) +
        " is recorded: what tasks do on other CPUs, and wakeups from there, are unknown");
  if (Result<void> chosen = choose_clock(); !chosen) return chosen;
  attr_options_.call_graph = options_.call_graph;
  attr_options_.stack_dump_bytes = options_.stack_dump_bytes;
  attr_options_.wakeup_bytes =
      static_cast<uint32_t>(std::min(wanted_ring_bytes() / 4, kMaxWakeupBytes));

  contents_.level = options_.level;
  contents_.sections = host_sections(options_.cmdline, options_.version);
  if (attr_options_.clockid)
    for (FeatureSection& section : clock_sections(*attr_options_.clockid))
      contents_.sections.push_back(std::move(section));
  if (options_.level != 0)
    contents_.sections.push_back(
        compression_section(static_cast<uint32_t>(options_.level), 1, kMaxChunkBytes));

  bool denied = false;
  Result<void> opened = open_system_events(denied);
  if (opened || !denied) return opened;
  return open_task_events(opened.error().what);
}

Result<void> RecordSession::choose_clock() {
  if (!options_.clock.empty()) {
    const auto clock = parse_clock(options_.clock);
    if (!clock) return clock.error();
    attr_options_.clockid = *clock;
    return {};
  }
  // The monotonic clock can be compared with other logs and mapped to wall time. Where it is read from
  // a slow device, as on machines whose TSC is unusable, each event would pay for that.
  const std::string source =
      read_line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  for (const char* slow : {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"})
    if (source == slow) return {};
  attr_options_.clockid = CLOCK_MONOTONIC;
  return {};
}

Result<void> RecordSession::open_system_events(bool& denied) {
  const Result<Tracefs> tracefs = Tracefs::open();
  denied = !tracefs;
  if (!tracefs) return tracefs.error();
  contents_.kallsyms = read_kallsyms();
  contents_.modules = loaded_modules();

  EventRequest request;
  request.sets = options_.sets;
  request.named_by_user = !options_.sets.empty();
  if (request.sets.empty()) request.sets.assign(std::begin(kDefaultSets), std::end(kDefaultSets));
  request.user_chains = options_.call_graph != CallGraph::kernel;
  KernelFacts facts;
  facts.online_cpus = target_cpus_;
  facts.isolated_cpus = isolated_;
  if (needs_kernel_addresses(request.sets)) facts.kallsyms = contents_.kallsyms;
  facts.schedstats_on = read_line_of("/proc/sys/kernel/sched_schedstats") == "1";
  Result<EventChoice> choice = choose_events(request, *tracefs, facts);
  if (!choice) return choice.error();
  if (!choice->missing.empty()) warnings_.push_back("this kernel has no " + join(choice->missing));
  warnings_.insert(warnings_.end(), choice->notes.begin(), choice->notes.end());
  chosen_ = std::move(choice->events);

  EventTarget target;
  target.cpus = target_cpus_;
  auto list = EventList::open(chosen_, attr_options_, support_, target, denied);
  if (!list) return list.error();
  events_ = std::move(*list);
  if (Result<void> mapped = map_rings(); !mapped) return mapped;

  std::vector<TracepointName> names;
  for (const ChosenEvent& event : chosen_)
    if (event.clock_hz == 0) names.push_back(event.tracepoint);
  contents_.sections.push_back({Feature::tracing_data, tracefs->tracing_data(std::move(names))});
  return choose_tasks(*tracefs);
}

Result<void> RecordSession::choose_tasks(const Tracefs& tracefs) {
  if (!options_.restricted_to_tasks()) return {};
  std::vector<uint32_t> tids;
  for (const pid_t pid : options_.pids) {
    const std::vector<pid_t> threads = threads_of("/proc", pid);
    if (threads.empty()) return make_error("no process " + std::to_string(pid));
    tids.insert(tids.end(), threads.begin(), threads.end());
  }
  for (const pid_t tid : options_.tids) {
    if (!read_small_file("/proc/" + std::to_string(tid) + "/stat"))
      return make_error("no thread " + std::to_string(tid));
    tids.push_back(static_cast<uint32_t>(tid));
  }
  if (options_.only_command && command_ > 0) tids.push_back(static_cast<uint32_t>(command_));
  std::unordered_set<uint64_t> cgroups;
  std::string cgroup_path;
  if (!options_.cgroup.empty()) {
    if (!support_.cgroup)
      return make_error("this kernel does not sample cgroups (5.7 and later do)");
    const auto mount = perf_cgroup_mount(read_small_file("/proc/self/mounts").value_or(""));
    if (!mount) return make_error("no cgroup hierarchy is mounted that perf events belong to");
    cgroup_path = "/" + options_.cgroup.substr(std::min(options_.cgroup.find_first_not_of('/'),
                                                        options_.cgroup.size()));
    add_threads_of_cgroup(mount->directory + (cgroup_path == "/" ? "" : cgroup_path), tids,
                          cgroups);
    if (cgroups.empty())
      return make_error("no cgroup \"" + options_.cgroup + "\" in " + mount->directory);
  }
  filter_ = std::make_unique<TaskFilter>(std::move(tids), std::move(cgroups), cgroup_path);
  for (size_t i = 0; i < chosen_.size(); ++i) {
    const bool clock = chosen_[i].clock_hz != 0;
    filter_->add_event(chosen_[i].name, clock ? "" : tracefs.format(chosen_[i].tracepoint),
                       contents_.events[i].ids, clock);
  }
  return {};
}

// Without rights over the system a user may still see when his own tasks are switched.
Result<void> RecordSession::open_task_events(const std::string& reason) {
  EventTarget target;
  target.cpus = target_cpus_;
  for (const pid_t pid : options_.pids)
    for (const pid_t tid : threads_of("/proc", pid)) target.tasks.push_back(tid);
  target.tasks.insert(target.tasks.end(), options_.tids.begin(), options_.tids.end());
  const bool command_alone = target.tasks.empty() && command_ > 0 && !options_.all_cpus &&
                             options_.cpus.empty() && options_.cgroup.empty();
  if (command_alone) target.tasks.push_back(command_);
  if (target.tasks.empty() || !options_.sets.empty()) return make_error(reason);
  events_.reset();
  chosen_.clear();
  warnings_.clear();
  warnings_.push_back(reason);
  warnings_.push_back(
      std::string("recording ") + (command_alone ? "the command" : "these tasks") +
      " with context switches only: no causes, and waiting for a CPU cannot be told from sleeping");
  attr_options_.per_task = true;
  bool denied = false;
  auto list = EventList::open({}, attr_options_, support_, target, denied);
  if (!list) return list.error();
  events_ = std::move(*list);
  contents_.kernel_addresses = false;
  contents_.user_maps_of_all = false;
  for (const pid_t task : target.tasks) contents_.mapped_pids.insert(static_cast<uint32_t>(task));
  return map_rings();
}

Result<void> RecordSession::map_rings() {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t bytes = wanted_ring_bytes();
  uint64_t power = page;
  while (power < bytes && power < (uint64_t{1} << 30)) power *= 2;
  Result<void> mapped = events_->map(power, options_.ring_bytes.has_value());
  if (!mapped) return mapped;
  contents_.events = events_->file_events();
  return {};
}

void RecordSession::make_readers() {
  std::vector<uint32_t> ring_cpus;
  for (const Ring& ring : events_->rings()) ring_cpus.push_back(ring.cpu());
  // The filter is one state for all rings, so one reader keeps it.
  const size_t cpus_per_reader = filter_ ? ring_cpus.size() : options_.cpus_per_reader;
  std::map<uint32_t, uint32_t> nodes = nodes_of_cpus(online_cpus());
  if (filter_)
    for (auto& [cpu, node] : nodes) node = 0;
  std::vector<ReaderPlan> plans = plan_readers(ring_cpus, nodes, isolated_, cpus_per_reader);
  ReaderOptions options;
  options.level = options_.level;
  if (options_.call_graph == CallGraph::kernel) options.maps_of = command_;
  summary_.readers = plans.size();
  output_ = std::make_unique<Output>(plans.size());
  readers_ = std::make_unique<ReaderPool>(events_->rings(), std::move(plans), options, *output_,
                                          filter_.get(), [this] { notice_progress(); });
}

}  // namespace perf_latency
