// SPDX-License-Identifier: GPL-2.0-only
#include "record/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/byte_cursor.h"
#include "perfdata/writer_records.h"
#include "record/chunk_encoder.h"
#include "record/host_info.h"
#include "record/small_files.h"
#include "record/synthesize.h"

namespace perf_latency {

namespace {

// Collects records of any number and writes them in runs, compressed like all others.
class StateWriter {
 public:
  StateWriter(PerfDataWriter& writer, int level, OutputTotals& totals)
      : writer_(writer), totals_(totals) {
    if (level != 0) encoder_ = std::make_unique<ChunkEncoder>(level);
  }

  bool add(std::span<const std::byte> records) {
    while (!records.empty()) {
      const size_t size = load_unchecked<uint16_t>(records.data() + 6);
      if (pending_.size() + size > kMaxChunkBytes / 4 && !flush()) return false;
      pending_.insert(pending_.end(), records.begin(),
                      records.begin() + static_cast<ptrdiff_t>(size));
      records = records.subspan(size);
    }
    return true;
  }

  bool flush() {
    if (pending_.empty()) return true;
    const std::span<const std::byte> bytes =
        encoder_ ? encoder_->encode(pending_) : std::span<const std::byte>(pending_);
    totals_.raw_bytes += pending_.size();
    result_ = writer_.write(bytes);
    pending_.clear();
    return result_.has_value();
  }

  const Result<void>& result() const { return result_; }

 private:
  PerfDataWriter& writer_;
  OutputTotals& totals_;
  std::unique_ptr<ChunkEncoder> encoder_;
  std::vector<std::byte> pending_;
  Result<void> result_;
};

void note_maps(std::span<const std::byte> records, std::map<std::string, uint32_t>& maps) {
  constexpr size_t kNameOffset = 72;  // of MMAP2
  while (!records.empty()) {
    const std::span<const std::byte> record =
        records.first(load_unchecked<uint16_t>(records.data() + 6));
    records = records.subspan(record.size());
    if (load_unchecked<uint32_t>(record.data()) != static_cast<uint32_t>(RecordType::mmap2))
      continue;
    const std::string_view name = ByteCursor::text_in(record.subspan(kNameOffset));
    if (name == "[vdso]" || (name.starts_with('/') && !name.starts_with("//")))
      maps.emplace(name, load_unchecked<uint32_t>(record.data() + kRecordHeaderBytes));
  }
}

void keep_old_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
    ::rename(path.c_str(), (path + ".old").c_str());
}

}  // namespace

Result<std::unique_ptr<PerfDataWriter>> create_recording(const std::string& path,
                                                         const FileContents& contents) {
  int fd = -1;
  bool pipe = path == "-";
  if (pipe) {
    fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    keep_old_file(path);
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  if (fd < 0) return make_error("cannot create " + path + ": " + std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) pipe = true;
  std::vector<FeatureSection> sections = contents.sections;
  sections.push_back(event_description_section(contents.events));
  return PerfDataWriter::create(fd, pipe, contents.events, std::move(sections));
}

Result<void> write_known_state(PerfDataWriter& writer, const FileContents& contents,
                               OutputTotals& totals, std::map<std::string, uint32_t>& maps) {
  StateWriter state(writer, contents.level, totals);
  const RecordSink sink = [&](std::span<const std::byte> records) {
    note_maps(records, maps);
    return state.add(records);
  };
  ByteWriter kernel;
  if (contents.kernel_addresses && append_kernel_map(kernel, contents.kallsyms)) {
    append_module_maps(kernel, contents.modules);
    append_bpf_symbols(kernel, contents.kallsyms);
  }
  bool going = state.add(kernel.bytes());
  if (going) {
    const auto mounts = read_small_file("/proc/self/mounts").value_or("");
    if (const auto mount = perf_cgroup_mount(mounts))
      going = synthesize_cgroups(mount->directory, sink);
  }
  if (going)
    going = synthesize_tasks(
        "/proc",
        [&](uint32_t pid) {
          return contents.user_maps_of_all || contents.mapped_pids.contains(pid);
        },
        sink);
  if (going) state.flush();
  return state.result();
}

std::vector<FeatureSection> final_sections(const FileContents& contents, const OutputTotals& totals,
                                           uint64_t data_bytes, std::vector<std::byte> build_ids,
                                           const std::optional<std::string>& tasks) {
  std::vector<FeatureSection> sections;
  if (!build_ids.empty()) sections.push_back({Feature::build_id, std::move(build_ids)});
  if (totals.samples != 0)
    sections.push_back(sample_time_section(totals.first_time_ns, totals.last_time_ns));
  if (tasks) sections.push_back(machine_state_section(tasks));
  if (contents.level != 0) {
    const uint64_t ratio = data_bytes != 0 ? (totals.raw_bytes + data_bytes / 2) / data_bytes : 1;
    sections.push_back(compression_section(static_cast<uint32_t>(contents.level),
                                           static_cast<uint32_t>(std::max<uint64_t>(ratio, 1)),
                                           kMaxChunkBytes));
  }
  return sections;
}

std::string timestamped_path(const std::string& path) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char text[64];
  std::snprintf(text, sizeof text, ".%04d%02d%02d%02d%02d%02d%02d", local.tm_year + 1900,
                local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                static_cast<int>(now.tv_nsec / 10'000'000));
  return path + text;
}

}  // namespace perf_latency
