// SPDX-License-Identifier: GPL-2.0-only
// /proc/lock_stat, version 0.4, in the kernel's columns (kernel/locking/lockdep_proc.c, 6.12:
// seq_header(), seq_stats(), seq_lock_time()). Times are in microseconds with two decimals, rounded
// half up. One difference: the kernel leaves a class out that was never acquired; here a class that
// was waited for is printed even where the recording cannot know its acquisitions.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "render/escape.h"
#include "render/formats.h"

namespace perf_latency {
namespace {

constexpr size_t kNameColumns = 40;
constexpr size_t kLine = kNameColumns + 1 + 12 * (14 + 1);

bool is_used(const LockSide& side) { return side.wait.count != 0 || side.hold.count != 0; }

// The name is cut so that its suffixes fit: 37 bytes, two less for each suffix.
std::string class_name(const LockStatRow& row) {
  size_t room = 37;
  if (row.version > 1) room -= 2;
  if (row.subclass != 0) room -= 2;
  const std::string whole = terminal_text(row.name);
  size_t end = 0;
  while (end < whole.size()) {
    const size_t next = end + decode_utf8(whole, end).length;
    if (next > room) break;
    end = next;
  }
  std::string name = whole.substr(0, end);
  if (row.version > 1) name += fmt::format("#{}", row.version);
  if (row.subclass != 0) name += fmt::format("/{}", row.subclass);
  return name;
}

std::string microseconds(uint64_t ns) {
  const uint64_t hundredths = ns / 10 + (ns % 10 >= 5);
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

void append_time(std::string& out, const LockTime& time) {
  out += fmt::format("{:14} {:>14} {:>14} {:>14} {:>14}", time.count, microseconds(time.min_ns),
                     microseconds(time.max_ns), microseconds(time.total_ns),
                     microseconds(time.count == 0 ? 0 : time.total_ns / time.count));
}

void append_side(std::string& out, std::string_view label, const LockSide& side) {
  out += fmt::format("{:>{}}:{:14} ", label, kNameColumns, side.contention_bounces);
  append_time(out, side.wait);
  out += fmt::format(" {:14} ", side.acquisition_bounces);
  append_time(out, side.hold);
  out += '\n';
}

void append_points(std::string& out, const std::string& name, size_t underline,
                   const std::vector<LockPoint>& points) {
  if (points.empty()) return;
  out.append(kNameColumns - std::min(underline, kNameColumns), ' ');
  out.append(underline, '-');
  out += '\n';
  for (const LockPoint& point : points) {
    const std::string symbol =
        point.symbol.empty() ? fmt::format("0x{:x}", point.address) : terminal_text(point.symbol);
    out += fmt::format("{:>40} {:14} {:>29} {}\n", name, point.count,
                       fmt::format("[<{:016x}>]", point.address), symbol);
  }
}

void append_class(std::string& out, const LockStatRow& row) {
  const std::string name = class_name(row);
  const bool read = is_used(row.read);
  if (is_used(row.write)) append_side(out, read ? name + "-W" : name, row.write);
  if (read) append_side(out, name + "-R", row.read);
  if (row.write.wait.count + row.read.wait.count == 0) return;
  const size_t underline = name.size() + (read ? 2 : 0);
  append_points(out, name, underline, row.contention_points);
  append_points(out, name, underline, row.contending_points);
  if (row.contention_points.empty() && row.contending_points.empty()) return;
  out += '\n';
  out.append(kLine, '.');
  out += "\n\n";
}

}  // namespace

void render_lock_stat(const LockStat& stats, std::string& out) {
  out += "lock_stat version 0.4\n";
  out.append(kLine, '-');
  out += fmt::format("\n{:>40}", "class name");
  for (const char* column : {"con-bounces", "contentions", "waittime-min", "waittime-max",
                             "waittime-total", "waittime-avg", "acq-bounces", "acquisitions",
                             "holdtime-min", "holdtime-max", "holdtime-total", "holdtime-avg"})
    out += fmt::format(" {:>14}", column);
  out += '\n';
  out.append(kLine, '-');
  out += "\n\n";
  for (const LockStatRow& row : stats.rows) append_class(out, row);
}

}  // namespace perf_latency
