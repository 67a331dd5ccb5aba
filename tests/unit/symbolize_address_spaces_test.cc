// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/address_spaces.h"

#include <gtest/gtest.h>

namespace perf_latency {
namespace {

class SymbolizeAddressSpaces : public testing::Test {
 protected:
  bool map(int32_t pid, uint64_t start, uint64_t length, uint64_t pgoff, std::string_view name) {
    return spaces_.mmap({pid, start, length, pgoff, name, {}});
  }
  // "name+0xaddress" or "-".
  std::string at(int32_t pid, uint64_t address) {
    const auto found = spaces_.resolve(pid, address);
    if (!found) return "-";
    char text[64];
    std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(found->address));
    return dsos_[found->dso].name + text;
  }

  DsoTable dsos_;
  AddressSpaces spaces_{dsos_};
};

TEST_F(SymbolizeAddressSpaces, FilesResolveToFileOffsetsAnonymousMemoryToAddresses) {
  EXPECT_TRUE(map(1, 0x5000, 0x2000, 0x1000, "/bin/a"));
  EXPECT_TRUE(map(1, 0x9000, 0x1000, 0x9000, "//anon"));
  EXPECT_TRUE(map(1, 0xffffffffff600000, 0x1000, 0, "[vsyscall]"));
  EXPECT_EQ(at(1, 0x4fff), "-");
  EXPECT_EQ(at(1, 0x5000), "/bin/a+0x1000");
  EXPECT_EQ(at(1, 0x6fff), "/bin/a+0x2fff");
  EXPECT_EQ(at(1, 0x7000), "-");
  EXPECT_EQ(at(1, 0x9010), "//anon+0x9010");
  EXPECT_EQ(at(1, 0xffffffffff600400), "[vsyscall]+0xffffffffff600400");
  EXPECT_EQ(at(2, 0x5000), "-");
}

// old  |aaaaaaaaaaaaaaaa|      |bbbbbbbb|
// new          |nnnn|                         inside one map: it falls in two
// new       |mmmmmmmmmmmmmmmmmmmmmm|          over the end of one and the start of another
TEST_F(SymbolizeAddressSpaces, NewMapsReplaceWhatTheyCover) {
  map(1, 0x10000, 0x8000, 0, "/a");
  map(1, 0x20000, 0x4000, 0x100000, "/b");
  map(1, 0x12000, 0x2000, 0, "/n");
  EXPECT_EQ(at(1, 0x11fff), "/a+0x1fff");
  EXPECT_EQ(at(1, 0x12000), "/n+0x0");
  EXPECT_EQ(at(1, 0x13fff), "/n+0x1fff");
  EXPECT_EQ(at(1, 0x14000), "/a+0x4000");
  EXPECT_EQ(at(1, 0x17fff), "/a+0x7fff");
  map(1, 0x11000, 0x10000, 0, "/m");
  EXPECT_EQ(at(1, 0x10fff), "/a+0xfff");
  EXPECT_EQ(at(1, 0x11000), "/m+0x0");
  EXPECT_EQ(at(1, 0x17000), "/m+0x6000");
  EXPECT_EQ(at(1, 0x20fff), "/m+0xffff");
  EXPECT_EQ(at(1, 0x21000), "/b+0x101000");
}

TEST_F(SymbolizeAddressSpaces, ForkSharesUntilOneChanges) {
  map(1, 0x1000, 0x1000, 0, "/a");
  spaces_.fork(2, 1);
  EXPECT_EQ(at(2, 0x1000), "/a+0x0");
  EXPECT_EQ(spaces_.version(1), spaces_.version(2));
  map(2, 0x1000, 0x1000, 0, "/c");
  EXPECT_EQ(at(1, 0x1000), "/a+0x0");
  EXPECT_EQ(at(2, 0x1000), "/c+0x0");
  EXPECT_NE(spaces_.version(1), spaces_.version(2));
}

TEST_F(SymbolizeAddressSpaces, SynthesizedForkAndExecHaveNoMaps) {
  map(1, 0x1000, 0x1000, 0, "/a");
  spaces_.fork(2, 1, false);
  EXPECT_EQ(at(2, 0x1000), "-");
  EXPECT_EQ(spaces_.version(2), 0u);
  spaces_.exec(1);
  EXPECT_EQ(at(1, 0x1000), "-");
  EXPECT_EQ(spaces_.version(1), 0u);
}

TEST_F(SymbolizeAddressSpaces, TheSameMapAgainIsNoChange) {
  map(1, 0x1000, 0x1000, 0, "/a");
  const uint64_t version = spaces_.version(1);
  map(1, 0x1000, 0x1000, 0, "/a");
  EXPECT_EQ(spaces_.version(1), version);
  map(1, 0x1000, 0x1000, 0x1000, "/a");
  EXPECT_NE(spaces_.version(1), version);
}

TEST_F(SymbolizeAddressSpaces, ExitedProcessesAreKeptForAWhile) {
  map(1, 0x1000, 0x1000, 0, "/a");
  spaces_.new_thread(1);
  spaces_.exit_thread(1);
  spaces_.exit_thread(1);
  EXPECT_EQ(at(1, 0x1000), "/a+0x0");
  for (int32_t pid = 100; pid < 100 + static_cast<int32_t>(AddressSpaces::kKeptExited); ++pid) {
    map(pid, 0x1000, 0x1000, 0, "/b");
    spaces_.exit_thread(pid);
  }
  EXPECT_EQ(at(1, 0x1000), "-");
  EXPECT_EQ(at(100, 0x1000), "/b+0x0");
}

TEST_F(SymbolizeAddressSpaces, ALifeIsOneProgramOfOneProcess) {
  const uint64_t unknown = spaces_.life(1);
  map(1, 0x1000, 0x1000, 0, "/a");
  EXPECT_EQ(spaces_.life(1), unknown);
  spaces_.fork(1, 7, false);  // perf describes what it found running
  EXPECT_EQ(spaces_.life(1), unknown);
  EXPECT_EQ(at(1, 0x1000), "/a+0x0");
  spaces_.exec(1);
  const uint64_t second = spaces_.life(1);
  EXPECT_NE(second, unknown);
  spaces_.fork(1, 7);
  EXPECT_NE(spaces_.life(1), second);
}

TEST_F(SymbolizeAddressSpaces, AReusedPidIsNotDroppedForItsFormerLife) {
  map(1, 0x1000, 0x1000, 0, "/a");
  spaces_.exit_thread(1);
  spaces_.fork(1, 7);
  map(1, 0x1000, 0x1000, 0, "/second");
  for (int32_t pid = 100; pid < 200 + static_cast<int32_t>(AddressSpaces::kKeptExited); ++pid) {
    map(pid, 0x1000, 0x1000, 0, "/b");
    spaces_.exit_thread(pid);
  }
  EXPECT_EQ(at(1, 0x1000), "/second+0x0");
}

TEST_F(SymbolizeAddressSpaces, ImpossibleRangesAreRefused) {
  EXPECT_FALSE(map(1, 0x1000, 0, 0, "/a"));
  EXPECT_FALSE(map(1, 0xfffffffffffff000, 0x2000, 0, "/a"));
  EXPECT_EQ(spaces_.version(1), 0u);
}

TEST_F(SymbolizeAddressSpaces, DsosDifferByBuildIdAndDeletedIsNoPartOfTheName) {
  const BuildId first = BuildId::from_hex("0102030405060708090a0b0c0d0e0f1011121314");
  const BuildId second = BuildId::from_hex("ff02030405060708");
  const DsoId a = dsos_.intern("/bin/x (deleted)", first, 1);
  const DsoId b = dsos_.intern("/bin/x", second, 1);
  EXPECT_NE(a, b);
  EXPECT_EQ(dsos_[a].name, "/bin/x");
  EXPECT_TRUE(dsos_[a].deleted);
  EXPECT_FALSE(dsos_[b].deleted);
  EXPECT_EQ(dsos_.build_ids(a), std::vector<BuildId>{first});
  EXPECT_EQ(dsos_.intern("//anon", {}, 1), dsos_.intern("//anon", {}, 1));
  EXPECT_NE(dsos_.intern("//anon", {}, 1), dsos_.intern("//anon", {}, 2));
}

TEST_F(SymbolizeAddressSpaces, BuildIdsCanComeLate) {
  const DsoId id = dsos_.intern("/bin/x", {}, 1);
  EXPECT_TRUE(dsos_.build_ids(id).empty());
  const BuildId late = BuildId::from_hex("0102030405060708090a0b0c0d0e0f1011121314");
  dsos_.add_build_id("/bin/x", late);
  dsos_.add_build_id("/bin/x", late);
  EXPECT_EQ(dsos_.build_ids(id), std::vector<BuildId>{late});
}

TEST(SymbolizeBuildId, TrailingZerosOfOldRecordsDoNotCount) {
  const BuildId full = BuildId::from_hex("aabbccddeeff00112233445566778899");
  const BuildId padded = BuildId::from_hex("aabbccddeeff0011223344556677889900000000");
  EXPECT_EQ(full, padded);
  EXPECT_EQ(full.hex(), "aabbccddeeff00112233445566778899");
  EXPECT_TRUE(BuildId::from_hex("0000000000").empty());
  EXPECT_TRUE(BuildId::from_hex("xyz0").empty());
}

}  // namespace
}  // namespace perf_latency
