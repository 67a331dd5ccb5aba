// SPDX-License-Identifier: GPL-2.0-only
// A file for speedscope.app: one sampled profile in nanoseconds, each distinct chain a sample whose
// weight is its time. (Format: speedscope's file-format-spec.ts, "SampledProfile".)
#include <nlohmann/json.hpp>

#include <unordered_map>

#include "render/escape.h"
#include "render/formats.h"
#include "render/stack_profile.h"

namespace perf_latency {
namespace {

using Json = nlohmann::ordered_json;

// Numbers frames by name in the order in which they first occur.
class FrameTable {
 public:
  size_t index(const std::string& name) {
    const auto [at, is_new] = indexes_.emplace(name, indexes_.size());
    if (is_new) frames_.push_back({{"name", valid_utf8(name)}});
    return at->second;
  }
  Json take() { return std::move(frames_); }

 private:
  std::unordered_map<std::string, size_t> indexes_;
  Json frames_ = Json::array();
};

}  // namespace

void render_speedscope(const Report& report, std::string& out) {
  const std::string path =
      report.recordings.empty() ? "perf.data" : valid_utf8(report.recordings[0].path);
  FrameTable frames;
  Json samples = Json::array();
  Json weights = Json::array();
  uint64_t end = 0;
  for (const ProfileStack& stack : stack_profile(report)) {
    Json sample = Json::array();
    for (const std::string& frame : stack.frames) sample.push_back(frames.index(frame));
    samples.push_back(std::move(sample));
    weights.push_back(stack.total_ns);
    end += stack.total_ns;
  }
  Json root;
  root["$schema"] = "https://www.speedscope.app/file-format-schema.json";
  root["shared"]["frames"] = frames.take();
  Json profile;
  profile["type"] = "sampled";
  profile["name"] = report.title.empty() ? path : valid_utf8(report.title);
  profile["unit"] = "nanoseconds";
  profile["startValue"] = 0;
  profile["endValue"] = end;
  profile["samples"] = std::move(samples);
  profile["weights"] = std::move(weights);
  root["profiles"] = Json::array({std::move(profile)});
  root["name"] = path;
  root["activeProfileIndex"] = 0;
  root["exporter"] = "perf latency";
  out += root.dump(-1, ' ', true);
  out += '\n';
}

}  // namespace perf_latency
