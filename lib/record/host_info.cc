// SPDX-License-Identifier: GPL-2.0-only
#include "record/host_info.h"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/range_list.h"
#include "perfdata/writer_bytes.h"
#include "record/small_files.h"

namespace perf_latency {

namespace {

const std::string kCpuDirectory = "/sys/devices/system/cpu/";

// perf's strings: u32 length (with the padding to 64), text, zeros.
void put_string(ByteWriter& out, std::string_view text) {
  const size_t padded = (text.size() + 1 + 63) / 64 * 64;
  out.u32(static_cast<uint32_t>(padded));
  out.text(text);
  out.zeros(padded - text.size());
}

void put_list(ByteWriter& out, const std::vector<std::string>& texts) {
  out.u32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) put_string(out, text);
}

FeatureSection string_section(Feature feature, std::string_view text) {
  ByteWriter out;
  put_string(out, text);
  return {feature, out.take()};
}

std::vector<uint32_t> cpu_list(const std::string& file) {
  const auto cpus = parse_range_list(read_line_of(kCpuDirectory + file));
  return cpus ? *cpus : std::vector<uint32_t>();
}

// The value behind `key` in /proc/cpuinfo or /proc/meminfo, where lines are "key : value".
std::string value_of(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos ||
        line.substr(key.size(), colon - key.size()).find_first_not_of(" \t") !=
            std::string_view::npos)
      continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
  }
  return {};
}

uint64_t leading_number(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string cpu_description(const std::string& cpuinfo) {
  for (const char* key : {"model name", "Processor", "cpu", "vendor_id"})
    if (std::string value = value_of(cpuinfo, key); !value.empty()) return value;
  return {};
}

std::string cpu_id(const std::string& cpuinfo) {
  const std::string vendor = value_of(cpuinfo, "vendor_id");
  const std::string family = value_of(cpuinfo, "cpu family");
  if (!vendor.empty() && !family.empty())
    return vendor + "," + family + "," + value_of(cpuinfo, "model") + "," +
           value_of(cpuinfo, "stepping");
  return read_line_of(kCpuDirectory + "cpu0/regs/identification/midr_el1");
}

// The distinct values of a topology file over all CPUs, in order of the CPUs.
std::vector<std::string> distinct_lists(const std::vector<uint32_t>& cpus, const char* file,
                                        const char* old_name) {
  std::vector<std::string> lists;
  for (const uint32_t cpu : cpus) {
    const std::string base = kCpuDirectory + "cpu" + std::to_string(cpu) + "/topology/";
    std::string list = read_line_of(base + file);
    if (list.empty()) list = read_line_of(base + old_name);
    if (!list.empty() && std::find(lists.begin(), lists.end(), list) == lists.end())
      lists.push_back(std::move(list));
  }
  return lists;
}

uint32_t topology_id(uint32_t cpu, const char* file) {
  const std::string text =
      read_line_of(kCpuDirectory + "cpu" + std::to_string(cpu) + "/topology/" + file);
  int32_t id = -1;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return static_cast<uint32_t>(id);
}

FeatureSection topology_section() {
  const std::vector<uint32_t> present = cpu_list("present");
  ByteWriter out;
  put_list(out, distinct_lists(present, "package_cpus_list", "core_siblings_list"));
  put_list(out, distinct_lists(present, "core_cpus_list", "thread_siblings_list"));
  for (const uint32_t cpu : present) {
    out.u32(topology_id(cpu, "core_id"));
    out.u32(topology_id(cpu, "physical_package_id"));
  }
  const std::vector<std::string> dies = distinct_lists(present, "die_cpus_list", "die_cpus_list");
  if (!dies.empty()) {
    put_list(out, dies);
    for (const uint32_t cpu : present) out.u32(topology_id(cpu, "die_id"));
  }
  return {Feature::cpu_topology, out.take()};
}

std::optional<FeatureSection> numa_section() {
  const std::string base = "/sys/devices/system/node/";
  const auto nodes = parse_range_list(read_line_of(base + "online"));
  if (!nodes || nodes->empty()) return std::nullopt;
  ByteWriter out;
  out.u32(static_cast<uint32_t>(nodes->size()));
  for (const uint32_t node : *nodes) {
    const std::string directory = base + "node" + std::to_string(node) + "/";
    const std::string info = read_small_file(directory + "meminfo").value_or("");
    // Lines read "Node 0 MemTotal:  123 kB".
    const std::string prefix = "Node " + std::to_string(node) + " ";
    out.u32(node);
    out.u64(leading_number(value_of(info, prefix + "MemTotal")));
    out.u64(leading_number(value_of(info, prefix + "MemFree")));
    put_string(out, read_line_of(directory + "cpulist"));
  }
  return FeatureSection{Feature::numa_topology, out.take()};
}

FeatureSection pmu_section() {
  const std::string base = "/sys/bus/event_source/devices/";
  ByteWriter out;
  out.u32(0);
  uint32_t count = 0;
  for (const std::string& name : list_directory(base)) {
    const std::string type = read_line_of(base + name + "/type");
    if (type.empty()) continue;
    out.u32(static_cast<uint32_t>(leading_number(type)));
    put_string(out, name);
    ++count;
  }
  out.number_at(0, count);
  return {Feature::pmu_mappings, out.take()};
}

}  // namespace

FeatureSection machine_state_section(const std::optional<std::string>& tasks) {
  const std::pair<const char*, std::string> facts[] = {
      {"isolated", kCpuDirectory + "isolated"},
      {"nohz_full", kCpuDirectory + "nohz_full"},
      {"kernel_cmdline", "/proc/cmdline"},
      {"vm.stat_interval", "/proc/sys/vm/stat_interval"},
      {"kernel.sched_schedstats", "/proc/sys/kernel/sched_schedstats"},
      {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
  };
  ByteWriter out;
  out.u32(0);
  uint32_t count = 0;
  for (const auto& [key, path] : facts) {
    if (!read_small_file(path)) continue;
    put_string(out, key);
    put_string(out, read_line_of(path));
    ++count;
  }
  if (tasks) {
    put_string(out, "tasks");
    put_string(out, *tasks);
    ++count;
  }
  out.number_at(0, count);
  return {kFeatureMachineState, out.take()};
}

namespace {

FeatureSection cpu_count_section() {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(std::max(cpu_list("present").size(), size_t{1})));
  out.u32(static_cast<uint32_t>(online_cpus().size()));
  return {Feature::nrcpus, out.take()};
}

}  // namespace

std::vector<uint32_t> online_cpus() {
  std::vector<uint32_t> cpus = cpu_list("online");
  if (cpus.empty()) {
    const long n = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
    for (long cpu = 0; cpu < n; ++cpu) cpus.push_back(static_cast<uint32_t>(cpu));
  }
  return cpus;
}

std::vector<FeatureSection> host_sections(const std::vector<std::string>& cmdline,
                                          const std::string& version) {
  std::vector<FeatureSection> sections;
  utsname names{};
  ::uname(&names);
  const std::string cpuinfo = read_small_file("/proc/cpuinfo").value_or("");
  const std::string meminfo = read_small_file("/proc/meminfo").value_or("");

  sections.push_back(string_section(Feature::hostname, names.nodename));
  sections.push_back(string_section(Feature::osrelease, names.release));
  sections.push_back(string_section(Feature::version, version));
  sections.push_back(string_section(Feature::arch, names.machine));
  sections.push_back(cpu_count_section());
  if (const std::string text = cpu_description(cpuinfo); !text.empty())
    sections.push_back(string_section(Feature::cpudesc, text));
  if (const std::string text = cpu_id(cpuinfo); !text.empty())
    sections.push_back(string_section(Feature::cpuid, text));
  ByteWriter memory;
  memory.u64(leading_number(value_of(meminfo, "MemTotal")));
  sections.push_back({Feature::total_mem, memory.take()});
  ByteWriter command;
  put_list(command, cmdline);
  sections.push_back({Feature::cmdline, command.take()});
  sections.push_back(topology_section());
  if (auto numa = numa_section()) sections.push_back(std::move(*numa));
  sections.push_back(pmu_section());
  sections.push_back(machine_state_section({}));
  return sections;
}

std::vector<FeatureSection> clock_sections(int32_t clockid) {
  timespec resolution{}, wall{}, clock{};
  ::clock_getres(clockid, &resolution);
  ::clock_gettime(CLOCK_REALTIME, &wall);
  ::clock_gettime(clockid, &clock);
  const auto ns = [](const timespec& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  };
  ByteWriter id;
  id.u64(ns(resolution));
  ByteWriter data;
  data.u32(1);  // version
  data.u32(static_cast<uint32_t>(clockid));
  data.u64(ns(wall));
  data.u64(ns(clock));
  std::vector<FeatureSection> sections;
  sections.push_back({Feature::clockid, id.take()});
  sections.push_back({Feature::clock_data, data.take()});
  return sections;
}

FeatureSection compression_section(uint32_t level, uint32_t ratio, uint32_t largest_chunk_bytes) {
  ByteWriter out;
  out.u32(1);  // version
  out.u32(1);  // zstd
  out.u32(level);
  out.u32(ratio);
  out.u32(largest_chunk_bytes);
  return {Feature::compressed, out.take()};
}

FeatureSection sample_time_section(uint64_t first_ns, uint64_t last_ns) {
  ByteWriter out;
  out.u64(first_ns);
  out.u64(last_ns);
  return {Feature::sample_time, out.take()};
}

}  // namespace perf_latency
