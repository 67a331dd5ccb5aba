// SPDX-License-Identifier: GPL-2.0-only
// The part of the Decoder for records that are no samples: tasks, maps, losses.
#include <algorithm>

#include "tracepoint/decoder.h"

namespace perf_latency {
namespace {

using K = EventKind;

// What perf made up about the time before the recording has a time of 0 or of all ones.
uint64_t usable_time(uint64_t time_ns) { return time_ns == UINT64_MAX ? 0 : time_ns; }

EventKind kind_of(RecordType type) {
  switch (type) {
    case RecordType::lost:
      return K::record_lost;
    case RecordType::lost_samples:
      return K::record_lost_samples;
    case RecordType::comm:
      return K::record_comm;
    case RecordType::fork:
      return K::record_fork;
    case RecordType::exit:
      return K::record_exit;
    case RecordType::mmap:
    case RecordType::mmap2:
      return K::record_mmap;
    case RecordType::ksymbol:
      return K::record_ksymbol;
    case RecordType::cgroup:
      return K::record_cgroup;
    case RecordType::switch_:
    case RecordType::switch_cpu_wide:
      return K::record_switch;
    case RecordType::callchain_deferred:
      return K::record_callchain_deferred;
    default:
      return K::none;
  }
}

}  // namespace

void Decoder::decode_other(std::span<const std::byte> record, uint32_t type, uint16_t misc,
                           const DecodePlan& plan, std::vector<Event>& events) {
  if (record_type_name(type) == nullptr) {
    counts_.diagnostics.add(Diag::unknown_record);
    return;
  }
  const EventKind kind = kind_of(static_cast<RecordType>(type));
  if (kind == K::none) return;
  const uint32_t owner = plan.index.of_other(record, plan.swapped);
  const SampleLayout none;
  const SampleLayout& layout = owner < plan.events.size() ? plan.events[owner].layout : none;
  RecordTrailer trailer;
  if (!parse_trailer(layout, record, plan.swapped, trailer)) {
    counts_.diagnostics.add(Diag::bad_record);
    return;
  }
  Event event{};
  event.kind = kind;
  event.time_ns = usable_time(trailer.time_ns);
  event.cpu = trailer.cpu;
  event.pid = trailer.pid;
  event.tid = trailer.tid;
  const size_t trailer_bytes = layout.has_trailer ? layout.trailer_bytes : 0;
  const auto body =
      record.subspan(kRecordHeaderBytes, record.size() - kRecordHeaderBytes - trailer_bytes);
  if (!decode_record(body, type, misc, plan, event)) {
    counts_.diagnostics.add(Diag::bad_record);
    return;
  }
  if (plan.needs.wants(event.kind))
    events.push_back(event);
  else if (event.kind == K::record_mmap)
    delete event.map.map;
}

bool Decoder::decode_record(std::span<const std::byte> body, uint32_t type, uint16_t misc,
                            const DecodePlan& plan, Event& event) {
  ByteCursor cursor(body, plan.swapped);
  switch (event.kind) {
    case K::record_lost:
      event.lost.id = cursor.u64();
      event.lost.lost = cursor.u64();
      if (cursor.ok()) counts_.lost_records += event.lost.lost;
      break;
    case K::record_lost_samples:
      event.lost = {0, cursor.u64()};
      if (cursor.ok() && (misc & kMiscLostSamplesBpf) == 0) counts_.lost_samples += event.lost.lost;
      break;
    case K::record_comm: {
      const auto pid = static_cast<int32_t>(cursor.u32());
      const auto tid = static_cast<int32_t>(cursor.u32());
      event.task = {tid, pid, pools_.strings.intern(cursor.text(cursor.left())), -1};
      if ((misc & kMiscCommExec) != 0) event.flags |= kEventExec;
      break;
    }
    case K::record_fork:
    case K::record_exit: {
      const auto pid = static_cast<int32_t>(cursor.u32());
      const auto parent_pid = static_cast<int32_t>(cursor.u32());
      const auto tid = static_cast<int32_t>(cursor.u32());
      const auto parent_tid = static_cast<int32_t>(cursor.u32());
      const uint64_t time_ns = cursor.u64();
      event.fork = {parent_tid, tid, StringPool::kEmpty, parent_pid, pid};
      event.time_ns = usable_time(time_ns);
      break;
    }
    case K::record_mmap:
      return decode_map(body, type, misc, plan, event);
    case K::record_ksymbol:
      event.ksymbol.address = cursor.u64();
      event.ksymbol.length = cursor.u32();
      cursor.skip(2);
      event.ksymbol.unregister = cursor.u16() & 1u;
      event.ksymbol.name = pools_.strings.intern(cursor.text(cursor.left()));
      break;
    case K::record_cgroup:
      event.cgroup_path.id = cursor.u64();
      event.cgroup_path.path = pools_.strings.intern(cursor.text(cursor.left()));
      break;
    case K::record_switch:
      event.other_task = {-1, -1};
      if (type == static_cast<uint32_t>(RecordType::switch_cpu_wide)) {
        event.other_task.pid = static_cast<int32_t>(cursor.u32());
        event.other_task.tid = static_cast<int32_t>(cursor.u32());
      }
      if ((misc & kMiscSwitchOut) != 0) event.flags |= kEventOut;
      if ((misc & kMiscSwitchOutPreempt) != 0) event.flags |= kEventPreempted;
      break;
    case K::record_callchain_deferred: {
      event.deferred.cookie = fold_cookie(cursor.u64());
      const uint64_t count = cursor.u64();
      if (count > cursor.left() / 8) return false;
      take_deferred_chain(cursor.bytes(count * 8), plan, event);
      break;
    }
    default:
      break;
  }
  return cursor.ok();
}

// Of a user mapping only the fact that the process has one is kept, unless user frames are wanted.
bool Decoder::decode_map(std::span<const std::byte> body, uint32_t type, uint16_t misc,
                         const DecodePlan& plan, Event& event) {
  ByteCursor cursor(body, plan.swapped);
  event.map = {nullptr, static_cast<int32_t>(cursor.u32())};
  const auto tid = static_cast<int32_t>(cursor.u32());
  MapRecord map;
  map.start = cursor.u64();
  map.length = cursor.u64();
  map.page_offset = cursor.u64();
  if ((misc & kMiscMapParseTimeout) != 0) counts_.diagnostics.add(Diag::map_parse_timeout);
  map.data = (misc & kMiscMmapData) != 0;
  if (type == static_cast<uint32_t>(RecordType::mmap2)) {
    constexpr size_t kIdBytes = 20;
    if ((misc & kMiscMmapBuildId) != 0) {
      const size_t size = std::min<size_t>(cursor.u8(), kIdBytes);
      cursor.skip(3);
      const auto id = cursor.bytes(kIdBytes);
      if (cursor.ok())
        for (const std::byte b : id.first(size))
          map.build_id.push_back(std::to_integer<uint8_t>(b));
    } else {
      cursor.skip(24);  // major, minor, inode, generation
    }
    map.protection = cursor.u32();
    cursor.u32();  // flags
  }
  const std::string_view name = cursor.text(cursor.left());
  if (!cursor.ok()) return false;
  const bool kernel = (misc & kMiscCpumodeMask) == kMiscKernel;
  if (kernel) event.flags |= kEventKernel;
  event.tid = tid;
  if (kernel || plan.needs.user_maps) {
    map.name = name;
    event.map.map = new MapRecord(std::move(map));
  }
  return true;
}

}  // namespace perf_latency
