// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/runtime_code.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/byte_cursor.h"
#include "symbolize/names.h"

namespace perf_latency {
namespace {

// How many functions find() looks at: more versions of one address are no real program.
constexpr size_t kMaxVersions = 1 << 14;

constexpr uint32_t kJitMagic = 0x4a695444;
constexpr uint64_t kFlagArchTimestamp = 1;  // times are not those of the recording
constexpr size_t kRecordHeaderBytes = 16;
constexpr uint32_t kCodeLoad = 0;
constexpr uint32_t kCodeMove = 1;

// A hexadecimal number and the blank behind it, taken off `line`.
bool take_hex(std::string_view& line, uint64_t& value) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return true;
}

// The functions of a jitdump by their index, for moves.
class JitReader {
 public:
  JitReader(std::span<const std::byte> bytes, bool swap, bool has_times)
      : bytes_(bytes), swap_(swap), has_times_(has_times) {}

  std::vector<RuntimeCode::Function> run(size_t first_record) {
    ByteCursor in(bytes_, swap_);
    in.skip(first_record);
    while (in.left() >= kRecordHeaderBytes && functions_.size() < RuntimeCode::kMaxFunctions) {
      const uint32_t type = in.u32();
      const uint32_t size = in.u32();
      const uint64_t time = in.u64();
      if (size < kRecordHeaderBytes) break;
      const ByteCursor body(in.bytes(size - kRecordHeaderBytes), swap_);
      if (!in.ok()) break;
      ++order_;
      if (type == kCodeLoad) load(body, has_times_ ? time : order_);
      if (type == kCodeMove) move(body, has_times_ ? time : order_);
    }
    return std::move(functions_);
  }

 private:
  void load(ByteCursor in, uint64_t from) {
    in.skip(4 + 4 + 8);  // pid, tid, vma
    const uint64_t address = in.u64();
    const uint64_t size = in.u64();
    const uint64_t index = in.u64();
    const std::string_view name = in.c_string();
    if (!in.ok() || address + size < address) return;
    names_[index] = name;
    functions_.push_back({address, address + size, from, name});
  }

  void move(ByteCursor in, uint64_t from) {
    in.skip(4 + 4 + 8 + 8);  // pid, tid, vma, old address
    const uint64_t address = in.u64();
    const uint64_t size = in.u64();
    const uint64_t index = in.u64();
    const auto name = names_.find(index);
    if (!in.ok() || address + size < address || name == names_.end()) return;
    functions_.push_back({address, address + size, from, name->second});
  }

  std::span<const std::byte> bytes_;
  bool swap_;
  bool has_times_;
  uint64_t order_ = 0;
  std::vector<RuntimeCode::Function> functions_;
  std::unordered_map<uint64_t, std::string_view> names_;
};

}  // namespace

RuntimeCode RuntimeCode::from_perf_map(FileBytes file) {
  RuntimeCode code;
  code.file_ = std::move(file);
  std::string_view left = code.file_.text();
  for (uint64_t number = 0; !left.empty() && code.functions_.size() < kMaxFunctions; ++number) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    Function function;
    uint64_t size = 0;
    if (!take_hex(line, function.start) || !take_hex(line, size) || line.empty()) continue;
    function.end = function.start + size;
    function.from = number;
    function.name = line;
    if (function.end > function.start) code.functions_.push_back(function);
  }
  code.finish();
  return code;
}

Result<RuntimeCode> RuntimeCode::from_jitdump(FileBytes file) {
  ByteCursor probe(file.bytes());
  const uint32_t magic = probe.u32();
  const bool swap = magic == swap_bytes(kJitMagic);
  if (magic != kJitMagic && !swap) return make_error("not a jitdump file");
  ByteCursor in(file.bytes(), swap);
  in.skip(4 + 4);  // magic, version
  const uint32_t header_bytes = in.u32();
  in.skip(4 + 4 + 4 + 8);  // machine, padding, pid, time
  const uint64_t flags = in.u64();
  if (!in.ok() || header_bytes < in.position()) return make_error("a damaged jitdump file");
  RuntimeCode code;
  code.has_times_ = (flags & kFlagArchTimestamp) == 0;
  code.functions_ = JitReader(file.bytes(), swap, code.has_times_).run(header_bytes);
  code.file_ = std::move(file);
  code.finish();
  return code;
}

void RuntimeCode::finish() {
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const Function& a, const Function& b) { return a.start < b.start; });
  highest_end_.reserve(functions_.size());
  uint64_t highest = 0;
  for (const Function& function : functions_)
    highest_end_.push_back(highest = std::max(highest, function.end));
}

const RuntimeCode::Function* RuntimeCode::find(uint64_t address, uint64_t time_ns) const {
  const auto above = std::upper_bound(functions_.begin(), functions_.end(), address,
                                      [](uint64_t a, const Function& f) { return a < f.start; });
  const Function* known = nullptr;  // the last one that was there at the time
  const Function* last = nullptr;
  size_t left = kMaxVersions;
  for (size_t i = static_cast<size_t>(above - functions_.begin()); i-- > 0 && left-- > 0;) {
    if (highest_end_[i] <= address) break;
    const Function& function = functions_[i];
    if (address >= function.end) continue;
    if (last == nullptr || function.from > last->from) last = &function;
    const bool was_there = !has_times_ || function.from <= time_ns;
    if (was_there && (known == nullptr || function.from > known->from)) known = &function;
  }
  return known != nullptr ? known : last;
}

bool is_jitdump_name(std::string_view path) {
  std::string_view name = base_name(path);
  if (!name.ends_with(".dump")) return false;
  name.remove_suffix(5);
  const size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < name.size() &&
         name.substr(0, digits + 1).ends_with("jit-");
}

}  // namespace perf_latency
