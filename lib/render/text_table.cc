// SPDX-License-Identifier: GPL-2.0-only
#include "render/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/time.h"
#include "render/cells.h"
#include "render/escape.h"

namespace perf_latency {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastFirstText = 20;  // the column that names the row
constexpr size_t kLeastText = 8;
constexpr size_t kStackIndent = 12;

double as_double(const Cell& cell) {
  if (const auto* value = std::get_if<uint64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return 0;
}

void trim_line_end(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
}

void append_right(std::string& out, std::string_view text, size_t width) {
  const size_t have = text_width(text);
  if (have < width) out.append(width - have, ' ');
  out += text;
}

// Units of one letter get a space, so that the digits of a column stand under each other.
void pad_unit(std::string& text) {
  if (text.ends_with(" s")) text += ' ';
}

// "12.1 %," and "3.4 ms" stay on one line: does a unit stand at text[at]?
bool is_unit_at(std::string_view text, size_t at) {
  std::string_view word = text.substr(at, text.find(' ', at) - at);
  while (word.ends_with(',') || word.ends_with(';') || word.ends_with(':') || word.ends_with('.'))
    word.remove_suffix(1);
  return word == "%" || word == "ns" || word == "us" || word == "ms" || word == "s";
}

// The bytes of the first columns of terminal text: a column is a code point.
size_t bytes_of_columns(std::string_view text, size_t columns) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && columns-- == 0) break;
  return at;
}

// 2^n as bpftrace prints the edges of its histograms.
std::string power_of_two(uint64_t value) {
  static constexpr std::string_view kSuffixes = " KMGTPE";
  size_t step = 0;
  while (value >= 1024 && value % 1024 == 0) value /= 1024, ++step;
  std::string text = std::to_string(value);
  if (step > 0) text += kSuffixes[step];
  return text;
}

}  // namespace

std::string_view percent_color(double percent) {
  if (percent >= 5.0) return "\x1b[31m";
  if (percent > 0.5) return "\x1b[32m";
  return {};
}

TextTable::TextTable(const Table& table, const RenderOptions& options)
    : table_(table), options_(options) {
  cells_.reserve(table.rows.size() * table.columns.size());
  for (const Row& row : table.rows) {
    PL_CHECK(row.cells.size() == table.columns.size() && row.section < table.sections.size());
    for (size_t c = 0; c < row.cells.size(); ++c) {
      std::string text = readable_cell(row.cells[c], table.columns[c].kind);
      if (table.columns[c].kind == CellKind::duration_ns) pad_unit(text);
      cells_.push_back(std::move(text));
    }
  }
  choose_columns();
  measure();
  fit_width();
}

void TextTable::choose_columns() {
  for (size_t c = 0; c < table_.columns.size(); ++c)
    if (table_.columns[c].in_text)
      shown_.push_back({c, table_.columns[c].kind == CellKind::text, 0});
}

void TextTable::measure() {
  for (ShownColumn& column : shown_) {
    column.width = text_width(table_.columns[column.index].title);
    for (size_t r = 0; r < table_.rows.size(); ++r)
      column.width = std::max(column.width, text_width(cell_text(r, column.index)));
  }
}

size_t TextTable::line_width() const {
  size_t width = shown_.empty() ? 0 : kGap * (shown_.size() - 1);
  for (const ShownColumn& column : shown_) width += column.width;
  return width;
}

// A text column may shrink to its title, and not below what is still readable.
size_t TextTable::least_width(size_t shown) const {
  const ShownColumn& column = shown_[shown];
  if (!column.text) return column.width;
  const bool first = std::none_of(shown_.begin(), shown_.begin() + static_cast<ptrdiff_t>(shown),
                                  [](const ShownColumn& c) { return c.text; });
  const size_t least = std::max(text_width(table_.columns[column.index].title),
                                first ? kLeastFirstText : kLeastText);
  return std::min(column.width, least);
}

void TextTable::fit_width() {
  if (options_.width == 0) return;
  const auto least_line = [&] {
    size_t width = shown_.empty() ? 0 : kGap * (shown_.size() - 1);
    for (size_t i = 0; i < shown_.size(); ++i) width += least_width(i);
    return width;
  };
  while (least_line() > options_.width && shown_.size() > 1) {
    auto last = std::find_if(shown_.rbegin(), shown_.rend(),
                             [](const ShownColumn& column) { return !column.text; });
    if (last == shown_.rend()) last = shown_.rbegin();
    too_wide_.insert(too_wide_.begin(), last->index);
    shown_.erase(std::next(last).base());
  }
  shorten_text_columns();
}

// Takes a column at a time from the widest text column until the line fits.
void TextTable::shorten_text_columns() {
  while (line_width() > options_.width) {
    ShownColumn* widest = nullptr;
    for (size_t i = 0; i < shown_.size(); ++i)
      if (shown_[i].text && shown_[i].width > least_width(i) &&
          (widest == nullptr || shown_[i].width > widest->width))
        widest = &shown_[i];
    if (widest == nullptr) return;
    --widest->width;
  }
}

void TextTable::append_cell(std::string& out, const ShownColumn& column, std::string_view text,
                            std::string_view color) const {
  if (&column != &shown_.front()) out.append(kGap, ' ');
  if (column.text) {
    const std::string fitted = shorten(text, column.width);
    out += fitted;
    out.append(column.width - text_width(fitted), ' ');
    return;
  }
  const size_t have = text_width(text);
  out.append(column.width - std::min(have, column.width), ' ');
  out += color;
  out += text;
  if (!color.empty()) out += kColorReset;
}

void TextTable::append_head(std::string& out) const {
  for (const ShownColumn& column : shown_)
    append_cell(out, column, table_.columns[column.index].title, {});
  trim_line_end(out);
  out += '\n';
}

void TextTable::append_row(std::string& out, size_t row) const {
  for (const ShownColumn& column : shown_) {
    const bool percent = table_.columns[column.index].kind == CellKind::percent;
    append_cell(out, column, cell_text(row, column.index),
                options_.color && percent
                    ? percent_color(as_double(table_.rows[row].cells[column.index]))
                    : std::string_view());
  }
  trim_line_end(out);
  out += '\n';
}

void TextTable::append_stacks(std::string& out, const Row& row) const {
  // The share is that of the row's time; a table without such a column shows shares of its chains.
  double whole = 0;
  if (const Cell* total = find_cell(table_, row, "total_ns")) whole = as_double(*total);
  if (whole == 0)
    for (const StackShare& stack : row.stacks) whole += static_cast<double>(stack.total_ns);
  for (const StackShare& stack : row.stacks) {
    const double share = whole == 0 ? 0 : 100.0 * static_cast<double>(stack.total_ns) / whole;
    const std::string_view color = options_.color ? percent_color(share) : std::string_view();
    out.append(kStackIndent / 3, ' ');
    out += color;
    append_right(out, fmt::format("{:.2f} %", share), 8);
    if (!color.empty()) out += kColorReset;
    out += fmt::format("  {} x, {}, max {}\n", stack.count, format_duration(stack.total_ns),
                       format_duration(stack.max_ns));
    for (const std::string& frame : stack.frames) {
      std::string text = terminal_text(frame);
      if (options_.width > kStackIndent + kLeastText)
        text = shorten(text, options_.width - kStackIndent);
      out.append(kStackIndent, ' ');
      out += text;
      out += '\n';
    }
  }
  if (row.stacks_left_out != 0)
    out += fmt::format("    {} more call chain{}, not shown\n", row.stacks_left_out,
                       row.stacks_left_out == 1 ? "" : "s");
}

// The layout is that of bpftrace's hist(): edges, count, and a bar of 52 columns for the largest.
void TextTable::append_histogram(std::string& out, const Row& row) const {
  constexpr size_t kBar = 52;
  uint64_t largest = 0;
  for (const HistogramBucket& bucket : row.histogram) largest = std::max(largest, bucket.count);
  for (const HistogramBucket& bucket : row.histogram) {
    const auto bar = static_cast<size_t>(static_cast<unsigned __int128>(bucket.count) * kBar /
                                         std::max<uint64_t>(largest, 1));
    const std::string edges =
        fmt::format("[{}, {})", power_of_two(bucket.low_ns), power_of_two(bucket.high_ns));
    out += fmt::format("{:<16}{:>8} |{:<52}|\n", edges, bucket.count, std::string(bar, '@'));
  }
  if (!row.histogram.empty()) out += '\n';
}

void TextTable::append_to(std::string& out) const {
  if (!table_.title.empty()) {
    append_terminal_text(out, table_.title);
    out += '\n';
  }
  append_head(out);
  if (table_.rows.empty()) out += "(none)\n";
  for (size_t section = 0; section < table_.sections.size(); ++section) {
    bool titled = table_.sections[section].empty();
    for (size_t r = 0; r < table_.rows.size(); ++r) {
      if (table_.rows[r].section != section) continue;
      if (!titled) {
        out += '\n';
        append_terminal_text(out, table_.sections[section]);
        out += '\n';
        titled = true;
      }
      append_row(out, r);
      append_stacks(out, table_.rows[r]);
      append_histogram(out, table_.rows[r]);
    }
  }
  if (table_.left_out.rows != 0) {
    const bool has_total = table_.column("total_ns") < table_.columns.size();
    out += fmt::format("{} more row{}{}, not shown: --limit 0 shows all\n", table_.left_out.rows,
                       table_.left_out.rows == 1 ? "" : "s",
                       has_total ? ", " + format_duration(table_.left_out.total_ns) : "");
  }
  if (!too_wide_.empty()) {
    std::string names = "columns that do not fit this terminal:";
    for (const size_t column : too_wide_) {
      names += column == too_wide_.front() ? " " : ", ";
      append_terminal_text(names, table_.columns[column].title);
    }
    append_wrapped(out, names, options_.width, 2);
  }
}

void append_wrapped(std::string& out, std::string_view text, unsigned width, size_t indent,
                    size_t start) {
  size_t column = start;
  bool first_word = true;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    if (end < text.size() && is_unit_at(text, end + 1))
      end = std::min(text.find(' ', end + 1), text.size());
    std::string_view word = text.substr(at, end - at);
    size_t have = text_width(word);
    if (!first_word && width != 0 && column + 1 + have > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first_word) {
      out += ' ';
      ++column;
    }
    first_word = false;
    // A word that has no room in any line is broken.
    while (width > indent + kLeastText && column + have > width) {
      const size_t fits = bytes_of_columns(word, width - column);
      out.append(word.substr(0, fits)).append(1, '\n').append(indent, ' ');
      word.remove_prefix(fits);
      have = text_width(word);
      column = indent;
    }
    out += word;
    column += have;
    at = end + 1;
  }
  out += '\n';
}

}  // namespace perf_latency
