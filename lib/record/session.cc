// SPDX-License-Identifier: GPL-2.0-only
// RecordSession, second part: from turning the events on to the finished file.
#include "record/session.h"

#include <poll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/range_list.h"
#include "perfdata/writer_records.h"
#include "record/build_ids.h"

namespace perf_latency {

namespace {

uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t own_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(t.tv_usec) * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

}  // namespace

RecordSession::~RecordSession() {
  readers_.reset();
  events_.reset();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

Result<void> RecordSession::start() {
  make_readers();
  current_path_ = options_.output;
  auto writer = create_recording(current_path_, contents_);
  if (!writer) return writer.error();
  // From here on new tasks and maps are recorded; then what is there already is read from /proc.
  if (Result<void> enabled = events_->enable_tracking(); !enabled) return enabled;
  OutputTotals known;
  if (auto written = write_known_state(**writer, contents_, known, maps_); !written) return written;
  summary_.totals.raw_bytes += known.raw_bytes;
  output_->exchange(std::move(*writer));
  started_cpu_ns_ = own_cpu_ns();
  started_ns_ = now_ns();
  if (Result<void> started = readers_->start(); !started) return started;
  return options_.delay_ns == 0 ? enable() : Result<void>();
}

Result<void> RecordSession::enable() {
  enabled_ = true;
  started_cpu_ns_ = own_cpu_ns();
  started_ns_ = now_ns();
  return events_->enable();
}

// Runs in a reader after each pass: main is woken only when there is something to do.
void RecordSession::notice_progress() {
  const uint64_t bytes = output_->file_bytes();
  const bool full = options_.max_bytes != 0 && summary_.file_bytes + bytes >= options_.max_bytes;
  const bool next = options_.switch_bytes != 0 && bytes >= options_.switch_bytes;
  if (!full && !next && !readers_->error()) return;
  const uint64_t one = 1;
  if (::write(wake_fd_, &one, sizeof one) < 0 && errno != EAGAIN) return;
}

void RecordSession::request_switch() {
  switch_requested_ = true;
  const uint64_t one = 1;
  if (::write(wake_fd_, &one, sizeof one) < 0) return;
}

Result<StopReason> RecordSession::run(int stop_fd) {
  const uint64_t never = UINT64_MAX;
  const uint64_t enable_at = enabled_ ? never : now_ns() + options_.delay_ns;
  uint64_t switch_at = options_.switch_ns != 0 ? now_ns() + options_.switch_ns : never;
  pollfd fds[2] = {{stop_fd, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  for (;;) {
    const uint64_t end_at =
        enabled_ && options_.duration_ns != 0 ? started_ns_ + options_.duration_ns : never;
    const uint64_t now = now_ns();
    if (!enabled_ && now >= enable_at)
      if (Result<void> enabled = enable(); !enabled) return enabled.error();
    if (now >= end_at) return StopReason::duration;
    if (readers_->error()) return StopReason::output_failed;
    const uint64_t bytes = output_->file_bytes();
    if (options_.max_bytes != 0 && summary_.file_bytes + bytes >= options_.max_bytes)
      return StopReason::max_size;
    if (options_.switch_output &&
        (now >= switch_at || switch_requested_.exchange(false) ||
         (options_.switch_bytes != 0 && bytes >= options_.switch_bytes))) {
      if (Result<void> switched = switch_file(); !switched) return switched.error();
      if (options_.switch_ns != 0) switch_at = now_ns() + options_.switch_ns;
      continue;
    }
    const uint64_t wake_at = std::min({enabled_ ? never : enable_at, end_at, switch_at});
    timespec wait{};
    if (wake_at != never) {
      const uint64_t left = wake_at > now ? wake_at - now : 0;
      wait.tv_sec = static_cast<time_t>(left / 1'000'000'000);
      wait.tv_nsec = static_cast<long>(left % 1'000'000'000);
    }
    const int ready = ::ppoll(fds, 2, wake_at != never ? &wait : nullptr, nullptr);
    if (ready < 0 && errno != EINTR)
      return make_error(std::string("poll: ") + std::strerror(errno));
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) return StopReason::asked;
    uint64_t count = 0;
    if (ready > 0 && (fds[1].revents & POLLIN) != 0 && ::read(wake_fd_, &count, sizeof count) < 0 &&
        errno != EAGAIN)
      return make_error(std::string("eventfd: ") + std::strerror(errno));
  }
}

// The new file is complete with what runs before the readers go over to it; events that come
// meanwhile go into the old one.
Result<void> RecordSession::switch_file() {
  const std::string finished_path = timestamped_path(options_.output);
  // Both are in one folder: the old file keeps its open descriptor through the rename.
  if (::rename(current_path_.c_str(), finished_path.c_str()) != 0)
    return make_error("cannot rename " + current_path_ + ": " + std::strerror(errno));
  auto writer = create_recording(current_path_, contents_);
  if (!writer) return writer.error();
  OutputTotals known;
  if (auto written = write_known_state(**writer, contents_, known, maps_); !written) return written;
  // What happened until now belongs to the old file.
  readers_->drain();
  Output::Finished finished = output_->exchange(std::move(*writer));
  summary_.totals.raw_bytes += known.raw_bytes;
  return end_file(std::move(finished), finished_path);
}

std::vector<std::byte> RecordSession::new_losses(OutputTotals& totals) {
  ByteWriter out;
  for (const EventLoss& loss : events_->read_losses()) {
    uint64_t& written = losses_written_[loss.id];
    if (loss.lost <= written) continue;
    append_lost_samples(out, loss.lost - written, {0, 0, 0, loss.cpu, loss.id});
    summary_.lost_samples += loss.lost - written;
    totals.lost_cpus.insert(loss.cpu);
    written = loss.lost;
  }
  return out.take();
}

Result<void> RecordSession::end_file(Output::Finished finished, const std::string& path) {
  PerfDataWriter& writer = *finished.writer;
  Result<void> result;
  if (const std::vector<std::byte> losses = new_losses(finished.totals); !losses.empty())
    result = writer.write(losses);
  // Without user call chains only the command's own files matter.
  std::map<std::string, uint32_t> maps = readers_->maps();
  if (options_.call_graph != CallGraph::kernel) maps.insert(maps_.begin(), maps_.end());
  std::vector<std::byte> ids;
  if (contents_.kernel_addresses) ids = build_id_records(contents_.modules, maps);
  if (options_.output == "-" && result && !ids.empty()) result = writer.write(ids);
  const uint64_t bytes = writer.data_bytes();
  std::optional<std::string> tasks;
  if (filter_) tasks = format_range_list(filter_->tasks_so_far());
  const Result<void> ended =
      writer.finish(final_sections(contents_, finished.totals, bytes, std::move(ids), tasks));
  if (result && !ended) result = ended;
  summary_.reader_gone |= writer.failed_errno() == EPIPE;
  summary_.file_bytes += bytes;
  summary_.totals.add(finished.totals);
  summary_.files.push_back(path);
  return result;
}

Result<RecordSummary> RecordSession::finish() {
  events_->disable();
  stopped_ns_ = now_ns();
  readers_->stop();
  summary_.recorder_cpu_ns = own_cpu_ns() - started_cpu_ns_;
  summary_.wall_ns = stopped_ns_ - started_ns_;
  summary_.priority = readers_->priority();
  summary_.ring_bytes = events_->ring_bytes();
  summary_.output_error = readers_->error();
  if (!summary_.output_error)
    if (Result<void> marked = output_->last_round(); !marked)
      summary_.output_error = marked.error();

  std::string path = current_path_;
  if (options_.switch_output) {
    path = timestamped_path(options_.output);
    if (::rename(current_path_.c_str(), path.c_str()) != 0) path = current_path_;
  }
  const Result<void> ended = end_file(output_->exchange(nullptr), path);
  if (!ended && !summary_.output_error) summary_.output_error = ended.error();
  if (options_.cache_build_ids && contents_.kernel_addresses)
    cache_kernel_symbols(build_id_cache_directory(), running_kernel_build_id(), contents_.kallsyms);
  return summary_;
}

}  // namespace perf_latency
