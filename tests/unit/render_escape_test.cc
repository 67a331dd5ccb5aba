// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "render/escape.h"
#include "render/json_line.h"

namespace perf_latency {
namespace {

std::string json_text(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}
std::string xml_text(std::string_view text) {
  std::string out;
  append_xml_text(out, text);
  return out;
}

TEST(RenderEscape, TerminalText) {
  using namespace std::string_view_literals;
  EXPECT_EQ(terminal_text("plain text ~"), "plain text ~");
  EXPECT_EQ(terminal_text("\x1b[2J\x7f\0\t"sv), "\\x1b[2J\\x7f\\x00\\x09");
  EXPECT_EQ(terminal_text("größe €😀"), "größe €😀");
  EXPECT_EQ(terminal_text("\u0080\u009b\u009f\u00a0"), "\\x80\\x9b\\x9f\u00a0");
  EXPECT_EQ(terminal_text("\u200e\u202a\u202e\u2066\u2069\u2028\ufeff\uffff\u061c"),
            "\\u200e\\u202a\\u202e\\u2066\\u2069\\u2028\\ufeff\\uffff\\u061c");
  EXPECT_EQ(terminal_text("\xf4\x8f\xbf\xbf"), "\\udbff\\udfff");  // U+10FFFF
  EXPECT_EQ(terminal_text("back\\slash"), "back\\slash");
}

TEST(RenderEscape, InvalidUtf8) {
  EXPECT_EQ(terminal_text("\x80"), "\\x80");
  EXPECT_EQ(terminal_text("\xc3"), "\\xc3");                             // cut short
  EXPECT_EQ(terminal_text("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(terminal_text("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(terminal_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(terminal_text("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(valid_utf8("a\xff\xc3\xb6\xc3"), "a\ufffdö\ufffd");
}

TEST(RenderEscape, JsonText) {
  EXPECT_EQ(json_text("a\"b\\c/d"), "a\\\"b\\\\c/d");
  EXPECT_EQ(json_text("\n\x1b\x7f\u009b"), "\\u000a\\u001b\\u007f\\u009b");
  EXPECT_EQ(json_text("ö€😀"), "\\u00f6\\u20ac\\ud83d\\ude00");
  EXPECT_EQ(json_text("\xff\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");
}

TEST(RenderEscape, XmlText) {
  EXPECT_EQ(xml_text("<a href='x'>&\"\x01"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\\x01");
}

TEST(RenderEscape, Shorten) {
  EXPECT_EQ(text_width("größe €😀"), 8u);
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(shorten("abcdefgh", 6), "abc…gh");
  EXPECT_EQ(shorten("äöüäöüäö", 5), "äö…äö");
  EXPECT_EQ(shorten("Waiting for a page", 13), "Waiting for…");
  EXPECT_EQ(shorten("Waiting for a page", 15), "Waiting for a…");
  EXPECT_EQ(shorten("abc", 1), "…");
  EXPECT_EQ(shorten("abc", 0), "");
}

TEST(RenderJsonLine, WholeLine) {
  std::string out;
  JsonLine line(out);
  line.field("type", "sleep");
  line.field("start_ns", uint64_t{18446744073709551615u});
  line.field("cpu", -1);
  line.field("open", true);
  line.field("share", 0.5);
  line.field("nan", std::numeric_limits<double>::infinity());
  line.field("comm", std::string("a{\"\xff"));
  line.field("cause_id", std::optional<std::string>());
  line.field("holder", std::optional<int>(7));
  line.begin_object("waker");
  line.field("tid", 5u);
  line.null_field("comm");
  line.end_object();
  line.begin_array("stack");
  line.element("pipe_read");
  line.element("[unknown]");
  line.end_array();
  line.begin_array("edges");
  line.element(1);
  line.begin_object_element();
  line.field("x", 2);
  line.end_object();
  line.end_array();
  line.begin_array("empty");
  line.end_array();
  line.raw_field("more", "[1]");
  line.end();
  EXPECT_EQ(out,
            R"({"type":"sleep","start_ns":18446744073709551615,"cpu":-1,"open":true,"share":0.5,)"
            R"("nan":null,"comm":"a{\"\ufffd","cause_id":null,"holder":7,)"
            R"("waker":{"tid":5,"comm":null},"stack":["pipe_read","[unknown]"],)"
            R"("edges":[1,{"x":2}],"empty":[],"more":[1]})"
            "\n");
  EXPECT_TRUE(nlohmann::json::accept(out));
}

}  // namespace
}  // namespace perf_latency
