// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a perf.data that we write: layout, tables, records, pipe form, a full disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/byte_cursor.h"
#include "perfdata/writer.h"
#include "perfdata/writer_records.h"
#include "record/output.h"

namespace perf_latency {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const std::byte* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<WriterEvent> two_events() {
  std::vector<WriterEvent> events(2);
  events[0].attr.assign(128, std::byte{0xa0});
  events[0].ids = {11, 12, 13};
  events[0].name = "sched:sched_switch";
  events[1].attr.assign(128, std::byte{0xb0});
  events[1].ids = {14};
  events[1].name = "dummy:HG";
  return events;
}

struct Section {
  uint64_t offset = 0, size = 0;
};

// The file as any reader sees it.
struct ParsedFile {
  std::vector<std::byte> bytes;
  Section attrs, data;
  uint64_t entry_bytes = 0;
  uint64_t bits[4] = {};

  explicit ParsedFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes = bytes_of(std::string(std::istreambuf_iterator<char>(in), {}));
    ByteCursor cursor(bytes);
    EXPECT_EQ(text_of(cursor.bytes(8)), "PERFILE2");
    EXPECT_EQ(cursor.u64(), 104u);
    entry_bytes = cursor.u64();
    attrs = {cursor.u64(), cursor.u64()};
    data = {cursor.u64(), cursor.u64()};
    cursor.skip(16);
    for (uint64_t& word : bits) word = cursor.u64();
    EXPECT_TRUE(cursor.ok());
  }
  bool has(Feature feature) const {
    const uint32_t bit = static_cast<uint32_t>(feature);
    return bits[bit / 64] >> (bit % 64) & 1;
  }
  size_t sections() const {
    size_t n = 0;
    for (const uint64_t word : bits) n += static_cast<size_t>(std::popcount(word));
    return n;
  }
  // The content of a feature by the table at `table`.
  std::string feature(Feature wanted, uint64_t table) const {
    size_t index = 0;
    for (uint32_t bit = 0; bit < static_cast<uint32_t>(wanted); ++bit)
      index += bits[bit / 64] >> (bit % 64) & 1;
    ByteCursor cursor{std::span(bytes).subspan(table + index * 16)};
    const Section at{cursor.u64(), cursor.u64()};
    return text_of(std::span(bytes).subspan(at.offset, at.size));
  }
};

class RecordWriter : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        (std::filesystem::temp_directory_path() / ("record_writer." + std::to_string(::getpid())))
            .string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<PerfDataWriter> create(bool pipe = false) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    std::vector<FeatureSection> early;
    early.push_back({Feature::osrelease, bytes_of("release")});
    early.push_back({Feature::tracing_data, bytes_of("formats")});
    early.push_back({Feature::compressed, bytes_of("early ratio")});
    early.push_back({static_cast<Feature>(200), bytes_of("machine state")});
    auto writer = PerfDataWriter::create(fd, pipe, two_events(), std::move(early));
    EXPECT_TRUE(writer);
    return std::move(*writer);
  }
  static std::vector<FeatureSection> late() {
    std::vector<FeatureSection> sections;
    sections.push_back({Feature::compressed, bytes_of("late ratio")});
    sections.push_back({Feature::build_id, bytes_of("build ids")});
    return sections;
  }

  std::string path_;
};

TEST_F(RecordWriter, AFinishedFileHasEverySection) {
  auto writer = create();
  ASSERT_TRUE(writer->write(bytes_of("first run;")));
  ASSERT_TRUE(writer->write(bytes_of("second run")));
  EXPECT_EQ(writer->data_bytes(), 20u);
  ASSERT_TRUE(writer->finish(late()));
  const ParsedFile file(path_);
  EXPECT_EQ(file.entry_bytes, 144u);
  EXPECT_EQ(file.attrs.size, 288u);
  EXPECT_EQ(file.data.offset % 4096, 0u);
  EXPECT_EQ(text_of(std::span(file.bytes).subspan(file.data.offset, file.data.size)),
            "first run;second run");
  EXPECT_EQ(file.sections(), 5u);
  const uint64_t table = file.data.offset + file.data.size;
  EXPECT_EQ(file.feature(Feature::tracing_data, table), "formats");
  EXPECT_EQ(file.feature(Feature::build_id, table), "build ids");
  EXPECT_EQ(file.feature(Feature::osrelease, table), "release");
  EXPECT_EQ(file.feature(Feature::compressed, table), "late ratio");
  EXPECT_EQ(file.feature(static_cast<Feature>(200), table), "machine state");
}

TEST_F(RecordWriter, AttrsAndIdsStandWhereTheHeaderSays) {
  ASSERT_TRUE(create()->finish({}));
  const ParsedFile file(path_);
  ByteCursor entries(std::span(file.bytes).subspan(file.attrs.offset, file.attrs.size));
  EXPECT_EQ(entries.bytes(128)[0], std::byte{0xa0});
  const Section first{entries.u64(), entries.u64()};
  EXPECT_EQ(entries.bytes(128)[127], std::byte{0xb0});
  const Section second{entries.u64(), entries.u64()};
  ByteCursor ids(std::span(file.bytes).subspan(first.offset, first.size));
  EXPECT_EQ(ids.u64(), 11u);
  EXPECT_EQ(ids.u64(), 12u);
  EXPECT_EQ(ids.u64(), 13u);
  EXPECT_EQ(ids.left(), 0u);
  ByteCursor last(std::span(file.bytes).subspan(second.offset, second.size));
  EXPECT_EQ(last.u64(), 14u);
  EXPECT_EQ(last.left(), 0u);
}

TEST_F(RecordWriter, AKilledFileHasItsEarlyTableBeforeTheData) {
  auto writer = create();
  ASSERT_TRUE(writer->write(bytes_of("what was written before the kill")));
  ASSERT_TRUE(writer->flush());
  const ParsedFile file(path_);  // not finished
  EXPECT_EQ(file.data.size, 0u);
  EXPECT_EQ(text_of(std::span(file.bytes).subspan(file.data.offset)),
            "what was written before the kill");
  EXPECT_EQ(file.sections(), 4u);
  EXPECT_FALSE(file.has(Feature::build_id));
  const uint64_t table = file.data.offset - file.sections() * 16;
  EXPECT_EQ(file.feature(Feature::tracing_data, table), "formats");
  EXPECT_EQ(file.feature(Feature::osrelease, table), "release");
  EXPECT_EQ(file.feature(Feature::compressed, table), "early ratio");
}

TEST_F(RecordWriter, RunsLargerThanTheBufferStayInOrder) {
  auto writer = create();
  const std::string large(3u << 20, 'L');
  ASSERT_TRUE(writer->write(bytes_of("a")));
  ASSERT_TRUE(writer->write(bytes_of(large)));
  ASSERT_TRUE(writer->write(bytes_of("z")));
  ASSERT_TRUE(writer->finish({}));
  const ParsedFile file(path_);
  EXPECT_EQ(text_of(std::span(file.bytes).subspan(file.data.offset, file.data.size)),
            "a" + large + "z");
}

// The limit on the size of a file stands for the end of a disk: write() then gives EFBIG.
TEST_F(RecordWriter, OnAFullDiskTheFileEndsWithAWholeRunAndItsSections) {
  auto writer = create();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{2'000'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string run(999, 'r');
  bool failed = false;
  for (int i = 0; i < 4000 && !failed; ++i) failed = !writer->write(bytes_of(run + "\n"));
  EXPECT_TRUE(failed);
  EXPECT_EQ(writer->failed_errno(), EFBIG);
  EXPECT_FALSE(writer->write(bytes_of("more")));
  const Result<void> finished = writer->finish(late());
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(finished) << finished.error().what;
  const ParsedFile file(path_);
  EXPECT_LE(file.bytes.size(), 2'000'000u);
  EXPECT_GT(file.data.size, 1'500'000u);
  EXPECT_EQ(file.data.size % 1000, 0u);
  EXPECT_EQ(file.feature(Feature::build_id, file.data.offset + file.data.size), "build ids");
  EXPECT_EQ(file.feature(Feature::tracing_data, file.data.offset + file.data.size), "formats");
}

// One write can be a whole ring: what fits of it stays.
TEST_F(RecordWriter, OnAFullDiskALargeRunIsCutBetweenItsRecords) {
  auto writer = create();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1'000'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  ByteWriter run;
  for (int i = 0; i < 50'000; ++i) {
    run.u32(9);
    run.u16(0);
    run.u16(40);
    run.zeros(32);
  }
  EXPECT_FALSE(writer->write(run.bytes()));
  const Result<void> finished = writer->finish(late());
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(finished) << finished.error().what;
  const ParsedFile file(path_);
  EXPECT_LE(file.bytes.size(), 1'000'000u);
  EXPECT_GT(file.data.size, 980'000u);
  EXPECT_EQ(file.data.size % 40, 0u);
}

TEST_F(RecordWriter, APipeStartsWithAttrsFeaturesAndFormats) {
  auto writer = create(true);
  ByteWriter round;
  append_finished_round(round);
  ASSERT_TRUE(writer->write(round.bytes()));
  ASSERT_TRUE(writer->finish({}));
  std::ifstream in(path_, std::ios::binary);
  const std::vector<std::byte> bytes =
      bytes_of(std::string(std::istreambuf_iterator<char>(in), {}));
  ByteCursor cursor(bytes);
  EXPECT_EQ(text_of(cursor.bytes(8)), "PERFILE2");
  EXPECT_EQ(cursor.u64(), 16u);
  std::vector<uint32_t> types;
  while (cursor.left() > 0) {
    const uint32_t type = cursor.u32();
    cursor.skip(2);
    const uint16_t size = cursor.u16();
    ByteCursor body(cursor.bytes(size - 8u));
    types.push_back(type);
    ASSERT_TRUE(cursor.ok());
    if (type == 80) types.push_back(static_cast<uint32_t>(body.u64()));
    if (type == 66) {
      const uint32_t payload = body.u32();
      EXPECT_EQ(payload, 8u);
      EXPECT_EQ(text_of(cursor.bytes(payload)), std::string("formats\0", 8));
    }
  }
  // Feature 200 is for files: perf stops at one it does not know in a pipe.
  EXPECT_EQ(types, (std::vector<uint32_t>{64, 64, 80, 4, 80, 27, 78, 78, 66, 68}));
}

TEST(RecordWriterRecords, MoreIdsThanARecordHoldsMakeMoreRecords) {
  ByteWriter out;
  const std::vector<std::byte> attr(128);
  const std::vector<uint64_t> ids(10'000, 5);
  append_header_attr(out, attr, ids);
  ByteCursor cursor(out.bytes());
  size_t seen = 0, records = 0;
  while (cursor.left() > 0) {
    EXPECT_EQ(cursor.u32(), 64u);
    cursor.skip(2);
    const uint16_t size = cursor.u16();
    cursor.skip(size - 8u);
    ASSERT_TRUE(cursor.ok());
    seen += (size - 8u - 128u) / 8;
    ++records;
  }
  EXPECT_EQ(records, 2u);
  EXPECT_EQ(seen, 10'000u);
}

TEST(RecordWriterRecords, ACommHasItsNamePaddedAndAZeroTrailer) {
  ByteWriter out;
  append_comm(out, {100, 101}, "name with 12");
  ASSERT_EQ(out.size(), 8u + 8 + 16 + 32);
  ByteCursor cursor(out.bytes());
  EXPECT_EQ(cursor.u32(), 3u);
  EXPECT_EQ(cursor.u16(), 0u);
  EXPECT_EQ(cursor.u16(), 64u);
  EXPECT_EQ(cursor.u32(), 100u);
  EXPECT_EQ(cursor.u32(), 101u);
  EXPECT_EQ(cursor.text(16), "name with 12");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(cursor.u64(), 0u);
}

TEST(RecordWriterRecords, LostSamplesNameTheirEventAndCpu) {
  ByteWriter out;
  append_lost_samples(out, 325, {0, 0, 0, 1, 4711});
  ByteCursor cursor(out.bytes());
  EXPECT_EQ(cursor.u32(), 13u);
  cursor.skip(2);
  EXPECT_EQ(cursor.u16(), 48u);
  EXPECT_EQ(cursor.u64(), 325u);
  cursor.skip(16);
  EXPECT_EQ(cursor.u32(), 1u);
  EXPECT_EQ(cursor.u32(), 0u);
  EXPECT_EQ(cursor.u64(), 4711u);
}

TEST(RecordWriterRecords, ABuildIdKeepsItsLength) {
  ByteWriter out;
  const std::vector<std::byte> id(16, std::byte{0xcd});
  append_build_id(out, false, id, "/usr/bin/true");
  ByteCursor cursor(out.bytes());
  EXPECT_EQ(cursor.u32(), 67u);
  EXPECT_EQ(cursor.u16(), 2u | 1u << 15);
  EXPECT_EQ(cursor.u16(), 8u + 4 + 24 + 64);
  EXPECT_EQ(cursor.u32(), 0xffffffffu);
  EXPECT_EQ(text_of(cursor.bytes(20)), std::string(16, '\xcd') + std::string(4, '\0'));
  EXPECT_EQ(cursor.u8(), 16u);
  cursor.skip(3);
  EXPECT_EQ(cursor.text(64), "/usr/bin/true");
}

TEST(RecordWriterRecords, AForkSaysThatItsMapsFollow) {
  ByteWriter out;
  append_fork(out, {50, 51}, {50, 50});
  ByteCursor cursor(out.bytes());
  EXPECT_EQ(cursor.u32(), 7u);
  EXPECT_EQ(cursor.u16(), 0x2000u);
  EXPECT_EQ(cursor.u16(), 8u + 24 + 32);
  EXPECT_EQ(cursor.u32(), 50u);  // pid
  EXPECT_EQ(cursor.u32(), 50u);  // ppid
  EXPECT_EQ(cursor.u32(), 51u);  // tid
  EXPECT_EQ(cursor.u32(), 50u);  // ptid
}

// reader 0:  |---- pass ----|        |-- pass --|
// reader 1:          |------- pass -------|   |---|
// marks:                             ^ not yet: reader 1's pass began before the mark of reader 0's
class RecordRounds : public RecordWriter {};

TEST_F(RecordRounds, AMarkComesWhenEveryReaderHasPassedOnce) {
  Output output(2);
  output.exchange(create());
  const uint64_t first = output.round();
  RecordTally tally;
  tally.samples = 1;
  tally.first_time_ns = tally.last_time_ns = 10;
  output.count(8, 0, tally);
  ASSERT_TRUE(output.append(bytes_of("records.")));
  ASSERT_TRUE(output.report(0, first));
  EXPECT_EQ(output.round(), first);
  ASSERT_TRUE(output.report(0, first));  // the same reader again
  EXPECT_EQ(output.round(), first);
  ASSERT_TRUE(output.report(1, first));
  EXPECT_EQ(output.round(), first + 1);
  // A pass that began in the old round says nothing about the new one.
  ASSERT_TRUE(output.report(0, first));
  ASSERT_TRUE(output.report(1, first + 1));
  EXPECT_EQ(output.round(), first + 1);
  EXPECT_EQ(output.file_bytes(), 8u + 8);  // one mark
  ASSERT_TRUE(output.report(0, first + 1));
  EXPECT_EQ(output.round(), first + 2);
  EXPECT_EQ(output.file_bytes(), 8u + 8);  // nothing new, so no second mark
  const OutputTotals totals = output.totals();
  EXPECT_EQ(totals.samples, 1u);
  EXPECT_EQ(totals.raw_bytes, 8u);
  EXPECT_EQ(totals.first_time_ns, 10u);
}

TEST_F(RecordRounds, LossesNameTheirCpu) {
  Output output(1);
  output.exchange(create());
  RecordTally tally;
  tally.lost = 7;
  output.count(8, 5, tally);
  const Output::Finished finished = output.exchange(nullptr);
  EXPECT_EQ(finished.totals.lost, 7u);
  EXPECT_EQ(finished.totals.lost_cpus, std::set<uint32_t>{5});
  EXPECT_EQ(output.totals().lost, 0u);
}

}  // namespace
}  // namespace perf_latency
