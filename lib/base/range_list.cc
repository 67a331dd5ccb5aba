// SPDX-License-Identifier: GPL-2.0-only
#include "base/range_list.h"

#include <algorithm>
#include <charconv>

namespace perf_latency {
namespace {

bool parse_u32(std::string_view text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<std::vector<uint32_t>> parse_range_list(std::string_view text, size_t limit) {
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const size_t dash = item.find('-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (!parse_u32(item.substr(0, dash), first) ||
        !parse_u32(dash == std::string_view::npos ? item : item.substr(dash + 1), last) ||
        last < first)
      return make_error("'" + std::string(text) + "' is no list of numbers such as 0-3,8");
    if (last - first >= limit || numbers.size() + (last - first) >= limit)
      return make_error("'" + std::string(text) + "' names too many numbers");
    for (uint32_t number = first;; ++number) {
      numbers.push_back(number);
      if (number == last) break;
    }
    at = comma + 1;
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::string format_range_list(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (last > i) text += '-' + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace perf_latency
