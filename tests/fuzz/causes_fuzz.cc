// SPDX-License-Identifier: GPL-2.0-only
// A user's cause table from hostile text: it is refused with a line number, or it classifies any chain
// to a cause that exists.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "causes/cause_table.h"

using namespace perf_latency;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::string_view kShipped =
    "[cause read]\nclass = disk\nsentence = Reading\nmatch 50 = filemap_read lock:filemap_*\n"
    "[functions scheduler]\nfunctions = __schedule schedule\n"
    "[functions lock]\nfunctions = mutex_lock\n";

void classify_words_of(CauseTable& table, std::string_view text) {
  std::vector<std::string_view> chain = {"__schedule", "mutex_lock"};
  while (!text.empty() && chain.size() < 64) {
    const size_t end = text.find_first_of(" \n:=");
    chain.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const CauseId id = table.classify(chain);
  if (id.value >= table.size() || table.cause(id).sentence.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto table = CauseTable::load(kShipped, text);
  if (!table) {
    if (!table.error().what.starts_with("line ")) std::abort();
    return 0;
  }
  classify_words_of(*table, text);
  return 0;
}
