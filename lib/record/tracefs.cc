// SPDX-License-Identifier: GPL-2.0-only
#include "record/tracefs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "perfdata/writer_bytes.h"
#include "record/small_files.h"

namespace perf_latency {

namespace {

constexpr const char* kMounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

}  // namespace

Result<Tracefs> Tracefs::open() {
  bool denied = false;
  for (const char* mount : kMounts) {
    const std::string probe = std::string(mount) + "/events/sched/sched_switch/id";
    if (::access(probe.c_str(), R_OK) == 0) return Tracefs(mount);
    denied |= errno == EACCES || errno == EPERM;
  }
  if (denied)
    return make_error(
        "tracefs (/sys/kernel/tracing) cannot be read and kernel.perf_event_paranoid is " +
        read_line_of("/proc/sys/kernel/perf_event_paranoid") +
        ": run as root, or let this user in (\"mount -o remount,mode=755 /sys/kernel/tracing\", "
        "and "
        "CAP_PERFMON for the program or \"sysctl kernel.perf_event_paranoid=-1\")");
  return make_error(
      "tracefs is not mounted: \"mount -t tracefs tracefs /sys/kernel/tracing\" (as root)");
}

std::string Tracefs::event_path(const TracepointName& event, const char* file) const {
  return directory_ + "/events/" + event.system + "/" + event.name + "/" + file;
}

std::optional<uint64_t> Tracefs::id(const TracepointName& event) const {
  const std::string text = read_line_of(event_path(event, "id"));
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::string Tracefs::format(const TracepointName& event) const {
  return read_small_file(event_path(event, "format")).value_or("");
}

// Layout: tools/perf/util/trace-event-info.c (6.12), tracing_data_get().
std::vector<std::byte> Tracefs::tracing_data(std::vector<TracepointName> events) const {
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  ByteWriter out;
  const auto file = [&](const std::string& text) {
    out.u64(text.size());
    out.text(text);
  };
  out.raw("\x17\x08\x44tracing", 10);
  out.c_string("0.6");
  const uint16_t one = 1;
  out.u8(*reinterpret_cast<const uint8_t*>(&one) == 1 ? 0 : 1);  // big-endian?
  out.u8(sizeof(long));
  out.u32(static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)));
  out.c_string("header_page");
  file(read_small_file(directory_ + "/events/header_page").value_or(""));
  out.c_string("header_event");
  file(read_small_file(directory_ + "/events/header_event").value_or(""));
  out.u32(0);  // formats of ftrace's own events: not recorded

  uint32_t systems = 0;
  for (size_t i = 0; i < events.size(); ++i)
    systems += i == 0 || events[i].system != events[i - 1].system;
  out.u32(systems);
  for (size_t begin = 0; begin < events.size();) {
    const auto end = std::find_if(
        events.begin() + static_cast<ptrdiff_t>(begin), events.end(),
        [&](const TracepointName& event) { return event.system != events[begin].system; });
    const size_t after = static_cast<size_t>(end - events.begin());
    out.c_string(events[begin].system);
    out.u32(static_cast<uint32_t>(after - begin));
    for (size_t i = begin; i < after; ++i) file(format(events[i]));
    begin = after;
  }
  out.u32(0);  // kallsyms: symbols come from the build-id cache
  out.u32(0);  // printk formats: only trace_printk() needs them
  out.u64(0);  // saved command lines: COMM records name the tasks
  return out.take();
}

uint64_t sleep_state_mask(std::string_view format) {
  const size_t flags = format.find("__print_flags");
  if (flags == std::string_view::npos) return 0;
  uint64_t mask = 0;
  // { 0x00000001, "S" }, { 0x00000002, "D" }, … up to the parenthesis that closes the call.
  size_t at = format.find('{', flags);
  while (at != std::string_view::npos) {
    const char* text = format.data() + at + 1;
    const char* end = format.data() + format.size();
    while (text < end && *text == ' ') ++text;
    int base = 10;
    if (end - text > 2 && text[0] == '0' && text[1] == 'x') {
      text += 2;
      base = 16;
    }
    uint64_t bit = 0;
    if (std::from_chars(text, end, bit, base).ec == std::errc()) mask |= bit;
    const size_t close = format.find('}', at);
    if (close == std::string_view::npos) break;
    const size_t next = format.find_first_not_of(" ,", close + 1);
    at = next != std::string_view::npos && format[next] == '{' ? next : std::string_view::npos;
  }
  return mask;
}

std::optional<FormatField> format_field(std::string_view format, std::string_view field) {
  // "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;"
  const auto number_behind = [](std::string_view line, std::string_view key) {
    uint32_t value = 0;
    const size_t at = line.find(key);
    if (at != std::string_view::npos)
      std::from_chars(line.data() + at + key.size(), line.data() + line.size(), value);
    return value;
  };
  for (size_t at = format.find("field:"); at != std::string_view::npos;
       at = format.find("field:", at + 1)) {
    const std::string_view line = format.substr(at, format.find('\n', at) - at);
    std::string_view declaration = line.substr(0, line.find(';'));
    if (const size_t bracket = declaration.rfind('[');
        bracket != std::string_view::npos && declaration.ends_with(']'))
      declaration = declaration.substr(0, bracket);
    if (declaration.size() <= field.size() || !declaration.ends_with(field)) continue;
    const char before = declaration[declaration.size() - field.size() - 1];
    if (before == ' ' || before == '*')
      return FormatField{number_behind(line, "offset:"), number_behind(line, "size:")};
  }
  return std::nullopt;
}

}  // namespace perf_latency
