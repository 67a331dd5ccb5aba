// SPDX-License-Identifier: GPL-2.0-only
// svg, speedscope and pprof.
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "render/stack_profile.h"
#include "render_report.h"

namespace perf_latency::render_test {
namespace {

// Rows with comms, one of them waiting for a CPU in the same function as it sleeps in.
Report stack_report() {
  Report report;
  report.title = "Why <tasks> slept";
  report.recordings.emplace_back().path = "perf.data";
  report.recordings[0].start_ns = 1000;
  report.recordings[0].end_ns = 5000;
  Table& table = report.tables.emplace_back();
  table.with_stacks = true;
  table.columns = {
      {"cause", "cause", CellKind::text},  {"class", "class", CellKind::text},
      {"state", "state", CellKind::text},  {"process.comm", "comm", CellKind::text},
      {"count", "count", CellKind::count}, {"total_ns", "total", CellKind::duration_ns}};
  const auto row = [&](const char* cause, const char* row_class, const char* state,
                       const char* comm, uint64_t count, uint64_t total_ns,
                       std::vector<StackShare> stacks) {
    Row& r = table.rows.emplace_back();
    r.cells = {Cell(cause), Cell(row_class), Cell(state), Cell(comm), Cell(count), Cell(total_ns)};
    r.stacks = std::move(stacks);
  };
  row("Reading", "disk", "D", "cat", 3, 600, {{2, 500, 300, {"io_schedule", "read"}}});
  row("Pipe", "ipc", "S", "cat", 1, 200, {{1, 200, 200, {"pipe_read", "read"}}});
  row("Waiting for a CPU", "cpu", "R", "cat", 4, 150, {{4, 150, 50, {"io_schedule", "read"}}});
  row("Sleep", "idle", "S", "sh", 1, 50, {{1, 50, 50, {"nanosleep"}}});
  return report;
}

TEST(RenderStackProfile, SortedMergedAndComplete) {
  const auto stacks = stack_profile(stack_report());
  std::vector<std::vector<std::string>> frames;
  uint64_t total_ns = 0;
  uint64_t count = 0;
  for (const ProfileStack& stack : stacks) {
    frames.push_back(stack.frames);
    total_ns += stack.total_ns;
    count += stack.count;
  }
  EXPECT_EQ(frames, (std::vector<std::vector<std::string>>{
                        {"cat", "[Reading]"},
                        {"cat", "read", "io_schedule"},
                        {"cat", "read", "io_schedule", "[Waiting for a CPU]"},
                        {"cat", "read", "pipe_read"},
                        {"sh", "nanosleep"}}));
  EXPECT_EQ(total_ns, 1000u);
  EXPECT_EQ(count, 9u);
}

TEST(RenderSpeedscope, WholeFile) {
  EXPECT_EQ(rendered(stack_report(), Format::speedscope),
            R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)"
            R"("shared":{"frames":[{"name":"cat"},{"name":"[Reading]"},{"name":"read"},)"
            R"({"name":"io_schedule"},{"name":"[Waiting for a CPU]"},{"name":"pipe_read"},)"
            R"({"name":"sh"},{"name":"nanosleep"}]},)"
            R"("profiles":[{"type":"sampled","name":"Why <tasks> slept","unit":"nanoseconds",)"
            R"("startValue":0,"endValue":1000,)"
            R"("samples":[[0,1],[0,2,3],[0,2,3,4],[0,2,5],[6,7]],)"
            R"("weights":[100,500,150,200,50]}],)"
            R"("name":"perf.data","activeProfileIndex":0,"exporter":"perf latency"})"
            "\n");
}

std::string gunzip(const std::string& data) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out(1 << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

// A decoder of the protocol buffers wire format: fields in their order.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;
  std::string bytes;
};
uint64_t varint(const std::string& data, size_t& at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(data.at(at++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}
std::vector<Field> fields_of(const std::string& data) {
  std::vector<Field> fields;
  for (size_t at = 0; at < data.size();) {
    Field& field = fields.emplace_back();
    const uint64_t key = varint(data, at);
    field.number = key >> 3;
    field.value = varint(data, at);
    if ((key & 7) != 2) continue;
    field.bytes = data.substr(at, field.value);
    at += field.value;
  }
  return fields;
}

// The profile as lines of text, with all indexes resolved.
class ProfileReader {
 public:
  explicit ProfileReader(const std::string& data) : fields_(fields_of(data)) {
    for (const Field& field : fields_)
      if (field.number == 6) strings_.push_back(field.bytes);
    for (const Field& field : fields_) {
      if (field.number == 5) functions_[get(field.bytes, 1)] = strings_.at(get(field.bytes, 2));
      if (field.number == 4) {
        for (const Field& part : fields_of(field.bytes))
          if (part.number == 4) lines_[get(field.bytes, 1)] = get(part.bytes, 1);
      }
    }
  }

  std::vector<std::string> dump() const {
    std::vector<std::string> out;
    for (const Field& field : fields_) {
      if (field.number == 1) out.push_back("type " + pair(field.bytes));
      if (field.number == 2) out.push_back(sample(field.bytes));
      if (field.number == 10) out.push_back("duration " + std::to_string(field.value));
      if (field.number == 14) out.push_back("default " + strings_.at(field.value));
    }
    return out;
  }

 private:
  static uint64_t get(const std::string& data, uint64_t number) {
    for (const Field& field : fields_of(data))
      if (field.number == number) return field.value;
    return 0;
  }
  std::string pair(const std::string& data) const {
    return strings_.at(get(data, 1)) + "/" + strings_.at(get(data, 2));
  }
  std::string sample(const std::string& data) const {
    std::string out = "sample";
    for (const Field& field : fields_of(data)) {
      size_t at = 0;
      if (field.number == 1)
        while (at < field.bytes.size())
          out += " " + functions_.at(lines_.at(varint(field.bytes, at)));
      if (field.number == 2)
        while (at < field.bytes.size()) out += " " + std::to_string(varint(field.bytes, at));
      if (field.number == 3) out += " " + pair(field.bytes);
    }
    return out;
  }

  std::vector<Field> fields_;
  std::vector<std::string> strings_;
  std::map<uint64_t, std::string> functions_;
  std::map<uint64_t, uint64_t> lines_;
};

TEST(RenderPprof, WholeProfile) {
  const std::string data = rendered(stack_report(), Format::pprof);
  EXPECT_EQ(data, rendered(stack_report(), Format::pprof));
  EXPECT_EQ(data.substr(4, 4), std::string(4, '\0'));  // no time in the gzip header
  EXPECT_EQ(ProfileReader(gunzip(data)).dump(),
            (std::vector<std::string>{
                "type count/count", "type delay/nanoseconds",
                "sample [Reading] cat 1 100 comm/cat class/disk state/sleeping",
                "sample io_schedule read cat 2 500 comm/cat class/disk state/sleeping",
                "sample [Waiting for a CPU] io_schedule read cat 4 150 comm/cat class/cpu "
                "state/waiting for CPU",
                "sample pipe_read read cat 1 200 comm/cat class/ipc state/sleeping",
                "sample nanosleep sh 1 50 comm/sh class/idle state/sleeping", "duration 4000",
                "default delay"}));
}

TEST(RenderSvg, WholeFile) {
  EXPECT_EQ(rendered(stack_report(), Format::svg), R"svg(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="179" viewBox="0 0 1200 179">
<style>text{font:11px monospace;fill:#000}.t{font:bold 16px sans-serif}.s{font:12px sans-serif}.w{paint-order:stroke;stroke:#fff;stroke-width:3px}rect{stroke:#fff;stroke-width:.5}rect.k{stroke:#888}g:hover rect{stroke:#000;stroke-width:1}</style>
<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" style="stroke:none" fill="#e9e4dc"/><path d="M0 0V6" stroke="#9a8f80" stroke-width="2"/></pattern></defs>
<rect width="100%" height="100%" fill="#fff"/>
<text x="10.0" y="24.0" class="t">Why &lt;tasks&gt; slept</text>
<text x="10.0" y="44.0" class="s">1.000 us, of it 150 ns waiting for a CPU, perf.data</text>
<rect class="k" x="10.0" y="52.0" width="11" height="11" fill="#eba45e"/>
<text x="26.0" y="61.5">disk</text>
<rect class="k" x="128.0" y="52.0" width="11" height="11" fill="#9fdbe0"/>
<text x="144.0" y="61.5">ipc</text>
<rect class="k" x="246.0" y="52.0" width="11" height="11" fill="#c6d0d8"/>
<text x="262.0" y="61.5">idle</text>
<rect class="k" x="364.0" y="52.0" width="11" height="11" fill="#e9e9e5"/>
<text x="380.0" y="61.5">several</text>
<rect class="k" x="482.0" y="52.0" width="11" height="11" fill="url(#wait)"/>
<text x="498.0" y="61.5">waiting for CPU</text>
<g><title>all: 1.000 us, 100.00 %, 9 times</title><rect x="10.00" y="152.0" width="1180.00" height="16.0" fill="#e9e9e5"/>
<text x="13.0" y="164.0">all</text>
</g>
<g><title>cat: 950 ns, 95.00 %, 8 times</title><rect x="10.00" y="135.0" width="1121.00" height="16.0" fill="#e9e9e5"/>
<text x="13.0" y="147.0">cat</text>
</g>
<g><title>[Reading]: 100 ns, 10.00 %, 1 time, disk</title><rect x="10.00" y="118.0" width="118.00" height="16.0" fill="#eba45e"/>
<text x="13.0" y="130.0">[Reading]</text>
</g>
<g><title>read: 850 ns, 85.00 %, 7 times</title><rect x="128.00" y="118.0" width="1003.00" height="16.0" fill="#e9e9e5"/>
<text x="131.0" y="130.0">read</text>
</g>
<g><title>io_schedule: 650 ns, 65.00 %, 6 times, disk</title><rect x="128.00" y="101.0" width="767.00" height="16.0" fill="#eba45e"/>
<text x="131.0" y="113.0">io_schedule</text>
</g>
<g><title>[Waiting for a CPU]: 150 ns, 15.00 %, 4 times, waiting for CPU</title><rect x="718.00" y="84.0" width="177.00" height="16.0" fill="url(#wait)"/>
<text x="721.0" y="96.0" class="w">[Waiting for a CPU]</text>
</g>
<g><title>pipe_read: 200 ns, 20.00 %, 1 time, ipc</title><rect x="895.00" y="101.0" width="236.00" height="16.0" fill="#9fdbe0"/>
<text x="898.0" y="113.0">pipe_read</text>
</g>
<g><title>sh: 50 ns, 5.00 %, 1 time, idle</title><rect x="1131.00" y="135.0" width="59.00" height="16.0" fill="#c6d0d8"/>
<text x="1134.0" y="147.0">sh</text>
</g>
<g><title>nanosleep: 50 ns, 5.00 %, 1 time, idle</title><rect x="1131.00" y="118.0" width="59.00" height="16.0" fill="#c6d0d8"/>
<text x="1134.0" y="130.0">nanosl…</text>
</g>
</svg>
)svg");
}

TEST(RenderSvg, NothingToShow) {
  const std::string svg = rendered(Report{}, Format::svg);
  EXPECT_TRUE(
      svg.ends_with("<text x=\"10.0\" y=\"96.0\" class=\"s\">nothing to show</text>\n</svg>\n"));
}

TEST(RenderSvg, DeepChainsAndManyBoxes) {
  Report report = stack_report();
  Table& table = report.tables[0];
  table.rows.resize(1);
  StackShare deep{1, 600, 600, std::vector<std::string>(20'000, "f")};
  table.rows[0].stacks = {deep};
  const std::string svg = rendered(report, Format::svg);
  size_t boxes = 0;
  for (size_t at = 0; (at = svg.find("<g>", at)) != std::string::npos; ++at) ++boxes;
  EXPECT_EQ(boxes, 20'002u);  // "all" and "cat" below
}

}  // namespace
}  // namespace perf_latency::render_test
