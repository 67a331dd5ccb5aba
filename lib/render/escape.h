// SPDX-License-Identifier: GPL-2.0-only
// Makes bytes of the input (comms, symbols, paths, command lines) safe to print.
//
// Terminal text is valid UTF-8 without anything that a terminal acts upon: C0 and C1 controls, DEL
// and bytes that are no UTF-8 become \xNN; line separators, bidirectional controls and
// noncharacters become \uNNNN. A backslash of the input stays as it is: the text is for reading.
// JSON text is pure ASCII: bytes that are no UTF-8 become U+FFFD, one for each byte; controls and
// all that is beyond ASCII become \uNNNN (a pair above U+FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perf_latency {

// The code point that begins at text[at] and its length in bytes; length 0 where no valid UTF-8
// sequence begins (overlong forms, surrogates and values above U+10FFFF are invalid).
struct CodePoint {
  uint32_t value = 0;
  uint32_t length = 0;
};
CodePoint decode_utf8(std::string_view text, size_t at);

void append_terminal_text(std::string& out, std::string_view text);
std::string terminal_text(std::string_view text);

// What stands between the quotes of a JSON string.
void append_json_text(std::string& out, std::string_view text);

// Bytes that are no UTF-8 replaced by U+FFFD; all else kept.
std::string valid_utf8(std::string_view text);

// Terminal text with &, <, > and quotes as entities: for XML content and attributes.
void append_xml_text(std::string& out, std::string_view text);

// Columns that terminal text takes: its code points.
size_t text_width(std::string_view terminal_text);

// At most `width` columns of terminal text, with … where something is missing: at the end of a
// sentence (text with spaces), in the middle of a symbol or path.
std::string shorten(std::string_view terminal_text, size_t width);

}  // namespace perf_latency
