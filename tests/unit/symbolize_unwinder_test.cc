// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/unwinder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "symbolize/file_bytes.h"
#include "symbolize/unwind_engines.h"
#include "symbolize_elf_builder.h"
#include "symbolize_recording.h"

namespace perf_latency {
namespace {

constexpr size_t kMaxFrames = 127;

SymbolizerOptions offline() {
  SymbolizerOptions options;
  options.live = false;
  options.debuginfod = false;
  return options;
}

TEST(SymbolizeUnwindArch, FromTheArchFeatureAndTheAbi) {
  EXPECT_EQ(unwind_arch("x86_64", 2), UnwindArch::x86_64);
  EXPECT_EQ(unwind_arch("x86_64", 1), UnwindArch::x86_32);
  EXPECT_EQ(unwind_arch("i686", 1), UnwindArch::x86_32);
  EXPECT_EQ(unwind_arch("aarch64", 2), UnwindArch::arm64);
  EXPECT_EQ(unwind_arch("aarch64", 1), UnwindArch::unknown);
  EXPECT_EQ(unwind_arch("s390x", 2), UnwindArch::unknown);
  EXPECT_EQ(unwind_arch("x86_64", 0), UnwindArch::unknown);
}

// The program of tests/data/symbolize/arm64_chain.c, stopped in leaf().
class SymbolizeUnwindArm64 : public testing::Test {
 protected:
  static constexpr size_t kRegisterBytes = 33 * 8;

  void SetUp() override {
    const std::string dir = PL_SOURCE_DIR "/tests/data/symbolize/";
    auto sample = FileBytes::open(dir + "arm64_chain.sample");
    ASSERT_TRUE(sample.has_value());
    sample_ = std::move(*sample);
    spaces_.mmap({1, 0x400000, 0x1000, 0, dir + "arm64_chain", {}});
    input_ = {UnwindArch::arm64, (uint64_t{1} << 33) - 1, sample_.bytes().first(kRegisterBytes),
              sample_.bytes().subspan(kRegisterBytes), false};
  }
  std::vector<std::string> names(const std::vector<uint64_t>& chain) {
    Symbolizer symbolizer(dsos_, offline());
    std::vector<std::string> names;
    for (size_t i = 0; i < chain.size(); ++i) {
      const auto at = spaces_.resolve(1, chain[i]);
      names.emplace_back(at ? symbolizer.frame({*at, i > 0, 0}).name : "-");
    }
    return names;
  }

  DsoTable dsos_;
  AddressSpaces spaces_{dsos_};
  FileBytes sample_;
  UnwindInput input_;
};

TEST_F(SymbolizeUnwindArm64, SignedReturnAddressesAreFollowedToTheEnd) {
  Unwinder unwinder(spaces_, offline());
  std::vector<uint64_t> chain;
  EXPECT_EQ(unwinder.unwind(input_, 1, kMaxFrames, chain), UnwindEnd::outermost);
  EXPECT_EQ(chain, (std::vector<uint64_t>{0x4001bc, 0x40020c, 0x40024c, 0x400290}));
  EXPECT_EQ(names(chain), (std::vector<std::string>{"leaf", "middle", "outer", "_start"}));
}

TEST_F(SymbolizeUnwindArm64, OnlyTheValidBytesOfTheStackCount) {
  Unwinder unwinder(spaces_, offline());
  // middle() keeps its return address at sp, outer() at sp + 96 + 24.
  const std::map<size_t, size_t> frames = {{0, 2}, {7, 2}, {8, 3}, {127, 3}, {128, 4}, {136, 4}};
  const auto stack = input_.stack;
  for (const auto& [bytes, count] : frames) {
    input_.stack = stack.first(bytes);
    std::vector<uint64_t> chain;
    EXPECT_EQ(unwinder.unwind(input_, 1, kMaxFrames, chain),
              bytes == 136 ? UnwindEnd::outermost : UnwindEnd::stack_too_short)
        << bytes;
    EXPECT_EQ(chain.size(), count) << bytes;
  }
}

TEST_F(SymbolizeUnwindArm64, EndsAreTold) {
  Unwinder unwinder(spaces_, offline());
  std::vector<uint64_t> chain;
  EXPECT_EQ(unwinder.unwind(input_, 1, 2, chain), UnwindEnd::max_frames);
  EXPECT_EQ(chain.size(), 2u);
  EXPECT_EQ(unwinder.unwind(input_, 99, kMaxFrames, chain), UnwindEnd::no_map);
  input_.registers = input_.registers.first(16);
  EXPECT_EQ(unwinder.unwind(input_, 1, kMaxFrames, chain), UnwindEnd::bad_input);
  input_.arch = UnwindArch::unknown;
  EXPECT_EQ(unwinder.unwind(input_, 1, kMaxFrames, chain), UnwindEnd::bad_input);
}

// Recorded with --call-graph dwarf. The C library of the recording is not a part of it, so what is
// compared is the part of each chain that lies in the program itself.
class SymbolizeUnwindX86 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(BothOrders, SymbolizeUnwindX86,
                         testing::Values("sched_dwarf", "be_sched_dwarf"));

constexpr const char* kRecordedLibc = "93ac61ec5a8eb1396f9fbd350e3169a558528a40";

bool has_recorded_libc() {
  const auto file = FileBytes::open("/usr/lib/x86_64-linux-gnu/libc.so.6");
  if (!file) return false;
  const auto elf = ElfFile::parse(file->bytes());
  return elf && elf->build_id().hex() == kRecordedLibc;
}

// The file addresses of the user frames that perf prints for each sample; inlined frames repeat the
// address of the frame around them.
std::vector<std::vector<uint64_t>> chains_of_perf() {
  const auto file = FileBytes::open(PL_TEST_DATA "/perfdata/sched_dwarf/expected/data.script.txt");
  std::vector<std::vector<uint64_t>> chains;
  if (!file) return chains;
  std::string_view left = file->text();
  while (!left.empty()) {
    const std::string line(left.substr(0, left.find('\n')));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (line.find("sched:sched_switch:") != std::string::npos) chains.emplace_back();
    if (!line.starts_with('\t') || chains.empty()) continue;
    const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
    if (address >= 0xffff000000000000) continue;
    if (chains.back().empty() || chains.back().back() != address) chains.back().push_back(address);
  }
  return chains;
}

TEST_P(SymbolizeUnwindX86, TheSameFramesAsPerf) {
  if (!has_recorded_libc())
    GTEST_SKIP() << "needs the C library of the recording, " << kRecordedLibc;
  SymbolizeRecording recording;
  ASSERT_TRUE(recording.open(PL_TEST_DATA "/perfdata/" + std::string(GetParam()) + "/perf.data"));
  SymbolizeTempDir root;
  std::filesystem::create_directories(root.path() + "/opt/workloads/wl");
  std::filesystem::copy_file(PL_TEST_DATA "/perfdata/sched_dwarf/wl_nofp",
                             root.path() + "/opt/workloads/wl/wl_nofp");
  std::filesystem::create_directory_symlink("/usr", root.path() + "/usr");
  SymbolizerOptions options = offline();
  options.symfs = root.path();

  const auto expected = chains_of_perf();
  ASSERT_EQ(expected.size(), 126u);
  DsoTable dsos;
  AddressSpaces spaces(dsos);
  Unwinder unwinder(spaces, options);
  UnwindMemory memory(spaces, options);
  size_t sample = 0;
  size_t same = 0;
  recording.replay(spaces, [&](const SampleView& view, const SampleLayout& layout) {
    const UnwindInput input{unwind_arch(recording.metadata().arch, view.regs_user_abi),
                            layout.regs_user_mask, view.regs_user, view.stack_user,
                            recording.swap()};
    std::vector<uint64_t> chain;
    unwinder.unwind(input, view.pid, kMaxFrames, chain);
    std::vector<uint64_t> by_libdw;
    const SampleRegisters registers(input);
    memory.set(input, view.pid, registers.get(7).value_or(0));
    unwind_with_libdw(input.arch, memory, registers, kMaxFrames, by_libdw);
    EXPECT_EQ(chain, by_libdw);
    // perf prints return addresses less one.
    for (size_t i = 0; i < chain.size(); ++i)
      chain[i] =
          spaces.resolve(view.pid, chain[i]).value_or(DsoAddress{}).address - (i > 0 ? 1 : 0);
    same += chain == expected[sample++] ? 1 : 0;
  });
  EXPECT_EQ(sample, 126u);
  EXPECT_EQ(same, 126u);
}

// What perf prints for each sample of sched_dwarf, innermost first: functions that the compiler put into
// others are lines of their own, with the same address.
struct PrintedFrame {
  uint64_t address = 0;
  std::string function;
};

std::vector<std::vector<PrintedFrame>> frames_of_perf() {
  std::vector<std::vector<PrintedFrame>> samples;
  const auto file = FileBytes::open(PL_TEST_DATA "/perfdata/sched_dwarf/expected/data.script.txt");
  if (!file) return samples;
  std::istringstream lines{std::string(file->text())};
  for (std::string line; std::getline(lines, line);) {
    if (line.find("sched:sched_switch:") != std::string::npos) samples.emplace_back();
    if (!line.starts_with('\t') || samples.empty()) continue;
    std::istringstream words(line);
    PrintedFrame frame;
    words >> std::hex >> frame.address >> frame.function;
    if (frame.address >= 0xffff000000000000) continue;
    frame.function.resize(std::min(frame.function.size(), frame.function.rfind('+')));
    samples.back().push_back(frame);
  }
  return samples;
}

bool has_debug_file_of_recorded_libc() {
  const std::string id = kRecordedLibc;
  return std::filesystem::exists("/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" +
                                 id.substr(2) + ".debug");
}

// Issue: "the same functions frame by frame for at least 99 % of the samples, differences listed".
TEST_P(SymbolizeUnwindX86, TheSameFunctionsAsPerfFrameByFrame) {
  if (!has_recorded_libc() || !has_debug_file_of_recorded_libc())
    GTEST_SKIP() << "needs the C library of the recording and its debug file, " << kRecordedLibc;
  SymbolizeRecording recording;
  ASSERT_TRUE(recording.open(PL_TEST_DATA "/perfdata/" + std::string(GetParam()) + "/perf.data"));
  SymbolizeTempDir root;
  std::filesystem::create_directories(root.path() + "/opt/workloads/wl");
  std::filesystem::copy_file(PL_TEST_DATA "/perfdata/sched_dwarf/wl_nofp",
                             root.path() + "/opt/workloads/wl/wl_nofp");
  std::filesystem::create_directory_symlink("/usr", root.path() + "/usr");
  SymbolizerOptions options = offline();
  options.symfs = root.path();
  options.inline_frames = true;

  const auto expected = frames_of_perf();
  ASSERT_EQ(expected.size(), 126u);
  DsoTable dsos;
  AddressSpaces spaces(dsos);
  Unwinder unwinder(spaces, options);
  Symbolizer symbolizer(dsos, options);
  size_t sample = 0;
  size_t same = 0;
  std::map<std::string, size_t> differences;
  recording.replay(spaces, [&](const SampleView& view, const SampleLayout& layout) {
    const UnwindInput input{unwind_arch(recording.metadata().arch, view.regs_user_abi),
                            layout.regs_user_mask, view.regs_user, view.stack_user,
                            recording.swap()};
    std::vector<uint64_t> chain;
    unwinder.unwind(input, view.pid, kMaxFrames, chain);
    std::vector<std::string> ours;
    for (size_t i = 0; i < chain.size(); ++i) {
      const auto at = spaces.resolve(view.pid, chain[i]);
      const Frame& frame = at ? symbolizer.frame({*at, i > 0}) : symbolizer.frame_without_map();
      for (const InlinedFrame& inlined : frame.inlined) ours.emplace_back(inlined.name);
      ours.emplace_back(frame.name);
    }
    std::vector<std::string> theirs;
    for (const PrintedFrame& frame : expected[sample]) theirs.push_back(frame.function);
    ++sample;
    if (ours == theirs) {
      ++same;
      return;
    }
    for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      const std::string left = i < ours.size() ? ours[i] : "-";
      const std::string right = i < theirs.size() ? theirs[i] : "-";
      if (left != right) ++differences[left + " where perf has " + right];
    }
  });
  EXPECT_EQ(sample, 126u);
  EXPECT_GE(same * 100, sample * 99);
  for (const auto& [what, count] : differences) std::cout << count << " x " << what << '\n';
}

TEST(SymbolizeUnwindHostile, DamagedSamplesAndFilesEnd) {
  SymbolizeRecording recording;
  ASSERT_TRUE(recording.open(PL_TEST_DATA "/perfdata/sched_dwarf/perf.data"));
  const auto program = FileBytes::open(PL_TEST_DATA "/perfdata/sched_dwarf/wl_nofp");
  ASSERT_TRUE(program.has_value());
  SymbolizeTempDir root;
  SymbolizerOptions options = offline();
  options.symfs = root.path();
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::byte> damaged(program->bytes().begin(), program->bytes().end());
    for (int i = 0; i < 200; ++i) damaged[0x2000 + random() % 0x1cc] = std::byte(random());
    root.write("opt/workloads/wl/wl_nofp", damaged);
    DsoTable dsos;
    AddressSpaces spaces(dsos);
    Unwinder unwinder(spaces, options);
    UnwindMemory memory(spaces, options);
    recording.replay(spaces, [&](const SampleView& view, const SampleLayout& layout) {
      // As if the program had been stopped inside its own code.
      std::vector<std::byte> registers(view.regs_user.begin(), view.regs_user.end());
      const uint64_t ip = 0x55574d54c000 + 0x100 + random() % 0x300;
      if (registers.size() > 72) std::memcpy(registers.data() + 64, &ip, sizeof ip);
      const UnwindInput input{UnwindArch::x86_64, layout.regs_user_mask, registers, view.stack_user,
                              false};
      std::vector<uint64_t> chain;
      unwinder.unwind(input, view.pid, kMaxFrames, chain);
      EXPECT_LE(chain.size(), kMaxFrames);
      chain.clear();
      const SampleRegisters values(input);
      memory.set(input, view.pid, values.get(7).value_or(0));
      unwind_with_libdw(input.arch, memory, values, kMaxFrames, chain);
      EXPECT_LE(chain.size(), kMaxFrames);
    });
  }
}

}  // namespace
}  // namespace perf_latency
