// SPDX-License-Identifier: GPL-2.0-only
#include "record/reader.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/byte_cursor.h"

namespace perf_latency {

namespace {

// Without traffic a ring is looked at this often: what a killed recorder can lose, and how long a
// round can last.
constexpr int kIdlePassMs = 250;
// What the writer has buffered goes to the file at least this often.
constexpr std::chrono::seconds kFlushEvery{1};
// Runs below this size share a frame: on a quiet machine with many CPUs each ring has little.
constexpr size_t kSmallRunBytes = 64 * 1024;
constexpr uint64_t kWakeTag = UINT64_MAX;

}  // namespace

struct ReaderPool::Thread {
  Thread(size_t thread_index, int level)
      : index(thread_index),
        encoder(level != 0 ? std::make_unique<ChunkEncoder>(level) : nullptr) {}
  ~Thread() {
    if (epoll >= 0) ::close(epoll);
    if (wake >= 0) ::close(wake);
  }
  size_t index;
  std::unique_ptr<ChunkEncoder> encoder;
  std::vector<std::byte> kept;        // the filter's survivors
  std::vector<std::byte> small_runs;  // not yet written
  std::chrono::steady_clock::time_point next_flush;
  int epoll = -1;
  int wake = -1;
  uint64_t drains = 0;  // those of drains_ that it has served; under mutex_
  std::thread thread;
};

std::vector<ReaderPlan> plan_readers(const std::vector<uint32_t>& ring_cpus,
                                     const std::map<uint32_t, uint32_t>& node_of_cpu,
                                     const std::vector<uint32_t>& isolated,
                                     size_t cpus_per_reader) {
  std::map<uint32_t, std::vector<size_t>> rings_of_node;
  for (size_t i = 0; i < ring_cpus.size(); ++i) {
    const auto node = node_of_cpu.find(ring_cpus[i]);
    rings_of_node[node == node_of_cpu.end() ? 0 : node->second].push_back(i);
  }
  const auto usable = [&](uint32_t cpu) {
    return !std::binary_search(isolated.begin(), isolated.end(), cpu);
  };
  std::vector<uint32_t> everywhere;
  for (const auto& [cpu, node] : node_of_cpu)
    if (usable(cpu)) everywhere.push_back(cpu);

  std::vector<ReaderPlan> plans;
  for (const auto& [node, rings] : rings_of_node) {
    std::vector<uint32_t> cpus;
    for (const auto& [cpu, cpu_node] : node_of_cpu)
      if (cpu_node == node && usable(cpu)) cpus.push_back(cpu);
    if (cpus.empty()) cpus = everywhere;
    // Where nothing speaks against any CPU, the scheduler is left alone.
    if (cpus.size() == node_of_cpu.size()) cpus.clear();
    const size_t readers = (rings.size() + cpus_per_reader - 1) / cpus_per_reader;
    for (size_t reader = 0; reader < readers; ++reader) {
      ReaderPlan plan{{}, cpus};
      for (size_t i = reader; i < rings.size(); i += readers) plan.rings.push_back(rings[i]);
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

ReaderPool::ReaderPool(std::vector<Ring>& rings, std::vector<ReaderPlan> plans,
                       const ReaderOptions& options, Output& output, TaskFilter* filter,
                       std::function<void()> on_progress)
    : rings_(rings),
      plans_(std::move(plans)),
      options_(options),
      output_(output),
      filter_(filter),
      on_progress_(std::move(on_progress)) {
  PL_CHECK(filter_ == nullptr || plans_.size() == 1);
}

ReaderPool::~ReaderPool() { stop(); }

Result<void> ReaderPool::start() {
  for (size_t i = 0; i < plans_.size(); ++i) {
    auto thread = std::make_unique<Thread>(i, options_.level);
    thread->epoll = ::epoll_create1(EPOLL_CLOEXEC);
    thread->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->epoll < 0 || thread->wake < 0)
      return make_error(std::string("cannot start a reader: ") + std::strerror(errno));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWakeTag;
    ::epoll_ctl(thread->epoll, EPOLL_CTL_ADD, thread->wake, &event);
    for (const size_t ring : plans_[i].rings) {
      event.data.u64 = ring;
      ::epoll_ctl(thread->epoll, EPOLL_CTL_ADD, rings_[ring].fd(), &event);
    }
    threads_.push_back(std::move(thread));
  }
  for (auto& thread : threads_)
    thread->thread = std::thread([this, raw = thread.get()] { run(*raw); });
  return {};
}

void ReaderPool::wake_all() {
  for (auto& thread : threads_) {
    const uint64_t one = 1;
    if (::write(thread->wake, &one, sizeof one) < 0 && errno != EAGAIN) continue;
  }
}

void ReaderPool::drain() {
  const uint64_t wanted = ++drains_;
  wake_all();
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] {
    return error_ || std::all_of(threads_.begin(), threads_.end(),
                                 [&](const auto& thread) { return thread->drains >= wanted; });
  });
}

void ReaderPool::stop() {
  stopping_ = true;
  wake_all();
  for (auto& thread : threads_)
    if (thread->thread.joinable()) thread->thread.join();
}

// A reader that has to wait for a busy CPU loses events. FIFO 1 is the lowest real-time priority:
// whatever real-time work is measured goes before it.
void ReaderPool::take_priority() {
  std::string got = "nice 0";
  sched_param param{};
  param.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0) {
    got = "SCHED_FIFO 1";
  } else {
    const id_t self = static_cast<id_t>(::syscall(SYS_gettid));
    if (::setpriority(PRIO_PROCESS, self, -20) == 0) got = "nice -20";
  }
  const std::lock_guard lock(mutex_);
  priority_ = got;
}

void ReaderPool::run(Thread& thread) {
  const std::string name = "latency-read/" + std::to_string(thread.index % 100);
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
  const std::vector<uint32_t>& cpus = plans_[thread.index].cpus;
  if (!cpus.empty()) {
    cpu_set_t* set = CPU_ALLOC(cpus.back() + 1);
    const size_t bytes = CPU_ALLOC_SIZE(cpus.back() + 1);
    CPU_ZERO_S(bytes, set);
    for (const uint32_t cpu : cpus) CPU_SET_S(cpu, bytes, set);
    ::sched_setaffinity(0, bytes, set);  // not granted in some containers: then without
    CPU_FREE(set);
  }
  take_priority();
  epoll_event events[64];
  for (;;) {
    const int n = ::epoll_wait(thread.epoll, events, std::size(events), kIdlePassMs);
    for (int i = 0; i < n; ++i) {
      uint64_t count = 0;
      if (events[i].data.u64 == kWakeTag) {
        if (::read(thread.wake, &count, sizeof count) < 0) continue;
      } else if ((events[i].events & EPOLLHUP) != 0) {
        // The tasks of a per-task event have all ended: such an fd would be ready for ever.
        ::epoll_ctl(thread.epoll, EPOLL_CTL_DEL, rings_[events[i].data.u64].fd(), nullptr);
      }
    }
    const bool last = stopping_;
    const uint64_t drains = drains_;
    if (!(filter_ != nullptr ? pass_filtered(thread) : pass(thread))) return;
    note_drained(thread, drains);
    if (last) return;
    if (thread.index == 0 && !flush_if_due(thread)) return;
    on_progress_();
  }
}

void ReaderPool::note_drained(Thread& thread, uint64_t drains) {
  const std::lock_guard lock(mutex_);
  if (thread.drains == drains) return;
  thread.drains = drains;
  drained_.notify_all();
}

bool ReaderPool::flush_if_due(Thread& thread) {
  const auto now = std::chrono::steady_clock::now();
  if (now < thread.next_flush) return true;
  thread.next_flush = now + kFlushEvery;
  const Result<void> flushed = output_.flush();
  if (!flushed) fail(flushed.error());
  return flushed.has_value();
}

bool ReaderPool::emit(Thread& thread, std::span<const std::byte> records, uint32_t cpu,
                      const RecordTally& tally) {
  if (tally.maps != 0) collect(records);
  output_.count(records.size(), cpu, tally);
  if (!thread.encoder) return write(records);
  if (records.size() >= kSmallRunBytes)
    return flush_small_runs(thread) && write(thread.encoder->encode(records));
  thread.small_runs.insert(thread.small_runs.end(), records.begin(), records.end());
  return thread.small_runs.size() < kMaxChunkBytes / 2 || flush_small_runs(thread);
}

bool ReaderPool::flush_small_runs(Thread& thread) {
  if (thread.small_runs.empty()) return true;
  const bool written = write(thread.encoder->encode(thread.small_runs));
  thread.small_runs.clear();
  return written;
}

bool ReaderPool::write(std::span<const std::byte> bytes) {
  const Result<void> written = output_.append(bytes);
  if (!written) fail(written.error());
  return written.has_value();
}

bool ReaderPool::end_pass(Thread& thread, uint64_t round) {
  if (thread.encoder && !flush_small_runs(thread)) return false;
  const Result<void> reported = output_.report(thread.index, round);
  if (!reported) fail(reported.error());
  return reported.has_value();
}

bool ReaderPool::pass(Thread& thread) {
  const uint64_t round = output_.round();
  for (const size_t index : plans_[thread.index].rings) {
    Ring& ring = rings_[index];
    const uint64_t end = ring.head();
    while (ring.tail() != end) {
      RecordTally tally;
      const std::span<const std::byte> records = ring.next(end, kMaxChunkBytes, tally);
      if (!emit(thread, records, ring.cpu(), tally)) return false;
      ring.consume();
    }
  }
  return end_pass(thread, round);
}

// See task_filter.h: all rings are learned from up to a later point than any is filtered to.
bool ReaderPool::pass_filtered(Thread& thread) {
  const uint64_t round = output_.round();
  std::vector<uint64_t> ends;
  for (const Ring& ring : rings_) ends.push_back(ring.head());
  for (Ring& ring : rings_)
    ring.peek(ring.head(), [&](std::span<const std::byte> record) { filter_->learn(record); });
  for (size_t i = 0; i < rings_.size(); ++i) {
    Ring& ring = rings_[i];
    while (ring.tail() != ends[i]) {
      RecordTally all, kept;
      std::span<const std::byte> records = ring.next(ends[i], kMaxChunkBytes, all);
      thread.kept.clear();
      kept = all;
      kept.samples = 0;
      while (records.size() >= kRecordHeaderBytes) {
        const std::span<const std::byte> record =
            records.first(load_unchecked<uint16_t>(records.data() + 6));
        records = records.subspan(record.size());
        if (!filter_->keep(record)) continue;
        kept.samples +=
            load_unchecked<uint32_t>(record.data()) == static_cast<uint32_t>(RecordType::sample);
        thread.kept.insert(thread.kept.end(), record.begin(), record.end());
      }
      if (!emit(thread, thread.kept, ring.cpu(), kept)) return false;
      ring.consume();
    }
  }
  return end_pass(thread, round);
}

void ReaderPool::collect(std::span<const std::byte> records) {
  // MMAP2: header, pid, tid, start, length, offset, device, inode, generation, prot, flags, name.
  constexpr size_t kNameOffset = 72;
  const std::lock_guard lock(mutex_);
  while (records.size() >= kRecordHeaderBytes) {
    const std::span<const std::byte> record =
        records.first(load_unchecked<uint16_t>(records.data() + 6));
    records = records.subspan(record.size());
    if (load_unchecked<uint32_t>(record.data()) != static_cast<uint32_t>(RecordType::mmap2) ||
        record.size() <= kNameOffset)
      continue;
    const uint32_t pid = load_unchecked<uint32_t>(record.data() + kRecordHeaderBytes);
    if (options_.maps_of && static_cast<uint32_t>(*options_.maps_of) != pid) continue;
    const std::string_view name = ByteCursor::text_in(record.subspan(kNameOffset));
    if (name == "[vdso]" || (name.starts_with('/') && !name.starts_with("//")))
      maps_.emplace(name, pid);
  }
}

void ReaderPool::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  drained_.notify_all();
  on_progress_();
}

std::optional<Error> ReaderPool::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::string ReaderPool::priority() const {
  const std::lock_guard lock(mutex_);
  return priority_;
}

std::map<std::string, uint32_t> ReaderPool::maps() const {
  const std::lock_guard lock(mutex_);
  return maps_;
}

}  // namespace perf_latency
