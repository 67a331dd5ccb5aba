// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "analysis/vmstat_report.h"
#include "perfdata/features.h"

namespace perf_latency {
namespace {

TEST(VmstatNames, WorkFunctions) {
  EXPECT_EQ(vmstat_work_of("vmstat_update"), VmstatWork::sync);
  EXPECT_EQ(vmstat_work_of("refresh_vm_stats"), VmstatWork::sync);
  EXPECT_EQ(vmstat_work_of("vmstat_shepherd"), VmstatWork::shepherd);
  EXPECT_EQ(vmstat_work_of("vmstat_update_all"), VmstatWork::none);
  EXPECT_EQ(vmstat_work_of(""), VmstatWork::none);
}

TEST(VmstatNames, WhoQueuedIt) {
  // 6.1 and 6.12: the timer's function is gone from the stack by a tail call.
  EXPECT_EQ(work_source_of({"__queue_work", "call_timer_fn", "__run_timers", "run_timer_softirq"}),
            WorkSource::timer);
  EXPECT_EQ(work_source_of(
                {"__queue_work", "queue_delayed_work_on", "vmstat_shepherd", "process_one_work"}),
            WorkSource::shepherd);
  // A timer interrupt that hit the shepherd.
  EXPECT_EQ(work_source_of({"__queue_work", "call_timer_fn", "asm_sysvec_apic_timer_interrupt",
                            "vmstat_shepherd", "process_one_work"}),
            WorkSource::timer);
  EXPECT_EQ(work_source_of({"__queue_work", "queue_work_on", "schedule_on_each_cpu",
                            "vmstat_refresh", "proc_sys_call_handler"}),
            WorkSource::stat_refresh);
  EXPECT_EQ(work_source_of({"__queue_work", "queue_work_on", "ext4_writepages"}),
            WorkSource::other);
  EXPECT_EQ(work_source_of({}), WorkSource::unknown);
}

TEST(VmstatNames, KernelsWhoseShepherdSkipsIsolatedCpus) {
  EXPECT_FALSE(shepherd_skips_isolated("6.1.0-57-amd64"));
  EXPECT_FALSE(shepherd_skips_isolated("6.4.16"));
  EXPECT_TRUE(shepherd_skips_isolated("6.5.0"));
  EXPECT_TRUE(shepherd_skips_isolated("6.12.117-plain"));
  EXPECT_TRUE(shepherd_skips_isolated("7.0"));
  EXPECT_FALSE(shepherd_skips_isolated("5.19.0"));
  EXPECT_FALSE(shepherd_skips_isolated(""));
  EXPECT_FALSE(shepherd_skips_isolated("garbage"));
}

TEST(VmstatNames, PolicyAndPriority) {
  EXPECT_EQ(vmstat_policy(-1), "SCHED_DEADLINE");
  EXPECT_EQ(vmstat_priority(-1), "");
  EXPECT_EQ(vmstat_policy(98), "SCHED_FIFO/RR");
  EXPECT_EQ(vmstat_priority(98), "1");
  EXPECT_EQ(vmstat_priority(0), "99");
  EXPECT_EQ(vmstat_policy(120), "SCHED_OTHER");
  EXPECT_EQ(vmstat_priority(120), "nice 0");
  EXPECT_EQ(vmstat_priority(100), "nice -20");
}

// ---- what our recorder says about the machine: feature bit 200

std::vector<std::byte> section(uint32_t count, const std::vector<std::string>& texts) {
  std::vector<std::byte> bytes;
  const auto u32 = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<std::byte>(value >> shift));
  };
  u32(count);
  for (const std::string& text : texts) {
    u32(static_cast<uint32_t>(text.size() + 1));
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    bytes.push_back(std::byte{0});
  }
  return bytes;
}

TEST(VmstatMachineState, PairsAreRead) {
  Metadata metadata;
  Diagnostics diagnostics;
  const auto bytes = section(2, {"isolated", "2-3", "nohz_full", ""});
  read_feature(200, bytes, metadata, diagnostics);
  ASSERT_NE(metadata.machine_fact("isolated"), nullptr);
  EXPECT_EQ(*metadata.machine_fact("isolated"), "2-3");
  ASSERT_NE(metadata.machine_fact("nohz_full"), nullptr);
  EXPECT_EQ(*metadata.machine_fact("nohz_full"), "");
  EXPECT_EQ(metadata.machine_fact("kernel_cmdline"), nullptr);
  EXPECT_EQ(diagnostics.count(Diag::bad_feature), 0u);
}

TEST(VmstatMachineState, EveryCutIsAFault) {
  const auto bytes = section(2, {"isolated", "2-3", "nohz_full", "2"});
  for (size_t length = 0; length < bytes.size(); ++length) {
    Metadata metadata;
    Diagnostics diagnostics;
    read_feature(200, std::span(bytes).first(length), metadata, diagnostics);
    EXPECT_TRUE(metadata.machine_state.empty()) << length;
    EXPECT_EQ(diagnostics.count(Diag::bad_feature), 1u) << length;
  }
}

TEST(VmstatMachineState, AHugeCountIsAFault) {
  Metadata metadata;
  Diagnostics diagnostics;
  read_feature(200, section(UINT32_MAX, {"a", "b"}), metadata, diagnostics);
  EXPECT_TRUE(metadata.machine_state.empty());
  EXPECT_EQ(diagnostics.count(Diag::bad_feature), 1u);
}

}  // namespace
}  // namespace perf_latency
