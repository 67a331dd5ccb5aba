# SPDX-License-Identifier: GPL-2.0-only
# The Debian package (`make deb`). An RPM is described by packaging/perf-latency.spec.
set(PL_MAINTAINER "perf latency maintainers <maintainers@perf-latency.invalid>" CACHE STRING
  "Maintainer of the package, NAME <ADDRESS>")

set(CPACK_VERBATIM_VARIABLES TRUE)
set(CPACK_PACKAGE_NAME perf-latency)
set(CPACK_PACKAGE_CONTACT "${PL_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "why Linux tasks wait, from perf recordings")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"perf latency records when and why tasks sleep and wait for kernel locks and
for CPUs, and reports it from any perf.data: on what, how often, how long,
through which call chain, and who ended the wait. It needs no special kernel.
.
Every perf runs it as \"perf latency\"; it works without perf, too.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS linux-perf)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0local1)  # older than a package of Debian itself
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# What Debian's policy wants to be there besides what `make install` installs.
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
execute_process(COMMAND date -u -R -d @${source_date} OUTPUT_VARIABLE commit_date
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(commit_date)
  set(package_date "${commit_date}")
endif()
configure_file(packaging/changelog.in ${CMAKE_BINARY_DIR}/packaging/changelog @ONLY)
configure_file(packaging/copyright.in ${CMAKE_BINARY_DIR}/packaging/copyright @ONLY)
set(CPACK_PL_PACKAGING ${CMAKE_BINARY_DIR}/packaging)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/finish-deb.cmake)
include(CPack)
