// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/event_sorter.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

#include "base/result.h"

namespace perf_latency {
namespace {

constexpr size_t kFewRuns = 8;
constexpr size_t kHandOn = 1024;

}  // namespace

// A sorted run in the temporary file, read front to back through a small buffer.
class EventSorter::SpilledRun {
 public:
  SpilledRun(int fd, uint64_t first, uint64_t count) : fd_(fd), at_(first), left_(count) {
    refill();
  }
  bool empty() const { return next_ == buffer_.size(); }
  const Event& front() const { return buffer_[next_]; }
  void pop() {
    if (++next_ == buffer_.size()) refill();
  }

 private:
  static constexpr uint64_t kBufferEvents = 512;

  void refill() {
    const uint64_t count = std::min(left_, kBufferEvents);
    buffer_.resize(count);
    next_ = 0;
    const auto bytes = static_cast<ssize_t>(count * sizeof(Event));
    // A temporary file of our own that cannot be read back is no input error: nothing is left to say.
    PL_CHECK(count == 0 || ::pread(fd_, buffer_.data(), static_cast<size_t>(bytes),
                                   static_cast<off_t>(at_ * sizeof(Event))) == bytes);
    at_ += count;
    left_ -= count;
  }

  int fd_;
  uint64_t at_;
  uint64_t left_;
  std::vector<Event> buffer_;
  size_t next_ = 0;
};

EventSorter::EventSorter(Sink sink, Diagnostics& diagnostics, EventBuffers& buffers,
                         size_t max_pending)
    : sink_(std::move(sink)),
      diagnostics_(diagnostics),
      buffers_(buffers),
      max_pending_(max_pending) {}

EventSorter::~EventSorter() {
  if (spill_file_ != nullptr) std::fclose(spill_file_);
}

// A ring that is written backward (--overwrite) would give a run for each event.
void EventSorter::order_if_scattered(std::vector<Event>& batch) {
  constexpr size_t kFew = 64;
  size_t descents = 0;
  for (size_t i = 1; i < batch.size(); ++i) descents += batch[i].time_ns < batch[i - 1].time_ns;
  if (descents <= kFew + batch.size() / 8) return;
  std::stable_sort(batch.begin(), batch.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
}

// Cuts the batch into ascending runs; a run that goes on where the last one ended is the same run.
void EventSorter::add(std::vector<Event>&& batch) {
  if (batch.empty()) {
    buffers_.put(std::move(batch));
    return;
  }
  order_if_scattered(batch);
  const auto events = buffers_.share(std::move(batch));
  const size_t count = events->size();
  size_t begin = 0;
  for (size_t i = 1; i <= count; ++i) {
    const uint64_t last = (*events)[i - 1].time_ns;
    if (i < count && (*events)[i].time_ns >= last) continue;
    if (runs_.empty() || (*events)[begin].time_ns < runs_.back().last_time_ns) runs_.emplace_back();
    runs_.back().segments.push_back({events, begin, i});
    runs_.back().last_time_ns = last;
    max_time_ns_ = std::max(max_time_ns_, last);
    begin = i;
  }
  pending_ += count;
  if (pending_ > max_pending_) spill();
}

void EventSorter::end_round() {
  if (had_round_) emit(flush_limit_ns_);
  had_round_ = true;
  flush_limit_ns_ = max_time_ns_;
  if (runs_.size() > compact_at_) compact();
}

void EventSorter::finish() { emit(UINT64_MAX); }

// Collects references to everything up to the limit, run after run.
void EventSorter::gather(uint64_t limit_ns) {
  refs_.clear();
  run_starts_ = 0;
  for (const Run& run : runs_) {
    const size_t before = refs_.size();
    for (const Segment& segment : run.segments) {
      const Event* const events = segment.events->data();
      size_t i = segment.begin;
      for (; i < segment.end && events[i].time_ns <= limit_ns; ++i)
        refs_.push_back({events[i].time_ns, &events[i]});
      if (i < segment.end) break;
    }
    if (refs_.size() != before) ++run_starts_;
  }
}

// A stable radix sort over the bits in which the times differ: linear whatever the number of CPUs.
void EventSorter::sort_refs() {
  if (run_starts_ <= 1) return;
  constexpr unsigned kDigitBits = 11;
  constexpr size_t kSmall = 256;
  const auto by_time = [](const Ref& a, const Ref& b) { return a.time_ns < b.time_ns; };
  if (refs_.size() < kSmall) {
    std::stable_sort(refs_.begin(), refs_.end(), by_time);
    return;
  }
  const auto [low, high] = std::minmax_element(refs_.begin(), refs_.end(), by_time);
  // Synthesized events of time 0 stand far from the rest: they would cost passes for every event.
  const uint64_t base = low->time_ns;
  const unsigned bits = static_cast<unsigned>(std::bit_width(high->time_ns - base));
  if (bits > 5 * kDigitBits) {
    std::stable_sort(refs_.begin(), refs_.end(), by_time);
    return;
  }
  swap_refs_.resize(refs_.size());
  for (unsigned shift = 0; shift < bits; shift += kDigitBits) {
    std::array<uint32_t, 1u << kDigitBits> places{};
    const auto digit = [&](const Ref& ref) {
      return ((ref.time_ns - base) >> shift) & ((1u << kDigitBits) - 1);
    };
    for (const Ref& ref : refs_) ++places[digit(ref)];
    uint32_t next = 0;
    for (uint32_t& place : places) next += std::exchange(place, next);
    for (const Ref& ref : refs_) swap_refs_[places[digit(ref)]++] = ref;
    refs_.swap(swap_refs_);
  }
}

void EventSorter::emit(uint64_t limit_ns) {
  if (spilled_.empty() && runs_.size() <= kFewRuns) {
    merge_runs(limit_ns);
    return;
  }
  gather(limit_ns);
  sort_refs();
  if (spilled_.empty())
    emit_refs();
  else
    merge_with_spilled(limit_ns);
  drop_gathered(limit_ns);
}

// With few runs (few CPUs) merging them as they are beats sorting: a run goes on until another one is
// older. Of equal times the run that came first in the file goes first.
void EventSorter::merge_runs(uint64_t limit_ns) {
  struct Head {
    Run* run;
    const Event* next;
    const Event* end;  // of the segment
  };
  std::array<Head, kFewRuns> heads;
  size_t count = 0;
  const auto open_segment = [](Head& head) {
    if (head.run->segments.empty()) return false;
    const Segment& segment = head.run->segments.front();
    head.next = segment.events->data() + segment.begin;
    head.end = segment.events->data() + segment.end;
    return true;
  };
  for (Run& run : runs_) {
    heads[count].run = &run;
    if (open_segment(heads[count]) && heads[count].next->time_ns <= limit_ns) ++count;
  }
  while (count != 0) {
    size_t first = 0;
    for (size_t i = 1; i < count; ++i)
      if (heads[i].next->time_ns < heads[first].next->time_ns) first = i;
    // How far this run may go: to the oldest of the others, inclusively where it precedes them.
    uint64_t until = limit_ns;
    for (size_t i = 0; i < count; ++i) {
      if (i == first) continue;
      const uint64_t other = heads[i].next->time_ns;
      until = std::min(until, i > first ? other : other - 1);
    }
    Head& head = heads[first];
    while (head.next != head.end && head.next->time_ns <= until) pointers_.push_back(head.next++);
    Segment& segment = head.run->segments.front();
    const auto taken = static_cast<size_t>(head.next - segment.events->data());
    pending_ -= taken - segment.begin;
    segment.begin = taken;
    bool goes_on = true;
    if (head.next == head.end) {
      // The events are handed on before their segment is given up.
      hand_on_pointers();
      head.run->segments.pop_front();
      goes_on = open_segment(head);
    } else if (pointers_.size() >= kHandOn) {
      hand_on_pointers();
    }
    if (goes_on && head.next->time_ns <= limit_ns) continue;
    for (size_t i = first; i + 1 < count; ++i) heads[i] = heads[i + 1];
    --count;
  }
  hand_on_pointers();
  std::erase_if(runs_, [](const Run& run) { return run.segments.empty(); });
}

void EventSorter::hand_on_pointers() {
  if (pointers_.empty()) return;
  for (const Event* event : pointers_)
    if (event->time_ns < emitted_ns_ && event->time_ns != 0) diagnostics_.add(Diag::out_of_order);
  emitted_ns_ = std::max(emitted_ns_, pointers_.back()->time_ns);
  sink_(pointers_.data(), pointers_.size());
  pointers_.clear();
}

void EventSorter::emit_refs() {
  if (refs_.empty()) return;
  for (const Ref& ref : refs_) pointers_.push_back(ref.event);
  hand_on_pointers();
}

// Spilled runs are older in file order than what is in memory: at equal times they go first, in the
// order in which they were spilled.
void EventSorter::merge_with_spilled(uint64_t limit_ns) {
  using Head = std::pair<uint64_t, size_t>;  // time, run; the memory's run is the last
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const size_t memory = spilled_.size();
  for (size_t i = 0; i < memory; ++i)
    if (!spilled_[i]->empty() && spilled_[i]->front().time_ns <= limit_ns)
      heads.emplace(spilled_[i]->front().time_ns, i);
  size_t next_ref = 0;
  if (!refs_.empty()) heads.emplace(refs_[0].time_ns, memory);
  while (!heads.empty()) {
    const auto [time_ns, run] = heads.top();
    heads.pop();
    if (time_ns < emitted_ns_ && time_ns != 0) diagnostics_.add(Diag::out_of_order);
    emitted_ns_ = std::max(emitted_ns_, time_ns);
    if (run == memory) {
      sink_(&refs_[next_ref].event, 1);
      if (++next_ref < refs_.size()) heads.emplace(refs_[next_ref].time_ns, memory);
      continue;
    }
    const Event* const event = &spilled_[run]->front();
    sink_(&event, 1);
    spilled_[run]->pop();
    if (!spilled_[run]->empty() && spilled_[run]->front().time_ns <= limit_ns)
      heads.emplace(spilled_[run]->front().time_ns, run);
  }
  std::erase_if(spilled_, [](const auto& run) { return run->empty(); });
}

void EventSorter::drop_gathered(uint64_t limit_ns) {
  pending_ -= refs_.size();
  for (Run& run : runs_) {
    while (!run.segments.empty()) {
      Segment& segment = run.segments.front();
      const Event* const events = segment.events->data();
      while (segment.begin < segment.end && events[segment.begin].time_ns <= limit_ns)
        ++segment.begin;
      if (segment.begin < segment.end) break;
      run.segments.pop_front();
    }
  }
  std::erase_if(runs_, [](const Run& run) { return run.segments.empty(); });
}

// Many short runs that stay pending would be looked at again in every round: makes one of them.
void EventSorter::compact() {
  gather(UINT64_MAX);
  sort_refs();
  std::vector<Event> merged;
  merged.reserve(refs_.size());
  for (const Ref& ref : refs_) merged.push_back(*ref.event);
  runs_.clear();
  pending_ = 0;
  // add() would spill again from within spill(): the events are the ones that were counted already.
  if (!merged.empty()) {
    const size_t count = merged.size();
    const uint64_t last = merged.back().time_ns;
    Run run;
    run.segments.push_back({buffers_.share(std::move(merged)), 0, count});
    run.last_time_ns = last;
    runs_.push_back(std::move(run));
    pending_ = count;
  }
}

// Without a place for temporary files everything stays in memory: slower to run out of it than to stop.
void EventSorter::spill() {
  if (spill_file_ == nullptr) spill_file_ = std::tmpfile();
  if (spill_file_ == nullptr) {
    max_pending_ = SIZE_MAX;
    return;
  }
  compact();
  const auto& segment = runs_.front().segments.front();
  const size_t count = segment.end - segment.begin;
  const int fd = fileno(spill_file_);
  const auto* bytes = reinterpret_cast<const char*>(segment.events->data() + segment.begin);
  const size_t size = count * sizeof(Event);
  for (size_t written = 0; written < size;) {
    const ssize_t step = ::pwrite(fd, bytes + written, size - written,
                                  static_cast<off_t>(spilled_events_ * sizeof(Event) + written));
    if (step <= 0) {
      max_pending_ = SIZE_MAX;
      return;
    }
    written += static_cast<size_t>(step);
  }
  spilled_.push_back(std::make_unique<SpilledRun>(fd, spilled_events_, count));
  spilled_events_ += count;
  runs_.clear();
  pending_ = 0;
}

}  // namespace perf_latency
