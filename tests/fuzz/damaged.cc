// SPDX-License-Identifier: GPL-2.0-only
// Damages recordings and runs each damaged one through recording_fuzz, all in one process: every file is
// cut at a number of places and has a number of random bytes changed. A crash, a sanitizer's report, more
// than 10 s of CPU time for one, or more than 1 GiB in all ends the run with the name of the damage.
// usage: damaged_recordings [-m MAX_BYTES] FILE|FOLDER...
// A sample by default; HOSTILE=full is 200 cuts and 2,000 changes of each file. The changes come from a
// fixed seed for each file, so that they are the same in every run; HOSTILE_KEEP=FILE keeps the last one.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// There when a sanitizer is.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr time_t kLongestSeconds = 10;
constexpr long kLargestKib = 1 << 20;
// The header and the first records decide most: every other change hits them.
constexpr size_t kHeadBytes = 4096;

char current[512];  // what is being run, for the handlers

void say_which() {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, "in: ", 4);
  written = ::write(STDERR_FILENO, current, std::strlen(current));
  written = ::write(STDERR_FILENO, "\n", 1);
}
void on_abort(int) { say_which(); }
void on_timer(int) {
  say_which();
  static constexpr char kText[] = "took longer than 10 s\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(1);
}

void set_timer(time_t seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

bool is_recording(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("perf.data") || name.starts_with("perf.pipe") ||
         path.extension() == ".data" || name == "data";
}

std::vector<fs::path> recordings_in(const std::vector<std::string>& places, uintmax_t max_bytes) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const std::string& place : places) {
    if (!fs::is_directory(place, error)) {
      found.emplace_back(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place, error))
      if (entry.is_regular_file(error) && is_recording(entry.path()) &&
          entry.file_size(error) <= max_bytes)
        found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Attack {
 public:
  Attack(const fs::path& path, size_t cuts, size_t changes)
      : name_(path.string()), cuts_(cuts), changes_(changes) {
    std::ifstream file(path, std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(file), {});
    const std::string last = path.parent_path().filename().string() + path.filename().string();
    std::seed_seq seed(last.begin(), last.end());
    random_.seed(seed);
  }

  size_t run() {
    if (content_.empty()) return 0;
    std::set<size_t> places;
    for (size_t i = 0; i < cuts_; ++i) places.insert(content_.size() * i / cuts_ + random_() % 8);
    for (const size_t place : places)
      run_one("cut at " + std::to_string(place), content_.data(), std::min(place, content_.size()));
    for (size_t i = 0; i < changes_; ++i) {
      const size_t end = i % 2 == 0 ? std::min(content_.size(), kHeadBytes) : content_.size();
      const size_t place = random_() % end;
      constexpr uint8_t kOdd[] = {0, 0xff, 0x7f, 0x80};
      const uint64_t choice = random_() % 5;
      const auto value = choice < 4 ? kOdd[choice] : static_cast<uint8_t>(random_());
      const uint8_t old = std::exchange(content_[place], value);
      run_one("byte " + std::to_string(place) + " is " + std::to_string(value), content_.data(),
              content_.size());
      content_[place] = old;
    }
    return places.size() + changes_;
  }

 private:
  void run_one(const std::string& what, const uint8_t* data, size_t size) {
    std::snprintf(current, sizeof current, "%s: %s", name_.c_str(), what.c_str());
    if (const char* keep = std::getenv("HOSTILE_KEEP"); keep != nullptr)
      std::ofstream(keep, std::ios::binary)
          .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    set_timer(kLongestSeconds);
    // A heap block of its own, so that a read behind the end is seen by the sanitizer.
    const Bytes bytes(data, data + size);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    set_timer(0);
  }

  std::string name_;
  size_t cuts_;
  size_t changes_;
  Bytes content_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  uintmax_t max_bytes = UINTMAX_MAX;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-m" && i + 1 < argc)
      max_bytes = std::strtoull(argv[++i], nullptr, 0);
    else
      places.emplace_back(argv[i]);
  }
  const char* hostile = std::getenv("HOSTILE");
  const bool full = hostile != nullptr && std::string(hostile) == "full";
  std::signal(SIGABRT, on_abort);
  std::signal(SIGPROF, on_timer);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(say_which);
  size_t runs = 0;
  const auto recordings = recordings_in(places, max_bytes);
  for (const fs::path& path : recordings)
    runs += full ? Attack(path, 200, 2000).run() : Attack(path, 4, 24).run();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu recordings, %zu damaged ones, at most %ld MiB\n", recordings.size(), runs,
              usage.ru_maxrss / 1024);
  return runs == 0 || usage.ru_maxrss > kLargestKib ? 1 : 0;
}
