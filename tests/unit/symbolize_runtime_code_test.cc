// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/runtime_code.h"

#include <gtest/gtest.h>

#include <cstring>

namespace perf_latency {
namespace {

FileBytes bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return FileBytes::from_memory(std::move(bytes));
}

std::string name_at(const RuntimeCode& code, uint64_t address, uint64_t time_ns = UINT64_MAX) {
  const auto* function = code.find(address, time_ns);
  return function == nullptr ? "-" : std::string(function->name);
}

TEST(SymbolizePerfMap, NamesHaveSpacesAndLaterLinesWin) {
  const RuntimeCode code =
      RuntimeCode::from_perf_map(bytes_of("1000 20 first one()\n"
                                          "0x2000 0x10 with prefixes\r\n"
                                          "1010 8 newer\n"
                                          "damaged line\n"
                                          "3000 0 empty\n"
                                          "4000 10\n"
                                          "fffffffffffffff0 20 wraps\n"
                                          "5000 10 last without end"));
  EXPECT_EQ(code.size(), 4u);
  EXPECT_EQ(name_at(code, 0x0fff), "-");
  EXPECT_EQ(name_at(code, 0x1000), "first one()");
  EXPECT_EQ(name_at(code, 0x1010), "newer");
  EXPECT_EQ(name_at(code, 0x1018), "first one()");
  EXPECT_EQ(name_at(code, 0x1020), "-");
  EXPECT_EQ(name_at(code, 0x200f), "with prefixes");
  EXPECT_EQ(name_at(code, 0x500f), "last without end");
}

// A jitdump writer for either byte order.
class JitDump {
 public:
  explicit JitDump(bool big, uint64_t flags = 0) : big_(big) {
    put(0x4a695444, 4);
    put(1, 4);   // version
    put(40, 4);  // header size
    put(62, 4);  // x86-64
    put(0, 4);
    put(7, 4);  // pid
    put(1, 8);
    put(flags, 8);
  }
  void load(uint64_t time, uint64_t address, uint64_t size, uint64_t index, std::string_view name) {
    put(0, 4);
    put(16 + 40 + name.size() + 1 + size, 4);
    put(time, 8);
    put(7, 4);
    put(7, 4);
    put(address, 8);
    put(address, 8);
    put(size, 8);
    put(index, 8);
    bytes_ += name;
    bytes_ += '\0';
    bytes_.append(size, '\xcc');
  }
  void move(uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index) {
    put(1, 4);
    put(16 + 48, 4);
    put(time, 8);
    put(7, 4);
    put(7, 4);
    for (const uint64_t value : {from, from, to, size, index}) put(value, 8);
  }
  void unknown_record() {
    put(99, 4);
    put(16 + 5, 4);
    put(0, 8);
    bytes_.append(5, 'x');
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put(uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes_ += static_cast<char>(value >> 8 * (big_ ? size - 1 - i : i));
  }
  bool big_;
  std::string bytes_;
};

std::string sample_dump(bool big, uint64_t flags = 0) {
  JitDump dump(big, flags);
  dump.load(100, 0x1000, 0x20, 1, "old");
  dump.unknown_record();
  dump.load(200, 0x1000, 0x20, 2, "new");
  dump.move(300, 0x1000, 0x8000, 0x20, 2);
  return dump.bytes();
}

TEST(SymbolizeJitDump, VersionsByTimeInBothByteOrders) {
  for (const bool big : {false, true}) {
    const auto code = RuntimeCode::from_jitdump(bytes_of(sample_dump(big)));
    ASSERT_TRUE(code.has_value());
    EXPECT_EQ(code->size(), 3u);
    EXPECT_EQ(name_at(*code, 0x1010, 150), "old");
    EXPECT_EQ(name_at(*code, 0x1010, 250), "new");
    EXPECT_EQ(name_at(*code, 0x8010, 350), "new");
    EXPECT_EQ(name_at(*code, 0x1020, 250), "-");
    EXPECT_EQ(name_at(*code, 0x1010, 50), "new");  // clocks that differ: the last one
  }
}

TEST(SymbolizeJitDump, TimesOfAnotherClockAreNotUsed) {
  const auto code = RuntimeCode::from_jitdump(bytes_of(sample_dump(false, 1)));
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(name_at(*code, 0x1010, 150), "new");
}

TEST(SymbolizeJitDump, EveryCutCanBeRead) {
  const std::string whole = sample_dump(false);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto code = RuntimeCode::from_jitdump(bytes_of(std::string_view(whole).substr(0, size)));
    EXPECT_EQ(code.has_value(), size >= 40) << size;
    if (code) name_at(*code, 0x1010);
  }
}

TEST(SymbolizeJitDump, NamesOfMarkerFiles) {
  EXPECT_TRUE(is_jitdump_name("/tmp/jit-123.dump"));
  EXPECT_TRUE(is_jitdump_name("/home/u/.debug/jit/x/jit-4.dump"));
  EXPECT_TRUE(is_jitdump_name("/opt/workloads_jit-1235.dump"));
  EXPECT_FALSE(is_jitdump_name("/tmp/jit-.dump"));
  EXPECT_FALSE(is_jitdump_name("/tmp/jit-12x.dump"));
  EXPECT_FALSE(is_jitdump_name("/tmp/12.dump"));
  EXPECT_FALSE(is_jitdump_name("/lib/jit-12.so"));
}

}  // namespace
}  // namespace perf_latency
