// SPDX-License-Identifier: GPL-2.0-only
// A hostile stream through a real pipe: the reader gets it in pieces and cannot seek. The first byte of
// the input chooses the byte order; the rest are the records behind the stream's header.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "fuzz_recording.h"

namespace {

constexpr size_t kPipeCapacity = 60000;  // what can be written before anyone reads

void write_all(int fd, const void* bytes, size_t size) {
  if (size != 0 && ::write(fd, bytes, size) != static_cast<ssize_t>(size)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const bool swap = (data[0] & 1) != 0;
  const uint64_t header[2] = {0x32454c4946524550, 16};  // "PERFILE2", and the header's size
  const uint64_t swapped[2] = {__builtin_bswap64(header[0]), __builtin_bswap64(header[1])};
  write_all(ends[1], swap ? swapped : header, sizeof header);
  write_all(ends[1], data + 1, std::min(size - 1, kPipeCapacity));
  ::close(ends[1]);
  perf_latency::FuzzRun().run("/proc/self/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  return 0;
}
