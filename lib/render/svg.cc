// SPDX-License-Identifier: GPL-2.0-only
// An off-CPU flame graph as one static SVG: no script, details in the <title> of each box (browsers
// show it under the pointer), readable on paper.
//
// Outermost frames stand at the bottom, the width of a box is its time, equal neighbours are one
// box, boxes of a level are in the order of their names. A box has the colour of its class where
// all sleep in it has the same class, else the neutral one; boxes in which all time is waiting for
// a CPU are hatched, so that they differ from sleep without colour too. Boxes under a tenth of a
// pixel are left out, and the line under the title says how much time of the innermost frames that
// hides.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/time.h"
#include "render/escape.h"
#include "render/formats.h"
#include "render/stack_profile.h"

namespace perf_latency {
namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kBoxHeight = 17;
constexpr double kCharWidth = 6.7;  // of the 11 px monospace font, rounded up
constexpr double kLeastWidth = 0.1;
constexpr double kTop = 84;  // title, subtitle, legend
constexpr double kLegendStep = 118;
constexpr size_t kLegendColumns = 10;

struct ClassColor {
  std::string_view name;
  std::string_view fill;
};
constexpr std::array<ClassColor, 12> kClassColors{{{"disk", "#eba45e"},
                                                   {"filesystem", "#f2d06b"},
                                                   {"memory", "#b3d99a"},
                                                   {"lock", "#e88f8b"},
                                                   {"network", "#92b9ea"},
                                                   {"ipc", "#9fdbe0"},
                                                   {"timer", "#d6c3a2"},
                                                   {"process", "#c8afe6"},
                                                   {"cpu", "#e9e4dc"},
                                                   {"virt", "#e6abd1"},
                                                   {"idle", "#c6d0d8"},
                                                   {"other", "#efe6c8"}}};
constexpr std::string_view kNeutral = "#e9e9e5";

// Classes as small numbers: an index into kClassColors, or one of these.
constexpr uint8_t kNoClass = 0xfe;
constexpr uint8_t kMixed = 0xff;

uint8_t class_number(std::string_view name) {
  for (size_t i = 0; i < kClassColors.size(); ++i)
    if (kClassColors[i].name == name) return static_cast<uint8_t>(i);
  return kNoClass;
}

struct Box {
  const std::string* name = nullptr;  // of the profile; nullptr: the box of everything
  size_t level = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t count = 0;
  uint8_t box_class = kNoClass;
  bool waiting = true;  // all of it, so far, is waiting for a CPU
};

// Sorted chains become boxes from left to right: the frames that two neighbours share stay open.
class BoxLayout {
 public:
  explicit BoxLayout(const std::vector<ProfileStack>& stacks) {
    open(nullptr);
    const ProfileStack* before = nullptr;
    for (const ProfileStack& stack : stacks) {
      if (stack.total_ns == 0) continue;
      const size_t shared = before == nullptr ? 0 : common_frames(*before, stack);
      close(shared + 1);
      for (size_t i = shared; i < stack.frames.size(); ++i) open(&stack.frames[i]);
      add(stack);
      before = &stack;
    }
    close(0);
    if (before == nullptr) boxes_[0].waiting = false;
  }

  const std::vector<Box>& boxes() const { return boxes_; }
  uint64_t total_ns() const { return at_ns_; }
  size_t levels() const { return levels_; }

 private:
  static size_t common_frames(const ProfileStack& a, const ProfileStack& b) {
    const auto [end, other] =
        std::mismatch(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end());
    return static_cast<size_t>(end - a.frames.begin());
  }

  void open(const std::string* name) {
    Box& box = boxes_.emplace_back();
    box.name = name;
    box.level = open_.size();
    box.start_ns = at_ns_;
    open_.push_back(boxes_.size() - 1);
    levels_ = std::max(levels_, open_.size());
  }
  void close(size_t level) {
    for (; open_.size() > level; open_.pop_back()) boxes_[open_.back()].end_ns = at_ns_;
  }
  void add(const ProfileStack& stack) {
    const uint8_t number = class_number(stack.row_class);
    for (const size_t index : open_) {
      Box& box = boxes_[index];
      box.count += stack.count;
      if (stack.waiting_for_cpu) continue;
      if (box.waiting)
        box.box_class = number;
      else if (box.box_class != number)
        box.box_class = kMixed;
      box.waiting = false;
    }
    at_ns_ += stack.total_ns;
  }

  std::vector<Box> boxes_;
  std::vector<size_t> open_;  // indexes of the boxes of the current chain, outermost first
  uint64_t at_ns_ = 0;
  size_t levels_ = 0;
};

// A frame of a table without classes: one of eight warm tones, the same for the same name.
std::string warm_tone(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return fmt::format("hsl({},75%,{}%)", 24 + hash % 8 * 4, 70 + hash / 8 % 4 * 3);
}

class SvgWriter {
 public:
  SvgWriter(const Report& report, std::string& out)
      : report_(report), out_(out), stacks_(stack_profile(report)), layout_(stacks_) {
    for (const ProfileStack& stack : stacks_) {
      const uint8_t number = class_number(stack.row_class);
      if (number != kNoClass) classes_ = true;
      if (stack.waiting_for_cpu)
        waiting_ns_ += stack.total_ns;
      else if (number != kNoClass)
        used_[number] = true;
    }
  }

  void write() {
    head();
    legend();
    for (const Box& box : layout_.boxes()) append_box(box);
    if (layout_.total_ns() == 0) text(kMargin, kTop + 12, "s", "nothing to show");
    out_ += "</svg>\n";
  }

 private:
  double height() const {
    return kTop + kBoxHeight * static_cast<double>(layout_.levels()) + kMargin;
  }
  double x(uint64_t ns) const {
    const uint64_t total = std::max<uint64_t>(layout_.total_ns(), 1);
    return kMargin + (kWidth - 2 * kMargin) * static_cast<double>(ns) / static_cast<double>(total);
  }
  std::string fill(const Box& box) const {
    if (box.box_class < kClassColors.size()) return std::string(kClassColors[box.box_class].fill);
    if (classes_ || box.name == nullptr) return std::string(kNeutral);
    return warm_tone(*box.name);
  }

  void head() {
    out_ += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out_ += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n",
        kWidth, height());
    out_ +=
        "<style>text{font:11px monospace;fill:#000}.t{font:bold 16px sans-serif}"
        ".s{font:12px "
        "sans-serif}.w{paint-order:stroke;stroke:#fff;stroke-width:3px}rect{stroke:#fff;stroke-"
        "width:.5}"
        "rect.k{stroke:#888}g:hover rect{stroke:#000;stroke-width:1}</style>\n"
        "<defs><pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" style=\"stroke:none\" "
        "fill=\"#e9e4dc\"/><path d=\"M0 0V6\" stroke=\"#9a8f80\" stroke-width=\"2\"/></pattern>"
        "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    text(kMargin, 24, "t", report_.title.empty() ? "Time off the CPU" : report_.title);
    text(kMargin, 44, "s", subtitle());
  }

  std::string subtitle() const {
    std::string line = format_duration(layout_.total_ns());
    if (waiting_ns_ != 0)
      line += fmt::format(", of it {} waiting for a CPU", format_duration(waiting_ns_));
    if (!report_.recordings.empty()) {
      const RecordingInfo& recording = report_.recordings[0];
      for (const std::string& part : {recording.path, recording.hostname, recording.os_release})
        if (!part.empty()) line += ", " + part;
    }
    if (report_.partial) line += "; interrupted: what was found up to then";
    const uint64_t hidden = hidden_ns();
    if (hidden != 0)
      line += fmt::format("; {} in boxes too narrow to show", format_duration(hidden));
    return line;
  }

  // Time of whole chains whose outermost frame that is too narrow hides them.
  uint64_t hidden_ns() const {
    uint64_t hidden = 0;
    uint64_t counted_to = 0;
    for (const Box& box : layout_.boxes()) {
      if (is_visible(box) || box.start_ns < counted_to) continue;
      hidden += box.end_ns - box.start_ns;
      counted_to = box.end_ns;
    }
    return hidden;
  }

  bool is_visible(const Box& box) const { return x(box.end_ns) - x(box.start_ns) >= kLeastWidth; }

  void text(double at_x, double at_y, std::string_view css_class, std::string_view content) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"", at_x, at_y);
    if (!css_class.empty()) out_ += fmt::format(" class=\"{}\"", css_class);
    out_ += '>';
    append_xml_text(out_, content);
    out_ += "</text>\n";
  }

  void legend() {
    size_t place = 0;
    const auto entry = [&](std::string_view fill, std::string_view name) {
      const double left = kMargin + kLegendStep * static_cast<double>(place % kLegendColumns);
      const double top = 52 + 15 * static_cast<double>(place / kLegendColumns);
      out_ += fmt::format(
          "<rect class=\"k\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"{}\"/>\n",
          left, top, fill);
      text(left + 16, top + 9.5, {}, name);
      ++place;
    };
    for (size_t i = 0; i < kClassColors.size(); ++i)
      if (used_[i]) entry(kClassColors[i].fill, kClassColors[i].name);
    if (classes_) entry(kNeutral, "several");
    if (waiting_ns_ != 0) entry("url(#wait)", "waiting for CPU");
  }

  void append_title(const Box& box) {
    const uint64_t ns = box.end_ns - box.start_ns;
    append_xml_text(out_, box.name == nullptr ? std::string_view("all") : *box.name);
    out_ += fmt::format(": {}, {:.2f} %, {} time{}", format_duration(ns),
                        100.0 * static_cast<double>(ns) /
                            static_cast<double>(std::max<uint64_t>(layout_.total_ns(), 1)),
                        box.count, box.count == 1 ? "" : "s");
    if (box.waiting)
      out_ += ", waiting for CPU";
    else if (box.box_class < kClassColors.size())
      out_ += fmt::format(", {}", kClassColors[box.box_class].name);
  }

  void append_box(const Box& box) {
    if (!is_visible(box)) return;
    const double left = x(box.start_ns);
    const double width = x(box.end_ns) - left;
    const double top = height() - kMargin - kBoxHeight * static_cast<double>(box.level + 1);
    out_ += "<g><title>";
    append_title(box);
    out_ += fmt::format(
        "</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"/>",
        left, top, width, kBoxHeight - 1, box.waiting ? "url(#wait)" : fill(box));
    const auto columns = static_cast<size_t>(std::max(0.0, (width - 6) / kCharWidth));
    if (columns >= 3) {
      std::string label = terminal_text(box.name == nullptr ? "all" : *box.name);
      // The beginning of a name tells most: no cut in the middle here.
      if (text_width(label) > columns) label = shorten(label + " ", columns);
      out_ += '\n';
      text(left + 3, top + 12, box.waiting ? "w" : "", label);
    }
    out_ += "</g>\n";
  }

  const Report& report_;
  std::string& out_;
  std::vector<ProfileStack> stacks_;
  BoxLayout layout_;
  std::array<bool, kClassColors.size()> used_{};
  bool classes_ = false;
  uint64_t waiting_ns_ = 0;
};

}  // namespace

void render_svg(const Report& report, std::string& out) { SvgWriter(report, out).write(); }

}  // namespace perf_latency
