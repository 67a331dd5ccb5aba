// SPDX-License-Identifier: GPL-2.0-only
// Reads the small files of /proc, /sys and tracefs, whose size stat() does not tell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perf_latency {

// The whole content; nullopt (errno says why) when the file cannot be read.
std::optional<std::string> read_small_file(const std::string& path);
// The content without white space at its end; empty when the file cannot be read.
std::string read_line_of(const std::string& path);
// The names in a directory, sorted, without . and .. (empty when it cannot be read).
std::vector<std::string> list_directory(const std::string& path);
bool is_number(std::string_view text);

}  // namespace perf_latency
