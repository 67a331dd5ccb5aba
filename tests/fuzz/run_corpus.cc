// SPDX-License-Identifier: GPL-2.0-only
// A main for the fuzz targets where libFuzzer is missing: runs each file of the given folders and
// files through the target, in order of name, and says which input it was when one takes too long.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
constexpr auto kLongest = std::chrono::seconds(10);

std::vector<fs::path> inputs_of(int argc, char** argv) {
  std::vector<fs::path> inputs;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    if (!fs::is_directory(argv[i], error)) {
      inputs.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i], error))
      if (entry.is_regular_file(error)) inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

bool run(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return false;
  }
  // An exact heap block, so that a read behind the input is seen by the sanitizer.
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto took = std::chrono::steady_clock::now() - start;
  if (took <= kLongest) return true;
  std::fprintf(stderr, "%s: took longer than 10 s\n", path.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> inputs = inputs_of(argc, argv);
  bool good = !inputs.empty();
  for (const fs::path& path : inputs) good = run(path) && good;
  std::printf("%zu inputs\n", inputs.size());
  return good ? 0 : 1;
}
