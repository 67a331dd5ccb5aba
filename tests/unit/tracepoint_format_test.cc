// SPDX-License-Identifier: GPL-2.0-only
// Format texts, tracing data and the task states of each kernel era.
#include <gtest/gtest.h>

#include "perf_data_builder.h"
#include "tracepoint/event_format.h"
#include "tracepoint/format_cache.h"
#include "tracepoint/task_state.h"
#include "tracepoint/tracing_data.h"

namespace perf_latency {
namespace {

EventFormat parse(std::string_view fields, std::string_view print = "\"\"") {
  auto format = parse_event_format("sched", format_text("some_event", 42, fields, print));
  EXPECT_TRUE(format);
  return format ? std::move(*format) : EventFormat();
}

TEST(TracepointFormat, FieldsOfEveryKind) {
  const EventFormat format = parse(
      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
      "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
      "\tfield:unsigned long addr;\toffset:32;\tsize:8;\tsigned:0;\n"
      "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
      "\tfield:__rel_loc char[] other;\toffset:44;\tsize:4;\tsigned:0;\n"
      "\tfield:bool flag;\toffset:48;\tsize:1;\tsigned:0;\n");
  EXPECT_EQ(format.name, "some_event");
  EXPECT_EQ(format.id, 42u);
  EXPECT_EQ(format.find("common_pid").offset, 4u);
  EXPECT_EQ(format.find("comm").kind, FieldRef::Kind::char_array);
  EXPECT_EQ(format.find("comm").size, 16u);
  EXPECT_EQ(format.find("pid").kind, FieldRef::Kind::number);
  EXPECT_TRUE(format.find("pid").is_signed);
  EXPECT_EQ(format.find("addr").size, 8u);
  EXPECT_FALSE(format.find("addr").is_signed);
  EXPECT_EQ(format.find("name").kind, FieldRef::Kind::data_loc);
  EXPECT_EQ(format.find("other").kind, FieldRef::Kind::rel_loc);
  EXPECT_EQ(format.find("flag").size, 1u);
  EXPECT_FALSE(format.find("nothing").present());
  EXPECT_EQ(format.require("nothing").error().what,
            "the format of sched:some_event has no field 'nothing'");
}

TEST(TracepointFormat, APrintFormatThatNobodyUnderstandsLeavesTheFields) {
  const EventFormat format = parse("\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n",
                                   "\"%s\", new_function(REC->pid, {)");
  EXPECT_EQ(format.find("pid").offset, 8u);
}

TEST(TracepointFormat, DeepParenthesesDoNotEatTheStack) {
  const EventFormat format = parse("\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n",
                                   "\"%d\", " + std::string(200000, '(') + "REC->pid");
  EXPECT_EQ(format.find("pid").offset, 8u);
}

TEST(TracepointFormat, AFieldThatNoRecordCanHoldIsAbsent) {
  const EventFormat format = parse(
      "\tfield:long a;\toffset:65535;\tsize:8;\tsigned:1;\n"
      "\tfield:long b;\toffset:70000;\tsize:8;\tsigned:1;\n"
      "\tfield:long c;\toffset:8;\tsize:3;\tsigned:1;\n");
  EXPECT_FALSE(format.find("a").present());
  EXPECT_FALSE(format.find("b").present());
  EXPECT_FALSE(format.find("c").present());
}

TEST(TracepointFormat, LinesThatAreNoFieldsAreSteppedOver) {
  const EventFormat format = parse(
      "\tfield:int lacks_everything;\n"
      "\tfield:int lacks_size;\toffset:8;\n"
      "\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n"
      "\tfield:int ];\toffset:8;\tsize:4;\tsigned:1;\n"
      "\tfield\n\tfield:int no_semicolon\n\n"
      "\tfield special:char name[TASK_COMM_LEN];\toffset:8;\tsize:16;\n"
      "\tfield:unsigned int before_2_6_33;\toffset:24;\tsize:4;\n"
      "\tfield:pid_t pid;\toffset:28;\tsize:4;\n");
  EXPECT_EQ(format.fields.size(), 4u + 3);  // four common ones
  EXPECT_EQ(format.find("name").kind, FieldRef::Kind::char_array);
  EXPECT_FALSE(format.find("before_2_6_33").is_signed);
  EXPECT_TRUE(format.find("pid").is_signed);
  EXPECT_EQ(parse_event_format("sched", "ID: 3\n").error().what,
            "a tracepoint format of sched cannot be read");
}

TEST(TracepointFormat, NumbersAreExtendedAsTheFormatSays) {
  const Bytes raw = ByteWriter().u32(0xfffffffe).u16(0x8000).u8(0xff).zeros(9).take();
  EXPECT_EQ(load_number({0, 4, FieldRef::Kind::number, true}, raw, false), UINT64_MAX - 1);
  EXPECT_EQ(load_number({0, 4, FieldRef::Kind::number, false}, raw, false), 0xfffffffeu);
  EXPECT_EQ(load_number({4, 2, FieldRef::Kind::number, true}, raw, false), 0xffffffffffff8000u);
  EXPECT_EQ(load_number({4, 2, FieldRef::Kind::number, true}, raw, true), 0x80u);
  EXPECT_EQ(load_number({6, 1, FieldRef::Kind::number, false}, raw, false), 0xffu);
}

TEST(TracepointFormat, TextIsTakenOnlyFromInsideTheRawData) {
  const Bytes raw = ByteWriter().u32(5u << 16 | 8).u32(0).text("hello world").take();
  const FieldRef data_loc{0, 4, FieldRef::Kind::data_loc, false};
  const FieldRef rel_loc{0, 4, FieldRef::Kind::rel_loc, false};
  EXPECT_EQ(load_text(data_loc, raw, false), "hello");
  EXPECT_EQ(load_text(rel_loc, raw, false), "o wor");  // 8 behind the word's own end
  EXPECT_EQ(load_text({8, 11, FieldRef::Kind::char_array, false}, raw, false), "hello world");
  EXPECT_EQ(load_text({8, 12, FieldRef::Kind::char_array, false}, raw, false), "");
  const Bytes far = ByteWriter().u32(5u << 16 | 9).u32(0).text("hello").take();
  EXPECT_EQ(load_text(data_loc, far, false), "");
  const Bytes swapped = ByteWriter(true).u32(5u << 16 | 8).u32(0).text("hello").take();
  EXPECT_EQ(load_text(data_loc, swapped, true), "hello");
}

TEST(TracepointTracingData, EitherOrderAndEitherLongSize) {
  const std::string text = format_text("sched_switch", 316, kSwitchFields, kSwitchPrint);
  for (const bool swap : {false, true}) {
    for (const uint8_t long_bytes : {4, 8}) {
      const auto data =
          parse_tracing_data(tracing_data({{"sched", text}, {"lock", "x"}}, swap, long_bytes));
      ASSERT_TRUE(data) << data.error().what;
      EXPECT_EQ(data->big_endian, swap);
      EXPECT_EQ(data->long_bytes, long_bytes);
      ASSERT_EQ(data->formats.size(), 2u);
      EXPECT_EQ(data->formats[0].system, "sched");
      EXPECT_EQ(data->formats[0].text, text);
      EXPECT_EQ(data->formats[1].system, "lock");
    }
  }
}

TEST(TracepointTracingData, CutAtEveryByteItIsAnErrorOrWhole) {
  const Bytes whole = tracing_data({{"sched", format_text("sched_switch", 316, kSwitchFields)}});
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<long>(size));
    const auto data = parse_tracing_data(cut);
    // The three empty sections at the end are not needed.
    EXPECT_EQ(data.has_value(), size >= whole.size() - 16) << size;
  }
  EXPECT_EQ(parse_tracing_data({}).error().what, "the tracing data does not begin with its magic");
}

TEST(TracepointTracingData, CountsThatPromiseTooMuchAreErrors) {
  for (const uint32_t count : {2u, 1000000u, UINT32_MAX}) {
    ByteWriter w;
    w.text("\x17\x08\x44tracing").padded_text("0.6", 1).u8(0).u8(8).u32(4096);
    w.padded_text("header_page", 1).u64(0).padded_text("header_event", 1).u64(0);
    w.u32(count);
    EXPECT_FALSE(parse_tracing_data(w.get()));
    w.u64(UINT64_MAX).text("text");
    EXPECT_FALSE(parse_tracing_data(w.get()));
  }
}

TEST(TracepointFormatCache, FindsByIdAndIgnoresFtracesOwn) {
  TracingData data;
  data.formats = {{"ftrace", format_text("function", 1, "")},
                  {"sched", format_text("sched_switch", 316, kSwitchFields)},
                  {"sched", "name: broken\nID: notanumber\n"}};
  FormatCache cache(std::move(data));
  EXPECT_EQ(cache.find(1), nullptr);
  ASSERT_NE(cache.find(316), nullptr);
  EXPECT_EQ(cache.find(316)->name, "sched_switch");
  EXPECT_EQ(cache.find(316), cache.find(316));
  EXPECT_EQ(cache.find(0), nullptr);
}

std::string print_format(std::string_view mask, std::string_view list, std::string_view plus) {
  return "\"%s%s\", REC->prev_state & (" + std::string(mask) +
         ") ? __print_flags(REC->prev_state & (" + std::string(mask) + "), \"|\", " +
         std::string(list) + ") : \"R\"" + std::string(plus);
}

std::string letters(const TaskStateTable& table, std::initializer_list<uint64_t> states) {
  std::string out;
  for (const uint64_t state : states) {
    const TaskState decoded = table.decode(state);
    out += decoded.letter;
    if (decoded.preempted) out += '+';
  }
  return out;
}

TEST(TracepointTaskState, Kernel4_14AndLater) {
  const auto table = TaskStateTable::parse(kSwitchPrint);
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(letters(*table, {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 257}), "RSDTtXZPIR+R+");
  EXPECT_EQ(table->sleep_mask(), 255u);
  EXPECT_EQ(table->preempted_bit(), 256u);
  EXPECT_TRUE(table->decode(16).ends_life());
  EXPECT_TRUE(table->decode(32).ends_life());
  EXPECT_FALSE(table->decode(64).ends_life());
  EXPECT_EQ(letters(*table, {512, 1024}), "??");  // bits that this kernel does not name
}

TEST(TracepointTaskState, Kernel4_9) {
  const auto table = TaskStateTable::parse(
      print_format("4095",
                   "{ 1, \"S\" }, { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, "
                   "\"X\" }, { 64, \"x\" }, "
                   "{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }",
                   ", REC->prev_state & 4096 ? \"+\" : \"\""));
  ASSERT_TRUE(table);
  // Killable sleep is D|K; an idle kernel thread's D|N is the I of later kernels.
  EXPECT_EQ(letters(*table, {0, 1, 2, 130, 1026, 512, 64, 4096, 2048}), "RSDDIPxR+?");
  EXPECT_TRUE(table->decode(64).ends_life());
}

TEST(TracepointTaskState, OldKernelsDoNotTellWhoWasPreempted) {
  const auto table = TaskStateTable::parse(
      "\"%s\", REC->prev_state ? __print_flags(REC->prev_state, \"|\", { 1, \"S\"} , { 2, \"D\" }, "
      "{ 64, "
      "\"x\" }, { 128, \"W\" }) : \"R\"");
  ASSERT_TRUE(table);
  EXPECT_EQ(letters(*table, {0, 1, 2, 130, 64}), "RSDDx");
  EXPECT_EQ(table->preempted_bit(), 0u);
}

TEST(TracepointTaskState, WhatCannotBeReadIsAnError) {
  EXPECT_EQ(TaskStateTable::parse("\"%d\", REC->prev_state").error().what,
            "the format of sched:sched_switch names no task states");
  EXPECT_FALSE(TaskStateTable::parse("__print_flags(REC->prev_state, \"|\")"));
  EXPECT_FALSE(TaskStateTable::parse("__print_flags(REC->prev_state, \"|\", { x, \"S\" })"));
  EXPECT_FALSE(
      TaskStateTable::parse("__print_flags(REC->prev_state, \"|\", {" + std::string(9999, '(')));
}

}  // namespace
}  // namespace perf_latency
