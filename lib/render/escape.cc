// SPDX-License-Identifier: GPL-2.0-only
#include "render/escape.h"

#include <array>

namespace perf_latency {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kEllipsis = "\u2026";
constexpr std::string_view kReplacement = "\ufffd";

// Printable ASCII, apart from what JSON strings must escape.
constexpr std::array<bool, 256> make_plain_json() {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlainJson = make_plain_json();

bool is_plain_ascii(unsigned char c) { return c >= 0x20 && c < 0x7f; }

void append_hex_byte(std::string& out, unsigned value) {
  out += "\\x";
  out += kHex[value >> 4 & 15];
  out += kHex[value & 15];
}

void append_u16(std::string& out, uint32_t value) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[value >> shift & 15];
}

// Code points beyond C1 that change how a terminal lays out its text, or that XML forbids.
bool is_layout_control(uint32_t c) {
  return (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x061c || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

void append_json_code_point(std::string& out, uint32_t c) {
  if (c < 0x10000) {
    append_u16(out, c);
    return;
  }
  append_u16(out, 0xd800 + ((c - 0x10000) >> 10));
  append_u16(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
}

// The byte offset behind `columns` code points; terminal text is valid UTF-8.
size_t skip_columns(std::string_view text, size_t columns) {
  size_t at = 0;
  while (at < text.size() && columns > 0) {
    const uint32_t length = decode_utf8(text, at).length;
    at += length == 0 ? 1 : length;
    --columns;
  }
  return at;
}

}  // namespace

CodePoint decode_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  // Continuation bytes, the bits of the lead, and the least value that needs this length.
  uint32_t length = 0;
  uint32_t value = 0;
  uint32_t least = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2, value = lead & 0x1f, least = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3, value = lead & 0x0f, least = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4, value = lead & 0x07, least = 0x10000;
  }
  if (length == 0 || length > text.size() - at) return {};
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, length};
}

void append_terminal_text(std::string& out, std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t plain = at;
    while (plain < text.size() && is_plain_ascii(static_cast<unsigned char>(text[plain]))) ++plain;
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) break;
    const CodePoint c = decode_utf8(text, at);
    if (c.length == 0) {
      append_hex_byte(out, static_cast<unsigned char>(text[at]));
      ++at;
      continue;
    }
    if (c.value < 0xa0)
      append_hex_byte(out, c.value);
    else if (is_layout_control(c.value))
      append_json_code_point(out, c.value);
    else
      out.append(text, at, c.length);
    at += c.length;
  }
}

std::string terminal_text(std::string_view text) {
  std::string out;
  append_terminal_text(out, text);
  return out;
}

void append_json_text(std::string& out, std::string_view text) {
  size_t at = 0;
  for (;;) {
    size_t plain = at;
    while (plain < text.size() && kPlainJson[static_cast<unsigned char>(text[plain])]) ++plain;
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) return;
    const CodePoint c = decode_utf8(text, at);
    if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else {
      append_json_code_point(out, c.length == 0 ? 0xfffd : c.value);
    }
    at += c.length == 0 ? 1 : c.length;
  }
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (c.length == 0) {
      out += kReplacement;
      ++at;
    } else {
      out.append(text, at, c.length);
      at += c.length;
    }
  }
  return out;
}

void append_xml_text(std::string& out, std::string_view text) {
  for (const char c : terminal_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

size_t text_width(std::string_view terminal_text) {
  size_t width = 0;
  for (const char c : terminal_text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string shorten(std::string_view terminal_text, size_t width) {
  const size_t have = text_width(terminal_text);
  if (have <= width) return std::string(terminal_text);
  if (width == 0) return {};
  const bool sentence = terminal_text.find(' ') != std::string_view::npos;
  const size_t tail = sentence ? 0 : (width - 1) / 2;
  const size_t head = width - 1 - tail;
  std::string out(terminal_text.substr(0, skip_columns(terminal_text, head)));
  // A sentence cut at a space would read "a … ": the space goes.
  while (sentence && !out.empty() && out.back() == ' ') out.pop_back();
  out += kEllipsis;
  out += terminal_text.substr(skip_columns(terminal_text, have - tail));
  return out;
}

}  // namespace perf_latency
