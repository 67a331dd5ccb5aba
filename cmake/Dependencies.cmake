# SPDX-License-Identifier: GPL-2.0-only
# Debian's packages, and libperf: Debian has no package of it, scripts/build-libperf makes it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ELFUTILS REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(UNWIND REQUIRED IMPORTED_TARGET libunwind-generic)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
find_library(IBERTY_LIBRARY iberty REQUIRED)

# libperf: a packaged one when it has what is needed (the internal headers, and
# perf_evsel__apply_filter, which shared builds do not export), else our own static build.
set(LIBPERF_DIR ${CMAKE_SOURCE_DIR}/.deps/libperf CACHE PATH "where scripts/build-libperf puts libperf")
add_library(libperf INTERFACE)
pkg_check_modules(PACKAGED_LIBPERF QUIET IMPORTED_TARGET libperf)
if(PACKAGED_LIBPERF_FOUND)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES PkgConfig::PACKAGED_LIBPERF)
  check_c_source_compiles("
    #include <internal/evlist.h>
    #include <internal/evsel.h>
    #include <internal/mmap.h>
    #include <internal/xyarray.h>
    int main(void) { return perf_evsel__apply_filter(0, \"\"); }" PACKAGED_LIBPERF_IS_COMPLETE)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(PACKAGED_LIBPERF_IS_COMPLETE)
  target_link_libraries(libperf INTERFACE PkgConfig::PACKAGED_LIBPERF)
else()
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/build-libperf ${LIBPERF_DIR} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "libperf could not be built: see the lines above")
  endif()
  target_include_directories(libperf SYSTEM INTERFACE ${LIBPERF_DIR}/include)
  target_link_libraries(libperf INTERFACE ${LIBPERF_DIR}/lib/libperf.a ${LIBPERF_DIR}/lib/libapi.a)
  # The internal headers shadow the system's <linux/...>: this one C file alone may see them.
  set_source_files_properties(lib/record/libperf_access.c PROPERTIES COMPILE_OPTIONS
    "-isystem;${LIBPERF_DIR}/private/perf;-isystem;${LIBPERF_DIR}/private/include;-isystem;${LIBPERF_DIR}/private/arch-include;-isystem;${LIBPERF_DIR}/private/include/uapi;-isystem;${LIBPERF_DIR}/private/lib;-std=gnu11")
endif()
