// SPDX-License-Identifier: GPL-2.0-only
// The reader over whole recordings: headers, attrs, features; file, pipe and directory; compressed,
// killed, cut and wrong ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "perf_data_builder.h"
#include "perfdata/file_header.h"
#include "perfdata/reader.h"

namespace perf_latency {
namespace {

constexpr uint64_t kPlainType = kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu;

struct ReadBack {
  std::unique_ptr<Reader> reader;
  std::string error;
  std::vector<uint32_t> types;    // of all kernel records
  std::vector<size_t> rounds_at;  // how many records stood before each end of a round
  Bytes bytes;                    // of all kernel records
};

ReadBack read_path(const std::string& path) {
  ReadBack back;
  auto opened = Reader::open(path, true);
  if (!opened) {
    back.error = opened.error().what;
    return back;
  }
  back.reader = std::move(*opened);
  RecordBatch batch;
  const bool swap = back.reader->metadata().swapped;
  while (back.reader->next(batch)) {
    for (size_t at = 0; at < batch.bytes.size();) {
      back.types.push_back(load_unchecked<uint32_t>(batch.bytes.data() + at, swap));
      at += load_unchecked<uint16_t>(batch.bytes.data() + at + 6, swap);
    }
    back.bytes.insert(back.bytes.end(), batch.bytes.begin(), batch.bytes.end());
    if (batch.ends_round) back.rounds_at.push_back(back.types.size());
  }
  return back;
}

ReadBack read_back(const Bytes& file) {
  const MemoryFile memory(file);
  return read_path(memory.path());
}

// Two events, two features, COMMs and round marks.
PerfDataBuilder small_recording(bool swap) {
  PerfDataBuilder builder(swap);
  builder.add_event({.config = 316, .sample_type = kPlainType}, {7, 8});
  builder.add_event({.type = kTypeSoftware, .config = 9, .sample_type = kPlainType}, {9});
  builder.add_feature(3, builder.writer().feature_text("box").take());
  builder.add_feature(4, builder.writer().feature_text("6.12.0").take());
  for (uint32_t i = 0; i < 6; ++i) {
    ByteWriter body = builder.writer();
    body.u32(100 + i).u32(100 + i).padded_text("task");
    body.u32(100 + i).u32(100 + i).u64(1000 + i).u32(0).u32(0).u64(7);  // trailer
    builder.record(RecordType::comm, 0, body.get());
    if (i % 2 == 1) builder.finished_round();
  }
  return builder;
}

class PerfdataEitherOrder : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Swap, PerfdataEitherOrder, testing::Bool(),
                         [](const auto& info) { return info.param ? "swapped" : "native"; });

void expect_small_recording(const ReadBack& back, bool swap) {
  ASSERT_EQ(back.error, "");
  const Metadata& metadata = back.reader->metadata();
  EXPECT_EQ(metadata.swapped, swap);
  EXPECT_EQ(metadata.big_endian, swap);
  EXPECT_EQ(metadata.hostname, "box");
  EXPECT_EQ(metadata.os_release, "6.12.0");
  ASSERT_EQ(metadata.events.size(), 2u);
  EXPECT_EQ(metadata.events[0].attr.config, 316u);
  EXPECT_EQ(metadata.events[0].ids, (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(metadata.events[1].attr.type, kTypeSoftware);
  EXPECT_TRUE(metadata.events[1].attr.has(AttrFlag::sample_id_all));
  EXPECT_FALSE(metadata.events[1].attr.has(AttrFlag::comm_exec));
  EXPECT_EQ(metadata.event_of_id.at(9), 1u);
  EXPECT_EQ(back.types, std::vector<uint32_t>(6, 3));
  EXPECT_EQ(back.rounds_at, (std::vector<size_t>{2, 4, 6}));
}

TEST_P(PerfdataEitherOrder, File) {
  const auto back = read_back(small_recording(GetParam()).file());
  expect_small_recording(back, GetParam());
  EXPECT_EQ(back.reader->metadata().mode, RecordingMode::file);
  EXPECT_TRUE(back.reader->metadata().complete);
}

TEST_P(PerfdataEitherOrder, Pipe) {
  const auto back = read_back(small_recording(GetParam()).pipe());
  expect_small_recording(back, GetParam());
  EXPECT_EQ(back.reader->metadata().mode, RecordingMode::pipe);
}

TEST_P(PerfdataEitherOrder, CompressedAtEveryChunkSize) {
  for (const bool newer : {false, true}) {
    for (const size_t chunk : {1, 7, 8, 9, 50, 100000}) {
      PerfDataBuilder builder = small_recording(GetParam());
      builder.compress(chunk, newer);
      const auto back = read_back(builder.file());
      expect_small_recording(back, GetParam());
      EXPECT_TRUE(back.reader->metadata().complete) << chunk;
      EXPECT_EQ(back.bytes, read_back(small_recording(GetParam()).file()).bytes);
    }
  }
}

TEST(PerfdataReader, AnOldHeaderHasNoFeatures) {
  PerfDataBuilder::Header header;
  header.header_bytes = 72;
  const auto back = read_back(small_recording(false).file(header));
  ASSERT_EQ(back.error, "");
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_TRUE(back.reader->metadata().features.none());
}

TEST(PerfdataReader, ALongerHeaderIsReadAsFarAsKnown) {
  PerfDataBuilder::Header header;
  header.header_bytes = 128;
  expect_small_recording(read_back(small_recording(false).file(header)), false);
}

TEST(PerfdataReader, Version1TellsItsOrderByItsHeaderSize) {
  PerfDataBuilder::Header header;
  header.magic = "PERFFILE";
  expect_small_recording(read_back(small_recording(false).file(header)), false);
  expect_small_recording(read_back(small_recording(true).file(header)), true);
}

TEST(PerfdataReader, TheFeatureBitmapOfA32BitBigEndianWriter) {
  PerfDataBuilder::Header header;
  header.longs32 = true;
  expect_small_recording(read_back(small_recording(true).file(header)), true);
}

TEST(PerfdataReader, AttrSizes) {
  for (const uint32_t size : {64u, 72u, 80u, 96u, 104u, 112u, 120u, 128u, 136u, 144u, 200u}) {
    PerfDataBuilder builder;
    builder.add_event({.config = 5,
                       .sample_type = kPlainType,
                       .branch_sample_type = 1u << 17,
                       .regs_user = 0xff,
                       .stack_user = 4096,
                       .size = size},
                      {1});
    const auto back = read_back(builder.file());
    ASSERT_EQ(back.error, "") << size;
    const EventAttr& attr = back.reader->metadata().events.at(0).attr;
    EXPECT_EQ(attr.config, 5u);
    EXPECT_EQ(attr.branch_sample_type, size >= 80 ? 1u << 17 : 0) << size;
    EXPECT_EQ(attr.sample_stack_user, size >= 96 ? 4096u : 0u) << size;
  }
}

TEST(PerfdataReader, AttrSizeZeroMeansSixtyFour) {
  const Bytes bytes = attr_bytes({.config = 3, .size = 0}, false);
  const auto attr = parse_event_attr(bytes, false);
  ASSERT_TRUE(attr);
  EXPECT_EQ(attr->config, 3u);
}

TEST(PerfdataReader, FlagsAreMirroredInTheOtherOrder) {
  for (unsigned bit = 0; bit < 40; ++bit) {
    const uint64_t flags = uint64_t{1} << bit;
    const auto attr = parse_event_attr(attr_bytes({.flags = flags}, true), true);
    ASSERT_TRUE(attr);
    EXPECT_EQ(attr->flags, flags) << bit;
  }
}

TEST(PerfdataReader, AnEmptyFileAndOtherFilesAreRefused) {
  EXPECT_EQ(read_back({}).error, "the file is empty");
  EXPECT_EQ(read_back(Bytes(5)).error, "the file is too short to be a perf.data file");
  const Bytes text = ByteWriter().text("#!/bin/sh\necho no recording\n").take();
  EXPECT_EQ(read_back(text).error,
            "this is no perf.data file: its first bytes are not perf's magic");
  EXPECT_EQ(read_path("/nonexistent/perf.data").error, "No such file or directory");
}

TEST(PerfdataReader, AKilledRecordersFileIsReadToItsEnd) {
  PerfDataBuilder::Header header;
  header.killed = true;
  const auto back = read_back(small_recording(false).file(header));
  ASSERT_EQ(back.error, "");
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_FALSE(back.reader->metadata().complete);
  EXPECT_EQ(back.reader->metadata().hostname, "");
  EXPECT_EQ(back.reader->diagnostics().count(Diag::file_not_finished), 1u);
}

TEST(PerfdataReader, OurOwnKilledFileHasItsFeaturesBeforeTheData) {
  PerfDataBuilder::Header header;
  header.killed = true;
  header.early_features = true;
  PerfDataBuilder builder = small_recording(false);
  builder.add_tracing_data(tracing_data({}));
  const auto back = read_back(builder.file(header));
  ASSERT_EQ(back.error, "");
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_FALSE(back.reader->metadata().complete);
  EXPECT_EQ(back.reader->metadata().hostname, "box");
  EXPECT_EQ(back.reader->metadata().tracing_data, tracing_data({}));
}

TEST(PerfdataReader, EverySectionCutAtEveryByte) {
  PerfDataBuilder::Header early;
  early.early_features = true;
  PerfDataBuilder compressed = small_recording(false);
  compressed.compress(40);
  for (const Bytes& file : {small_recording(false).file(), small_recording(true).pipe(),
                            small_recording(true).file(early), compressed.file()}) {
    const size_t whole = read_back(file).types.size();
    EXPECT_EQ(whole, 6u);
    for (size_t size = 0; size < file.size(); ++size) {
      const auto back = read_back(Bytes(file.begin(), file.begin() + static_cast<long>(size)));
      EXPECT_LE(back.types.size(), whole);
      if (back.error.empty() && back.types.size() < whole &&
          back.reader->metadata().mode == RecordingMode::file) {
        EXPECT_FALSE(back.reader->metadata().complete) << size;
      }
    }
  }
}

TEST(PerfdataReader, RecordsBeforeTheCutAreThere) {
  const Bytes file = small_recording(false).file();
  const auto metadata_end = file.size() - small_recording(false).data_bytes() - 2 * 16 - 2 * 68;
  const size_t one = 8 + 8 + 8 + 32;
  const auto back =
      read_back(Bytes(file.begin(), file.begin() + static_cast<long>(metadata_end + one + 5)));
  EXPECT_EQ(back.types.size(), 1u);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::file_truncated), 2u);  // the data, the record
}

TEST(PerfdataReader, ARecordShorterThanItsHeaderEndsTheStream) {
  PerfDataBuilder builder = small_recording(false);
  builder.raw(builder.writer().u32(3).u16(0).u16(4).take());
  builder.raw(Bytes(64));
  const auto back = read_back(builder.file());
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::bad_record), 1u);
  EXPECT_FALSE(back.reader->metadata().complete);
}

TEST(PerfdataReader, RecordsThatNobodyKnowsAreSteppedOver) {
  PerfDataBuilder builder = small_recording(false);
  builder.record(static_cast<RecordType>(120), 0, Bytes(16));
  builder.record(static_cast<RecordType>(60), 0, Bytes(16));
  const auto back = read_back(builder.file());
  EXPECT_EQ(back.types.size(), 7u);
  EXPECT_EQ(back.types.back(), 60u);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::unknown_record), 1u);
  EXPECT_EQ(back.reader->counts()[120], 1u);
}

TEST(PerfdataReader, AuxtracePayloadIsOutsideItsRecord) {
  PerfDataBuilder builder = small_recording(false);
  ByteWriter body = builder.writer();
  body.u64(24).zeros(32);
  builder.record(RecordType::auxtrace, 0, body.get());
  builder.raw(Bytes(24, std::byte{0xff}));
  const size_t before = builder.data_bytes();
  EXPECT_EQ(read_back(builder.file()).types.size(), 6u);
  builder.record(RecordType::exit, 0, Bytes(56));
  EXPECT_GT(builder.data_bytes(), before);
  EXPECT_EQ(read_back(builder.file()).types.size(), 7u);
  EXPECT_EQ(read_back(builder.pipe()).types.size(), 7u);
}

TEST(PerfdataReader, ACompressed2RecordOf64KiBWrapsItsSize) {
  PerfDataBuilder builder = small_recording(false);
  const Bytes plain = builder.records();
  ZSTD_CCtx* context = ZSTD_createCCtx();
  // Skippable frames fill the record up to exactly 64 KiB.
  Bytes packed(ZSTD_compressBound(plain.size()));
  packed.resize(
      ZSTD_compressCCtx(context, packed.data(), packed.size(), plain.data(), plain.size(), 1));
  ZSTD_freeCCtx(context);
  const size_t payload = 65536 - 16;
  ByteWriter filler;
  filler.u32(0x184d2a50).u32(static_cast<uint32_t>(payload - packed.size() - 8));
  filler.zeros(payload - packed.size() - 8).bytes(packed);
  PerfDataBuilder wrapped;
  wrapped.add_event({.config = 316, .sample_type = kPlainType}, {7, 8});
  wrapped.compressed_record(filler.get(), true);
  ASSERT_EQ(wrapped.data_bytes(), 65536u);
  wrapped.record(RecordType::exit, 0, Bytes(56));
  const auto back = read_back(wrapped.file());
  EXPECT_EQ(back.types, (std::vector<uint32_t>{3, 3, 3, 3, 3, 3, 4}));
  EXPECT_EQ(back.rounds_at, (std::vector<size_t>{2, 4, 6}));
}

TEST(PerfdataReader, APlainPayloadOfAFailedCompressionIsTaken) {
  PerfDataBuilder builder = small_recording(false);
  PerfDataBuilder wrapped = builder;
  const Bytes plain = builder.records();
  PerfDataBuilder outer;
  outer.add_event({.config = 316, .sample_type = kPlainType}, {7});
  outer.compressed_record(plain, false);
  const auto back = read_back(outer.file());
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::bad_compressed), 0u);
}

TEST(PerfdataReader, GarbageInOneCompressedRecordDoesNotLoseTheNextFrame) {
  PerfDataBuilder outer;
  outer.add_event({.config = 316, .sample_type = kPlainType}, {7});
  outer.compressed_record(Bytes(40, std::byte{0xee}), false);
  PerfDataBuilder inner = small_recording(false);
  inner.compress(100000);
  outer.raw(inner.records());
  const auto back = read_back(outer.file());
  EXPECT_EQ(back.types.size(), 6u);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::bad_compressed), 1u);
}

TEST(PerfdataReader, ACompressedBombIsReadPieceByPiece) {
  PerfDataBuilder plain;
  // 64 MiB of the shortest records there are.
  const Bytes record = plain.record_bytes(RecordType::throttle, 0, {});
  Bytes page;
  while (page.size() < 1u << 16) page.insert(page.end(), record.begin(), record.end());
  ZSTD_CCtx* context = ZSTD_createCCtx();
  Bytes packed(1u << 20);
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  for (int i = 0; i < 1024; ++i) {
    ZSTD_inBuffer in{page.data(), page.size(), 0};
    ZSTD_compressStream2(context, &out, &in, i == 1023 ? ZSTD_e_end : ZSTD_e_continue);
  }
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  ASSERT_LT(packed.size(), 60000u);
  PerfDataBuilder builder;
  builder.add_event({.config = 1, .sample_type = kPlainType}, {7});
  builder.compressed_record(packed, false);
  const MemoryFile memory(builder.file());
  auto reader = Reader::open(memory.path(), true);
  ASSERT_TRUE(reader);
  RecordBatch batch;
  uint64_t bytes = 0;
  while ((*reader)->next(batch)) {
    EXPECT_LE(batch.bytes.size(), 512u << 10);
    bytes += batch.bytes.size();
  }
  EXPECT_EQ(bytes, uint64_t{64} << 20);
}

TEST(PerfdataReader, APipeIsHeldUntilItsEventsAreDescribed) {
  PerfDataBuilder builder = small_recording(false);
  builder.add_tracing_data(
      tracing_data({{"sched", format_text("sched_switch", 316, kSwitchFields)}}));
  Bytes stream = builder.pipe_header();
  const auto append = [&](const Bytes& part) {
    stream.insert(stream.end(), part.begin(), part.end());
  };
  append(builder.records());
  append(builder.attr_record(0));
  append(builder.attr_record(1));
  append(builder.tracing_record());
  const MemoryFile memory(stream);
  auto reader = Reader::open(memory.path(), true);
  ASSERT_TRUE(reader);
  EXPECT_TRUE((*reader)->metadata().events.empty());
  RecordBatch batch;
  ASSERT_TRUE((*reader)->next(batch));
  EXPECT_EQ((*reader)->metadata().events.size(), 2u);
  EXPECT_FALSE((*reader)->metadata().tracing_data.empty());
  size_t rounds = batch.ends_round;
  uint64_t bytes = batch.bytes.size();
  while ((*reader)->next(batch)) {
    rounds += batch.ends_round;
    bytes += batch.bytes.size();
  }
  EXPECT_EQ(rounds, 3u);
  EXPECT_EQ(bytes, builder.data_bytes() - 3 * 8);
}

TEST(PerfdataReader, EventUpdateNamesAnEvent) {
  PerfDataBuilder builder = small_recording(false);
  ByteWriter body = builder.writer();
  body.u64(2).u64(9).padded_text("cpu-clock/freq=500,name=a:b/");
  builder.record(RecordType::event_update, 0, body.get());
  const auto back = read_back(builder.pipe());
  EXPECT_EQ(back.reader->metadata().events[1].name, "cpu-clock/freq=500,name=a:b/");
}

TEST(PerfdataReader, AnAttrThatTheHeaderHasAlreadyIsNoOtherEvent) {
  PerfDataBuilder builder = small_recording(false);
  builder.raw(builder.attr_record(0));
  EXPECT_EQ(read_back(builder.file()).reader->metadata().events.size(), 2u);
}

TEST(PerfdataReader, IdIndexNamesTheEventsOfGuests) {
  PerfDataBuilder builder = small_recording(false);
  ByteWriter body = builder.writer();
  body.u64(2).u64s({7, 0, 0, UINT64_MAX}).u64s({8, 1, 1, UINT64_MAX}).u64s({0, 0}).u64s({4711, 1});
  builder.record(RecordType::id_index, 0, body.get());
  const auto back = read_back(builder.file());
  EXPECT_EQ(back.reader->metadata().guest_ids, (std::unordered_set<uint64_t>{8}));
  PerfDataBuilder bad = small_recording(false);
  bad.record(RecordType::id_index, 0, bad.writer().u64(UINT64_MAX / 8).u64(0).get());
  EXPECT_EQ(read_back(bad.file()).reader->diagnostics().count(Diag::bad_record), 1u);
}

TEST(PerfdataReader, EventDescNamesEventsInOrder) {
  PerfDataBuilder builder = small_recording(true);
  ByteWriter desc = builder.writer();
  desc.u32(2).u32(64);
  desc.bytes(attr_bytes({.size = 64}, true)).u32(2).feature_text("sched:sched_switch").u64s({7, 8});
  desc.bytes(attr_bytes({.size = 64}, true)).u32(1).feature_text("dummy:HG").u64(9);
  builder.add_feature(12, desc.take());
  const auto back = read_back(builder.file());
  EXPECT_EQ(back.reader->metadata().events[0].name, "sched:sched_switch");
  EXPECT_EQ(back.reader->metadata().events[1].name, "dummy:HG");
}

TEST(PerfdataReader, FeaturesOfEveryKind) {
  PerfDataBuilder builder = small_recording(false);
  builder.add_feature(6, builder.writer().feature_text("x86_64").take());
  builder.add_feature(7, builder.writer().u32(8).u32(4).take());
  builder.add_feature(10, builder.writer().u64(1024).take());
  builder.add_feature(11,
                      builder.writer().u32(2).feature_text("perf").feature_text("record").take());
  builder.add_feature(21, builder.writer().u64(5).u64(10).take());
  builder.add_feature(23, builder.writer().u64(1).take());
  builder.add_feature(27, builder.writer().u32(1).u32(1).u32(3).u32(9).u32(524288).take());
  builder.add_feature(29, builder.writer().u32(1).u32(4).u64(1700).u64(42).take());
  builder.add_feature(13, builder.writer().u32(UINT32_MAX).take());  // not used: not even read
  builder.add_feature(200,
                      builder.writer().u32(1).feature_text("nohz_full").feature_text("2-3").take());
  const auto back = read_back(builder.file());
  const Metadata& metadata = back.reader->metadata();
  EXPECT_EQ(metadata.arch, "x86_64");
  EXPECT_EQ(metadata.cpus_available, 8u);
  EXPECT_EQ(metadata.cpus_online, 4u);
  EXPECT_EQ(metadata.total_memory_kb, 1024u);
  EXPECT_EQ(metadata.cmdline, (std::vector<std::string>{"perf", "record"}));
  EXPECT_EQ(metadata.sample_time, (std::pair<uint64_t, uint64_t>(5, 10)));
  EXPECT_EQ(metadata.clock_resolution_ns, 1u);
  EXPECT_EQ(metadata.compression->mmap_bytes, 524288u);
  EXPECT_EQ(metadata.clock_data->clockid, 4u);
  EXPECT_EQ(metadata.clock_data->clock_ns, 42u);
  ASSERT_NE(metadata.machine_fact("nohz_full"), nullptr);
  EXPECT_EQ(*metadata.machine_fact("nohz_full"), "2-3");
  EXPECT_TRUE(metadata.features[13]);
  EXPECT_EQ(back.reader->diagnostics().count(Diag::bad_feature), 0u);
}

TEST(PerfdataReader, ABadFeatureIsCountedAndLeavesTheOthers) {
  PerfDataBuilder builder = small_recording(false);
  builder.add_feature(11, builder.writer().u32(UINT32_MAX).take());
  builder.add_feature(12, builder.writer().u32(1).u32(64).zeros(64).u32(UINT32_MAX).take());
  builder.add_feature(6, builder.writer().u32(UINT32_MAX).text("x86").take());
  const auto back = read_back(builder.file());
  EXPECT_EQ(back.reader->diagnostics().count(Diag::bad_feature), 3u);
  EXPECT_EQ(back.reader->metadata().hostname, "box");
  EXPECT_EQ(back.reader->metadata().arch, "");
}

TEST(PerfdataReader, BuildIdsOldAndNewInSectionsAndRecords) {
  PerfDataBuilder builder = small_recording(false);
  const auto body = [&](int32_t pid, uint8_t size, std::string_view path) {
    ByteWriter w = builder.writer();
    w.u32(static_cast<uint32_t>(pid));
    for (uint8_t i = 1; i <= 20; ++i) w.u8(i);
    return w.u8(size).zeros(3).padded_text(path, 64).take();
  };
  ByteWriter section = builder.writer();
  section.bytes(builder.record_bytes(static_cast<RecordType>(0), kMiscKernel,
                                     body(-1, 0, "[kernel.kallsyms]")));
  section.bytes(builder.record_bytes(static_cast<RecordType>(0), kMiscUser | kMiscBuildIdSize,
                                     body(5, 8, "/bin/x")));
  builder.add_feature(2, section.take());
  builder.record(RecordType::header_build_id, kMiscUser | kMiscBuildIdSize, body(6, 16, "/bin/y"));
  const auto back = read_back(builder.file());
  const auto& ids = back.reader->metadata().build_ids;
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[0].path, "[kernel.kallsyms]");
  EXPECT_EQ(ids[0].id.size(), 20u);
  EXPECT_EQ(ids[1].path, "/bin/x");
  EXPECT_EQ(ids[1].id, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ids[1].pid, 5);
  EXPECT_EQ(ids[2].id.size(), 16u);
}

TEST(PerfdataReader, IdsThatLieOnEachOtherDoNotEatTheMemory) {
  PerfDataBuilder builder;
  for (int i = 0; i < 3000; ++i) builder.add_event({.config = 1}, {});
  Bytes file = builder.file();
  // Each entry claims the whole file as its ids.
  for (int i = 0; i < 3000; ++i) {
    const size_t at = 104 + static_cast<size_t>(i) * 144 + 128;
    const uint64_t section[2] = {0, file.size() / 8 * 8};
    std::memcpy(file.data() + at, section, sizeof section);
  }
  const auto back = read_back(file);
  ASSERT_EQ(back.error, "");
  size_t ids = 0;
  for (const auto& event : back.reader->metadata().events) ids += event.ids.size();
  EXPECT_LE(ids, file.size() / 8);
}

class PerfdataDirectory : public testing::Test {
 protected:
  PerfdataDirectory() { std::filesystem::create_directories(path_); }
  ~PerfdataDirectory() override { std::filesystem::remove_all(path_); }
  void put(const std::string& name, const Bytes& bytes) {
    std::ofstream(path_ + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string path_ = testing::TempDir() + "perfdata-directory-" + std::to_string(::getpid());
};

TEST_F(PerfdataDirectory, StreamsAreReadInTheOrderOfTheirNumbers) {
  put("data", small_recording(false).file());
  PerfDataBuilder one;
  one.record(RecordType::fork, 0, Bytes(64));
  PerfDataBuilder two;
  two.record(RecordType::exit, 0, Bytes(64));
  two.compress(10);
  put("data.10", two.records());
  put("data.9", one.records());
  put("data.11", {});
  put("data.txt", Bytes(100, std::byte{1}));
  std::filesystem::create_directory(path_ + "/kcore_dir");
  const auto back = read_path(path_);
  ASSERT_EQ(back.error, "");
  EXPECT_EQ(back.reader->metadata().mode, RecordingMode::directory);
  EXPECT_EQ(back.types, (std::vector<uint32_t>{3, 3, 3, 3, 3, 3, 7, 4}));
  // The rounds of one stream say nothing about the others.
  EXPECT_TRUE(back.rounds_at.empty());
}

TEST_F(PerfdataDirectory, OneOfKcoreHasOneStreamWithRounds) {
  put("data", small_recording(false).file());
  std::filesystem::create_directory(path_ + "/kcore_dir");
  EXPECT_EQ(read_path(path_).rounds_at, (std::vector<size_t>{2, 4, 6}));
}

}  // namespace
}  // namespace perf_latency
