// SPDX-License-Identifier: GPL-2.0-only
// perf latency info: what is in a recording, and which reports it can answer.
#include "analysis/info.h"

#include "cli.h"
#include "commands.h"
#include "render/render.h"

namespace perf_latency::tool {

int run_info(int argc, char** argv) {
  CLI::App app("What is in a recording, and which reports it can answer", "perf latency info");
  std::string input = "perf.data";
  std::string format_name = "text";
  bool force = false;
  bool verbose = false;
  app.add_option("-i,--input", input, "Input file (default perf.data); - reads a pipe");
  app.add_option("--format", format_name, "Output format: text or json");
  app.add_flag("-f,--force", force, "Read files of other users");
  app.add_flag("-v,--verbose", verbose, "All diagnostics");
  if (const int status = parse_command_line(app, argc, argv); status >= 0) return status;
  const auto format = parse_format(format_name);
  if (!format || (*format != Format::text && *format != Format::json)) {
    complain("--format: info prints text or json, not '" + format_name + "'");
    return kExitUsage;
  }
  guard_mapped_input();
  Inspection inspection;
  Diagnostics diagnostics;
  DecodePools pools;
  SessionOptions options;
  options.force = force;
  const auto result = run_session(input, options, inspection, pools, diagnostics);
  if (!result) {
    complain_about_file(input, result.error());
    return kExitFailed;
  }
  RenderOptions render_options;
  render_options.width = terminal_width();
  render_options.verbose = verbose;
  std::string text;
  if (auto rendered = render(make_info_report(*result, diagnostics), *format, render_options, text);
      !rendered) {
    complain(rendered.error().what);
    return kExitFailed;
  }
  Output output;
  if (auto written = output.write(text); !written) {
    complain(written.error().what);
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace perf_latency::tool
