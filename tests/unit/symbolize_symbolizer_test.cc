// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/symbolizer.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <bit>
#include <cstdlib>

#include "symbolize/debuginfod_client.h"
#include "symbolize/elf_file.h"
#include "symbolize/symbol_files.h"
#include "symbolize_elf_builder.h"

namespace perf_latency {
namespace {

const std::string kVariants = PL_TEST_DATA "/perfdata/elf_variants/";

SymbolizerOptions nothing_of_this_machine() {
  SymbolizerOptions options;
  options.debug_dir = "/nonexistent";
  options.perf_map_dir = "/nonexistent";
  options.debuginfod = false;
  options.live = false;
  return options;
}

// "name+0xoffset (module)", or "? (module)".
std::string text_of(const Frame& frame) {
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(frame.offset));
  const std::string name = frame.name.empty() ? "?" : std::string(frame.name);
  return name + offset + " (" + std::string(frame.module) + ")";
}

class SymbolizeUser : public testing::Test {
 protected:
  DsoId dso(const std::string& name, const BuildId& id = {}) { return dsos_.intern(name, id, 1); }
  const Frame& frame(Symbolizer& symbolizer, DsoId id, uint64_t address, bool is_return = false) {
    return symbolizer.frame({{id, address}, is_return, UINT64_MAX});
  }
  DsoTable dsos_;
};

struct Variant {
  const char* name;
  const char* build_id;
  bool other_addresses;  // linked without PIE: the same source, other offsets
  bool has_names;
};

class SymbolizeVariants : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(
    Elf, SymbolizeVariants,
    testing::Values(Variant{"plain", "530005cf03c5a65153bcd8fbfa6e90e17ce32751", false, true},
                    Variant{"exec", "787f0061237fac2b727bbad0a4a6c1cb32bbe5d0", true, true},
                    Variant{"nobuildid", "", false, true},
                    Variant{"debuglink", "2222222222222222222222222222222222222222", false, true},
                    Variant{"buildid", "3333333333333333333333333333333333333333", false, true},
                    Variant{"minidebug", "4444444444444444444444444444444444444444", false, true},
                    Variant{"stripped", "1111111111111111111111111111111111111111", false, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(SymbolizeVariants, TheSameProgramHasTheSameFunctions) {
  const Variant& variant = GetParam();
  DsoTable dsos;
  const DsoId id =
      dsos.intern(kVariants + "bin/" + variant.name, BuildId::from_hex(variant.build_id), 1);
  SymbolizerOptions options = nothing_of_this_machine();
  options.debug_dir = kVariants + "debugroot";
  Symbolizer symbolizer(dsos, options);
  const uint64_t move = variant.other_addresses ? 0x13 : 0;
  struct Expected {
    uint64_t address;
    const char* name;
  };
  for (const auto& [address, name] :
       {Expected{0x1207, "burn+0x3e"}, Expected{0x127c, "level3+0x22"},
        Expected{0x129d, "level2+0x9"}, Expected{0x12a8, "level1+0x9"},
        Expected{0x130c, "worker+0x62"}}) {
    const Frame& frame = symbolizer.frame({{id, address - move}, true, 0});
    if (variant.has_names) {
      EXPECT_EQ(text_of(frame), std::string(name) + " (" + variant.name + ")");
    } else {
      EXPECT_EQ(frame.unknown, UnknownReason::no_symbols);
      EXPECT_EQ(frame.offset, address);
    }
  }
  EXPECT_EQ(symbolizer.unknown_frames(UnknownReason::no_symbols), variant.has_names ? 0u : 5u);
  EXPECT_EQ(symbolizer.named_frames(), variant.has_names ? 5u : 0u);
}

TEST_F(SymbolizeUser, PltStubsAreNamedByTheirFunction) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  const DsoId id = dso(kVariants + "bin/stripped");
  EXPECT_EQ(text_of(frame(symbolizer, id, 0x1030)), "clock_gettime@plt+0x0 (stripped)");
  EXPECT_EQ(text_of(frame(symbolizer, id, 0x1046)), "snprintf@plt+0x6 (stripped)");
  EXPECT_EQ(text_of(frame(symbolizer, id, 0x10d0)), "__cxa_finalize@plt+0x0 (stripped)");
  EXPECT_EQ(frame(symbolizer, id, 0x1020).unknown, UnknownReason::no_symbols);  // the common part
}

TEST_F(SymbolizeUser, AnotherBuildIsNotUsed) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  const BuildId other = BuildId::from_hex("530005cf03c5a65153bcd8fbfa6e90e17ce32752");
  EXPECT_EQ(frame(symbolizer, dso(kVariants + "bin/plain", other), 0x127c).unknown,
            UnknownReason::other_build);
  EXPECT_EQ(frame(symbolizer, dso(kVariants + "bin/nobuildid", other), 0x127c).unknown,
            UnknownReason::other_build);
  EXPECT_EQ(frame(symbolizer, dso("/no/such/file"), 0x10).unknown, UnknownReason::file_not_found);
  EXPECT_EQ(frame(symbolizer, dso(kVariants + "README"), 0x10).unknown,
            UnknownReason::file_unreadable);
  EXPECT_EQ(symbolizer.unknown_frames(UnknownReason::other_build), 2u);
}

TEST_F(SymbolizeUser, ADeletedFileIsUsedOnlyIfItsBuildIdIsHere) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  EXPECT_EQ(frame(symbolizer, dso(kVariants + "bin/plain (deleted)"), 0x127c).unknown,
            UnknownReason::file_not_found);
  const BuildId id = BuildId::from_hex("530005cf03c5a65153bcd8fbfa6e90e17ce32751");
  EXPECT_EQ(text_of(frame(symbolizer, dso(kVariants + "bin/plain (deleted)", id), 0x127c)),
            "level3+0x22 (plain)");
}

TEST_F(SymbolizeUser, SymfsAndTheBuildIdCacheHoldCopies) {
  SymbolizeTempDir dir;
  std::filesystem::create_directories(dir.path() + "/symfs/opt");
  std::filesystem::copy_file(kVariants + "bin/plain", dir.path() + "/symfs/opt/program");
  SymbolizerOptions options = nothing_of_this_machine();
  options.symfs = dir.path() + "/symfs";
  Symbolizer in_symfs(dsos_, options);
  EXPECT_EQ(text_of(frame(in_symfs, dso("/opt/program"), 0x127c)), "level3+0x22 (program)");

  const std::string entry = dir.path() + "/cache/.build-id/53";
  std::filesystem::create_directories(entry + "/0005cf03c5a65153bcd8fbfa6e90e17ce32751");
  std::filesystem::copy_file(kVariants + "bin/plain",
                             entry + "/0005cf03c5a65153bcd8fbfa6e90e17ce32751/elf");
  options = nothing_of_this_machine();
  options.build_id_dirs = {dir.path() + "/cache"};
  Symbolizer in_cache(dsos_, options);
  const DsoId id = dso("/gone", BuildId::from_hex("530005cf03c5a65153bcd8fbfa6e90e17ce32751"));
  EXPECT_EQ(text_of(frame(in_cache, id, 0x127c)), "level3+0x22 (gone)");
}

TEST_F(SymbolizeUser, BuildIdsThatCameInRecordsAreChecked) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  dsos_.add_build_id(kVariants + "bin/plain", BuildId::from_hex("aabb"));
  EXPECT_EQ(frame(symbolizer, dso(kVariants + "bin/plain"), 0x127c).unknown,
            UnknownReason::other_build);
}

TEST_F(SymbolizeUser, OurOwnVdsoIfItIsTheRecordedOne) {
  const auto* at = std::bit_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  if (at == nullptr) GTEST_SKIP() << "this process has no vdso";
  const auto header = ElfFile::parse({at, 0x1000});
  ASSERT_TRUE(header.has_value());
  const BuildId id = header->build_id();
  if (id.empty()) GTEST_SKIP() << "the vdso has no build id";
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  EXPECT_EQ(frame(symbolizer, dso("[vdso]"), 0x800).unknown, UnknownReason::file_not_found);
  const DsoId own = dso("[vdso]", id);
  bool found = false;
  for (uint64_t address = 0; address < 0x4000 && !found; address += 4)
    found = frame(symbolizer, own, address).name == "__vdso_clock_gettime";
  EXPECT_TRUE(found);
}

TEST_F(SymbolizeUser, TheVsyscallPageIsKnown) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  const DsoId id = dso("[vsyscall]");
  EXPECT_EQ(text_of(frame(symbolizer, id, 0xffffffffff600401)), "vtime+0x1 ([vsyscall])");
  EXPECT_EQ(frame(symbolizer, id, 0xffffffffff600c00).unknown, UnknownReason::no_symbol_there);
}

TEST_F(SymbolizeUser, JitCodeByItsDumpThenByItsMap) {
  SymbolizeTempDir dir;
  const std::string jit = PL_TEST_DATA "/perfdata/jit_perfmap/";
  std::filesystem::create_directories(dir.path() + "/opt");
  std::filesystem::create_directories(dir.path() + "/tmp");
  std::filesystem::copy_file(jit + "perf-1235.map", dir.path() + "/tmp/perf-1235.map");
  SymbolizerOptions options = nothing_of_this_machine();
  options.symfs = dir.path();
  options.perf_map_dir = "/tmp";
  const DsoId id = dsos_.intern("//anon", {}, 1235);
  Symbolizer by_map(dsos_, options);
  EXPECT_EQ(text_of(frame(by_map, id, 0x7f0ce9128006)),
            "jit one with spaces()+0x6 (perf-1235.map)");
  EXPECT_EQ(text_of(frame(by_map, id, 0x7f0ce9128106)), "jit::two<int>+0x6 (perf-1235.map)");
  EXPECT_EQ(frame(by_map, id, 0x7f0ce9128200).unknown, UnknownReason::no_symbol_there);
  EXPECT_EQ(frame(by_map, dsos_.intern("//anon", {}, 9), 0x7f0ce9128006).unknown,
            UnknownReason::made_at_run_time);

  std::filesystem::copy_file(jit + "research2_jit-1235.dump", dir.path() + "/opt/jit-1235.dump");
  dsos_.set_jitdump(1235, "/opt/jit-1235.dump");
  Symbolizer by_dump(dsos_, options);
  EXPECT_EQ(text_of(frame(by_dump, id, 0x7f0ce9128006)), "jd one+0x6 (jit-1235.dump)");
}

TEST_F(SymbolizeUser, FilesOfOthersDoNotNameJitCode) {
  SymbolizeTempDir dir;
  const std::string path = dir.write("tmp/perf-77.map", "1000 10 evil\n");
  if (chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs the right to change owners";
  SymbolizerOptions options = nothing_of_this_machine();
  options.symfs = dir.path();
  options.perf_map_dir = "/tmp";
  Symbolizer symbolizer(dsos_, options);
  EXPECT_EQ(frame(symbolizer, dsos_.intern("//anon", {}, 77), 0x1000).unknown,
            UnknownReason::made_at_run_time);
}

TEST_F(SymbolizeUser, ARecordedProcessThatStillRunsShowsItsOwnRoot) {
  SymbolizerOptions options = nothing_of_this_machine();
  options.live = true;
  Symbolizer symbolizer(dsos_, options);
  const BuildId id = BuildId::from_hex("530005cf03c5a65153bcd8fbfa6e90e17ce32751");
  const DsoId own = dsos_.intern(kVariants + "bin/plain", id, getpid());
  EXPECT_EQ(text_of(frame(symbolizer, own, 0x127c)), "level3+0x22 (plain)");
}

TEST_F(SymbolizeUser, SourceLinesAndInlinedFunctions) {
  SymbolizerOptions options = nothing_of_this_machine();
  const std::string program = PL_TEST_DATA "/perfdata/sched_dwarf/wl_nofp";
  options.source_lines = true;
  Symbolizer lines(dsos_, options);
  const Frame& line = frame(lines, dso(program), 0x136f, true);
  EXPECT_EQ(line.name, "level3.constprop.0");
  EXPECT_EQ(line.source.file, "/opt/workloads/wl/wl.c");
  EXPECT_EQ(line.source.line, 18u);
  EXPECT_TRUE(line.inlined.empty());

  options.inline_frames = true;
  Symbolizer inlines(dsos_, options);
  EXPECT_EQ(frame(inlines, dso(program), 0x136f, true).name, "level3");
  EXPECT_EQ(frame(inlines, dso(program), 0x13f0, true).name, "worker");
}

TEST_F(SymbolizeUser, DebuginfodIsAskedOnlyWhenServersAreNamed) {
  if (!debuginfod_available()) GTEST_SKIP() << "libdebuginfod is not here";
  SymbolizeTempDir dir;
  const std::string id = "3333333333333333333333333333333333333333";
  std::filesystem::create_directories(dir.path() + "/server/buildid/" + id);
  std::filesystem::copy_file(kVariants + "debugroot/.build-id/33/" + id.substr(2) + ".debug",
                             dir.path() + "/server/buildid/" + id + "/debuginfo");
  setenv("DEBUGINFOD_CACHE_PATH", (dir.path() + "/cache").c_str(), 1);
  SymbolizerOptions options = nothing_of_this_machine();
  options.debuginfod = true;
  const DsoId program = dso(kVariants + "bin/buildid", BuildId::from_hex(id));

  unsetenv("DEBUGINFOD_URLS");
  Symbolizer without(dsos_, options);
  EXPECT_EQ(frame(without, program, 0x127c).unknown, UnknownReason::no_symbols);
  setenv("DEBUGINFOD_URLS", ("file://" + dir.path() + "/server").c_str(), 1);
  Symbolizer with(dsos_, options);
  EXPECT_EQ(text_of(frame(with, program, 0x127c)), "level3+0x22 (buildid)");
  unsetenv("DEBUGINFOD_URLS");
  unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_F(SymbolizeUser, FramesWithoutAMapAreCounted) {
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  EXPECT_EQ(symbolizer.frame_without_map().unknown, UnknownReason::no_map);
  EXPECT_EQ(symbolizer.frame({}).unknown, UnknownReason::no_map);
  EXPECT_EQ(symbolizer.unknown_frames(UnknownReason::no_map), 2u);
}

TEST_F(SymbolizeUser, FifosInThePlaceOfFilesAreNotWaitedFor) {
  SymbolizeTempDir dir;
  const std::string path = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  Symbolizer symbolizer(dsos_, nothing_of_this_machine());
  EXPECT_EQ(frame(symbolizer, dso(path), 0x10).unknown, UnknownReason::file_unreadable);
}

}  // namespace
}  // namespace perf_latency
