# SPDX-License-Identifier: GPL-2.0-only
# Run by cpack on the tree that goes into the package: compressed manual pages and changelogs, and the
# file `copyright`, as Debian's policy wants them (12.1, 12.5, 12.7).
set(root ${CPACK_TEMPORARY_DIRECTORY})
if(IS_DIRECTORY ${root}/usr)
  set(root ${root}/usr)
endif()
set(doc ${root}/share/doc/perf-latency)
file(REMOVE ${doc}/COPYING)
file(COPY ${CPACK_PL_PACKAGING}/copyright DESTINATION ${doc})
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
configure_file(${CPACK_PL_PACKAGING}/changelog ${doc}/changelog.Debian COPYONLY)
file(GLOB compressed ${root}/share/man/man1/*.1 ${doc}/changelog ${doc}/changelog.Debian)
execute_process(COMMAND gzip -9 -n -f ${compressed} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE all ${root}/share/*)
file(CHMOD ${all} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
