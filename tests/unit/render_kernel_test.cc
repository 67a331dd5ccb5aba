// SPDX-License-Identifier: GPL-2.0-only
// The kernel's own files, taken apart and rendered again, must come out byte for byte.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "render_report.h"

namespace perf_latency::render_test {
namespace {

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream in(std::string(PL_TEST_DATA "/") + path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<LatencyRecord> parse_latency_stats(const std::string& text) {
  std::vector<LatencyRecord> records;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("Latency")) continue;
    LatencyRecord& record = records.emplace_back();
    std::istringstream in(line);
    in >> record.count >> record.total_units >> record.max_units;
    for (std::string frame; in >> frame;) record.frames.push_back(frame);
  }
  return records;
}

TEST(RenderLatencyStats, KernelsFileComesOutAgain) {
  for (const char* path : {"lt-dir-stat/latency_stats.txt", "lt-overflow-stat/latency_stats.txt",
                           "lt-many/latency_stats.txt"}) {
    const auto text = file_text(path);
    ASSERT_TRUE(text) << path;
    Report report;
    report.latency_stats.emplace().global = parse_latency_stats(*text);
    ASSERT_FALSE(report.latency_stats->global.empty());
    EXPECT_EQ(rendered(report, Format::latency_stats), *text) << path;
  }
}

TEST(RenderLatencyStats, PerTask) {
  Report report;
  LatencyStats& stats = report.latency_stats.emplace();
  stats.per_task = true;
  stats.global = {{1, 2, 3, {"not printed"}}};
  stats.tasks = {{18,
                  18,
                  "rcu_gp",
                  {{123, 1103787, 37056, {"rcu_gp_fqs_loop", "kthread"}},
                   {2, 61859, 51731, {"rcu_gp_kthread"}}}},
                 {82, 83, "lt\x1b load", {{1, 7, 7, {"ext4_sync_file [ext4]"}}}},
                 {82, 84, "", {}}};
  EXPECT_EQ(rendered(report, Format::latency_stats),
            "# /proc/18/task/18/latency rcu_gp\n"
            "Latency Top version : v0.1\n"
            "123 1103787 37056 rcu_gp_fqs_loop kthread\n"
            "2 61859 51731 rcu_gp_kthread\n"
            "\n"
            "# /proc/82/task/83/latency lt\\x1b load\n"
            "Latency Top version : v0.1\n"
            "1 7 7 ext4_sync_file [ext4]\n"
            "\n"
            "# /proc/82/task/84/latency \n"
            "Latency Top version : v0.1\n");
}

uint64_t hundredths_to_ns(const std::string& text) {
  uint64_t whole = 0;
  unsigned part = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%" SCNu64 ".%2u", &whole, &part), 2) << text;
  return whole * 1000 + part * 10;
}

// A file of the kernel as rows. Its averages are not kept: the renderer makes its own.
class LockStatParser {
 public:
  explicit LockStatParser(const std::string& text) : lines_(lines_of(text)) {
    for (size_t i = 5; i < lines_.size(); ++i) line(lines_[i]);
  }
  LockStat take() { return std::move(stat_); }

 private:
  void line(const std::string& text) {
    if (text.empty() || text[0] == '.') return;
    if (text.find_first_not_of(" -") == std::string::npos) {
      second_points_ = in_points_;
      in_points_ = true;
      return;
    }
    const size_t point = text.find(" [<");
    if (point != std::string::npos && in_points_)
      add_point(text, point);
    else
      add_side(text);
  }

  void add_point(const std::string& text, size_t at) {
    LockPoint point;
    std::istringstream(text.substr(40)) >> point.count;
    point.address = std::stoull(text.substr(at + 3, 16), nullptr, 16);
    point.symbol = text.substr(at + 3 + 16 + 3);
    LockStatRow& row = stat_.rows.back();
    (second_points_ ? row.contending_points : row.contention_points).push_back(point);
  }

  void add_side(const std::string& text) {
    in_points_ = second_points_ = false;
    std::string name = text.substr(0, 40);
    name.erase(0, name.find_first_not_of(' '));
    const bool read = name.ends_with("-R");
    if (read || name.ends_with("-W")) name.resize(name.size() - 2);
    LockStatRow parsed = named(name);
    LockStatRow* row = &parsed;
    if (read && last_write_ == name) row = &stat_.rows.back();
    LockSide& side = read ? row->read : row->write;
    std::istringstream in(text.substr(41));
    std::string average;
    in >> side.contention_bounces;
    read_time(in, side.wait);
    in >> side.acquisition_bounces;
    read_time(in, side.hold);
    if (row == &parsed) stat_.rows.push_back(parsed);
    last_write_ = read ? "" : name;
  }

  static LockStatRow named(std::string name) {
    LockStatRow row;
    if (name.size() > 2 && name[name.size() - 2] == '/' && isdigit(name.back())) {
      row.subclass = static_cast<uint32_t>(name.back() - '0');
      name.resize(name.size() - 2);
    }
    // The kernel cuts versions to one digit: "#1" is one of 10 to 19, and stays a part of the name.
    if (name.size() > 2 && name[name.size() - 2] == '#' && name.back() > '1') {
      row.version = static_cast<uint32_t>(name.back() - '0');
      name.resize(name.size() - 2);
    }
    row.name = name;
    return row;
  }

  static void read_time(std::istream& in, LockTime& time) {
    std::string min, max, total, average;
    in >> time.count >> min >> max >> total >> average;
    time.min_ns = hundredths_to_ns(min);
    time.max_ns = hundredths_to_ns(max);
    time.total_ns = hundredths_to_ns(total);
  }

  std::vector<std::string> lines_;
  LockStat stat_;
  std::string last_write_;
  bool in_points_ = false;
  bool second_points_ = false;
};

// The averages blanked: they are made of the exact total, which the file does not have.
std::string without_averages(const std::string& text) {
  std::string out;
  for (std::string line : lines_of(text)) {
    if (line.size() == 220 && line[40] == ':') {
      line.replace(116, 14, 14, '~');
      line.replace(206, 14, 14, '~');
    }
    out += line + '\n';
  }
  return out;
}

TEST(RenderLockStat, KernelsFileComesOutAgain) {
  for (const char* name :
       {"lk-locks", "lk-hackbench", "lk-mmap-zstd", "lk-pingpong", "lk-perf-lock-record"}) {
    const auto text = file_text(std::string(name) + "/lock_stat.txt");
    ASSERT_TRUE(text) << name;
    Report report;
    report.lock_stat = LockStatParser(*text).take();
    ASSERT_GT(report.lock_stat->rows.size(), 100u);
    EXPECT_EQ(without_averages(rendered(report, Format::lock_stat)), without_averages(*text))
        << name;
  }
}

TEST(RenderLockStat, RoundingSuffixesAndContendedOnlyClasses) {
  Report report;
  LockStatRow row;
  row.name = "a_name_that_is_much_longer_than_the_kernel_has_room_for";
  row.version = 3;
  row.subclass = 1;
  row.write.contention_bounces = 1;
  row.write.wait = {2, 4, 1995, 2000};
  row.contention_points = {{2, 0xffffffff81234567, "do_exit+0x372/0xab0"}, {1, 0x1234, ""}};
  report.lock_stat.emplace().rows = {row};
  const std::string text = rendered(report, Format::lock_stat);
  EXPECT_EQ(
      text.substr(text.find("\n\n") + 2),
      "   a_name_that_is_much_longer_than_t#3/1:             1              2"
      "           0.00           2.00           2.00           1.00"
      "              0              0           0.00           0.00           0.00           0.00\n"
      "   -------------------------------------\n"
      "   a_name_that_is_much_longer_than_t#3/1              2          "
      "[<ffffffff81234567>] do_exit+0x372/0xab0\n"
      "   a_name_that_is_much_longer_than_t#3/1              1          "
      "[<0000000000001234>] 0x1234\n"
      "\n" +
          std::string(221, '.') + "\n\n");
}

}  // namespace
}  // namespace perf_latency::render_test
