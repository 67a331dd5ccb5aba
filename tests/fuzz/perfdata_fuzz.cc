// SPDX-License-Identifier: GPL-2.0-only
// A hostile perf.data file, of either byte order, plain or compressed, through reader and decoder.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "fuzz_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = ::memfd_create("recording", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  perf_latency::FuzzRun().run("/proc/self/fd/" + std::to_string(fd));
  ::close(fd);
  return 0;
}
