// SPDX-License-Identifier: GPL-2.0-only
#include "record/synthesize.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "perfdata/writer_records.h"
#include "record/small_files.h"

namespace perf_latency {

namespace {

constexpr uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD, include/linux/sched.h
constexpr size_t kCommBytes = 15;
constexpr size_t kMaxCgroupDepth = 64;

uint64_t number(std::string_view text, int base = 10) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::string_view next_field(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = std::min(text.find(' ', begin), text.size());
  const std::string_view field = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return field;
}

// /proc shows a worker's current work behind its name ("kworker/0:1-events"), events do not.
std::string task_comm(std::string_view shown, bool kernel_thread) {
  if (kernel_thread && shown.starts_with("kworker/") && !shown.starts_with("kworker/R"))
    shown = shown.substr(0, shown.find_first_of("-+"));
  return std::string(shown.substr(0, kCommBytes));
}

// seq_path() writes a newline in a path as \012.
std::string unescape_path(std::string_view path) {
  std::string result;
  for (size_t at = 0; at < path.size();) {
    if (path.substr(at, 4) == "\\012") {
      result += '\n';
      at += 4;
    } else {
      result += path[at++];
    }
  }
  return result;
}

void append_map_line(ByteWriter& out, uint32_t pid, std::string_view line) {
  const std::string_view range = next_field(line);
  const std::string_view rights = next_field(line);
  if (rights.size() < 4 || rights[2] != 'x') return;
  const std::string_view offset = next_field(line);
  const std::string_view device = next_field(line);
  const std::string_view inode = next_field(line);
  const size_t path_at = std::min(line.find_first_not_of(' '), line.size());
  const std::string path = path_at == line.size() ? "//anon" : unescape_path(line.substr(path_at));
  const size_t dash = range.find('-'), colon = device.find(':');
  if (dash == std::string_view::npos || colon == std::string_view::npos) return;

  MapRecord map;
  map.task = {pid, pid};
  map.start = number(range, 16);
  map.size_bytes = number(range.substr(dash + 1), 16) - map.start;
  map.file_offset = number(offset, 16);
  map.major = static_cast<uint32_t>(number(device, 16));
  map.minor = static_cast<uint32_t>(number(device.substr(colon + 1), 16));
  map.inode = number(inode);
  map.protection =
      PROT_EXEC | (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0);
  map.flags = rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
  map.path = path;
  append_mmap2(out, map);
}

void append_process(ByteWriter& out, const std::string& proc, uint32_t pid,
                    const std::function<bool(uint32_t)>& with_maps) {
  const std::string directory = proc + "/" + std::to_string(pid);
  const auto leader = parse_proc_stat(read_small_file(directory + "/stat").value_or(""));
  if (!leader) return;
  append_fork(out, {pid, pid}, {leader->parent_pid, leader->parent_pid});
  append_comm(out, {pid, pid}, leader->comm);
  if (leader->kernel_thread) return;
  if (with_maps(pid)) append_maps(out, pid, read_small_file(directory + "/maps").value_or(""));
  for (const pid_t tid : threads_of(proc, static_cast<pid_t>(pid))) {
    if (static_cast<uint32_t>(tid) == pid) continue;
    const auto thread = parse_proc_stat(
        read_small_file(directory + "/task/" + std::to_string(tid) + "/stat").value_or(""));
    if (!thread) continue;
    append_fork(out, {pid, thread->tid}, {pid, pid});
    append_comm(out, {pid, thread->tid}, thread->comm);
  }
}

bool synthesize_cgroup(const std::string& directory, const std::string& path, size_t depth,
                       const RecordSink& sink) {
  struct stat info {};
  if (depth > kMaxCgroupDepth || ::stat((directory + path).c_str(), &info) != 0 ||
      !S_ISDIR(info.st_mode))
    return true;
  ByteWriter out;
  // On 64-bit kernels the inode number is the cgroup's id (fs/kernfs/inode.c, include/linux/kernfs.h).
  append_cgroup(out, info.st_ino, path.empty() ? "/" : path);
  if (!sink(out.bytes())) return false;
  for (const std::string& name : list_directory(directory + path)) {
    // Control files have a dot in their names far more often than groups do; stat() decides.
    if (!synthesize_cgroup(directory, path + "/" + name, depth + 1, sink)) return false;
  }
  return true;
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  // "tid (comm) state ppid pgrp session tty tpgid flags …"; the comm may hold anything.
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  ProcStat stat;
  stat.tid = static_cast<uint32_t>(number(text));
  std::string_view rest = text.substr(close + 1);
  next_field(rest);
  stat.parent_pid = static_cast<uint32_t>(number(next_field(rest)));
  for (int i = 0; i < 4; ++i) next_field(rest);
  stat.kernel_thread = (number(next_field(rest)) & kKernelThreadFlag) != 0;
  stat.comm = task_comm(text.substr(open + 1, close - open - 1), stat.kernel_thread);
  return stat;
}

void append_maps(ByteWriter& out, uint32_t pid, std::string_view maps) {
  for (size_t at = 0; at < maps.size();) {
    const size_t end = std::min(maps.find('\n', at), maps.size());
    append_map_line(out, pid, maps.substr(at, end - at));
    at = end + 1;
  }
}

std::vector<pid_t> threads_of(const std::string& proc, pid_t pid) {
  std::vector<pid_t> threads;
  for (const std::string& name : list_directory(proc + "/" + std::to_string(pid) + "/task"))
    if (is_number(name)) threads.push_back(static_cast<pid_t>(number(name)));
  return threads;
}

bool synthesize_tasks(const std::string& proc, const std::function<bool(uint32_t pid)>& with_maps,
                      const RecordSink& sink) {
  for (const std::string& name : list_directory(proc)) {
    if (!is_number(name)) continue;
    ByteWriter out;
    append_process(out, proc, static_cast<uint32_t>(number(name)), with_maps);
    if (out.size() != 0 && !sink(out.bytes())) return false;
  }
  return true;
}

std::optional<CgroupMount> perf_cgroup_mount(std::string_view mounts) {
  std::optional<CgroupMount> v2;
  for (size_t at = 0; at < mounts.size();) {
    const size_t end = std::min(mounts.find('\n', at), mounts.size());
    std::string_view line = mounts.substr(at, end - at);
    at = end + 1;
    next_field(line);
    const std::string directory(next_field(line));
    const std::string_view type = next_field(line);
    const std::string options = "," + std::string(next_field(line)) + ",";
    if (type == "cgroup" && options.find(",perf_event,") != std::string::npos)
      return CgroupMount{directory, false};
    if (type == "cgroup2" && !v2) v2 = CgroupMount{directory, true};
  }
  return v2;
}

bool synthesize_cgroups(const std::string& directory, const RecordSink& sink) {
  return synthesize_cgroup(directory, "", 0, sink);
}

}  // namespace perf_latency
