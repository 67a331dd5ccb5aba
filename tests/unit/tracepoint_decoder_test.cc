// SPDX-License-Identifier: GPL-2.0-only
// From records to events: tracepoints in either byte order, call chains of every kind, records of tasks
// and losses, samples that do not fit, and formats borrowed from the running kernel.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "perf_data_builder.h"
#include "tracepoint/decoder.h"
#include "tracepoint/running_kernel.h"

namespace perf_latency {
namespace {

constexpr uint64_t kSwitchId = 316;
constexpr uint64_t kWakingId = 317;
constexpr uint64_t kSampleType = kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime |
                                 kSampleCpu | kSampleCallchain | kSampleRaw;
constexpr std::string_view kWakingFields =
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n"
    "\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n";

class TracepointDecoder : public testing::TestWithParam<bool> {
 protected:
  TracepointDecoder() {
    metadata_.swapped = swap_;
    for (const auto& [config, id] : {std::pair(kSwitchId, 7u), std::pair(kWakingId, 8u)}) {
      EventAttr attr;
      attr.type = kTypeTracepoint;
      attr.config = config;
      attr.sample_type = kSampleType;
      attr.flags = uint64_t{1} << static_cast<unsigned>(AttrFlag::sample_id_all);
      metadata_.add_event({attr, {id}, {}});
    }
    needs_.sleep_stacks = needs_.waker_stacks = needs_.user_stacks = true;
    for (size_t kind = 0; kind < kEventKinds; ++kind) needs_.kinds.set(kind);
    auto data = parse_tracing_data(tracing_data(
        {{"sched", format_text("sched_switch", kSwitchId, kSwitchFields, kSwitchPrint)},
         {"sched", format_text("sched_waking", kWakingId, kWakingFields)}},
        swap_));
    formats_ = std::make_unique<FormatCache>(std::move(*data));
  }

  struct Sample {
    uint64_t id = 7;
    uint32_t pid = 100;
    uint32_t tid = 100;
    std::vector<uint64_t> chain = {};
    uint16_t misc = kMiscKernel;
  };
  Bytes sample(const Sample& s, const Bytes& raw) const {
    ByteWriter w(swap_);
    w.u64(s.id).u64(0xffffffff81000000).u32(s.pid).u32(s.tid).u64(5000).u32(3).u32(0);
    w.u64(s.chain.size());
    for (const uint64_t ip : s.chain) w.u64(ip);
    w.u32(static_cast<uint32_t>(raw.size() + 4)).bytes(raw).u32(0);
    return builder_.record_bytes(RecordType::sample, s.misc, w.get());
  }
  Bytes trailer() const {
    return ByteWriter(swap_).u32(50).u32(51).u64(6000).u32(2).u32(0).u64(7).take();
  }
  Bytes record(RecordType type, uint16_t misc, const Bytes& body) const {
    ByteWriter w(swap_);
    return builder_.record_bytes(type, misc, w.bytes(body).bytes(trailer()).get());
  }
  std::vector<Event> decode(const Bytes& bytes) {
    Diagnostics plan_diagnostics;
    plan_ = DecodePlan::make(metadata_, formats_.get(), needs_, plan_diagnostics);
    std::vector<Event> events;
    RecordBatch batch;
    batch.bytes = bytes;
    decoder_.decode(batch, *plan_, events);
    return events;
  }
  std::string_view text(StringId id) const { return pools_.strings.view(id); }
  std::vector<uint64_t> chain(StackId id) const {
    const auto view = pools_.stacks.view(id);
    return {view.begin(), view.end()};
  }
  uint64_t count(Diag diag) const { return decoder_.counts().diagnostics.count(diag); }

  bool swap_ = GetParam();
  PerfDataBuilder builder_{swap_};
  Metadata metadata_;
  DecodeNeeds needs_;
  std::unique_ptr<FormatCache> formats_;
  std::shared_ptr<const DecodePlan> plan_;
  DecodePools pools_;
  Decoder decoder_{pools_};
};
INSTANTIATE_TEST_SUITE_P(Swap, TracepointDecoder, testing::Bool(),
                         [](const auto& info) { return info.param ? "swapped" : "native"; });

TEST_P(TracepointDecoder, ASwitch) {
  const auto events =
      decode(sample({.chain = {kContextKernel, 0xffffffff81000000, 0xffffffff81000010, kContextUser,
                               0x401000, 0x402000}},
                    switch_raw(swap_, 100, 1, 200, "sleeper", "a name of 16 byt")));
  ASSERT_EQ(events.size(), 1u);
  const Event& event = events[0];
  EXPECT_EQ(event.kind, EventKind::sched_switch);
  EXPECT_EQ(event.time_ns, 5000u);
  EXPECT_EQ(event.cpu, 3u);
  EXPECT_EQ(event.pid, 100);
  EXPECT_EQ(event.tid, 100);
  EXPECT_EQ(event.state, 'S');
  EXPECT_EQ(event.sched_switch.prev_tid, 100);
  EXPECT_EQ(event.sched_switch.next_tid, 200);
  EXPECT_EQ(text(event.sched_switch.prev_comm), "sleeper");
  EXPECT_EQ(text(event.sched_switch.next_comm), "a name of 16 byt");
  EXPECT_EQ(event.sched_switch.prev_prio, 120);
  EXPECT_EQ(event.sched_switch.next_prio, 110);
  EXPECT_EQ(event.sched_switch.deferred, 0u);
  EXPECT_EQ(chain(event.stack), (std::vector<uint64_t>{0xffffffff81000000, 0xffffffff81000010}));
  EXPECT_EQ(chain(event.user_stack), (std::vector<uint64_t>{0x401000, 0x402000}));
  EXPECT_EQ(decoder_.counts().samples_of_event, (std::vector<uint64_t>{1, 0}));
}

TEST_P(TracepointDecoder, APreemptedTaskBeginsNoSleepAndHasNoChain) {
  const auto events = decode(
      sample({.chain = {kContextKernel, 0xffffffff81000000}}, switch_raw(swap_, 100, 256, 200)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].state, 'R');
  EXPECT_EQ(events[0].flags & kEventPreempted, kEventPreempted);
  EXPECT_FALSE(events[0].stack.valid());
}

TEST_P(TracepointDecoder, AnExitingTaskIsKnownByTheKernelsOwnTid) {
  const auto events =
      decode(sample({.pid = UINT32_MAX, .tid = UINT32_MAX}, switch_raw(swap_, 100, 16, 0)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].tid, 100);
  EXPECT_EQ(events[0].pid, -1);
  EXPECT_EQ(events[0].state, 'X');
}

TEST_P(TracepointDecoder, ThroughAPidNamespaceOnlyTheKernelsTidsCount) {
  const auto events = decode(sample({.pid = 0, .tid = 0}, switch_raw(swap_, 100, 1, 200)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].tid, 100);
  EXPECT_EQ(events[0].pid, -1);
  EXPECT_EQ(count(Diag::pid_namespace), 1u);
}

TEST_P(TracepointDecoder, CommsAreBytes) {
  const std::string odd("\xff\x1b[31m\n() \"", 10);
  const auto events = decode(sample({}, switch_raw(swap_, 100, 1, 200, odd, "")));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(text(events[0].sched_switch.prev_comm), odd);
  EXPECT_EQ(events[0].sched_switch.next_comm, StringPool::kEmpty);
}

TEST_P(TracepointDecoder, AWakingWithAndWithoutSuccess) {
  const auto raw = [&](uint32_t success) {
    ByteWriter w(swap_);
    w.u16(1).u8(0).u8(0).u32(100).text("woken").zeros(11).u32(200).u32(120).u32(success).u32(1);
    return w.take();
  };
  auto events = decode(sample({.id = 8, .chain = {kContextKernel, 0xffffffff81000000}}, raw(1)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::sched_waking);
  EXPECT_EQ(events[0].wakeup.tid, 200);
  EXPECT_EQ(text(events[0].wakeup.comm), "woken");
  EXPECT_EQ(events[0].wakeup.target_cpu, 1);
  EXPECT_EQ(events[0].flags & kEventFailed, 0);
  EXPECT_EQ(chain(events[0].stack), (std::vector<uint64_t>{0xffffffff81000000}));
  events = decode(sample({.id = 8}, raw(0)));
  EXPECT_EQ(events.at(0).flags & kEventFailed, kEventFailed);
}

TEST_P(TracepointDecoder, ChainsWithoutMarkers) {
  const auto stacks = [&](uint16_t misc, std::vector<uint64_t> words) {
    const auto events =
        decode(sample({.chain = std::move(words), .misc = misc}, switch_raw(swap_, 100, 1, 0)));
    return std::pair(chain(events.at(0).stack), chain(events.at(0).user_stack));
  };
  using Chains = std::pair<std::vector<uint64_t>, std::vector<uint64_t>>;
  // Of a 32-bit kernel: the address does not tell, the record does.
  EXPECT_EQ(stacks(kMiscKernel, {0xc0100000, 0xc0100010}), (Chains{{0xc0100000, 0xc0100010}, {}}));
  EXPECT_EQ(stacks(kMiscUser, {0x401000}), (Chains{{}, {0x401000}}));
  EXPECT_EQ(stacks(0, {0xffffffff81000000}), (Chains{{0xffffffff81000000}, {}}));
  EXPECT_EQ(stacks(0, {0x401000}), (Chains{{}, {0x401000}}));
}

TEST_P(TracepointDecoder, ChainsOfGuestsAndHypervisorsAreSteppedOver) {
  const auto events = decode(sample(
      {.chain = {kContextHv, 0x11, kContextKernel, 0xffffffff81000000, kContextGuest, 0x22,
                 kContextGuestKernel, 0x33, kContextGuestUser, 0x44, kContextUser, 0x401000}},
      switch_raw(swap_, 100, 1, 0)));
  EXPECT_EQ(chain(events.at(0).stack), (std::vector<uint64_t>{0xffffffff81000000}));
  EXPECT_EQ(chain(events.at(0).user_stack), (std::vector<uint64_t>{0x401000}));
}

TEST_P(TracepointDecoder, MarkersAlone) {
  const auto events = decode(sample({.chain = {kContextKernel, kContextUser, kContextUserDeferred}},
                                    switch_raw(swap_, 100, 1, 0)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].stack.valid());
  EXPECT_FALSE(events[0].user_stack.valid());
  EXPECT_EQ(events[0].sched_switch.deferred, 0u);
}

TEST_P(TracepointDecoder, ADeferredChainIsNamedByItsCookie) {
  constexpr uint64_t kCookie = 0x100000001;
  const auto events =
      decode(sample({.chain = {kContextKernel, 0xffffffff81000000, kContextUserDeferred, kCookie}},
                    switch_raw(swap_, 100, 1, 0)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].user_stack.valid());
  EXPECT_EQ(events[0].sched_switch.deferred, fold_cookie(kCookie));

  ByteWriter body(swap_);
  body.u64(kCookie).u64(3).u64s({kContextUser, 0x401000, 0x402000});
  const auto later = decode(record(RecordType::callchain_deferred, kMiscUser, body.get()));
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].kind, EventKind::record_callchain_deferred);
  EXPECT_EQ(later[0].tid, 51);
  EXPECT_EQ(later[0].deferred.cookie, fold_cookie(kCookie));
  EXPECT_EQ(chain(later[0].user_stack), (std::vector<uint64_t>{0x401000, 0x402000}));

  ByteWriter bad(swap_);
  bad.u64(kCookie).u64(UINT64_MAX / 4).u64(1);
  EXPECT_TRUE(decode(record(RecordType::callchain_deferred, kMiscUser, bad.get())).empty());
  EXPECT_EQ(count(Diag::bad_record), 1u);
}

TEST_P(TracepointDecoder, SamplesOfGuestsAreCountedAndNotUsed) {
  metadata_.guest_ids.insert(7);
  EXPECT_TRUE(decode(sample({}, switch_raw(swap_, 100, 1, 200))).empty());
  EXPECT_EQ(decoder_.counts().samples, 1u);
  EXPECT_EQ(decoder_.counts().samples_of_event, (std::vector<uint64_t>{1, 0}));
}

TEST_P(TracepointDecoder, UnknownIdsAndShortSamples) {
  EXPECT_TRUE(decode(sample({.id = 99}, switch_raw(swap_, 100, 1, 200))).empty());
  EXPECT_EQ(count(Diag::unknown_id), 1u);
  Bytes raw = switch_raw(swap_, 100, 1, 200);
  raw.resize(40);
  EXPECT_TRUE(decode(sample({}, raw)).empty());
  EXPECT_EQ(count(Diag::undecodable_sample), 1u);
}

TEST_P(TracepointDecoder, EverySampleCutAtEveryByte) {
  const Bytes whole =
      sample({.chain = {kContextKernel, 1, kContextUser, 2}}, switch_raw(swap_, 100, 1, 200));
  ASSERT_EQ(decode(whole).size(), 1u);
  for (size_t size = 8; size < whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<long>(size));
    const Bytes header = ByteWriter(swap_).u32(9).u16(0).u16(static_cast<uint16_t>(size)).take();
    std::copy(header.begin(), header.end(), cut.begin());
    EXPECT_TRUE(decode(cut).empty()) << size;
  }
}

TEST_P(TracepointDecoder, WithoutAFormatNothingIsDecoded) {
  formats_.reset();
  EXPECT_TRUE(decode(sample({}, switch_raw(swap_, 100, 1, 200))).empty());
  EXPECT_EQ(count(Diag::no_formats), 1u);
}

TEST_P(TracepointDecoder, RecordsOfTasks) {
  const auto events = decode([&] {
    ByteWriter all(swap_);
    all.bytes(record(RecordType::comm, kMiscCommExec,
                     ByteWriter(swap_).u32(50).u32(51).padded_text("new").take()));
    all.bytes(record(RecordType::fork, 0,
                     ByteWriter(swap_).u32(60).u32(50).u32(61).u32(51).u64(7000).take()));
    all.bytes(record(RecordType::exit, 0,
                     ByteWriter(swap_).u32(60).u32(50).u32(61).u32(51).u64(UINT64_MAX).take()));
    all.bytes(record(RecordType::switch_cpu_wide, kMiscSwitchOut | kMiscSwitchOutPreempt,
                     ByteWriter(swap_).u32(70).u32(71).take()));
    return all.take();
  }());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, EventKind::record_comm);
  EXPECT_EQ(events[0].time_ns, 6000u);
  EXPECT_EQ(events[0].cpu, 2u);
  EXPECT_EQ(events[0].task.pid, 50);
  EXPECT_EQ(events[0].task.tid, 51);
  EXPECT_EQ(text(events[0].task.comm), "new");
  EXPECT_EQ(events[0].flags, kEventExec);
  EXPECT_EQ(events[1].time_ns, 7000u);
  EXPECT_EQ(events[1].fork.child_pid, 60);
  EXPECT_EQ(events[1].fork.child_tid, 61);
  EXPECT_EQ(events[1].fork.parent_tid, 51);
  EXPECT_EQ(events[2].kind, EventKind::record_exit);
  EXPECT_EQ(events[2].time_ns, 0u);  // all ones: about the time before the recording
  EXPECT_EQ(events[3].other_task.tid, 71);
  EXPECT_EQ(events[3].flags, kEventOut | kEventPreempted);
}

TEST_P(TracepointDecoder, LossesAreCountedOnceOfEachKind) {
  decode([&] {
    ByteWriter all(swap_);
    all.bytes(record(RecordType::lost, 0, ByteWriter(swap_).u64(7).u64(30).take()));
    all.bytes(record(RecordType::lost_samples, 0, ByteWriter(swap_).u64(20).take()));
    all.bytes(
        record(RecordType::lost_samples, kMiscLostSamplesBpf, ByteWriter(swap_).u64(9).take()));
    return all.take();
  }());
  EXPECT_EQ(decoder_.counts().lost_records, 30u);
  EXPECT_EQ(decoder_.counts().lost_samples, 20u);  // what a filter dropped is not lost
}

TEST_P(TracepointDecoder, AMapOfTheKernel) {
  needs_.user_maps = true;
  ByteWriter body(swap_);
  body.u32(UINT32_MAX).u32(0).u64(0xffffffff81000000).u64(0x1000000).u64(0xffffffff81000040);
  body.u8(20).zeros(3);
  for (uint8_t i = 0; i < 20; ++i) body.u8(i);
  body.u32(5).u32(2).padded_text("[kernel.kallsyms]_text");
  const auto events = decode(
      record(RecordType::mmap2, kMiscKernel | kMiscMmapBuildId | kMiscMapParseTimeout, body.get()));
  ASSERT_EQ(events.size(), 1u);
  const std::unique_ptr<MapRecord> map(events[0].map.map);
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(events[0].flags, kEventKernel);
  EXPECT_EQ(map->start, 0xffffffff81000000u);
  EXPECT_EQ(map->page_offset, 0xffffffff81000040u);
  EXPECT_EQ(map->build_id.size(), 20u);
  EXPECT_EQ(map->name, "[kernel.kallsyms]_text");
  EXPECT_EQ(count(Diag::map_parse_timeout), 1u);
}

// A directory that looks like tracefs, and a kallsyms of the same kernel.
class TracepointRunningKernel : public testing::Test {
 protected:
  TracepointRunningKernel() {
    const std::string event = root_ + "/events/sched/sched_switch";
    std::filesystem::create_directories(event);
    std::ofstream(event + "/id") << "316\n";
    std::ofstream(event + "/format") << format_text("sched_switch", 316, kSwitchFields);
    std::ofstream(root_ + "/kallsyms")
        << "ffffffff81000000 T startup_64\nffffffff9a000000 T _text\n";
    kernel_ = {"6.18.1", "x86_64", root_, root_ + "/kallsyms"};
    add_event(316);
  }
  ~TracepointRunningKernel() override { std::filesystem::remove_all(root_); }

  void add_event(uint64_t config, const std::string& name = "") {
    EventAttr attr;
    attr.type = kTypeTracepoint;
    attr.config = config;
    metadata_.add_event({attr, {}, name});
  }
  bool borrows(uint64_t text_address = 0) {
    ByteWriter body;
    body.u32(UINT32_MAX)
        .u32(0)
        .u64(text_address)
        .u64(1)
        .u64(text_address)
        .padded_text("[kernel.kallsyms]_text");
    const Bytes first = PerfDataBuilder().record_bytes(RecordType::mmap, kMiscKernel, body.get());
    RecordBatch batch;
    batch.bytes = first;
    const auto data = running_kernel_formats(kernel_, metadata_, batch);
    if (data) {
      EXPECT_EQ(data->formats.size(), 1u);
      EXPECT_EQ(data->formats[0].system, "sched");
    }
    return data.has_value();
  }

  std::string root_ =
      testing::TempDir() + "tracepoint-running-kernel-" + std::to_string(::getpid());
  RunningKernel kernel_;
  Metadata metadata_;
};

TEST_F(TracepointRunningKernel, OfTheSameRelease) {
  metadata_.os_release = "6.18.1";
  EXPECT_TRUE(borrows());
  metadata_.arch = "aarch64";
  EXPECT_FALSE(borrows());
  metadata_.arch = "x86_64";
  metadata_.swapped = true;
  EXPECT_FALSE(borrows());
}

TEST_F(TracepointRunningKernel, NotOfAnotherRelease) {
  metadata_.os_release = "6.18.2";
  EXPECT_FALSE(borrows(0xffffffff9a000000));
}

TEST_F(TracepointRunningKernel, WithoutAReleaseTheTextMustLieWhereItDoesNow) {
  EXPECT_TRUE(borrows(0xffffffff9a000000));
  EXPECT_FALSE(borrows(0xffffffff9b000000));
  EXPECT_FALSE(borrows(0));  // hidden
}

TEST_F(TracepointRunningKernel, EveryEventMustBeThereUnderItsName) {
  metadata_.os_release = "6.18.1";
  add_event(999);
  EXPECT_FALSE(borrows());
  metadata_ = {};
  metadata_.os_release = "6.18.1";
  add_event(316, "sched:sched_wakeup");
  EXPECT_FALSE(borrows());
}

}  // namespace
}  // namespace perf_latency
