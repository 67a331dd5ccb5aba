// SPDX-License-Identifier: GPL-2.0-only
// Function groups of the shipped table on chains from recordings, and the check against a kernel.
#include "causes/function_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "causes/cause_table.h"
#include "causes/kernel_functions.h"
#include "causes/shipped_table.h"

namespace perf_latency {
namespace {

using Chain = std::vector<std::string_view>;

class CausesFunctions : public ::testing::Test {
 protected:
  CauseTable table_ = std::move(*CauseTable::load(shipped_cause_table()));
  const FunctionGroups& groups_ = table_.groups();
};

TEST_F(CausesFunctions, CallerIsTheFirstFrameOutsideLockAndTracingCode) {
  const Chain chain = {"__traceiter_contention_begin",
                       "trace_contention_begin",
                       "__mutex_lock.constprop.0",
                       "mutex_lock",
                       "pipe_read",
                       "vfs_read"};
  EXPECT_EQ(groups_.caller_index(chain), 4u);
  EXPECT_EQ(groups_.lock_name(chain[4], false), "pipe mutex");
  const Chain spinning = {"native_queued_spin_lock_slowpath", "_raw_spin_lock",
                          "raw_spin_rq_lock_nested", "__schedule"};
  EXPECT_EQ(groups_.caller_index(spinning), 2u);
  EXPECT_EQ(groups_.lock_name(spinning[2], true), "rq lock");
  const Chain nothing_else = {"__traceiter_contention_begin", "__mutex_lock"};
  EXPECT_EQ(groups_.caller_index(nothing_else), 2u);
  EXPECT_EQ(groups_.caller_index(Chain{}), 0u);
}

TEST_F(CausesFunctions, WellKnownLocksHaveNames) {
  EXPECT_EQ(groups_.lock_name("rmqueue_bulk", true), "zone lock");
  EXPECT_EQ(groups_.lock_name("folio_lruvec_lock_irqsave", true), "lruvec lock");
  EXPECT_EQ(groups_.lock_name("vm_mmap_pgoff", false), "mmap_lock");
  EXPECT_EQ(groups_.lock_name("__do_sys_brk", false), "mmap_lock");
  EXPECT_EQ(groups_.lock_name("do_unlinkat", false), "directory lock");
  EXPECT_EQ(groups_.lock_name("cgroup_rstat_flush_locked", true), "cgroup rstat lock");
  EXPECT_EQ(groups_.lock_name("some_driver_ioctl", false), std::nullopt);
}

TEST_F(CausesFunctions, WakersThatReleasedALock) {
  const auto kind = [this](const Chain& chain) {
    return groups_.release_kind(std::span<const std::string_view>(chain));
  };
  EXPECT_EQ(kind({"try_to_wake_up", "wake_up_q", "rwsem_wake.isra.0", "up_write", "do_rmdir"}),
            "rwsem:W");
  EXPECT_EQ(kind({"try_to_wake_up", "wake_up_q", "rwsem_wake.isra.0", "up_read", "iterate_dir"}),
            "rwsem:R");
  EXPECT_EQ(kind({"try_to_wake_up", "wake_up_q", "downgrade_write", "vms_complete_munmap_vmas"}),
            "rwsem:W");
  EXPECT_EQ(kind({"try_to_wake_up", "wake_up_q", "rwsem_wake.isra.0", "path_openat"}), "rwsem");
  EXPECT_EQ(kind({"try_to_wake_up", "wake_up_q", "__mutex_unlock_slowpath.isra.0", "pipe_write"}),
            "mutex");
  EXPECT_EQ(kind({"try_to_wake_up", "__wake_up_common", "pipe_write", "vfs_write"}), std::nullopt);
  // The interrupted task was about to release, but did not wake.
  EXPECT_EQ(kind({"try_to_wake_up", "hrtimer_wakeup", "__hrtimer_run_queues", "hrtimer_interrupt",
                  "__sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt", "up_write"}),
            std::nullopt);
}

TEST_F(CausesFunctions, InterruptsNameTheirSource) {
  const auto source = [this](const Chain& chain) { return groups_.interrupt_source(chain); };
  EXPECT_EQ(
      source({"try_to_wake_up", "hrtimer_wakeup", "__hrtimer_run_queues", "hrtimer_interrupt",
              "__sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt", "pipe_read"}),
      "timer");
  EXPECT_EQ(
      source({"try_to_wake_up", "wake_page_function", "folio_wake_bit", "__read_end_io",
              "blk_update_request", "blk_mq_end_request", "blk_done_softirq", "handle_softirqs",
              "__irq_exit_rcu", "common_interrupt", "asm_common_interrupt"}),
      "block device");
  EXPECT_EQ(source({"try_to_wake_up", "sock_def_readable", "tcp_data_queue", "tcp_v4_rcv",
                    "process_backlog", "__napi_poll", "net_rx_action", "handle_softirqs",
                    "do_softirq.part.0", "__local_bh_enable_ip", "tcp_sendmsg"}),
            "network");
  EXPECT_EQ(source({"try_to_wake_up", "swake_up_one", "__flush_smp_call_function_queue",
                    "__sysvec_call_function_single", "asm_sysvec_call_function_single"}),
            "IPI");
  EXPECT_EQ(source({"try_to_wake_up", "swake_up_one", "rcu_core", "handle_softirqs",
                    "run_ksoftirqd", "smpboot_thread_fn"}),
            "RCU");
  EXPECT_EQ(source({"try_to_wake_up", "handle_softirqs", "__irq_exit_rcu",
                    "asm_sysvec_apic_timer_interrupt"}),
            "softirq");
  EXPECT_EQ(source({"try_to_wake_up", "some_irq_handler", "__handle_irq_event_percpu",
                    "handle_irq_event", "handle_edge_irq", "__common_interrupt"}),
            "interrupt");
  EXPECT_EQ(source({"try_to_wake_up", "irq_work_run", "smp_irq_work_interrupt"}), "irq work");
  EXPECT_EQ(source({"try_to_wake_up", "autoremove_wake_function", "pipe_write", "vfs_write"}),
            std::nullopt);
  // A task that ends a request itself is the waker.
  EXPECT_EQ(
      source({"try_to_wake_up", "blk_update_request", "blk_mq_end_request", "loop_process_work"}),
      std::nullopt);
  EXPECT_EQ(source({}), std::nullopt);
}

TEST_F(CausesFunctions, SpinningFunctions) {
  EXPECT_EQ(groups_.spin_function("osq_lock"), "mutex or rwsem: in the queue of spinners");
  EXPECT_EQ(groups_.spin_function("mutex_spin_on_owner"), "mutex: spinning while the owner runs");
  EXPECT_EQ(groups_.spin_function("rwsem_spin_on_owner"), "rwsem: spinning while the owner runs");
  EXPECT_EQ(groups_.spin_function("native_queued_spin_lock_slowpath.part.0"), "spinlock");
  EXPECT_EQ(groups_.spin_function("__pv_queued_spin_lock_slowpath"), "spinlock (paravirtual)");
  EXPECT_EQ(groups_.spin_function("queued_write_lock_slowpath"), "rwlock");
  EXPECT_EQ(groups_.spin_function("_raw_spin_lock"), std::nullopt);
}

TEST_F(CausesFunctions, UserEntries) {
  for (const std::string_view name : {"entry_SYSCALL_64_after_hwframe", "asm_exc_page_fault",
                                      "el0t_64_sync", "entry_SYSCALL64_slow_path", "page_fault"})
    EXPECT_TRUE(groups_.is_user_entry(name)) << name;
  for (const std::string_view name : {"ret_from_fork_asm", "ret_from_fork", "do_syscall_64",
                                      "asm_sysvec_apic_timer_interrupt", "kthread"})
    EXPECT_FALSE(groups_.is_user_entry(name)) << name;
}

TEST(CausesKernel, SaysWhichPatternsAKernelLacks) {
  const std::string_view kallsyms =
      "ffffffff81000000 T pipe_read.isra.0\n"
      "ffffffff81000010 t nfs_wait\n"
      "ffffffff81000020 T __x64_sys_pause\n"
      "ffffffff81000030 D a_variable\n"
      "garbage\n";
  const KernelFunctions kernel(kallsyms);
  EXPECT_EQ(kernel.size(), 3u);
  const auto table = CauseTable::load(
      "[cause one]\nclass = ipc\nsentence = One\n"
      "match = pipe_read lock:pipe_read pipe_gone nfs_* xfs_* syscall:pause syscall:read\n"
      "[cause two]\nclass = disk\nsentence = Two\nmatch = a_variable\n"
      "[functions spin]\nspinlock = osq_lock pipe_read\n");
  ASSERT_TRUE(table) << table.error().what;
  const auto checks = check_patterns(*table, kernel);
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[0].cause, table->find("one"));
  EXPECT_EQ(checks[0].patterns, 7u);
  EXPECT_EQ(checks[0].missing, (std::vector<std::string>{"pipe_gone", "xfs_*", "syscall:read"}));
  EXPECT_EQ(checks[1].missing, std::vector<std::string>{"a_variable"});
  EXPECT_FALSE(checks[2].cause.valid());
  EXPECT_EQ(checks[2].group, "spin");
  EXPECT_EQ(checks[2].missing, std::vector<std::string>{"osq_lock"});
}

TEST(CausesKernel, EmptyTextHasNoFunctions) {
  EXPECT_EQ(KernelFunctions("").size(), 0u);
  EXPECT_FALSE(KernelFunctions("").has(Pattern{PatternPlace::any, false, true, "", 0}));
}

}  // namespace
}  // namespace perf_latency
