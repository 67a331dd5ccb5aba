// SPDX-License-Identifier: GPL-2.0-only
#include "tracepoint/decoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace perf_latency {
namespace {

using K = EventKind;

constexpr uint64_t kContextFirst = kContextMax;  // markers are the values from here up

bool starts_sleep(const Event& event) {
  return event.kind == K::sched_switch && event.state != 'R';
}

int32_t as_tid(uint64_t number) { return static_cast<int32_t>(static_cast<uint32_t>(number)); }
int16_t as_prio(uint64_t number) { return static_cast<int16_t>(number); }

// Tasks and CPUs of a virtual machine are not those of the host.
bool is_of_guest(const EventPlan& event_plan, const DecodePlan& plan,
                 std::span<const std::byte> record) {
  if (plan.guest_ids.empty() || event_plan.layout.id_at == SampleLayout::kAbsent) return false;
  return plan.guest_ids.contains(
      load_unchecked<uint64_t>(record.data() + event_plan.layout.id_at, plan.swapped));
}

uint64_t number_or(const FieldRef& field, std::span<const std::byte> raw, bool swap,
                   uint64_t otherwise) {
  return field.present() ? load_number(field, raw, swap) : otherwise;
}

}  // namespace

void DecodeCounts::merge(const DecodeCounts& other) {
  records.merge(other.records);
  if (samples_of_event.size() < other.samples_of_event.size())
    samples_of_event.resize(other.samples_of_event.size());
  for (size_t i = 0; i < other.samples_of_event.size(); ++i)
    samples_of_event[i] += other.samples_of_event[i];
  samples += other.samples;
  first_time_ns = std::min(first_time_ns, other.first_time_ns);
  last_time_ns = std::max(last_time_ns, other.last_time_ns);
  lost_records += other.lost_records;
  lost_samples += other.lost_samples;
  diagnostics.merge(other.diagnostics);
}

void Decoder::decode(const RecordBatch& batch, const DecodePlan& plan, std::vector<Event>& events) {
  if (counts_.samples_of_event.size() < plan.events.size())
    counts_.samples_of_event.resize(plan.events.size());
  const std::byte* at = batch.bytes.data();
  const std::byte* const end = at + batch.bytes.size();
  while (at < end) {
    const auto type = load_unchecked<uint32_t>(at, plan.swapped);
    const auto misc = load_unchecked<uint16_t>(at + 4, plan.swapped);
    const auto size = load_unchecked<uint16_t>(at + 6, plan.swapped);
    counts_.records.add(type);
    const std::span record(at, size);
    if (type == static_cast<uint32_t>(RecordType::sample))
      decode_sample(record, misc, plan, events);
    else
      decode_other(record, type, misc, plan, events);
    at += size;
  }
}

void Decoder::decode_sample(std::span<const std::byte> record, uint16_t misc,
                            const DecodePlan& plan, std::vector<Event>& events) {
  ++counts_.samples;
  const uint32_t index = plan.index.of_sample(record, plan.swapped);
  if (index == EventIndex::kUnknown || index >= plan.events.size()) {
    counts_.diagnostics.add(plan.index.holds_id(record) ? Diag::unknown_id
                                                        : Diag::undecodable_sample);
    return;
  }
  const EventPlan& event_plan = plan.events[index];
  const bool wanted = plan.needs.wants(event_plan.kind);
  if (event_plan.lacks_format) counts_.diagnostics.add(Diag::no_formats);
  const bool dumps = plan.needs.user_stacks && event_plan.kind == K::sched_switch;
  const bool cgroup = (event_plan.layout.sample_type & kSampleCgroup) != 0;
  const SampleDepth depth = plan.needs.validate || (wanted && (dumps || cgroup))
                                ? SampleDepth::everything
                            : wanted ? SampleDepth::raw
                                     : SampleDepth::header;
  SampleView view;
  if (!parse_sample(event_plan.layout, record, plan.swapped, depth, view)) {
    counts_.diagnostics.add(Diag::undecodable_sample);
    return;
  }
  ++counts_.samples_of_event[index];
  if (view.time_ns != 0) {
    counts_.first_time_ns = std::min(counts_.first_time_ns, view.time_ns);
    counts_.last_time_ns = std::max(counts_.last_time_ns, view.time_ns);
  } else if (event_plan.layout.time_at == SampleLayout::kAbsent) {
    counts_.diagnostics.add(Diag::no_time);
  }
  if (!wanted || is_of_guest(event_plan, plan, record)) return;
  view.cpumode = misc & kMiscCpumodeMask;

  Event event{};
  event.time_ns = view.time_ns;
  event.cpu = view.cpu;
  event.kind = event_plan.kind;
  event.pid = view.pid;
  event.tid = view.tid;
  event.cgroup = view.cgroup;
  if (view.chain != nullptr) event.flags |= kEventChain;
  if (event_plan.kind == K::cpu_sample) {
    event.sample = {view.ip, view.period, index};
    const uint16_t mode = misc & kMiscCpumodeMask;
    if (mode == kMiscKernel) event.flags |= kEventKernel;
    if (plan.needs.other_stacks) take_chain(view, plan, plan.needs.user_stacks, event);
  } else {
    if (view.raw.size() < event_plan.min_raw_bytes) {
      counts_.diagnostics.add(Diag::undecodable_sample);
      return;
    }
    if (event_plan.common_pid.present()) {
      // Through a pid namespace, and late in an exit, perf's own pid and tid are not the task's.
      event.tid = as_tid(load_number(event_plan.common_pid, view.raw, plan.raw_swapped));
      if (view.tid != event.tid) event.pid = -1;
      if (view.tid == 0 && event.tid != 0) counts_.diagnostics.add(Diag::pid_namespace);
    }
    if (!decode_tracepoint(event_plan, plan, view, event)) return;
  }
  events.push_back(event);
}

bool Decoder::decode_switch(const EventPlan& event_plan, const DecodePlan& plan,
                            const SampleView& view, Event& event) {
  const auto& f = event_plan.fields;
  const bool swap = plan.raw_swapped;
  const TaskState state = plan.states.decode(load_number(f[2], view.raw, swap));
  event.state = static_cast<uint8_t>(state.letter);
  if (state.preempted) event.flags |= kEventPreempted;
  event.sched_switch.prev_tid = as_tid(load_number(f[0], view.raw, swap));
  event.sched_switch.next_tid = as_tid(load_number(f[1], view.raw, swap));
  event.sched_switch.prev_comm = text(f[3], view.raw, swap);
  event.sched_switch.next_comm = text(f[4], view.raw, swap);
  event.sched_switch.prev_prio = as_prio(number_or(f[5], view.raw, swap, 0));
  event.sched_switch.next_prio = as_prio(number_or(f[6], view.raw, swap, 0));
  if (starts_sleep(event) && plan.needs.sleep_stacks) {
    take_chain(view, plan, plan.needs.user_stacks, event);
    if (plan.needs.user_stacks) take_dump(view, event_plan, event);
  }
  return true;
}

void Decoder::decode_wakeup(const EventPlan& event_plan, const DecodePlan& plan,
                            const SampleView& view, Event& event) {
  const auto& f = event_plan.fields;
  const bool swap = plan.raw_swapped;
  event.wakeup.tid = as_tid(load_number(f[0], view.raw, swap));
  event.wakeup.comm = text(f[1], view.raw, swap);
  event.wakeup.target_cpu = static_cast<int32_t>(number_or(f[2], view.raw, swap, UINT32_MAX));
  event.wakeup.prio = as_prio(number_or(f[3], view.raw, swap, 0));
  // Before 4.3 a wakeup of a task that was not asleep had success 0.
  if (f[4].present() && load_number(f[4], view.raw, swap) == 0) event.flags |= kEventFailed;
  if (event.kind == K::sched_waking && plan.needs.waker_stacks)
    take_chain(view, plan, false, event);
}

bool Decoder::decode_tracepoint(const EventPlan& event_plan, const DecodePlan& plan,
                                const SampleView& view, Event& event) {
  const auto& f = event_plan.fields;
  const auto raw = view.raw;
  const bool swap = plan.raw_swapped;
  const auto number = [&](size_t i) { return load_number(f[i], raw, swap); };
  switch (event.kind) {
    case K::sched_switch:
      return decode_switch(event_plan, plan, view, event);
    case K::sched_waking:
    case K::sched_wakeup:
    case K::sched_wakeup_new:
    case K::sched_migrate_task:
      decode_wakeup(event_plan, plan, view, event);
      return true;
    case K::sched_process_fork:
      event.fork = {as_tid(number(0)), as_tid(number(1)), text(f[2], raw, swap), -1, -1};
      return true;
    case K::sched_process_exec:
      event.task = {as_tid(number(0)), -1, StringPool::kEmpty,
                    as_tid(number_or(f[1], raw, swap, UINT32_MAX))};
      return true;
    case K::sched_process_exit:
    case K::task_rename:
      event.task = {as_tid(number(0)), -1, text(f[1], raw, swap), -1};
      return true;
    case K::sched_stat_sleep:
    case K::sched_stat_blocked:
      event.delay = {as_tid(number(0)), text(f[2], raw, swap), number(1)};
      return true;
    case K::contention_begin:
    case K::contention_end:
      event.lock = {number(0), 0, 0, StringPool::kEmpty};
      if (event.kind == K::contention_begin)
        event.lock.flags = static_cast<uint32_t>(number(1));
      else
        event.lock.ret = static_cast<int32_t>(number_or(f[1], raw, swap, 0));
      break;
    case K::lock_acquire:
      event.lock = {number(0), static_cast<uint32_t>(number_or(f[1], raw, swap, 0)), 0,
                    text(f[2], raw, swap)};
      break;
    case K::lock_contended:
    case K::lock_acquired:
    case K::lock_release:
      event.lock = {number(0), 0, 0, text(f[1], raw, swap)};
      break;
    case K::mmap_lock_start_locking:
    case K::mmap_lock_acquire_returned:
    case K::mmap_lock_released:
      event.lock = {number(0), 0, 0, StringPool::kEmpty};
      if (number(1) != 0) event.flags |= kEventWrite;
      if (event.kind == K::mmap_lock_acquire_returned && number(2) == 0)
        event.flags |= kEventFailed;
      break;
    case K::rstat_lock_contended:
    case K::rstat_locked:
    case K::rstat_unlock:
    case K::rstat_cpu_lock_contended:
    case K::rstat_cpu_locked:
    case K::rstat_cpu_unlock:
    case K::rstat_cpu_lock_contended_fastpath:
    case K::rstat_cpu_locked_fastpath:
    case K::rstat_cpu_unlock_fastpath:
      event.rstat = {number(0), static_cast<int32_t>(number_or(f[3], raw, swap, 0)),
                     static_cast<int32_t>(number_or(f[4], raw, swap, 0)),
                     static_cast<int32_t>(number(1))};
      if (number(2) != 0) event.flags |= kEventWrite;
      break;
    case K::workqueue_queue_work:
      event.work = {number(0), number(1), text(f[3], raw, swap),
                    static_cast<int32_t>(number_or(f[2], raw, swap, UINT32_MAX))};
      break;
    case K::workqueue_activate_work:
    case K::workqueue_execute_start:
    case K::workqueue_execute_end:
      event.work = {number(0), number_or(f[1], raw, swap, 0), StringPool::kEmpty, -1};
      return true;
    case K::timer_start:
      event.timer = {number(0), number(1), number(2)};
      return true;
    case K::timer_cancel:
    case K::timer_expire_entry:
      event.timer = {number(0), number_or(f[1], raw, swap, 0), 0};
      return true;
    case K::tick_stop:
      event.tick = {static_cast<uint32_t>(number_or(f[1], raw, swap, 0)),
                    static_cast<uint32_t>(number(0))};
      return true;
    case K::irq_handler_entry:
    case K::irq_handler_exit:
    case K::softirq_raise:
    case K::softirq_entry:
    case K::softirq_exit:
      event.irq = {static_cast<uint32_t>(number(0)), text(f[1], raw, swap)};
      return true;
    default:
      return false;
  }
  if (plan.needs.other_stacks) take_chain(view, plan, plan.needs.user_stacks, event);
  return true;
}

// Splits a chain at its markers. Very old kernels wrote no leading marker: where the sample was taken
// tells whose the first frames are, and where it does not, an address in the upper half is the kernel's.
void Decoder::take_chain(const SampleView& view, const DecodePlan& plan, bool user, Event& event) {
  const bool swap = plan.swapped;
  const std::byte* const chain = view.chain;
  const uint32_t count = view.chain_length;
  const auto word_at = [&](uint32_t i) {
    return load_unchecked<uint64_t>(chain + size_t{i} * 8, swap);
  };
  enum class Context { none, kernel, user, other } context = Context::none;
  if (view.cpumode == kMiscKernel) context = Context::kernel;
  if (view.cpumode == kMiscUser) context = Context::user;
  if (view.cpumode == kMiscGuestKernel || view.cpumode == kMiscGuestUser) context = Context::other;
  for (uint32_t i = 0; i < count;) {
    const uint64_t word = word_at(i);
    if (word >= kContextFirst) {
      context = word == kContextKernel ? Context::kernel
                : word == kContextUser ? Context::user
                                       : Context::other;
      ++i;
      if (word == kContextUserDeferred && i < count) {
        if (user && event.kind == K::sched_switch)
          event.sched_switch.deferred = fold_cookie(word_at(i));
        ++i;
      }
      continue;
    }
    if (context == Context::none)
      context = static_cast<int64_t>(word) < 0 ? Context::kernel : Context::user;
    uint32_t end = i + 1;
    while (end < count && word_at(end) < kContextFirst) ++end;
    if (context == Context::kernel && !event.stack.valid())
      event.stack = intern_chain(chain + size_t{i} * 8, end - i, swap);
    else if (context == Context::user && user && !event.user_stack.valid())
      event.user_stack = intern_chain(chain + size_t{i} * 8, end - i, swap);
    if (context != Context::other && !user) return;
    i = end;
  }
}

// The user frames of earlier samples of this thread. Some kernels put the marker of user frames before
// them, as in a sample.
void Decoder::take_deferred_chain(std::span<const std::byte> frames, const DecodePlan& plan,
                                  Event& event) {
  if (!plan.needs.user_stacks) return;
  const bool swap = plan.swapped;
  while (frames.size() >= 8 && load_unchecked<uint64_t>(frames.data(), swap) >= kContextFirst)
    frames = frames.subspan(8);
  size_t count = 0;
  while (count < frames.size() / 8 &&
         load_unchecked<uint64_t>(frames.data() + count * 8, swap) < kContextFirst)
    ++count;
  if (count != 0) event.user_stack = intern_chain(frames.data(), count, swap);
}

void Decoder::take_dump(const SampleView& view, const EventPlan& event_plan, Event& event) {
  if (view.regs_user.empty() || view.stack_user.empty()) return;
  auto dump = std::make_unique<UserDump>();
  dump->abi = view.regs_user_abi;
  dump->mask = event_plan.layout.regs_user_mask;
  for (size_t at = 0; at + 8 <= view.regs_user.size(); at += 8)
    dump->regs.push_back(load_unchecked<uint64_t>(view.regs_user.data() + at));
  dump->stack.assign(view.stack_user.begin(), view.stack_user.end());
  event.user_stack = StackId{pools_.dumps.put(std::move(dump))};
  event.flags |= kEventDump;
}

StackId Decoder::intern_chain(const std::byte* frames, size_t count, bool swap) {
  if (swap) {
    scratch_.resize(count);
    for (size_t i = 0; i < count; ++i) scratch_[i] = load_unchecked<uint64_t>(frames + i * 8, true);
    frames = reinterpret_cast<const std::byte*>(scratch_.data());
  }
  const uint64_t hash = XXH3_64bits(frames, count * 8);
  ChainEntry& entry = chains_[hash % kChains];
  if (entry.hash == hash && entry.id.valid()) {
    const auto known = pools_.stacks.view(entry.id);
    if (known.size() == count && std::memcmp(known.data(), frames, count * 8) == 0) return entry.id;
  }
  if (!swap) {
    scratch_.resize(count);
    std::memcpy(scratch_.data(), frames, count * 8);
  }
  entry = {hash, pools_.stacks.intern(hash, std::span(scratch_).first(count))};
  return entry.id;
}

// A comm of 16 bytes is looked up by its two words before anything is made of it.
StringId Decoder::text(const FieldRef& field, std::span<const std::byte> raw, bool swap) {
  if (!field.present()) return StringPool::kEmpty;
  if (field.kind != FieldRef::Kind::char_array || field.size != 16)
    return pools_.strings.intern(load_text(field, raw, swap));
  const auto low = load_unchecked<uint64_t>(raw.data() + field.offset);
  const auto high = load_unchecked<uint64_t>(raw.data() + field.offset + 8);
  const uint64_t mixed = (low ^ (high * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
  CommEntry& entry = comms_[(mixed >> 40) % kComms];
  if (entry.low != low || entry.high != high || !entry.id.valid())
    entry = {low, high, pools_.strings.intern(load_text(field, raw, swap))};
  return entry.id;
}

}  // namespace perf_latency
