// SPDX-License-Identifier: GPL-2.0-only
#include "cli.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "commands.h"
#include "config.h"
#include "nearest.h"
#include "pager.h"
#include "render/escape.h"

namespace perf_latency::tool {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// One line: what is wrong, and what was perhaps meant.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return what;
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with('-')) continue;
    std::string bare = word.substr(0, word.find('='));
    const std::string meant = nearest(bare, option_names(app));
    return "unknown option '" + bare + "'" +
           (meant.empty() ? "" : "; did you mean '" + meant + "'?");
  }
  return app.remaining().empty() ? what : "unexpected argument '" + app.remaining().front() + "'";
}

}  // namespace

int parse_command_line(CLI::App& app, int argc, char** argv) {
  app.add_flag_callback("--no-pager", forbid_pager, "Leave the pager out");
  try {
    app.parse(argc, argv);
    return apply_config(app);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    complain(usage_message(app, error));
    return kExitUsage;
  }
}

void complain(std::string_view what) {
  std::fprintf(stderr, "perf latency: %s\n", terminal_text(what).c_str());
}

void complain_about_file(std::string_view file, const Error& error) {
  std::string text = std::string(file) + ": " + error.what;
  if (error.offset) text += " (offset " + std::to_string(*error.offset) + ")";
  complain(text);
}

Output::~Output() {
  if (owned_) ::close(fd_);
}

Result<void> Output::open(const std::string& path) {
  if (path.empty() || path == "-") return {};
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return make_error(path + ": " + std::strerror(errno));
  owned_ = true;
  return {};
}

void Output::page() {
  if (!owned_) start_pager();
}

Result<void> Output::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return make_error(std::string("writing the output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> Output::close() {
  if (!owned_) return {};
  owned_ = false;
  if (::close(fd_) != 0)
    return make_error(std::string("writing the output: ") + std::strerror(errno));
  return {};
}

bool Output::is_terminal() const { return ::isatty(fd_) == 1; }

unsigned terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace perf_latency::tool
