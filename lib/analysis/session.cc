// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/session.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "perfdata/reader.h"
#include "tracepoint/event_sorter.h"
#include "tracepoint/format_cache.h"
#include "tracepoint/running_kernel.h"
#include "tracepoint/tracing_data.h"

namespace perf_latency {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// More threads than this only wait for the one that runs the model.
constexpr unsigned kMaxUsefulThreads = 4;
constexpr size_t kBatchesInFlightPerThread = 8;
// A sched_switch with a call chain is longer, a wakeup of our own recorder is not.
constexpr size_t kBytesPerEvent = 96;

struct DecodedBatch {
  std::vector<Event> events;
  bool ends_round = false;
  uint64_t first_time_ns = UINT64_MAX;
  std::shared_ptr<const DecodePlan> plan;
};

class Session {
 public:
  Session(Reader& reader, const SessionOptions& options, Analysis& analysis, DecodePools& pools,
          Diagnostics& diagnostics)
      : reader_(reader),
        options_(options),
        analysis_(analysis),
        pools_(pools),
        diagnostics_(diagnostics),
        sorter_([this](const Event* const* events, size_t count) { hand_on(events, count); },
                diagnostics, buffers_) {}

  void run();

  DecodeCounts counts() const;
  const DecodePlan* plan() const { return plan_.get(); }
  const StageTimes& times() const { return times_; }
  bool was_interrupted() const { return interrupted(); }

 private:
  struct Worker {
    explicit Worker(DecodePools& pools) : decoder(pools) {}
    Decoder decoder;
    double decode_seconds = 0;
    double read_seconds = 0;
  };

  void work(Worker& worker);
  bool take_and_decode(Worker& worker);
  bool hand_on_ready();
  void hand_on(const Event* const* events, size_t count);
  void sequence(DecodedBatch& batch);
  void announce_losses(const std::vector<Event>& events);
  void update_plan();
  void borrow_formats(const RecordBatch& first);
  bool interrupted() const {
    return options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed);
  }

  Reader& reader_;
  const SessionOptions& options_;
  Analysis& analysis_;
  DecodePools& pools_;
  Diagnostics& diagnostics_;
  EventBuffers buffers_;
  EventSorter sorter_;
  std::vector<std::unique_ptr<Worker>> workers_;
  StageTimes times_;

  std::mutex read_mutex_;  // reader_, plan_ and its diagnostics, next_to_read_, input_ended_
  Diagnostics plan_diagnostics_;
  std::shared_ptr<const DecodePlan> plan_;
  uint32_t plan_generation_ = UINT32_MAX;
  std::unique_ptr<FormatCache> formats_;
  bool formats_are_bad_ = false;
  uint64_t next_to_read_ = 0;
  bool input_ended_ = false;

  std::mutex ready_mutex_;  // ready_, handing_on_, in_flight_
  std::condition_variable ready_changed_;
  std::map<uint64_t, DecodedBatch> ready_;
  uint64_t next_to_hand_on_ = 0;
  size_t in_flight_ = 0;
  bool handing_on_ = false;
  bool all_read_ = false;

  // Only the thread that hands on touches these.
  std::shared_ptr<const DecodePlan> announced_plan_;
  uint64_t start_ns_ = UINT64_MAX;
  std::unordered_map<uint32_t, uint64_t> last_ns_of_cpu_;  // in file order, at the ends of batches
  bool started_ = false;
};

void Session::update_plan() {
  const Metadata& metadata = reader_.metadata();
  if (plan_ != nullptr && plan_generation_ == metadata.generation) return;
  plan_generation_ = metadata.generation;
  if (formats_ == nullptr && !formats_are_bad_ && !metadata.tracing_data.empty()) {
    auto data = parse_tracing_data(metadata.tracing_data);
    formats_are_bad_ = !data;
    if (data)
      formats_ = std::make_unique<FormatCache>(std::move(*data));
    else
      plan_diagnostics_.add_detail(Diag::no_formats, data.error().what, 0);
  }
  plan_ = DecodePlan::make(metadata, formats_.get(), analysis_.needs(), plan_diagnostics_);
}

// When the recorder was killed before it could write the formats, those of the running kernel may be
// the same. The first records tell.
void Session::borrow_formats(const RecordBatch& first) {
  if (!options_.running_kernel || formats_ != nullptr || formats_are_bad_) return;
  if (!reader_.metadata().lacks_descriptions()) return;
  auto data = running_kernel_formats(RunningKernel::of_this_machine(), reader_.metadata(), first);
  if (!data) return;
  plan_diagnostics_.add(Diag::formats_from_running_kernel);
  formats_ = std::make_unique<FormatCache>(std::move(*data));
  plan_ = nullptr;
}

bool Session::take_and_decode(Worker& worker) {
  RecordBatch batch;
  std::shared_ptr<const DecodePlan> plan;
  uint64_t number = 0;
  {
    const std::lock_guard lock(read_mutex_);
    if (input_ended_ || interrupted()) return false;
    const auto start = Clock::now();
    const bool got = reader_.next(batch);
    if (got && next_to_read_ == 0) borrow_formats(batch);
    update_plan();
    worker.read_seconds += seconds_since(start);
    if (!got) {
      input_ended_ = true;
      return false;
    }
    plan = plan_;
    number = next_to_read_++;
    if (options_.progress && number % 64 == 0)
      options_.progress(reader_.bytes_read(), reader_.total_bytes());
  }
  const auto start = Clock::now();
  DecodedBatch decoded;
  decoded.ends_round = batch.ends_round;
  decoded.events = buffers_.get();
  decoded.events.reserve(batch.bytes.size() / kBytesPerEvent);
  worker.decoder.decode(batch, *plan, decoded.events);
  decoded.plan = std::move(plan);
  decoded.first_time_ns = worker.decoder.counts().first_time_ns;
  worker.decode_seconds += seconds_since(start);
  const std::lock_guard lock(ready_mutex_);
  ready_.emplace(number, std::move(decoded));
  ready_changed_.notify_all();
  return true;
}

// Hands on all batches that are next in turn. False when there was none, or another thread is at it.
bool Session::hand_on_ready() {
  std::unique_lock lock(ready_mutex_);
  if (handing_on_) return false;
  bool any = false;
  handing_on_ = true;
  for (auto it = ready_.find(next_to_hand_on_); it != ready_.end();
       it = ready_.find(next_to_hand_on_)) {
    DecodedBatch batch = std::move(it->second);
    ready_.erase(it);
    ++next_to_hand_on_;
    lock.unlock();
    sequence(batch);
    lock.lock();
    --in_flight_;
    ready_changed_.notify_all();
    any = true;
  }
  handing_on_ = false;
  return any;
}

void Session::sequence(DecodedBatch& batch) {
  const auto start = Clock::now();
  if (batch.plan != announced_plan_) {
    announced_plan_ = batch.plan;
    analysis_.set_present(batch.plan->present);
  }
  start_ns_ = std::min(start_ns_, batch.first_time_ns);
  announce_losses(batch.events);
  sorter_.add(std::move(batch.events));
  if (batch.ends_round) sorter_.end_round();
  times_.sort_and_model += seconds_since(start);
}

// A ring's records stand together in the file: what stands before a LOST record, of the same CPU, is the
// last event before the loss. The span is announced before the events of the round are handed on,
// since those of other CPUs may show the gap earlier than the LOST record's own time.
void Session::announce_losses(const std::vector<Event>& events) {
  const bool any = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.kind == EventKind::record_lost;
  });
  for (const Event& event : events) {
    if (!any) break;
    if (event.time_ns == 0) continue;
    uint64_t& last_ns = last_ns_of_cpu_[event.cpu];
    if (event.kind == EventKind::record_lost)
      analysis_.announce_loss(std::min(last_ns, event.time_ns), event.time_ns);
    last_ns = event.time_ns;
  }
  if (!events.empty() && events.back().time_ns != 0)
    last_ns_of_cpu_[events.back().cpu] = events.back().time_ns;
}

void Session::hand_on(const Event* const* events, size_t count) {
  if (!started_ && start_ns_ != UINT64_MAX) {
    started_ = true;
    analysis_.set_start(start_ns_);
  }
  analysis_.consume(events, count);
}

void Session::work(Worker& worker) {
  const size_t limit = kBatchesInFlightPerThread * workers_.size();
  for (;;) {
    if (hand_on_ready()) continue;
    {
      std::unique_lock lock(ready_mutex_);
      if (in_flight_ >= limit || all_read_) {
        if (all_read_ && (in_flight_ == 0 || handing_on_)) return;
        if (ready_.find(next_to_hand_on_) == ready_.end() || handing_on_)
          ready_changed_.wait_for(lock, std::chrono::milliseconds(50));
        continue;
      }
      ++in_flight_;
    }
    if (take_and_decode(worker)) continue;
    const std::lock_guard lock(ready_mutex_);
    --in_flight_;
    all_read_ = true;
    ready_changed_.notify_all();
  }
}

void Session::run() {
  const auto start = Clock::now();
  update_plan();
  unsigned jobs = options_.jobs;
  if (jobs == 0) jobs = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxUsefulThreads);
  for (unsigned i = 0; i < jobs; ++i) workers_.push_back(std::make_unique<Worker>(pools_));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs; ++i) threads.emplace_back([this, i] { work(*workers_[i]); });
  work(*workers_[0]);
  for (std::thread& thread : threads) thread.join();
  while (hand_on_ready()) {
  }
  const auto flush = Clock::now();
  if (announced_plan_ == nullptr && plan_ != nullptr) analysis_.set_present(plan_->present);
  sorter_.finish();
  times_.sort_and_model += seconds_since(flush);
  for (const auto& worker : workers_) {
    times_.decode += worker->decode_seconds;
    times_.read += worker->read_seconds;
  }
  times_.wall = seconds_since(start);
  diagnostics_.merge(plan_diagnostics_);
}

DecodeCounts Session::counts() const {
  DecodeCounts all;
  for (const auto& worker : workers_) all.merge(worker->decoder.counts());
  all.records.merge(reader_.counts());
  return all;
}

RecordingInfo recording_info(const std::string& path, const Metadata& metadata,
                             const DecodeCounts& counts) {
  RecordingInfo info;
  info.path = path;
  info.hostname = metadata.hostname;
  info.os_release = metadata.os_release;
  info.arch = metadata.arch;
  info.cpus = metadata.cpus_online != 0 ? metadata.cpus_online : metadata.cpus_available;
  info.cmdline = metadata.cmdline;
  info.samples = counts.samples;
  info.lost = std::max(counts.lost_records, counts.lost_samples);
  info.complete = metadata.complete;
  if (counts.first_time_ns != UINT64_MAX) {
    info.start_ns = counts.first_time_ns;
    info.end_ns = counts.last_time_ns;
  }
  return info;
}

// Samples of each event that has a name; several attrs may be of one event.
std::vector<std::pair<std::string, uint64_t>> event_counts(const SessionResult& result) {
  std::map<std::string, uint64_t> by_name;
  for (size_t i = 0; i < result.counts.samples_of_event.size(); ++i)
    if (i < result.event_names.size() && !result.event_names[i].empty())
      by_name[result.event_names[i]] += result.counts.samples_of_event[i];
  return {by_name.begin(), by_name.end()};
}

}  // namespace

Result<SessionResult> run_session(const std::string& path, const SessionOptions& options,
                                  Analysis& analysis, DecodePools& pools,
                                  Diagnostics& diagnostics) {
  auto reader = Reader::open(path, options.force);
  if (!reader) return reader.error();
  analysis.begin_recording({(*reader)->metadata(), pools, diagnostics});
  Session session(**reader, options, analysis, pools, diagnostics);
  session.run();

  SessionResult result;
  result.counts = session.counts();
  result.metadata = (*reader)->metadata();
  result.times = session.times();
  if (session.plan() != nullptr) {
    result.event_names = session.plan()->names;
    result.recording.present = session.plan()->present;
  }
  result.recording.info = recording_info(path, result.metadata, result.counts);
  result.recording.info.events = event_counts(result);
  result.recording.interrupted = session.was_interrupted();
  diagnostics.merge((*reader)->diagnostics());
  diagnostics.merge(result.counts.diagnostics);
  if (result.counts.lost_records != 0)
    diagnostics.add(Diag::lost_records, result.counts.lost_records);
  if (result.counts.lost_samples > result.counts.lost_records)
    diagnostics.add(Diag::lost_samples, result.counts.lost_samples - result.counts.lost_records);
  if (auto ended = analysis.end_recording(result.recording); !ended) return ended.error();
  return result;
}

}  // namespace perf_latency
