// SPDX-License-Identifier: GPL-2.0-only
// What is read from /proc, and which samples are kept for chosen tasks.
#include <gtest/gtest.h>

#include "base/byte_cursor.h"
#include "perfdata/writer_bytes.h"
#include "perfdata/writer_records.h"
#include "record/kernel_maps.h"
#include "record/options.h"
#include "record/session.h"
#include "record/synthesize.h"
#include "record/task_filter.h"

namespace perf_latency {
namespace {

TEST(RecordProc, StatGivesCommParentAndKind) {
  const auto plain = parse_proc_stat("4711 (a) b (c) S 4000 4711 4711 0 -1 4194304 100 0");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->tid, 4711u);
  EXPECT_EQ(plain->comm, "a) b (c");
  EXPECT_EQ(plain->parent_pid, 4000u);
  EXPECT_FALSE(plain->kernel_thread);
  // 0x4208060: PF_WQ_WORKER | PF_KTHREAD | …
  const auto worker = parse_proc_stat("9 (kworker/0:1H-kblockd) I 2 0 0 0 -1 69238880 0 0");
  ASSERT_TRUE(worker);
  EXPECT_TRUE(worker->kernel_thread);
  EXPECT_EQ(worker->comm, "kworker/0:1H");
  const auto rescuer =
      parse_proc_stat("9 (kworker/R-ext4-rsv-conversion) I 2 0 0 0 -1 69238880 0 0");
  ASSERT_TRUE(rescuer);
  EXPECT_EQ(rescuer->comm, "kworker/R-ext4-");
  EXPECT_FALSE(parse_proc_stat(""));
  EXPECT_FALSE(parse_proc_stat("12 )("));
}

TEST(RecordProc, OnlyExecutableMappingsAreWritten) {
  ByteWriter out;
  append_maps(
      out, 77,
      "55d0c0000000-55d0c0005000 r--p 00000000 fd:01 1234                       /usr/bin/cat\n"
      "55d0c0005000-55d0c0009000 r-xp 00005000 fd:01 1234                       /usr/bin/c "
      "at\\012x\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7fff00000000-7fff00002000 r-xs 00000000 00:00 0                          [vdso]\n"
      "garbage\n");
  ByteCursor cursor(out.bytes());
  struct Map {
    uint64_t start, size, offset;
    uint32_t protection, flags;
    std::string name;
  };
  std::vector<Map> maps;
  while (cursor.left() > 0) {
    EXPECT_EQ(cursor.u32(), 10u);
    EXPECT_EQ(cursor.u16(), 2u);
    ByteCursor body(cursor.bytes(cursor.u16() - 8u));
    EXPECT_EQ(body.u32(), 77u);
    EXPECT_EQ(body.u32(), 77u);
    Map map;
    map.start = body.u64();
    map.size = body.u64();
    map.offset = body.u64();
    body.skip(24);
    map.protection = body.u32();
    map.flags = body.u32();
    map.name = std::string(body.text(body.left() - 32));
    maps.push_back(map);
    ASSERT_TRUE(cursor.ok());
  }
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps[0].start, 0x55d0c0005000u);
  EXPECT_EQ(maps[0].size, 0x4000u);
  EXPECT_EQ(maps[0].offset, 0x5000u);
  EXPECT_EQ(maps[0].protection, 5u);
  EXPECT_EQ(maps[0].flags, 2u);
  EXPECT_EQ(maps[0].name, "/usr/bin/c at\nx");
  EXPECT_EQ(maps[1].name, "//anon");
  EXPECT_EQ(maps[1].protection, 7u);
  EXPECT_EQ(maps[2].name, "[vdso]");
  EXPECT_EQ(maps[2].flags, 1u);
}

TEST(RecordProc, TheCgroupHierarchyIsTheOneOfPerfEvents) {
  const auto v2 =
      perf_cgroup_mount("proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->directory, "/sys/fs/cgroup");
  EXPECT_TRUE(v2->v2);
  const auto v1 = perf_cgroup_mount(
      "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
      "cgroup /sys/fs/cgroup/perf_event cgroup rw,relatime,perf_event 0 0\n");
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->directory, "/sys/fs/cgroup/perf_event");
  EXPECT_FALSE(v1->v2);
  EXPECT_FALSE(perf_cgroup_mount("tmpfs /tmp tmpfs rw 0 0\n"));
}

TEST(RecordKernelMaps, TheReferenceSymbolIsTheOffset) {
  ByteWriter out;
  ASSERT_TRUE(append_kernel_map(out,
                                "ffffffff9a000000 T startup_64\nffffffff9a000000 T _stext\n"
                                "ffffffff9a000000 T _text\nffffffff9b200000 T _etext\n"));
  ByteCursor cursor(out.bytes());
  EXPECT_EQ(cursor.u32(), 1u);
  EXPECT_EQ(cursor.u16(), 1u);
  cursor.skip(2);
  EXPECT_EQ(cursor.u32(), 0xffffffffu);
  EXPECT_EQ(cursor.u32(), 0u);
  EXPECT_EQ(cursor.u64(), 0xffffffff9a000000u);
  EXPECT_EQ(cursor.u64(), 0x1200000u);
  EXPECT_EQ(cursor.u64(), 0xffffffff9a000000u);
  EXPECT_EQ(cursor.text(24), "[kernel.kallsyms]_text");
  ByteWriter hidden;
  EXPECT_FALSE(append_kernel_map(hidden, "0000000000000000 T _text\n0000000000000000 T _etext\n"));
  EXPECT_EQ(hidden.size(), 0u);
}

TEST(RecordKernelMaps, BpfProgramsEndAtTheNextOneOrTheirPage) {
  ByteWriter out;
  append_bpf_symbols(out,
                     "ffffffff81000000 T _text\n"
                     "ffffffffc0001100 t bpf_prog_b\t[bpf]\n"
                     "ffffffffc0001000 t bpf_prog_a\t[bpf]\n");
  ByteCursor cursor(out.bytes());
  cursor.skip(8);
  EXPECT_EQ(cursor.u64(), 0xffffffffc0001000u);
  EXPECT_EQ(cursor.u32(), 0x100u);
  EXPECT_EQ(cursor.u16(), 1u);
  cursor.skip(2);
  EXPECT_EQ(cursor.text(16), "bpf_prog_a");
  cursor.skip(32 + 8);
  EXPECT_EQ(cursor.u64(), 0xffffffffc0001100u);
  EXPECT_EQ(cursor.u32(), 0xf00u);
}

// ---- the filter

constexpr uint64_t kSwitchId = 1, kForkId = 2, kWakingId = 3, kBeginId = 4, kClockId = 5;

std::string field(const char* type_and_name, int offset) {
  return std::string("\tfield:") + type_and_name + ";\toffset:" + std::to_string(offset) +
         ";\tsize:4;\tsigned:1;\n";
}

// A sample of our layout; `raw` are the 32-bit words of the tracepoint.
std::vector<std::byte> sample(uint64_t id, uint32_t tid, std::vector<uint32_t> raw,
                              uint64_t cgroup = 0, size_t frames = 2) {
  ByteWriter out;
  out.u32(9);
  out.u16(0);
  out.u16(0);
  out.u64(id);
  out.u64(0);  // ip
  out.u32(tid);
  out.u32(tid);
  out.u64(1000);
  out.u64(0);                      // cpu
  if (id == kClockId) out.u64(1);  // period
  out.u64(frames);
  for (size_t i = 0; i < frames; ++i) out.u64(0xffffffff81000000 + i);
  if (id != kClockId) {
    out.u32(static_cast<uint32_t>(raw.size() * 4));
    for (const uint32_t word : raw) out.u32(word);
    out.pad_to(8);
  }
  out.u64(cgroup);
  out.number_at(6, static_cast<uint16_t>(out.size()));
  return out.take();
}

struct TestFilter : TaskFilter {
  explicit TestFilter(std::vector<uint32_t> tids, std::unordered_set<uint64_t> cgroups = {},
                      std::string path = "")
      : TaskFilter(std::move(tids), std::move(cgroups), std::move(path)) {
    add_event("sched:sched_switch", field("pid_t prev_pid", 0) + field("pid_t next_pid", 4),
              {kSwitchId}, false);
    add_event("sched:sched_process_fork",
              field("pid_t parent_pid", 0) + field("pid_t child_pid", 4), {kForkId}, false);
    add_event("sched:sched_waking", field("pid_t pid", 0), {kWakingId}, false);
    add_event("lock:contention_begin", field("unsigned int flags", 0), {kBeginId}, false);
    add_event("cpu-clock", "", {kClockId}, true);
  }
};

TEST(RecordTaskFilter, KeepsWhatConcernsAChosenTask) {
  TestFilter filter({100});
  EXPECT_TRUE(filter.keep(sample(kSwitchId, 100, {100, 200})));
  EXPECT_TRUE(filter.keep(sample(kSwitchId, 200, {200, 100})));
  EXPECT_FALSE(filter.keep(sample(kSwitchId, 200, {200, 0})));
  EXPECT_TRUE(filter.keep(sample(kWakingId, 300, {100})));   // who is woken counts …
  EXPECT_FALSE(filter.keep(sample(kWakingId, 100, {300})));  // … not who wakes
  EXPECT_TRUE(filter.keep(sample(kBeginId, 100, {7})));
  EXPECT_FALSE(filter.keep(sample(kBeginId, 200, {7})));
  EXPECT_TRUE(filter.keep(sample(kClockId, 100, {})));
  EXPECT_FALSE(filter.keep(sample(kClockId, 101, {})));
}

TEST(RecordTaskFilter, TellsWhomItEverChose) {
  TestFilter filter({100});
  filter.learn(sample(kForkId, 100, {100, 101}));
  filter.learn(sample(kForkId, 300, {300, 301}));
  filter.keep(sample(kForkId, 300, {300, 101}));  // the tid is another task's now
  EXPECT_EQ(filter.tasks_so_far(), (std::vector<uint32_t>{100, 101}));
}

TEST(RecordTaskFilter, FollowsChildren) {
  TestFilter filter({100});
  filter.learn(sample(kForkId, 100, {100, 101}));
  filter.learn(sample(kForkId, 101, {101, 102}));
  filter.learn(sample(kForkId, 200, {200, 201}));
  EXPECT_TRUE(filter.has_task(102));
  EXPECT_FALSE(filter.has_task(201));
  EXPECT_TRUE(filter.keep(sample(kWakingId, 9, {102})));
  EXPECT_TRUE(filter.keep(sample(kForkId, 100, {100, 101})));
  EXPECT_FALSE(filter.keep(sample(kForkId, 200, {200, 201})));
}

TEST(RecordTaskFilter, ATidUsedAgainElsewhereIsForgotten) {
  TestFilter filter({100});
  filter.learn(sample(kForkId, 100, {100, 101}));
  EXPECT_TRUE(filter.keep(sample(kForkId, 200, {200, 101})));  // still the chosen one's child …
  EXPECT_FALSE(filter.has_task(101));                          // … and now someone else's
}

TEST(RecordTaskFilter, ACgroupIsLearnedFromItsTasks) {
  TestFilter filter({}, {55}, "/web");
  filter.learn(sample(kSwitchId, 100, {100, 200}, 55));
  filter.learn(sample(kSwitchId, 200, {200, 100}, 66));
  EXPECT_TRUE(filter.has_task(100));
  EXPECT_FALSE(filter.has_task(200));
  filter.learn(sample(kSwitchId, 100, {100, 200}, 66));  // moved out
  EXPECT_FALSE(filter.has_task(100));
  // A group made below it during the recording.
  ByteWriter made;
  append_cgroup(made, 77, "/web/worker");
  append_cgroup(made, 78, "/website");
  const std::span<const std::byte> records = made.bytes();
  const size_t first = load_unchecked<uint16_t>(records.data() + 6);
  filter.learn(records.first(first));
  filter.learn(records.subspan(first));
  filter.learn(sample(kSwitchId, 300, {300, 0}, 77));
  filter.learn(sample(kSwitchId, 400, {400, 0}, 78));
  EXPECT_TRUE(filter.has_task(300));
  EXPECT_FALSE(filter.has_task(400));
}

TEST(RecordTaskFilter, OtherRecordsAndUnknownEventsAreKept) {
  TestFilter filter({100});
  ByteWriter comm;
  append_comm(comm, {5, 5}, "x");
  EXPECT_TRUE(filter.keep(comm.bytes()));
  EXPECT_TRUE(filter.keep(sample(99, 5, {1})));
}

TEST(RecordTaskFilter, ASampleWithATooLongChainIsNotRead) {
  TestFilter filter({100});
  std::vector<std::byte> bad = sample(kSwitchId, 1, {100, 200});
  const uint64_t frames = uint64_t{1} << 61;
  std::memcpy(bad.data() + 48, &frames, sizeof frames);
  EXPECT_FALSE(filter.keep(bad));
}

// ---- options

TEST(RecordOptions, SizesHaveUnits) {
  EXPECT_EQ(*parse_size("8M", 1), 8u << 20);
  EXPECT_EQ(*parse_size("512K", 1), 512u << 10);
  EXPECT_EQ(*parse_size("1G", 1), 1u << 30);
  EXPECT_EQ(*parse_size("100B", 4096), 100u);
  EXPECT_EQ(*parse_size("128", 4096), 128u * 4096);
  for (const char* bad : {"", "M", "0", "0M", "8X", "8MM", "-1", "18446744073709551615K"})
    EXPECT_FALSE(parse_size(bad, 1)) << bad;
  EXPECT_FALSE(parse_size("100", 0));  // a unit is needed
}

TEST(RecordOptions, ClocksHaveSeveralNames) {
  for (const char* name : {"monotonic", "mono", "CLOCK_MONOTONIC", "1"})
    EXPECT_EQ(**parse_clock(name), CLOCK_MONOTONIC) << name;
  EXPECT_EQ(**parse_clock("CLOCK_BOOTTIME"), CLOCK_BOOTTIME);
  EXPECT_EQ(**parse_clock("raw"), CLOCK_MONOTONIC_RAW);
  const auto perf = parse_clock("perf");
  ASSERT_TRUE(perf);
  EXPECT_FALSE(perf->has_value());
  EXPECT_FALSE(parse_clock("sundial"));
  EXPECT_FALSE(parse_clock(""));
}

TEST(RecordOptions, DefaultRingsTakeAtMostA64thOfTheMemory) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(default_ring_bytes(24 * kGiB, 2), 16u << 20);
  EXPECT_EQ(default_ring_bytes(64 * kGiB, 128), 8u << 20);
  EXPECT_EQ(default_ring_bytes(kGiB, 4), 4u << 20);
  EXPECT_EQ(default_ring_bytes(kGiB / 4, 64), 64u << 10);
}

}  // namespace
}  // namespace perf_latency
