// SPDX-License-Identifier: GPL-2.0-only
// Folded stacks, what flame graph tools read: "comm;outermost;…;innermost NANOSECONDS", a line for
// each distinct chain, sorted (render/stack_profile.h says what a line stands for). A semicolon in
// a name becomes ':'; control characters are escaped, so a name never breaks a line.
#include <algorithm>

#include "render/escape.h"
#include "render/formats.h"
#include "render/stack_profile.h"

namespace perf_latency {

void render_folded(const Report& report, std::string& out) {
  for (const ProfileStack& stack : stack_profile(report)) {
    for (size_t i = 0; i < stack.frames.size(); ++i) {
      if (i != 0) out += ';';
      std::string frame = terminal_text(stack.frames[i]);
      std::replace(frame.begin(), frame.end(), ';', ':');
      out += frame;
    }
    out += ' ' + std::to_string(stack.total_ns) + '\n';
  }
}

}  // namespace perf_latency
