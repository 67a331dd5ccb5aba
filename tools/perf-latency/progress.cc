// SPDX-License-Identifier: GPL-2.0-only
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "render/escape.h"

namespace perf_latency::tool {
namespace {

constexpr size_t kMaxBar = 40;
constexpr size_t kLeastBar = 10;

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) bytes /= 1000, ++unit;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(seconds));
  if (whole < 100) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

unsigned error_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string progress_line(const std::string& input, uint64_t done, uint64_t all, double seconds,
                          unsigned width) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const std::string speed = bytes_text(rate) + "/s";
  const size_t room = width > 0 ? width - 1 : 0;  // the last column would wrap
  if (all == 0)
    return shorten(fmt::format("{}: {}  {}", terminal_text(input),
                               bytes_text(static_cast<double>(done)), speed),
                   room);
  const double part = std::min(static_cast<double>(done) / static_cast<double>(all), 1.0);
  const double left = rate > 0 ? static_cast<double>(all - std::min(done, all)) / rate : 0;
  const std::string numbers =
      fmt::format(" {:3.0f} %  {} of {}  {}  {} left", std::floor(100 * part),
                  bytes_text(static_cast<double>(done)), bytes_text(static_cast<double>(all)),
                  speed, seconds_text(left));
  const std::string name = shorten(terminal_text(input), std::max<size_t>(room / 4, 1)) + ": ";
  const size_t taken = text_width(name) + numbers.size() + 2;
  if (taken + kLeastBar > room) return shorten(name + numbers.substr(1), room);
  const size_t bar = std::min(room - taken, kMaxBar);
  const auto filled = static_cast<size_t>(part * static_cast<double>(bar));
  std::string drawn(filled, '=');
  if (filled < bar) drawn += '>';
  drawn.resize(bar, ' ');
  return name + '[' + drawn + ']' + numbers;
}

Progress::Progress(std::string input, bool wanted)
    : input_(std::move(input)),
      wanted_(wanted && ::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_(start_ + kFirstAfter) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(uint64_t done, uint64_t all) {
  if (!wanted_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r%s\x1b[K",
               progress_line(input_, done, all, seconds, error_width()).c_str());
  std::fflush(stderr);
}

}  // namespace perf_latency::tool
