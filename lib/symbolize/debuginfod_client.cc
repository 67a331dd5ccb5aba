// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/debuginfod_client.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace perf_latency {
namespace {

// The part of <elfutils/debuginfod.h> that is used; declared here because the library is optional.
struct Client;
using Begin = Client* (*)();
using Find = int (*)(Client*, const unsigned char*, int, char**);

class Library {
 public:
  static Library& instance() {
    static Library library;
    return library;
  }

  bool loaded() const { return find_executable_ != nullptr && find_debug_ != nullptr; }
  std::string executable(const BuildId& id) { return find(find_executable_, id); }
  std::string debug_file(const BuildId& id) { return find(find_debug_, id); }

 private:
  Library() {
    // Stays loaded: the library starts libcurl, which cannot be unloaded.
    void* handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    begin_ = reinterpret_cast<Begin>(dlsym(handle, "debuginfod_begin"));
    find_executable_ = reinterpret_cast<Find>(dlsym(handle, "debuginfod_find_executable"));
    find_debug_ = reinterpret_cast<Find>(dlsym(handle, "debuginfod_find_debuginfo"));
  }

  std::string find(Find function, const BuildId& id) {
    if (function == nullptr || begin_ == nullptr) return {};
    if (client_ == nullptr) client_ = begin_();
    if (client_ == nullptr) return {};
    char* path = nullptr;
    const auto bytes = id.bytes();
    const int fd = function(client_, reinterpret_cast<const unsigned char*>(bytes.data()),
                            static_cast<int>(bytes.size()), &path);
    if (fd < 0) return {};
    close(fd);
    std::string found = path == nullptr ? "" : path;
    std::free(path);
    return found;
  }

  Begin begin_ = nullptr;
  Find find_executable_ = nullptr;
  Find find_debug_ = nullptr;
  Client* client_ = nullptr;  // lives as long as the program, with its connections
};

bool wanted(const BuildId& id) {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && *urls != '\0' && !id.empty();
}

}  // namespace

std::string debuginfod_executable(const BuildId& id) {
  return wanted(id) ? Library::instance().executable(id) : std::string();
}

std::string debuginfod_debug_file(const BuildId& id) {
  return wanted(id) ? Library::instance().debug_file(id) : std::string();
}

bool debuginfod_available() { return Library::instance().loaded(); }

}  // namespace perf_latency
