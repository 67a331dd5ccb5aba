// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>

namespace perf_latency {
namespace {

constexpr size_t kMaxMangledBytes = 8 * 1024;

struct Sink {
  std::jmp_buf stop;
  size_t size;
  char text[kMaxDemangledBytes];
};

// Leaves the demangler by longjmp when the output is full. That is sound: it is C code that, with a
// callback, holds no memory but its stack.
extern "C" void take_part(const char* part, size_t size, void* opaque) {
  Sink& sink = *static_cast<Sink*>(opaque);
  if (size > sizeof sink.text - sink.size) std::longjmp(sink.stop, 1);
  std::copy_n(part, size, sink.text + sink.size);
  sink.size += size;
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// No object with a destructor may live in this frame.
bool run(Demangler demangler, const char* mangled, Sink& sink) {
  sink.size = 0;
  if (setjmp(sink.stop) != 0) return false;
  return demangler(mangled, DMGL_NO_OPTS, take_part, &sink) != 0;
}

}  // namespace

std::optional<std::string> demangle(std::string_view name) {
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return std::nullopt;
  if (name.size() > kMaxMangledBytes) return std::nullopt;
  const std::string terminated(name);
  Sink sink;
  // Rust's older scheme is a C++ name with a hash in it: the Rust reader is asked first.
  for (const Demangler demangler : {&rust_demangle_callback, &cplus_demangle_v3_callback})
    if (run(demangler, terminated.c_str(), sink)) return std::string(sink.text, sink.size);
  return std::nullopt;
}

}  // namespace perf_latency
