# SPDX-License-Identifier: GPL-2.0-only
# What `make doc`, `make install` and `make deb` make. perf runs `perf-NAME` from PATH as `perf NAME`,
# so the executable in bin/ is all that it takes to be `perf latency`.
find_program(ASCIIDOCTOR asciidoctor)

# Manual pages carry the date of the last commit, not of the build.
execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  OUTPUT_VARIABLE source_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT source_date)
  set(source_date 0)
endif()

file(GLOB man_sources CONFIGURE_DEPENDS Documentation/perf-latency*.txt)
file(GLOB man_includes CONFIGURE_DEPENDS Documentation/*-options.txt)
set(man_pages)
foreach(source ${man_sources})
  get_filename_component(name ${source} NAME_WE)
  set(page ${CMAKE_BINARY_DIR}/Documentation/${name}.1)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${source_date} ${ASCIIDOCTOR}
      -r ${CMAKE_SOURCE_DIR}/Documentation/linkperf.rb -b manpage -d manpage --failure-level WARN
      -a compat-mode -a mansource=perf-latency\ ${PROJECT_VERSION} -a "manmanual=perf latency manual"
      -o ${page} ${source}
    DEPENDS ${source} ${man_includes} ${CMAKE_SOURCE_DIR}/Documentation/linkperf.rb VERBATIM)
  list(APPEND man_pages ${page})
endforeach()
add_custom_target(doc DEPENDS ${man_pages})

set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/perf-latency)
install(TARGETS perf-latency RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/scripts/completion.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME perf-latency)
file(GLOB documents CONFIGURE_DEPENDS Documentation/*.md)
install(FILES README.md COPYING CHANGELOG.md ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/Documentation/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  USE_SOURCE_PERMISSIONS)

install(FILES share/causes.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/perf-latency)

include(Package)
