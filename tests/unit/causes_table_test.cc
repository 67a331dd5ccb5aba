// SPDX-License-Identifier: GPL-2.0-only
// The rules by which a chain gets its cause, on small tables.
#include "causes/cause_table.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace perf_latency {
namespace {

constexpr std::string_view kSmallTable = R"(
[cause generic]
class = lock
sentence = A lock
match 10 = mutex_lock

[cause outer]
class = filesystem
sentence = The outer reason
match 60 = outer_reason
match 50 = outer_equal

[cause inner]
class = disk
sentence = The inner reason
match 50 = inner_equal inner_*
match 70 = exact_wins

[cause busy]
class = lock
sentence = Somebody else uses it
lock = the lock
match 51 = lock:use_it lock:syscall:brk

[cause sleeper]
class = ipc
sentence = It sleeps by itself
match 51 = self:use_it

[cause prefix-long]
class = ipc
sentence = The longer prefix
match 50 = inner_part_*

[cause call]
class = idle
sentence = A system call
match 50 = syscall:pause

[functions scheduler]
functions = __schedule schedule
[functions lock]
functions = mutex_lock __mutex_lock
[functions tracing]
functions = __traceiter_*
[functions exception]
functions = asm_exc_*
[functions entry]
functions = entry_SYSCALL_*
)";

CauseTable small_table(std::optional<std::string_view> user = std::nullopt) {
  auto table = CauseTable::load(kSmallTable, user);
  EXPECT_TRUE(table) << table.error().what;
  return std::move(*table);
}

CauseId classify(CauseTable& table, std::vector<std::string_view> functions) {
  return table.classify(functions);
}

std::string id_of(CauseTable& table, std::vector<std::string_view> functions) {
  return table.cause(table.classify(functions)).id;
}

TEST(CausesTable, HighestRankWinsWhereverItStands) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock", "inner_equal", "outer_reason"}), "outer");
  EXPECT_EQ(id_of(table, {"schedule", "outer_reason", "inner_equal"}), "outer");
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock", "nobody"}), "generic");
}

TEST(CausesTable, OfEqualRanksTheInnermostFrameWins) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"schedule", "inner_equal", "outer_equal"}), "inner");
  EXPECT_EQ(id_of(table, {"schedule", "outer_equal", "inner_equal"}), "outer");
}

TEST(CausesTable, ExactNamesGoBeforePrefixesAndLongPrefixesBeforeShort) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"schedule", "inner_anything"}), "inner");
  EXPECT_EQ(id_of(table, {"schedule", "inner_part_2"}), "prefix-long");
  EXPECT_EQ(id_of(table, {"schedule", "exact_wins_not"}), "");
}

TEST(CausesTable, LockAndSelfTellWhereTheTaskSleeps) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"__schedule", "schedule", "use_it"}), "sleeper");
  EXPECT_EQ(id_of(table, {"__schedule", "schedule", "mutex_lock", "use_it"}), "busy");
  EXPECT_EQ(id_of(table, {"schedule", "something", "use_it"}), "");
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock", "something", "use_it"}), "generic");
  EXPECT_EQ(id_of(table, {"__traceiter_sched_switch", "__schedule", "use_it"}), "sleeper");
  EXPECT_EQ(id_of(table, {"schedule", "[unknown]", "use_it"}), "");
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock", "__x64_sys_brk"}), "busy");
  EXPECT_EQ(id_of(table, {"schedule", "__do_sys_brk"}), "");
}

TEST(CausesTable, SystemCallsMatchWithEveryPrefix) {
  CauseTable table = small_table();
  for (const std::string_view name :
       {"__x64_sys_pause", "__arm64_sys_pause", "SyS_pause", "sys_pause", "__do_sys_pause"})
    EXPECT_EQ(id_of(table, {"schedule", name}), "call") << name;
  EXPECT_EQ(id_of(table, {"schedule", "pause"}), "");
}

TEST(CausesTable, CompilerSuffixesAreStripped) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock.constprop.0", "use_it.isra.0.cold"}), "busy");
  EXPECT_EQ(id_of(table, {"schedule", "inner_equal.part.2"}), "inner");
  EXPECT_EQ(id_of(table, {"schedule", "__se_sys_pause.llvm.123"}), "call");
}

TEST(CausesTable, FramesOutsideAnExceptionAreAnotherMatter) {
  CauseTable table = small_table();
  EXPECT_EQ(id_of(table, {"schedule", "inner_equal", "asm_exc_page_fault", "outer_reason"}),
            "inner");
  EXPECT_EQ(id_of(table, {"schedule", "fault", "entry_SYSCALL_64", "outer_reason"}), "");
}

TEST(CausesTable, FallbackIsSystemCallAndInnermostFunction) {
  CauseTable table = small_table();
  const CauseId id = classify(table, {"__schedule", "schedule", "mutex_lock", "foo_wait.isra.0",
                                      "foo_read", "__x64_sys_read", "entry_SYSCALL_64"});
  EXPECT_EQ(table.cause(id).id, "generic");
  const CauseId read =
      classify(table, {"schedule", "foo_wait.isra.0", "foo_read", "__x64_sys_read"});
  EXPECT_EQ(table.cause(read).id, "");
  EXPECT_EQ(table.cause(read).cause_class, "other");
  EXPECT_EQ(table.cause(read).sentence, "read: foo_wait");
  EXPECT_EQ(read.value, table.table_size());
  // The same fallback is one cause; another one is not.
  EXPECT_EQ(classify(table, {"__schedule", "foo_wait", "bar", "__x64_sys_read"}), read);
  EXPECT_EQ(table.size(), table.table_size() + 1);
  EXPECT_EQ(table.cause(classify(table, {"schedule", "foo_wait", "kthread"})).sentence, "foo_wait");
  EXPECT_EQ(table.cause(classify(table, {"schedule", "__x64_sys_foo"})).sentence, "foo");
  EXPECT_EQ(table.cause(classify(table, {"__schedule", "schedule"})).sentence, "__schedule");
}

TEST(CausesTable, WithoutNamesNothingIsAttributed) {
  CauseTable table = small_table();
  EXPECT_EQ(classify(table, {}), CauseTable::kUnattributed);
  EXPECT_EQ(classify(table, {"", "[unknown]"}), CauseTable::kUnattributed);
  EXPECT_EQ(table.size(), table.table_size());
}

TEST(CausesTable, SpecialCausesHaveFixedIds) {
  const CauseTable table = small_table();
  const Cause& asleep = table.cause(CauseTable::kAsleepBefore);
  EXPECT_EQ(asleep.id, "asleep-before");
  EXPECT_EQ(asleep.cause_class, "other");
  EXPECT_EQ(asleep.sentence, "[asleep since before the recording]");
  const Cause& unattributed = table.cause(CauseTable::kUnattributed);
  EXPECT_EQ(unattributed.id, "unattributed");
  EXPECT_EQ(unattributed.sentence, "[unattributed]");
  const Cause& cpu = table.cause(CauseTable::kCpuWait);
  EXPECT_EQ(cpu.id, "cpu-wait");
  EXPECT_EQ(cpu.cause_class, "cpu");
  EXPECT_EQ(cpu.sentence, "Waiting for a CPU");
  EXPECT_EQ(table.find("cpu-wait"), CauseTable::kCpuWait);
  EXPECT_EQ(table.find("no-such-cause"), std::nullopt);
}

TEST(CausesTable, UserFileAddsCausesAndPatterns) {
  CauseTable table = small_table(
      "[cause my-device]\nclass = other\nsentence = My device\nmatch 50 = my_wait\n"
      "[cause inner]\nmatch 50 = another_name\n");
  EXPECT_EQ(id_of(table, {"schedule", "my_wait", "outer_equal"}), "my-device");
  EXPECT_EQ(id_of(table, {"schedule", "another_name"}), "inner");
  EXPECT_EQ(id_of(table, {"schedule", "inner_equal"}), "inner");
  EXPECT_EQ(table.cause(*table.find("inner")).sentence, "The inner reason");
}

TEST(CausesTable, UserFileOverridesClassSentenceRankAndOwner) {
  CauseTable table = small_table(
      "[cause call]\nclass = process\n"
      "[cause outer]\nsentence = Mine\nmatch 40 = outer_reason\n"
      "[cause busy]\nmatch 80 = mutex_lock\n");
  EXPECT_EQ(table.cause(*table.find("call")).cause_class, "process");
  EXPECT_FALSE(table.is_idle(*table.find("call")));
  EXPECT_EQ(table.cause(*table.find("outer")).sentence, "Mine");
  EXPECT_EQ(id_of(table, {"schedule", "inner_equal", "outer_reason"}), "inner");
  EXPECT_EQ(id_of(table, {"schedule", "mutex_lock", "outer_reason"}), "busy");
  // The pattern has moved: it stands with one cause only.
  EXPECT_TRUE(table.patterns(*table.find("generic")).empty());
  EXPECT_EQ(table.patterns(*table.find("busy")).size(), 3u);
}

TEST(CausesTable, UserFileExtendsFunctionGroups) {
  CauseTable table = small_table("[functions lock]\nfunctions = my_lock\n");
  EXPECT_EQ(id_of(table, {"schedule", "my_lock", "use_it"}), "busy");
}

TEST(CausesTable, ErrorsNameTheFileTheyAreIn) {
  const auto error = [](std::string_view shipped, std::optional<std::string_view> user) {
    const auto table = CauseTable::load(shipped, user);
    return table ? std::string("no error") : table.error().what;
  };
  EXPECT_EQ(error(kSmallTable, "\n[cause my-cause]\nclass = disk\n"),
            "line 2: a new cause needs a class and a sentence");
  EXPECT_EQ(error(kSmallTable, "[cause cpu-wait]\nclass = idle\n"),
            "line 1: `cpu-wait` is not named by functions");
  EXPECT_EQ(error(kSmallTable, "[functions none]\n"), "line 1: there is no function group `none`");
  EXPECT_EQ(error(kSmallTable, "[cause inner]\nmatch 1 = *\n"),
            "line 2: `*` is no pattern of a function name");
  EXPECT_EQ(error("[cause x]\n", std::nullopt),
            "the shipped cause table: line 1: a new cause needs a class and a sentence");
}

TEST(CausesTable, LocksAreNamedByTheirCallers) {
  const CauseTable table =
      small_table("[functions spinlock-name]\nrq lock = double_rq_lock use_it\n");
  const FunctionGroups& groups = table.groups();
  EXPECT_EQ(groups.lock_name("use_it.isra.0", false), "the lock");
  EXPECT_EQ(groups.lock_name("__arm64_sys_brk", false), "the lock");
  EXPECT_EQ(groups.lock_name("use_it", true), "rq lock");
  EXPECT_EQ(groups.lock_name("double_rq_lock", true), "rq lock");
  EXPECT_EQ(groups.lock_name("double_rq_lock", false), std::nullopt);
  EXPECT_EQ(table.lock_name(*table.find("busy")), "the lock");
  EXPECT_EQ(table.lock_name(*table.find("inner")), "");
}

}  // namespace
}  // namespace perf_latency
