// SPDX-License-Identifier: GPL-2.0-only
// perf's configuration syntax: what perf 6.12 reads, and what it calls a bad line.
#include <gtest/gtest.h>

#include "base/perf_config.h"

namespace perf_latency {
namespace {

using Pairs = std::vector<std::pair<std::string, std::optional<std::string>>>;

Pairs parsed(std::string_view text) {
  const auto entries = parse_perf_config(text);
  EXPECT_TRUE(entries.has_value()) << text << ": " << (entries ? "" : entries.error().what);
  Pairs pairs;
  if (entries)
    for (const ConfigEntry& entry : *entries) pairs.emplace_back(entry.key, entry.value);
  return pairs;
}

TEST(BasePerfConfig, SectionsKeysAndComments) {
  EXPECT_EQ(parsed("# c\n[LATENCY] ; c\n\tlimit = 5 # five\n Color=never\nkernel-threads\n"
                   "[latency \"hold-time\"]\nsort=max\n[colors]top=red , default\n"),
            (Pairs{{"latency.limit", "5"},
                   {"latency.color", "never"},
                   {"latency.kernel-threads", std::nullopt},
                   {"latency.hold-time.sort", "max"},
                   {"colors.top", "red , default"}}));
  EXPECT_EQ(parsed(""), Pairs{});
  EXPECT_EQ(parsed("\xef\xbb\xbf[a]\r\nb = c\r\n"), (Pairs{{"a.b", "c"}}));
}

TEST(BasePerfConfig, Values) {
  EXPECT_EQ(parsed("[a]\nb = \"x ; # y\" z\n"), (Pairs{{"a.b", "x ; # y z"}}));
  EXPECT_EQ(parsed("[a]\nb = one \\\n   two\n"), (Pairs{{"a.b", "one  two"}}) /* as perf has it */);
  EXPECT_EQ(parsed(R"([a]
b = \"\\\t)"),
            (Pairs{{"a.b", "\"\\\t"}}));
  EXPECT_EQ(parsed("[a]\nb =\n"), (Pairs{{"a.b", ""}}));
  EXPECT_EQ(parsed("[a]\nb = x"), (Pairs{{"a.b", "x"}}));
  EXPECT_EQ(parsed("[a \"b\\\"c\"]\nd = x"), (Pairs{{"a.b\"c.d", "x"}}));
}

TEST(BasePerfConfig, BadLines) {
  const auto error_of = [](std::string_view text) {
    const auto entries = parse_perf_config(text);
    return entries ? "none" : entries.error().what;
  };
  EXPECT_EQ(error_of("[a]\nb = \"x\n"), "bad config file line 2");
  EXPECT_EQ(error_of("[a]\n\n5 = x\n"), "bad config file line 3");
  EXPECT_EQ(error_of("[a\nb = c\n"), "bad config file line 1");
  EXPECT_EQ(error_of("[]\n"), "bad config file line 1");
  EXPECT_EQ(error_of("[a \"b\nc = d\n"), "bad config file line 1");
  EXPECT_EQ(error_of("[a]\nb c\n"), "bad config file line 2");
  EXPECT_EQ(error_of("[a]\nb = \\q\n"), "bad config file line 2");
  EXPECT_EQ(error_of("[a]\nb = " + std::string(2000, 'x')), "bad config file line 2");
  EXPECT_EQ(error_of("[" + std::string(200, 'x') + "]"), "bad config file line 1");
  EXPECT_EQ(error_of("[a"), "bad config file line 1");
  EXPECT_EQ(error_of("[a \"x"), "bad config file line 1");
  EXPECT_EQ(error_of("[a \""), "bad config file line 1");
}

TEST(BasePerfConfig, TruthValues) {
  EXPECT_EQ(parse_config_bool(std::nullopt), true);
  for (const char* word : {"true", "YES", "on", "1", "-3"})
    EXPECT_EQ(parse_config_bool(std::string(word)), true) << word;
  for (const char* word : {"false", "No", "off", "0", ""})
    EXPECT_EQ(parse_config_bool(std::string(word)), false) << word;
  EXPECT_EQ(parse_config_bool(std::string("less -S")), std::nullopt);
}

}  // namespace
}  // namespace perf_latency
