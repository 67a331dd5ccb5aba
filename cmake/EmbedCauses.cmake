# SPDX-License-Identifier: GPL-2.0-only
# Builds share/causes.conf into pl_causes, so that the program needs no file beside it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS share/causes.conf)
file(READ share/causes.conf PL_SHIPPED_CAUSES)
configure_file(cmake/shipped_table.cc.in ${CMAKE_BINARY_DIR}/generated/shipped_table.cc @ONLY)
target_sources(pl_causes PRIVATE ${CMAKE_BINARY_DIR}/generated/shipped_table.cc)
