// SPDX-License-Identifier: GPL-2.0-only
// Result<T>: a value or an Error, with std::expected's member names.
//
// For input that cannot be used (tier 2 of Documentation/design.md, "Errors"). A bug of ours is a
// PL_CHECK; one bad record among good ones is a diagnostic, not an Error.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace perf_latency {

// What is wrong, in one sentence without a full stop, and where (a byte offset in the file).
struct Error {
  std::string what;
  std::optional<uint64_t> offset;
};

inline Error make_error(std::string what) { return Error{std::move(what), std::nullopt}; }
inline Error make_error(std::string what, uint64_t offset) {
  return Error{std::move(what), offset};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "perf latency: bug at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace perf_latency

// A condition that only a bug of ours can break; checked in every build.
#define PL_CHECK(condition) \
  ((condition) ? void(0) : ::perf_latency::check_failed(__FILE__, __LINE__, #condition))
