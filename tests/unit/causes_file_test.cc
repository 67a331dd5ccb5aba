// SPDX-License-Identifier: GPL-2.0-only
#include "causes/cause_file.h"

#include <gtest/gtest.h>

#include <string>

namespace perf_latency {
namespace {

CauseFile parsed(std::string_view text) {
  auto file = parse_cause_file(text);
  EXPECT_TRUE(file) << file.error().what;
  return file ? *file : CauseFile();
}

std::string error_of(std::string_view text) {
  const auto file = parse_cause_file(text);
  return file ? "no error" : file.error().what;
}

TEST(CausesFile, ReadsCausesWithEveryKey) {
  const CauseFile file = parsed(
      "# comment\n"
      "; another\n"
      "\n"
      "  [cause pipe-read]\r\n"
      "class = ipc\n"
      "\tsentence   =   Reading # from a pipe = empty  \n"
      "lock=pipe mutex\n"
      "match 51 = pipe_read self:anon_pipe_read\n"
      "match = lock:pipe_* syscall:read lock:syscall:splice");
  ASSERT_EQ(file.causes.size(), 1u);
  const CauseSection& cause = file.causes[0];
  EXPECT_EQ(cause.id, "pipe-read");
  EXPECT_EQ(cause.line, 4u);
  EXPECT_EQ(cause.cause_class, "ipc");
  EXPECT_EQ(cause.sentence, "Reading # from a pipe = empty");
  EXPECT_EQ(cause.lock_name, "pipe mutex");
  ASSERT_EQ(cause.patterns.size(), 5u);

  EXPECT_EQ(cause.patterns[0].rank, 51u);
  EXPECT_EQ(cause.patterns[0].pattern.name, "pipe_read");
  EXPECT_EQ(cause.patterns[0].pattern.place, PatternPlace::any);
  EXPECT_FALSE(cause.patterns[0].pattern.glob);
  EXPECT_EQ(cause.patterns[0].pattern.line, 8u);

  EXPECT_EQ(cause.patterns[1].pattern.place, PatternPlace::self);
  EXPECT_EQ(cause.patterns[1].pattern.name, "anon_pipe_read");

  EXPECT_EQ(cause.patterns[2].rank, kDefaultRank);
  EXPECT_EQ(cause.patterns[2].pattern.place, PatternPlace::lock);
  EXPECT_EQ(cause.patterns[2].pattern.name, "pipe_");
  EXPECT_TRUE(cause.patterns[2].pattern.glob);

  EXPECT_TRUE(cause.patterns[3].pattern.syscall);
  EXPECT_EQ(cause.patterns[3].pattern.place, PatternPlace::any);
  EXPECT_EQ(cause.patterns[4].pattern.text(), "lock:syscall:splice");
}

TEST(CausesFile, ReadsFunctionGroups) {
  const CauseFile file = parsed(
      "[functions interrupt]\n"
      "block device = nvme_irq blk_*\n"
      "timer = hrtimer_interrupt\n");
  ASSERT_EQ(file.groups.size(), 1u);
  const GroupSection& group = file.groups[0];
  EXPECT_EQ(group.group, "interrupt");
  EXPECT_EQ(group.line, 1u);
  ASSERT_EQ(group.patterns.size(), 3u);
  EXPECT_EQ(group.patterns[0].label, "block device");
  EXPECT_EQ(group.patterns[1].pattern.text(), "blk_*");
  EXPECT_EQ(group.patterns[2].label, "timer");
  EXPECT_EQ(group.patterns[2].pattern.line, 3u);
}

TEST(CausesFile, EmptyTextIsAnEmptyTable) {
  EXPECT_TRUE(parsed("").causes.empty());
  EXPECT_TRUE(parsed("\n\n# nothing").groups.empty());
}

TEST(CausesFile, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(error_of("\n[cause a]\nclass = dsk\n"), "line 3: there is no class `dsk`");
  EXPECT_EQ(error_of("class = disk\n"), "line 1: `class` stands before the first [section]");
  EXPECT_EQ(error_of("[cause a\n"), "line 1: a section ends with `]`");
  EXPECT_EQ(error_of("[reason a]\n"), "line 1: a section is [cause ID] or [functions GROUP]");
  EXPECT_EQ(error_of("[cause]\n"), "line 1: a section is [cause ID] or [functions GROUP]");
  EXPECT_EQ(error_of("[cause a b]\n"), "line 1: a section is [cause ID] or [functions GROUP]");
  EXPECT_EQ(error_of("[cause Disk_Read]\n"),
            "line 1: `Disk_Read` is no name of lower-case letters, digits and -");
  EXPECT_EQ(error_of("[cause -a]\n"),
            "line 1: `-a` is no name of lower-case letters, digits and -");
  EXPECT_EQ(error_of("[cause a]\nnonsense\n"),
            "line 2: expected `key = value`, a [section] or a #");
  EXPECT_EQ(error_of("[cause a]\n= x\n"), "line 2: there is no key before the `=`");
  EXPECT_EQ(error_of("[cause a]\nclass =\n"), "line 2: there is no value after `class` =");
  EXPECT_EQ(error_of("[cause a]\ncolour = red\n"),
            "line 2: there is no key `colour` in a cause: class, sentence, lock, match");
  EXPECT_EQ(error_of("[cause a]\nmatch 100 = f\n"), "line 2: `100` is no rank from 0 to 99");
  EXPECT_EQ(error_of("[cause a]\nmatch -1 = f\n"), "line 2: `-1` is no rank from 0 to 99");
  EXPECT_EQ(error_of("[cause a]\nmatch 5 6 = f\n"), "line 2: `5 6` is no rank from 0 to 99");
  EXPECT_EQ(error_of("[cause a]\nmatch 99999999999999999999 = f\n"),
            "line 2: `99999999999999999999` is no rank from 0 to 99");
}

TEST(CausesFile, RejectsWhatIsNoFunctionName) {
  for (const std::string word :
       {"*", "a*b", "self:", "lock:self:f", "a.b", "f()", "other:f", "a-b"})
    EXPECT_EQ(error_of("[cause a]\nmatch = " + word + "\n"),
              "line 2: `" + word + "` is no pattern of a function name");
  EXPECT_EQ(error_of("[functions spin]\nx = self:f\n"),
            "line 2: `self:f` is no pattern of a function name");
}

TEST(CausesFile, PrefixesHaveALimit) {
  const std::string longest(63, 'a');
  EXPECT_EQ(parsed("[cause a]\nmatch = " + longest + "*\n").causes[0].patterns[0].pattern.name,
            longest);
  EXPECT_EQ(error_of("[cause a]\nmatch = " + longest + "a*\n"),
            "line 2: there are more than 63 characters before the *");
}

TEST(CausesFile, MessagesAreShortAndPrintable) {
  EXPECT_EQ(error_of("[cause a]\nsentence = red\x1b[31m\n"),
            "line 2: control characters in the line");
  EXPECT_EQ(error_of("[cause \x1b]\n"),
            "line 1: `?` is no name of lower-case letters, digits and -");
  EXPECT_EQ(
      error_of("[cause " + std::string(5000, 'X') + "]\n"),
      "line 1: `" + std::string(40, 'X') + "...` is no name of lower-case letters, digits and -");
}

}  // namespace
}  // namespace perf_latency
