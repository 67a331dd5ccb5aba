// SPDX-License-Identifier: GPL-2.0-only
// Which events a set means, on a made-up kernel whose tracefs is a directory of this test's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "record/event_sets.h"
#include "record/tracefs.h"

namespace perf_latency {
namespace {

constexpr char kSwitchFormat[] =
    "name: sched_switch\nID: 314\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n"
    "print fmt: \"prev_state=%s%s\", (REC->prev_state & ((((0x0000 | 0x0001) + 1) << 1) - 1)) ? "
    "__print_flags(REC->prev_state & 0x1ff, \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, "
    "{ 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "
    "{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : "
    "\"\"\n";

constexpr char kWorkFormat[] =
    "name: workqueue_queue_work\nID: 9\nformat:\n"
    "\tfield:void * work;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:void * function;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] workqueue;\toffset:24;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

constexpr char kKallsyms[] =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81111000 t vmstat_update.cold\n"
    "ffffffff81222000 t vmstat_update\n"
    "ffffffff81222100 t vmstat_shepherd\n"
    "ffffffff81333000 T delayed_work_timer_fn\n"
    "ffffffffc0100000 t refresh_vm_stats\t[vmstat_update]\n";

class RecordEventSets : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("record_event_sets." + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void add(const std::string& system, const std::string& name, int id, const char* format = "") {
    const std::filesystem::path folder = directory_ / "events" / system / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "id") << id << "\n";
    std::ofstream(folder / "format") << format;
  }
  void add_sched() {
    int id = 300;
    for (const char* name : {"sched_waking", "sched_wakeup_new", "sched_process_fork",
                             "sched_process_exec", "sched_process_exit", "sched_migrate_task"})
      add("sched", name, id++);
    add("task", "task_rename", 310);
    add("sched", "sched_switch", 314, kSwitchFormat);
  }
  Result<EventChoice> choose(std::vector<std::string> sets, bool named = true, bool user = false) {
    return choose_events({std::move(sets), named, user}, Tracefs(directory_.string()), facts_);
  }
  static const ChosenEvent* find(const EventChoice& choice, const std::string& name) {
    for (const ChosenEvent& event : choice.events)
      if (event.name == name) return &event;
    return nullptr;
  }

  std::filesystem::path directory_;
  KernelFacts facts_{{0, 1, 2, 3}, {}, kKallsyms, false};
};

TEST_F(RecordEventSets, SwitchIsOpenedTwiceWithComplementaryFilters) {
  add_sched();
  const auto choice = choose({"sched"});
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->events.size(), 8u);
  const ChosenEvent* event = find(*choice, "sched:sched_switch");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->config, 314u);
  ASSERT_EQ(event->parts.size(), 2u);
  EXPECT_EQ(event->parts[0].filter, "prev_state & 0xff");
  EXPECT_TRUE(event->parts[0].with_chain);
  EXPECT_EQ(event->parts[1].filter, "!(prev_state & 0xff)");
  EXPECT_FALSE(event->parts[1].with_chain);
}

TEST_F(RecordEventSets, OnlyWakersAndSleepersHaveChains) {
  add_sched();
  const auto choice = choose({"sched"}, true, true);
  ASSERT_TRUE(choice);
  for (const ChosenEvent& event : choice->events) {
    const bool wanted = event.name == "sched:sched_waking" || event.name == "sched:sched_switch";
    EXPECT_EQ(event.parts.front().with_chain, wanted) << event.name;
  }
}

TEST_F(RecordEventSets, MissingEventsAreNamedOnce) {
  add_sched();
  const auto choice = choose({"latencytop", "sched"});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->events.size(), 8u);
  ASSERT_EQ(choice->missing.size(), 3u);
  EXPECT_EQ(choice->missing[0].full(), "sched:sched_wakeup");
  EXPECT_EQ(choice->missing[1].full(), "sched:sched_stat_sleep");
  EXPECT_EQ(choice->missing[2].full(), "sched:sched_stat_blocked");
}

TEST_F(RecordEventSets, ASetWithNothingInThisKernelFailsOnlyWhenNamed) {
  add_sched();
  const auto named = choose({"lock"});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().what, "this kernel has no event of the set \"lock\"");
  const auto by_default = choose({"sched", "lock"}, false);
  ASSERT_TRUE(by_default);
  EXPECT_EQ(by_default->events.size(), 8u);
  EXPECT_EQ(by_default->missing.size(), 2u);
  const auto nothing = choose({"lock"}, false);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().what, "this kernel has none of the events to record");
}

TEST_F(RecordEventSets, UnknownNamesFail) {
  add_sched();
  const auto set = choose({"shed"});
  ASSERT_FALSE(set);
  EXPECT_TRUE(set.error().what.starts_with("no event set \"shed\": the sets are sched, lock, "));
  const auto tracepoint = choose({"sched:nothing"});
  ASSERT_FALSE(tracepoint);
  EXPECT_TRUE(
      tracepoint.error().what.starts_with("this kernel has no tracepoint \"sched:nothing\""));
  EXPECT_FALSE(choose({"../../etc:x"}));
}

TEST_F(RecordEventSets, ANamedTracepointGetsAChainOnlyWithG) {
  add("ext4", "ext4_sync_file_enter", 77);
  const auto lean = choose({"ext4:ext4_sync_file_enter"});
  ASSERT_TRUE(lean);
  EXPECT_FALSE(lean->events.front().parts.front().with_chain);
  const auto with_g = choose({"ext4:ext4_sync_file_enter"}, true, true);
  ASSERT_TRUE(with_g);
  EXPECT_TRUE(with_g->events.front().parts.front().with_chain);
}

TEST_F(RecordEventSets, ATracepointOfASetKeepsItsRules) {
  add_sched();
  const auto choice = choose({"sched:sched_switch"});
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->events.size(), 1u);
  EXPECT_EQ(choice->events.front().parts.size(), 2u);
}

TEST_F(RecordEventSets, VmstatWorkIsFilteredByFunction) {
  add_sched();
  add("workqueue", "workqueue_queue_work", 9, kWorkFormat);
  add("timer", "timer_start", 10, kWorkFormat);
  add("timer", "tick_stop", 11);
  const auto choice = choose({"vmstat"});
  ASSERT_TRUE(choice);
  const ChosenEvent* work = find(*choice, "workqueue:workqueue_queue_work");
  ASSERT_NE(work, nullptr);
  ASSERT_EQ(work->parts.size(), 1u);
  EXPECT_EQ(
      work->parts[0].filter,
      "function==0xffffffff81222000||function==0xffffffff81222100||function==0xffffffffc0100000");
  EXPECT_TRUE(work->parts[0].with_chain);
  EXPECT_TRUE(work->parts[0].cpus.empty());
  const ChosenEvent* timer = find(*choice, "timer:timer_start");
  ASSERT_NE(timer, nullptr);
  EXPECT_EQ(timer->parts[0].filter, "function==0xffffffff81333000");
  EXPECT_TRUE(find(*choice, "timer:tick_stop")->parts[0].filter.empty());
}

TEST_F(RecordEventSets, IsolatedCpusAreNotFiltered) {
  facts_.isolated_cpus = {1, 3};
  add_sched();
  add("workqueue", "workqueue_queue_work", 9, kWorkFormat);
  const auto choice = choose({"vmstat"});
  ASSERT_TRUE(choice);
  const ChosenEvent* work = find(*choice, "workqueue:workqueue_queue_work");
  ASSERT_EQ(work->parts.size(), 2u);
  EXPECT_TRUE(work->parts[0].filter.empty());
  EXPECT_EQ(work->parts[0].cpus, (std::vector<uint32_t>{1, 3}));
  EXPECT_FALSE(work->parts[1].filter.empty());
  EXPECT_EQ(work->parts[1].cpus, (std::vector<uint32_t>{0, 2}));
}

TEST_F(RecordEventSets, HiddenAddressesLeaveTimersOut) {
  facts_.kallsyms = "0000000000000000 T vmstat_update\n0000000000000000 T delayed_work_timer_fn\n";
  add_sched();
  add("workqueue", "workqueue_queue_work", 9, kWorkFormat);
  add("timer", "timer_start", 10, kWorkFormat);
  const auto choice = choose({"vmstat"});
  ASSERT_TRUE(choice);
  EXPECT_EQ(find(*choice, "timer:timer_start"), nullptr);
  EXPECT_TRUE(find(*choice, "workqueue:workqueue_queue_work")->parts[0].filter.empty());
  ASSERT_EQ(choice->notes.size(), 1u);
  EXPECT_TRUE(choice->notes[0].starts_with("timer:timer_start is left out: "));
}

TEST_F(RecordEventSets, SpinIsAClockSample) {
  const auto choice = choose({"spin"});
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->events.size(), 1u);
  EXPECT_EQ(choice->events[0].name, "cpu-clock");
  EXPECT_EQ(choice->events[0].clock_hz, 997u);
  EXPECT_TRUE(choice->events[0].parts[0].with_chain);
}

TEST_F(RecordEventSets, AddressesAreReadOnlyWhenNeeded) {
  EXPECT_FALSE(needs_kernel_addresses({"sched", "lock"}));
  EXPECT_TRUE(needs_kernel_addresses({"sched", "vmstat"}));
  EXPECT_TRUE(needs_kernel_addresses({"timer:timer_start"}));
  EXPECT_FALSE(needs_kernel_addresses({"timer:hrtimer_start"}));
}

TEST_F(RecordEventSets, SymbolAddressTakesTheWholeName) {
  EXPECT_EQ(symbol_address(kKallsyms, "vmstat_update"), 0xffffffff81222000u);
  EXPECT_EQ(symbol_address(kKallsyms, "vmstat"), std::nullopt);
  EXPECT_EQ(symbol_address(kKallsyms, "fixed_percpu_data"), std::nullopt);  // address 0
  EXPECT_EQ(symbol_address("", "x"), std::nullopt);
}

TEST(RecordTracefs, SleepMaskComesFromTheFormat) {
  EXPECT_EQ(sleep_state_mask(kSwitchFormat), 0xffu);
  // 4.9: decimal bits up to 1024, the preempted bit (4096) outside the list.
  EXPECT_EQ(sleep_state_mask(
                "print fmt: \"%s\", REC->prev_state & (4096-1) ? "
                "__print_flags(REC->prev_state & (4096-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, "
                "{ 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, "
                "{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }) : \"R\", "
                "REC->prev_state & 4096 ? \"+\" : \"\""),
            0x7ffu);
  EXPECT_EQ(sleep_state_mask("print fmt: \"%d\", REC->prev_state"), 0u);
  EXPECT_EQ(sleep_state_mask("__print_flags(x, \"|\", { 0x1"), 1u);
  EXPECT_EQ(sleep_state_mask(""), 0u);
}

TEST(RecordTracefs, FieldsAreFoundByTheirWholeName) {
  const auto pid = format_field(kSwitchFormat, "prev_pid");
  ASSERT_TRUE(pid);
  EXPECT_EQ(pid->offset, 24u);
  EXPECT_EQ(pid->size_bytes, 4u);
  const auto comm = format_field(kSwitchFormat, "prev_comm");
  ASSERT_TRUE(comm);
  EXPECT_EQ(comm->offset, 8u);
  EXPECT_EQ(comm->size_bytes, 16u);
  EXPECT_FALSE(format_field(kSwitchFormat, "pid"));
  EXPECT_TRUE(format_field(kWorkFormat, "workqueue"));
  EXPECT_FALSE(format_field("", "pid"));
}

TEST_F(RecordEventSets, TracingDataHoldsTheFormatsBySystem) {
  std::filesystem::create_directories(directory_ / "events");
  std::ofstream(directory_ / "events" / "header_page") << "PAGE";
  std::ofstream(directory_ / "events" / "header_event") << "EVENT";
  add("sched", "b", 1, "FORMAT-B");
  add("sched", "a", 2, "FORMAT-A");
  add("lock", "c", 3, "FORMAT-C");
  const std::vector<std::byte> data =
      Tracefs(directory_.string())
          .tracing_data({{"sched", "b"}, {"lock", "c"}, {"sched", "a"}, {"sched", "b"}});
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const std::string head("\x17\x08\x44tracing0.6\0", 14);
  ASSERT_TRUE(text.starts_with(head));
  const auto u64 = [](uint64_t v) { return std::string(reinterpret_cast<char*>(&v), 8); };
  const auto u32 = [](uint32_t v) { return std::string(reinterpret_cast<char*>(&v), 4); };
  const std::string tail = std::string("header_page\0", 12) + u64(4) + "PAGE" +
                           std::string("header_event\0", 13) + u64(5) + "EVENT" + u32(0) + u32(2) +
                           std::string("lock\0", 5) + u32(1) + u64(8) + "FORMAT-C" +
                           std::string("sched\0", 6) + u32(2) + u64(8) + "FORMAT-A" + u64(8) +
                           "FORMAT-B" + u32(0) + u32(0) + u64(0);
  EXPECT_EQ(text.substr(head.size() + 6), tail);
}

}  // namespace
}  // namespace perf_latency
