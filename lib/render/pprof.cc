// SPDX-License-Identifier: GPL-2.0-only
// A profile for pprof: a gzipped protocol buffer (github.com/google/pprof, proto/profile.proto;
// field numbers below are that file's). Values of a sample: how often, and how long in ns; the
// second is the default. Labels: comm, class and state of the row. The same report gives the same
// bytes: the gzip header has no time.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "render/escape.h"
#include "render/formats.h"
#include "render/stack_profile.h"

namespace perf_latency {
namespace {

// Writes the wire format: varints and length-delimited fields.
class Message {
 public:
  void number(unsigned field, uint64_t value) {
    if (value == 0) return;  // the default of proto3 is not written
    varint(field << 3);
    varint(value);
  }
  void bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(unsigned field, const Message& value) { bytes(field, value.bytes_); }
  void packed(unsigned field, std::span<const uint64_t> values) {
    Message list;
    for (const uint64_t value : values) list.varint(value);
    bytes(field, list.bytes_);
  }
  const std::string& data() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Profile: fields of the top message.
constexpr unsigned kSampleType = 1;
constexpr unsigned kSample = 2;
constexpr unsigned kLocation = 4;
constexpr unsigned kFunction = 5;
constexpr unsigned kStringTable = 6;
constexpr unsigned kDurationNanos = 10;
constexpr unsigned kDefaultSampleType = 14;

class ProfileWriter {
 public:
  ProfileWriter() { string(""); }

  std::string encode(const Report& report) {
    profile_.message(kSampleType, value_type("count", "count"));
    profile_.message(kSampleType, value_type("delay", "nanoseconds"));
    for (const ProfileStack& stack : stack_profile(report)) add(stack);
    if (!report.recordings.empty()) {
      const RecordingInfo& recording = report.recordings[0];
      if (recording.start_ns && recording.end_ns && *recording.end_ns > *recording.start_ns)
        profile_.number(kDurationNanos, *recording.end_ns - *recording.start_ns);
    }
    profile_.number(kDefaultSampleType, string("delay"));
    for (const std::string_view text : string_order_) profile_.bytes(kStringTable, text);
    return profile_.data();
  }

 private:
  uint64_t string(std::string_view raw) {
    const auto [at, is_new] = strings_.emplace(valid_utf8(raw), strings_.size());
    if (is_new) string_order_.push_back(at->first);
    return at->second;
  }

  Message value_type(std::string_view type, std::string_view unit) {
    Message message;
    message.number(1, string(type));
    message.number(2, string(unit));
    return message;
  }

  Message label(std::string_view key, std::string_view value) {
    return value_type(key, value);  // Label {key = 1, str = 2}
  }

  // One location with one function for each name: addresses are not in a report.
  uint64_t location(const std::string& frame) {
    const auto [at, is_new] = locations_.emplace(frame, locations_.size() + 1);
    if (!is_new) return at->second;
    const uint64_t id = at->second;
    Message function;
    function.number(1, id);
    function.number(2, string(frame));
    profile_.message(kFunction, function);
    Message line;
    line.number(1, id);
    Message location;
    location.number(1, id);
    location.message(4, line);
    profile_.message(kLocation, location);
    return id;
  }

  void add(const ProfileStack& stack) {
    std::vector<uint64_t> ids;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
      ids.push_back(location(*frame));
    const std::array<uint64_t, 2> values{stack.count, stack.total_ns};
    Message sample;
    sample.packed(1, ids);
    sample.packed(2, values);
    if (stack.comm_root) sample.message(3, label("comm", stack.frames[0]));
    if (!stack.row_class.empty()) sample.message(3, label("class", stack.row_class));
    sample.message(3, label("state", stack.waiting_for_cpu ? "waiting for CPU" : "sleeping"));
    profile_.message(kSample, sample);
  }

  Message profile_;
  std::unordered_map<std::string, uint64_t> strings_;
  std::vector<std::string_view> string_order_;  // keys of strings_, which do not move
  std::unordered_map<std::string, uint64_t> locations_;
};

// zlib's own bound for a stream of known size makes one call enough.
void append_gzip(std::string& out, std::string_view data) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  PL_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  const size_t before = out.size();
  out.resize(before + deflateBound(&stream, data.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
  // avail_* have 32 bits: feed and drain in parts below 1 GiB.
  constexpr size_t kPart = size_t{1} << 30;
  size_t in_left = data.size();
  size_t out_left = out.size() - before;
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min(in_left, kPart));
      in_left -= stream.avail_in;
    }
    if (stream.avail_out == 0) {
      stream.avail_out = static_cast<uInt>(std::min(out_left, kPart));
      out_left -= stream.avail_out;
    }
    status = deflate(&stream, in_left == 0 ? Z_FINISH : Z_NO_FLUSH);
  }
  PL_CHECK(status == Z_STREAM_END);
  out.resize(before + stream.total_out);
  deflateEnd(&stream);
}

}  // namespace

void render_pprof(const Report& report, std::string& out) {
  append_gzip(out, ProfileWriter().encode(report));
}

}  // namespace perf_latency
