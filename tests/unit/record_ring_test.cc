// SPDX-License-Identifier: GPL-2.0-only
// Rings, their runs of records, and the compressed form of these.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/byte_cursor.h"
#include "perfdata/writer.h"
#include "perfdata/writer_bytes.h"
#include "record/chunk_encoder.h"
#include "record/output.h"
#include "record/reader.h"
#include "record/ring.h"

namespace perf_latency {
namespace {

// A ring in plain memory, with the kernel's side played by the test.
class FakeRing {
 public:
  explicit FakeRing(size_t data_bytes)
      : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))), memory_(page_ + data_bytes) {}

  Ring ring() { return Ring(memory_.data(), memory_.size() - page_, -1, 3); }
  uint64_t tail() { return control()->data_tail; }

  void put(const std::vector<std::byte>& record) {
    const size_t size = memory_.size() - page_;
    for (size_t i = 0; i < record.size(); ++i)
      memory_[page_ + (control()->data_head + i) % size] = record[i];
    control()->data_head += record.size();
  }

 private:
  perf_event_mmap_page* control() {
    return reinterpret_cast<perf_event_mmap_page*>(memory_.data());
  }
  size_t page_;
  std::vector<std::byte> memory_;
};

std::vector<std::byte> record(RecordType type, size_t size, uint64_t time_ns = 0) {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(type));
  out.u16(0);
  out.u16(static_cast<uint16_t>(size));
  out.u64(7);
  out.u64(type == RecordType::lost ? 5 : 0);  // LOST: id, lost
  out.u64(0);
  out.u64(time_ns);
  out.zeros(size - out.size());
  return out.take();
}

TEST(RecordRing, GivesWholeRecordsAndCountsThem) {
  FakeRing fake(4096);
  Ring ring = fake.ring();
  fake.put(record(RecordType::sample, 48, 100));
  fake.put(record(RecordType::lost, 40));
  fake.put(record(RecordType::mmap2, 80));
  fake.put(record(RecordType::switch_, 40));
  fake.put(record(RecordType::sample, 56, 300));
  RecordTally tally;
  const std::span<const std::byte> run = ring.next(ring.head(), 1 << 20, tally);
  EXPECT_EQ(run.size(), 48u + 40 + 80 + 40 + 56);
  EXPECT_EQ(tally.samples, 2u);
  EXPECT_EQ(tally.lost, 5u);
  EXPECT_EQ(tally.maps, 1u);
  EXPECT_EQ(tally.switches, 1u);
  EXPECT_EQ(tally.first_time_ns, 100u);
  EXPECT_EQ(tally.last_time_ns, 300u);
  EXPECT_EQ(fake.tail(), 0u);
  ring.consume();
  EXPECT_EQ(fake.tail(), run.size());
  EXPECT_TRUE(ring.next(ring.head(), 1 << 20, tally).empty());
}

TEST(RecordRing, StopsAtTheLimitOnARecordsBorder) {
  FakeRing fake(4096);
  Ring ring = fake.ring();
  for (int i = 0; i < 10; ++i) fake.put(record(RecordType::sample, 48, 1));
  RecordTally tally;
  EXPECT_EQ(ring.next(ring.head(), 100, tally).size(), 96u);
  ring.consume();
  EXPECT_EQ(ring.next(ring.head(), 1, tally).size(), 48u);  // at least one
}

// data:  |  ..tail   48 48 48 | 48 …      the record over the end comes alone and in one piece
TEST(RecordRing, ARecordThatWrapsIsGivenInOnePiece) {
  FakeRing fake(4096);
  Ring ring = fake.ring();
  RecordTally tally;
  while (fake.tail() + 48 < 4096 - 40) {
    fake.put(record(RecordType::sample, 48, 1));
    ring.next(ring.head(), 1 << 20, tally);
    ring.consume();
  }
  ASSERT_EQ(fake.tail(), 4032u);
  std::vector<std::byte> marked = record(RecordType::sample, 120, 77);
  for (size_t i = 40; i < marked.size(); ++i) marked[i] = static_cast<std::byte>(i);
  fake.put(record(RecordType::sample, 40, 5));
  fake.put(marked);
  fake.put(record(RecordType::sample, 48, 99));
  const uint64_t end = ring.head();
  RecordTally first, second, third;
  EXPECT_EQ(ring.next(end, 1 << 20, first).size(), 40u);
  ring.consume();
  const std::span<const std::byte> wrapped = ring.next(end, 1 << 20, second);
  EXPECT_EQ(std::vector<std::byte>(wrapped.begin(), wrapped.end()), marked);
  EXPECT_EQ(second.first_time_ns, 77u);
  ring.consume();
  EXPECT_EQ(ring.next(end, 1 << 20, third).size(), 48u);
  EXPECT_EQ(third.samples, 1u);
  ring.consume();
  EXPECT_EQ(fake.tail(), end);
}

TEST(RecordRing, PeekVisitsEveryRecordAndConsumesNone) {
  FakeRing fake(4096);
  Ring ring = fake.ring();
  for (size_t size : {48, 64, 80}) fake.put(record(RecordType::sample, size, 1));
  std::vector<size_t> sizes;
  ring.peek(ring.head(), [&](std::span<const std::byte> r) { sizes.push_back(r.size()); });
  EXPECT_EQ(sizes, (std::vector<size_t>{48, 64, 80}));
  EXPECT_EQ(ring.tail(), 0u);
}

TEST(RecordRing, ADamagedRecordEndsTheRun) {
  FakeRing fake(4096);
  Ring ring = fake.ring();
  fake.put(record(RecordType::sample, 48, 1));
  std::vector<std::byte> bad = record(RecordType::sample, 48, 1);
  bad[6] = std::byte{3};  // size 3
  fake.put(bad);
  RecordTally tally;
  EXPECT_EQ(ring.next(ring.head(), 1 << 20, tally).size(), 48u);
  ring.consume();
  EXPECT_EQ(ring.tail(), ring.head());
}

// The frame of all COMPRESSED records in `records`, expanded.
std::vector<std::byte> expand(std::span<const std::byte> records, size_t limit) {
  std::vector<std::byte> frame;
  while (!records.empty()) {
    EXPECT_EQ(load_unchecked<uint32_t>(records.data()), 81u);
    const size_t size = load_unchecked<uint16_t>(records.data() + 6);
    EXPECT_GT(size, 8u);
    frame.insert(frame.end(), records.begin() + 8, records.begin() + static_cast<ptrdiff_t>(size));
    records = records.subspan(size);
  }
  std::vector<std::byte> out(limit);
  EXPECT_EQ(ZSTD_findFrameCompressedSize(frame.data(), frame.size()), frame.size());
  const size_t n = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  EXPECT_FALSE(ZSTD_isError(n));
  out.resize(ZSTD_isError(n) ? 0 : n);
  return out;
}

TEST(RecordChunkEncoder, EachRunIsAFrameOfItsOwn) {
  ChunkEncoder encoder(1);
  const std::vector<std::byte> run(100'000, std::byte{42});
  for (int i = 0; i < 2; ++i) {
    const std::span<const std::byte> records = encoder.encode(run);
    EXPECT_LT(records.size(), 200u);
    EXPECT_EQ(expand(records, kMaxChunkBytes), run);
  }
}

TEST(RecordChunkEncoder, AFrameMayNeedSeveralRecords) {
  std::mt19937 random(1);
  std::vector<std::byte> run(kMaxChunkBytes);
  for (std::byte& b : run) b = static_cast<std::byte>(random());
  ChunkEncoder encoder(1);
  const std::span<const std::byte> records = encoder.encode(run);
  EXPECT_GT(records.size(), run.size());  // does not compress: 17 records
  EXPECT_EQ(load_unchecked<uint16_t>(records.data() + 6), 0xfff8);
  EXPECT_EQ(expand(records, kMaxChunkBytes), run);
}

// Two readers with a ring each, into one file: nothing is lost, doubled, or torn apart.
TEST(RecordReaderPool, SeveralReadersWriteWholeRuns) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("record_readers." + std::to_string(::getpid())))
          .string();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  auto writer = PerfDataWriter::create(fd, false, {}, {});
  ASSERT_TRUE(writer);
  Output output(2);
  output.exchange(std::move(*writer));
  FakeRing one(1u << 16), two(1u << 16);
  std::vector<Ring> rings = {one.ring(), two.ring()};
  for (uint64_t i = 0; i < 500; ++i) {
    one.put(record(RecordType::sample, 48, 1000 + i));
    two.put(record(RecordType::sample, 64, 2000 + i));
  }
  const uint64_t one_bytes = rings[0].head(), two_bytes = rings[1].head();
  std::atomic<int> passes = 0;
  ReaderPool pool(rings, {{{0}, {}}, {{1}, {}}}, {}, output, nullptr, [&] { ++passes; });
  ASSERT_TRUE(pool.start());
  while (passes < 4) std::this_thread::yield();
  pool.stop();
  EXPECT_FALSE(pool.error());
  EXPECT_FALSE(pool.priority().empty());
  EXPECT_EQ(one.tail(), one_bytes);
  EXPECT_EQ(two.tail(), two_bytes);
  Output::Finished finished = output.exchange(nullptr);
  EXPECT_EQ(finished.totals.samples, 1000u);
  EXPECT_EQ(finished.totals.raw_bytes, 500u * (48 + 64));
  EXPECT_EQ(finished.totals.first_time_ns, 1000u);
  EXPECT_EQ(finished.totals.last_time_ns, 2499u);
  const uint64_t data_bytes = finished.writer->data_bytes();
  ASSERT_TRUE(finished.writer->finish({}));

  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(path);
  std::span<const std::byte> data(reinterpret_cast<const std::byte*>(text.data()), text.size());
  data = data.subspan(load_unchecked<uint64_t>(data.data() + 40), data_bytes);
  size_t expanded = 0, marks = 0;
  while (!data.empty()) {
    const size_t size = load_unchecked<uint16_t>(data.data() + 6);
    if (load_unchecked<uint32_t>(data.data()) == 81)
      expanded += expand(data.first(size), kMaxChunkBytes).size();
    else
      ++marks;
    data = data.subspan(size);
  }
  EXPECT_EQ(expanded, 500u * (48 + 64));
  EXPECT_GE(marks, 1u);
}

std::map<uint32_t, uint32_t> nodes(uint32_t cpus, uint32_t per_node) {
  std::map<uint32_t, uint32_t> result;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) result[cpu] = cpu / per_node;
  return result;
}

TEST(RecordReaderPlan, ASmallMachineHasOneReaderAnywhere) {
  const auto plans = plan_readers({0, 1}, nodes(2, 2), {}, 8);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].rings, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(plans[0].cpus.empty());
}

TEST(RecordReaderPlan, ReadersStayOnTheirNodeAndOffIsolatedCpus) {
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < 24; ++cpu) cpus.push_back(cpu);
  const auto plans = plan_readers(cpus, nodes(24, 12), {1, 2, 13}, 8);
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[0].rings, (std::vector<size_t>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(plans[1].rings, (std::vector<size_t>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(plans[0].cpus, (std::vector<uint32_t>{0, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(plans[3].rings, (std::vector<size_t>{13, 15, 17, 19, 21, 23}));
  EXPECT_EQ(plans[3].cpus, (std::vector<uint32_t>{12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
}

TEST(RecordReaderPlan, ANodeOfIsolatedCpusIsReadFromElsewhere) {
  const auto plans = plan_readers({2, 3}, nodes(4, 2), {2, 3}, 8);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].cpus, (std::vector<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace perf_latency
