// SPDX-License-Identifier: GPL-2.0-only
// What the analysis commands share: options, inputs, running, rendering, exit status.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/options.h"
#include "causes/cause_table.h"
#include "cli.h"
#include "render/render.h"

namespace perf_latency::tool {

// --callchain; "" is kernel.
std::optional<CallchainMode> parse_callchain(const std::string& text);

class AnalysisCommand {
 public:
  // `formats`: what the command can print; the first is the default.
  AnalysisCommand(const std::string& name, const std::string& help,
                  std::vector<Format> formats = {Format::text, Format::json, Format::csv,
                                                 Format::lkp});

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  AnalysisOptions& options() { return options_; }

  // Parses and checks the common options; -1 to go on, else the exit status.
  int parse(int argc, char** argv);

  // Loads the table of causes; complains and gives none when it cannot be read.
  std::optional<CauseTable> load_causes();

  // Feeds all inputs to the analysis, prints its report, and evaluates --fail-if.
  int run(Analysis& analysis);

  // The parts of run(), for a command that makes one report out of several: open_output first (-1 to go
  // on, else the exit status), print last. analyse complains itself when it gives none.
  int open_output();
  std::optional<Report> analyse(const std::vector<std::string>& inputs, Analysis& analysis);
  int print(Report report);
  // What stands behind each --fail-if, to be put in other words before print().
  std::vector<std::string>& conditions() { return fail_if_; }

  // For analyses that write while the input is read: appends to the output of run().
  void write(std::string_view text);

  // The analysis writes all of the output itself: run() prints no report, and losses go to stderr.
  void stream() { streams_ = true; }

  Format format() const { return format_; }
  void set_format(Format format) { format_ = format; }
  bool quiet() const { return quiet_; }
  int verbose() const { return verbose_; }
  const std::string& output_path() const { return output_path_; }
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  int check();
  bool feed(const std::string& input, Analysis& analysis, DecodePools& pools,
            Diagnostics& diagnostics);
  void add_filters(Report& report) const;
  int check_conditions(const Report& report);
  int usage_error(const std::string& what);

  CLI::App app_;
  std::vector<Format> formats_;
  AnalysisOptions options_;
  std::vector<std::string> inputs_;
  std::string time_;
  std::string time_comm_;
  std::string pids_;
  std::string tids_;
  std::string cpus_;
  std::string comms_;
  std::string sort_;
  std::string fields_;
  std::string by_;
  std::string min_latency_;
  std::string format_name_;
  std::string output_path_;
  std::string interval_;
  std::string color_;
  std::string causes_file_;
  std::vector<std::string> fail_if_;
  std::optional<uint64_t> limit_;
  Format format_ = Format::text;
  Output output_;
  std::string buffer_;  // what write() has collected
  bool write_failed_ = false;
  bool streams_ = false;
  bool quiet_ = false;
  bool stats_ = false;
  int verbose_ = 0;
};

}  // namespace perf_latency::tool
