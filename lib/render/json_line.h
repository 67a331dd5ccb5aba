// SPDX-License-Identifier: GPL-2.0-only
// Writes JSON objects line by line into a buffer, fast: for streams of intervals, not for reports.
//
// Appends only; nothing is allocated but by the buffer's own growth, and the caller empties it when
// it is large. Names are literals of the program (never escaped); values are escaped as
// render/escape.h says, so a line is pure ASCII and has no line break. Calls nest as the objects
// do:
//   JsonLine line(buffer);
//   line.field("type", "sleep");
//   line.begin_object("waker"); line.field("tid", 5u); line.end_object();
//   line.begin_array("stack"); line.element("pipe_read"); line.end_array();
//   line.end();   // "}\n"
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "render/escape.h"

namespace perf_latency {

class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  void end() { out_ += "}\n"; }

  template <std::integral T>
  void field(std::string_view name, T value) {
    key(name);
    put(value);
  }
  void field(std::string_view name, double value) {
    key(name);
    put(value);
  }
  void field(std::string_view name, std::string_view value) {
    key(name);
    put(value);
  }
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  // None is null.
  template <typename T>
  void field(std::string_view name, const std::optional<T>& value) {
    if (value)
      field(name, *value);
    else
      null_field(name);
  }
  void null_field(std::string_view name) {
    key(name);
    out_ += "null";
  }
  // `json` is a value already in JSON, such as a stack rendered once and used for many lines.
  void raw_field(std::string_view name, std::string_view json) {
    key(name);
    out_ += json;
  }

  void begin_object(std::string_view name) {
    key(name);
    out_ += '{';
  }
  void end_object() { out_ += '}'; }
  void begin_array(std::string_view name) {
    key(name);
    out_ += '[';
  }
  void end_array() { out_ += ']'; }
  void begin_object_element() {
    comma();
    out_ += '{';
  }
  template <std::integral T>
  void element(T value) {
    comma();
    put(value);
  }
  void element(std::string_view value) {
    comma();
    put(value);
  }
  void element(const char* value) { element(std::string_view(value)); }

 private:
  // What was written last tells whether a value stands before this one.
  void comma() {
    const char last = out_.back();
    if (last != '{' && last != '[') out_ += ',';
  }
  void key(std::string_view name) {
    comma();
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  template <std::integral T>
  void put(T value) {
    if constexpr (std::same_as<T, bool>) {
      out_ += value ? "true" : "false";
    } else {
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
      out_.append(digits, end);
    }
  }
  void put(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, end);
  }
  void put(std::string_view value) {
    out_ += '"';
    append_json_text(out_, value);
    out_ += '"';
  }

  std::string& out_;
};

}  // namespace perf_latency
