// SPDX-License-Identifier: GPL-2.0-only
#include "render/stack_profile.h"

#include <algorithm>

#include "render/cells.h"

namespace perf_latency {
namespace {

uint64_t unsigned_cell(const Cell* cell) {
  if (cell == nullptr) return 0;
  const auto* value = std::get_if<uint64_t>(cell);
  return value == nullptr ? 0 : *value;
}

class ProfileBuilder {
 public:
  ProfileBuilder(const Table& table, std::vector<ProfileStack>& stacks)
      : table_(table), stacks_(stacks) {}

  void add(const Row& row) {
    const ProfileStack base = base_of(row);
    uint64_t left_ns = unsigned_cell(find_cell(table_, row, "total_ns"));
    uint64_t left_count = unsigned_cell(find_cell(table_, row, "count"));
    for (const StackShare& share : row.stacks) {
      ProfileStack& stack = stacks_.emplace_back(base);
      stack.frames.insert(stack.frames.end(), share.frames.rbegin(), share.frames.rend());
      if (stack.waiting_for_cpu) stack.frames.push_back(cause_of(row, "waiting for a CPU"));
      stack.count = share.count;
      stack.total_ns = share.total_ns;
      left_ns -= std::min(left_ns, share.total_ns);
      left_count -= std::min(left_count, share.count);
    }
    if (left_ns == 0) return;
    ProfileStack& rest = stacks_.emplace_back(base);
    rest.frames.push_back(cause_of(row, base.waiting_for_cpu       ? "waiting for a CPU"
                                        : row.stacks_left_out != 0 ? "other call chains"
                                                                   : "no call chain"));
    rest.count = left_count;
    rest.total_ns = left_ns;
  }

 private:
  // What stands for frames: the cause where the table has causes.
  std::string cause_of(const Row& row, std::string_view otherwise) const {
    const Cell* cause = find_cell(table_, row, "cause");
    const std::string_view text = cause == nullptr ? std::string_view() : text_of(*cause);
    const std::string name(text.empty() ? otherwise : text);
    return name.starts_with('[') ? name : "[" + name + "]";
  }

  ProfileStack base_of(const Row& row) const {
    ProfileStack base;
    const Cell* comm = find_cell(table_, row, "comm", "thread.comm", "process.comm");
    if (comm != nullptr && !text_of(*comm).empty()) {
      base.frames.emplace_back(text_of(*comm));
      base.comm_root = true;
    }
    if (const Cell* row_class = find_cell(table_, row, "class"))
      base.row_class = text_of(*row_class);
    if (const Cell* state = find_cell(table_, row, "state"))
      base.waiting_for_cpu = text_of(*state) == "R";
    return base;
  }

  const Table& table_;
  std::vector<ProfileStack>& stacks_;
};

}  // namespace

std::vector<ProfileStack> stack_profile(const Report& report) {
  std::vector<ProfileStack> stacks;
  if (report.tables.empty()) return stacks;
  ProfileBuilder builder(report.tables[0], stacks);
  for (const Row& row : report.tables[0].rows) builder.add(row);
  std::stable_sort(stacks.begin(), stacks.end(), [](const ProfileStack& a, const ProfileStack& b) {
    return a.frames < b.frames;
  });
  size_t kept = 0;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (kept != 0 && stacks[kept - 1].frames == stacks[i].frames) {
      stacks[kept - 1].count += stacks[i].count;
      stacks[kept - 1].total_ns += stacks[i].total_ns;
    } else {
      if (kept != i) stacks[kept] = std::move(stacks[i]);
      ++kept;
    }
  }
  stacks.resize(kept);
  return stacks;
}

}  // namespace perf_latency
