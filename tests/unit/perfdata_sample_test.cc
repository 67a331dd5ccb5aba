// SPDX-License-Identifier: GPL-2.0-only
// Samples with each of their fields, in either byte order, and cut at every byte; the sample_id trailer
// of other records; which event a record belongs to.
#include <gtest/gtest.h>

#include "perf_data_builder.h"
#include "perfdata/sample_layout.h"

namespace perf_latency {
namespace {

constexpr uint64_t kAllFields = kSampleKnownMask & ~kSampleWeightStruct;

// A sample with every field that there is.
Bytes full_sample(bool swap) {
  ByteWriter w(swap);
  w.u64(77).u64(0xffffffff81000010);                          // IDENTIFIER, IP
  w.u32(100).u32(101).u64(5000).u64(1);                       // TID, TIME, ADDR
  w.u64(77).u64(3).u32(2).u32(0).u64(42);                     // ID, STREAM_ID, CPU, PERIOD
  w.u64(2).u64s({10, 11}).u64s({1, 77, 0}).u64s({2, 78, 0});  // READ: two of a group
  w.u64(3).u64s({kContextKernel, 0xffffffff81000010, 0xffffffff81000020});
  w.u32(12).text("raw bytes!!!");
  w.u64(1).u64(9).u64s({1, 2, 3}).u64(4);  // BRANCH_STACK with hw_idx and counters
  w.u64(2).u64s({0x10, 0x20, 0x30});       // REGS_USER: 64-bit, three registers
  w.u64(16).text("0123456789abcdef").u64(10);
  w.u64(1).u64(2).u64(3);                  // WEIGHT, DATA_SRC, TRANSACTION
  w.u64(2).u64s({0x99, 0x98});             // REGS_INTR
  w.u64(4).u64(0xc6).u64(4096).u64(4096);  // PHYS_ADDR, CGROUP, page sizes
  w.u64(8).text("auxbytes");
  return PerfDataBuilder(swap).record_bytes(RecordType::sample, kMiscKernel, w.get());
}

EventAttr full_attr() {
  EventAttr attr;
  attr.sample_type = kAllFields;
  attr.read_format = kReadGroup | kReadEnabled | kReadRunning | kReadId | kReadLost;
  attr.branch_sample_type = kBranchSampleHwIndex | kBranchSampleCounters;
  attr.sample_regs_user = 0b10101;
  attr.sample_regs_intr = 0b11;
  return attr;
}

class PerfdataSample : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Swap, PerfdataSample, testing::Bool(),
                         [](const auto& info) { return info.param ? "swapped" : "native"; });

TEST_P(PerfdataSample, EveryField) {
  const bool swap = GetParam();
  const Bytes record = full_sample(swap);
  const SampleLayout layout(full_attr());
  SampleView view;
  ASSERT_TRUE(parse_sample(layout, record, swap, SampleDepth::everything, view));
  EXPECT_EQ(view.ip, 0xffffffff81000010u);
  EXPECT_EQ(view.pid, 100);
  EXPECT_EQ(view.tid, 101);
  EXPECT_EQ(view.time_ns, 5000u);
  EXPECT_EQ(view.cpu, 2u);
  EXPECT_EQ(view.period, 42u);
  ASSERT_EQ(view.chain_length, 3u);
  EXPECT_EQ(load_unchecked<uint64_t>(view.chain + 16, swap), 0xffffffff81000020u);
  EXPECT_EQ(ByteCursor::text_in(view.raw), "raw bytes!!!");
  EXPECT_EQ(view.regs_user_abi, 2u);
  ASSERT_EQ(view.regs_user.size(), 24u);
  EXPECT_EQ(load_unchecked<uint64_t>(view.regs_user.data() + 16, swap), 0x30u);
  EXPECT_EQ(ByteCursor::text_in(view.stack_user), "0123456789");  // dyn_size bytes only
  EXPECT_EQ(view.cgroup, 0xc6u);
}

TEST_P(PerfdataSample, CutAtEveryByte) {
  const Bytes record = full_sample(GetParam());
  const SampleLayout layout(full_attr());
  for (size_t size = 8; size < record.size(); ++size) {
    // An exact block, so that a sanitizer sees a read behind it.
    const Bytes cut(record.begin(), record.begin() + static_cast<long>(size));
    SampleView view;
    EXPECT_FALSE(parse_sample(layout, cut, GetParam(), SampleDepth::everything, view)) << size;
  }
}

TEST_P(PerfdataSample, EachFieldAloneHasItsPlace) {
  const bool swap = GetParam();
  for (uint64_t bit = 0; bit < 25; ++bit) {
    EventAttr attr = full_attr();
    attr.sample_type = uint64_t{1} << bit;
    attr.read_format = 0;
    attr.branch_sample_type = 0;
    ByteWriter w(swap);
    switch (attr.sample_type) {
      case kSampleRaw:
        w.u32(4).u32(0);
        break;
      case kSampleRegsUser:
        w.u64(1).u64s({1, 2, 3});
        break;
      case kSampleRegsIntr:
        w.u64(1).u64s({1, 2});
        break;
      case kSampleCallchain:
      case kSampleBranchStack:
      case kSampleStackUser:
      case kSampleAux:
        w.u64(0);
        break;
      default:
        w.u64(1);
    }
    const Bytes record = PerfDataBuilder(swap).record_bytes(RecordType::sample, 0, w.get());
    SampleView view;
    EXPECT_TRUE(parse_sample(SampleLayout(attr), record, swap, SampleDepth::everything, view))
        << bit;
    const Bytes cut(record.begin(), record.end() - 1);
    EXPECT_FALSE(parse_sample(SampleLayout(attr), cut, swap, SampleDepth::everything, view)) << bit;
  }
}

// `field` alone, with these words.
bool parses(uint64_t field, std::initializer_list<uint64_t> words, EventAttr attr = {}) {
  attr.sample_type = field;
  const Bytes record =
      PerfDataBuilder().record_bytes(RecordType::sample, 0, ByteWriter().u64s(words).get());
  SampleView view;
  return parse_sample(SampleLayout(attr), record, false, SampleDepth::everything, view);
}

TEST(PerfdataSampleFields, CountsThatDoNotFitAreRefused) {
  for (const uint64_t count : {uint64_t{3}, uint64_t{1} << 61, UINT64_MAX}) {
    EXPECT_FALSE(parses(kSampleCallchain, {count, 1, 2})) << count;
    EXPECT_FALSE(parses(kSampleBranchStack, {count, 1, 2, 3})) << count;
    EXPECT_FALSE(parses(kSampleStackUser, {count | 24, 1, 2})) << count;
    EXPECT_FALSE(parses(kSampleAux, {count | 24, 1, 2})) << count;
    EventAttr group;
    group.read_format = kReadGroup;
    EXPECT_FALSE(parses(kSampleRead, {count, 1, 2}, group)) << count;
  }
}

TEST(PerfdataSampleFields, WithoutBranchDataThereIsNoHardwareIndex) {
  EventAttr attr;
  attr.branch_sample_type = kBranchSampleHwIndex;
  EXPECT_TRUE(parses(kSampleBranchStack, {0}, attr));
  EXPECT_TRUE(parses(kSampleBranchStack, {0, 5}, attr));
  EXPECT_TRUE(parses(kSampleBranchStack, {1, 5, 1, 2, 3}, attr));
  EXPECT_FALSE(parses(kSampleBranchStack, {1, 1, 2, 3}, attr));
  EXPECT_TRUE(parses(kSampleBranchStack | kSampleWeight, {0, 7}, attr));
}

TEST(PerfdataSampleFields, NoRegistersFollowAbiNone) {
  EventAttr attr;
  attr.sample_regs_user = 0xff0fff;
  EXPECT_TRUE(parses(kSampleRegsUser, {0}, attr));
  EXPECT_FALSE(parses(kSampleRegsUser, {2}, attr));
}

TEST(PerfdataSampleFields, NoMoreOfAStackIsValidThanThereIs) {
  EventAttr attr;
  attr.sample_type = kSampleStackUser;
  const Bytes record = PerfDataBuilder().record_bytes(RecordType::sample, 0,
                                                      ByteWriter().u64(8).u64(1).u64(4096).get());
  SampleView view;
  ASSERT_TRUE(parse_sample(SampleLayout(attr), record, false, SampleDepth::everything, view));
  EXPECT_EQ(view.stack_user.size(), 8u);
}

TEST(PerfdataTrailer, FieldsAreFoundFromTheEnd) {
  EventAttr attr;
  attr.sample_type = kSampleTid | kSampleTime | kSampleId | kSampleStreamId | kSampleCpu |
                     kSampleIdentifier | kSampleCallchain;
  attr.flags = uint64_t{1} << static_cast<unsigned>(AttrFlag::sample_id_all);
  ByteWriter w;
  w.text("any body").u32(5).u32(6).u64(99).u64(7).u64(8).u32(3).u32(0).u64(7);
  const Bytes record = PerfDataBuilder().record_bytes(RecordType::comm, 0, w.get());
  RecordTrailer trailer;
  ASSERT_TRUE(parse_trailer(SampleLayout(attr), record, false, trailer));
  EXPECT_EQ(trailer.pid, 5);
  EXPECT_EQ(trailer.tid, 6);
  EXPECT_EQ(trailer.time_ns, 99u);
  EXPECT_EQ(trailer.cpu, 3u);
  for (size_t size = 8; size < 8 + 48; ++size)
    EXPECT_FALSE(parse_trailer(SampleLayout(attr), std::span(record).first(size), false, trailer));
}

Metadata two_events(uint64_t sample_type, std::vector<uint64_t> first,
                    std::vector<uint64_t> second) {
  Metadata metadata;
  EventAttr attr;
  attr.sample_type = sample_type;
  attr.flags = uint64_t{1} << static_cast<unsigned>(AttrFlag::sample_id_all);
  metadata.add_event({attr, std::move(first), "first"});
  metadata.add_event({attr, std::move(second), "second"});
  return metadata;
}

TEST(PerfdataEventIndex, ByIdentifierByIdAndByNothing) {
  const auto sample = [](std::initializer_list<uint64_t> words) {
    return PerfDataBuilder().record_bytes(RecordType::sample, 0, ByteWriter().u64s(words).get());
  };
  const EventIndex identifier(two_events(kSampleIdentifier | kSampleIp, {5, 6}, {1u << 30}));
  EXPECT_EQ(identifier.of_sample(sample({6, 0}), false), 0u);
  EXPECT_EQ(identifier.of_sample(sample({1u << 30, 0}), false), 1u);
  EXPECT_EQ(identifier.of_sample(sample({7, 0}), false), EventIndex::kUnknown);
  EXPECT_EQ(identifier.of_sample(sample({}), false), EventIndex::kUnknown);
  EXPECT_EQ(identifier.of_other(sample({1, 1u << 30}), false), 1u);
  EXPECT_EQ(identifier.of_other(sample({1, 0}), false), 0u);  // synthesized

  const EventIndex id(
      two_events(kSampleIp | kSampleTid | kSampleId | kSampleStreamId | kSampleCpu, {5}, {9}));
  EXPECT_EQ(id.of_sample(sample({1, 2, 9, 4, 5}), false), 1u);
  EXPECT_EQ(id.of_other(sample({1, 9, 2, 3}), false), 1u);

  Metadata one;
  one.add_event({EventAttr{}, {}, "only"});
  EXPECT_EQ(EventIndex(one).of_sample(sample({}), false), 0u);
  EXPECT_EQ(EventIndex(Metadata()).of_sample(sample({}), false), EventIndex::kUnknown);
}

}  // namespace
}  // namespace perf_latency
