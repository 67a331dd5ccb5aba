// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/unwind_engines.h"

#if defined(__x86_64__)
#include <libunwind-x86_64.h>

#include <list>

// Searches a table of .eh_frame_hdr's form; exported for debuggers, but in no header.
extern "C" int search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t* table,
                                   unw_proc_info_t* info, int need_unwind_info,
                                   void* argument) asm("_Ux86_64_dwarf_search_unwind_table");
#endif

namespace perf_latency {

#if defined(__x86_64__)
namespace {

// libunwind caches by instruction pointer what it has found in the tables of one address space; so
// many processes' worth of it are kept.
constexpr size_t kMaxSpaces = 64;

struct Sample {
  UnwindMemory& memory;
  const SampleRegisters& registers;
};

Sample& sample_of(void* argument) { return *static_cast<Sample*>(argument); }

int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info,
                   int need_unwind_info, void* argument) {
  const auto place = sample_of(argument).memory.place(ip);
  if (!place || place->image == nullptr || !place->image->table()) return -UNW_ENOINFO;
  const UnwindImage::Table& table = *place->image->table();
  unw_dyn_info_t where{};
  where.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  where.start_ip = place->start;
  where.end_ip = place->end;
  where.u.rti.segbase = table.base + place->bias;
  where.u.rti.table_data = table.address + place->bias;
  where.u.rti.table_len = table.entries * 8 / sizeof(unw_word_t);
  return search_unwind_table(space, ip, &where, info, need_unwind_info, argument);
}

int access_mem(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* argument) {
  if (write != 0) return -UNW_EINVAL;
  const auto found = sample_of(argument).memory.read_word(address);
  if (!found) return -UNW_EINVAL;
  *value = *found;
  return 0;
}

// libunwind numbers registers as DWARF does.
int access_reg(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write,
               void* argument) {
  // rax rdx rcx rbx rsi rdi rbp rsp r8 … r15 rip, as perf numbers them.
  static constexpr std::array<uint8_t, 17> kPerfNumber = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                          17, 18, 19, 20, 21, 22, 23, 8};
  if (write != 0) return -UNW_EREADONLYREG;
  if (number < 0 || static_cast<size_t>(number) >= kPerfNumber.size()) return -UNW_EBADREG;
  const auto found = sample_of(argument).registers.get(kPerfNumber[static_cast<size_t>(number)]);
  if (!found) return -UNW_EBADREG;
  *value = *found;
  return 0;
}

void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}
int get_dyn_info_list(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
int access_fpreg(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EINVAL; }
int resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int get_proc_name(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
  return -UNW_EINVAL;
}

UnwindEnd reason_of(UnwindMemory& memory, uint64_t ip) {
  if (memory.ran_off_the_stack()) return UnwindEnd::stack_too_short;
  return memory.place(ip) ? UnwindEnd::no_table : UnwindEnd::no_map;
}

}  // namespace

struct LibunwindEngine::Spaces {
  // Most recently used first, by the version of the maps.
  std::list<std::pair<uint64_t, unw_addr_space_t>> recent;

  unw_addr_space_t of(uint64_t version) {
    for (auto at = recent.begin(); at != recent.end(); ++at) {
      if (at->first != version) continue;
      recent.splice(recent.begin(), recent, at);
      return at->second;
    }
    if (recent.size() >= kMaxSpaces) {
      unw_destroy_addr_space(recent.back().second);
      recent.pop_back();
    }
    unw_accessors_t accessors{};
    accessors.find_proc_info = find_proc_info;
    accessors.put_unwind_info = put_unwind_info;
    accessors.get_dyn_info_list_addr = get_dyn_info_list;
    accessors.access_mem = access_mem;
    accessors.access_reg = access_reg;
    accessors.access_fpreg = access_fpreg;
    accessors.resume = resume;
    accessors.get_proc_name = get_proc_name;
    unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
    if (space == nullptr) return nullptr;
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
    recent.emplace_front(version, space);
    return space;
  }

  ~Spaces() {
    for (const auto& [version, space] : recent) unw_destroy_addr_space(space);
  }
};

bool LibunwindEngine::available() { return true; }

UnwindEnd LibunwindEngine::unwind(UnwindMemory& memory, const SampleRegisters& registers,
                                  uint64_t version, size_t max_frames,
                                  std::vector<uint64_t>& chain) {
  Sample sample{memory, registers};
  unw_addr_space_t space = spaces_->of(version);
  unw_cursor_t cursor;
  if (space == nullptr || unw_init_remote(&cursor, space, &sample) != 0)
    return UnwindEnd::bad_input;
  for (size_t frame = 0; frame < max_frames; ++frame) {
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0) return reason_of(memory, ip);
    // A return address of 0 marks the outermost frame where the tables do not.
    if (ip == 0) return UnwindEnd::outermost;
    chain.push_back(ip);
    if (!memory.place(frame > 0 ? ip - 1 : ip)) return UnwindEnd::no_map;
    memory.enter(frame > 0 ? ip - 1 : ip);
    const int status = unw_step(&cursor);
    if (status == 0) return UnwindEnd::outermost;
    if (status < 0) return reason_of(memory, ip);
  }
  return UnwindEnd::max_frames;
}

#else

struct LibunwindEngine::Spaces {};
bool LibunwindEngine::available() { return false; }
UnwindEnd LibunwindEngine::unwind(UnwindMemory&, const SampleRegisters&, uint64_t, size_t,
                                  std::vector<uint64_t>&) {
  return UnwindEnd::bad_input;
}

#endif

LibunwindEngine::LibunwindEngine() : spaces_(std::make_unique<Spaces>()) {}
LibunwindEngine::~LibunwindEngine() = default;

}  // namespace perf_latency
