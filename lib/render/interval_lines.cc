// SPDX-License-Identifier: GPL-2.0-only
#include "render/interval_lines.h"

#include "render/json_line.h"

namespace perf_latency {
namespace {

using F = IntervalField;

constexpr size_t kFlushBytes = 64 * 1024;

struct FieldName {
  std::string_view name;
  bool task = false;  // two columns of CSV: NAME.tid and NAME.comm
};
constexpr std::array<FieldName, kIntervalFields> kNames{{{"type"},
                                                         {"recording"},
                                                         {"start_ns"},
                                                         {"end_ns"},
                                                         {"duration_ns"},
                                                         {"full_ns"},
                                                         {"cpu"},
                                                         {"pid"},
                                                         {"tid"},
                                                         {"comm"},
                                                         {"state"},
                                                         {"cause"},
                                                         {"cause_id"},
                                                         {"class"},
                                                         {"waker", true},
                                                         {"preempted"},
                                                         {"preempted_by", true},
                                                         {"lock"},
                                                         {"lock_addr"},
                                                         {"lock_type"},
                                                         {"caller"},
                                                         {"holder", true},
                                                         {"holder_ns"},
                                                         {"spin_ns"},
                                                         {"sleep_ns"},
                                                         {"failed"},
                                                         {"contended"},
                                                         {"function"},
                                                         {"queued_ns"},
                                                         {"behind", true},
                                                         {"behind_ns"},
                                                         {"open"},
                                                         {"began_before"},
                                                         {"uncertain"},
                                                         {"includes_waiting"},
                                                         {"cgroup"},
                                                         {"stack"},
                                                         {"user_stack"}}};

constexpr std::string_view name_of(F field) { return kNames[static_cast<size_t>(field)].name; }

// Writes fields into a JSON line.
class JsonFields {
 public:
  JsonFields(JsonLine& line, const IntervalLineOptions& options) : line_(line), options_(options) {}

  template <typename T>
  void put(F field, const T& value) {
    if (options_.shows(field)) line_.field(name_of(field), value);
  }
  void put_task(F field, const TaskText& task) {
    if (!options_.shows(field)) return;
    if (!task.known) {
      line_.null_field(name_of(field));
      return;
    }
    line_.begin_object(name_of(field));
    if (task.tid < 0)
      line_.null_field("tid");
    else
      line_.field("tid", task.tid);
    line_.field("comm", task.comm);
    line_.end_object();
  }
  void put_frames(F field, std::span<const std::string> frames) {
    if (!options_.shows(field)) return;
    line_.begin_array(name_of(field));
    for (const std::string& frame : frames) line_.element(std::string_view(frame));
    line_.end_array();
  }

 private:
  JsonLine& line_;
  const IntervalLineOptions& options_;
};

// Collects fields as the cells of a CSV line.
class CsvFields {
 public:
  CsvFields(std::array<std::string, 2 * kIntervalFields>& cells, const IntervalLineOptions& options)
      : cells_(cells), options_(options) {}

  void put(F field, bool value) { cell(field) = value ? "true" : "false"; }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void put(F field, T value) {
    if (!options_.shows(field)) return;
    char digits[24];
    cell(field).assign(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void put(F field, std::string_view value) {
    if (options_.shows(field)) quote(cell(field), value);
  }
  template <typename T>
  void put(F field, const std::optional<T>& value) {
    if (value) put(field, *value);
  }
  void put_task(F field, const TaskText& task) {
    if (!options_.shows(field) || !task.known) return;
    if (task.tid >= 0) put(field, task.tid);
    quote(cells_[2 * static_cast<size_t>(field) + 1], task.comm);
  }
  void put_frames(F field, std::span<const std::string> frames) {
    if (!options_.shows(field)) return;
    std::string all;
    for (const std::string& frame : frames) {
      if (!all.empty()) all += ';';
      all += frame;
    }
    quote(cell(field), all);
  }

 private:
  std::string& cell(F field) { return cells_[2 * static_cast<size_t>(field)]; }
  // RFC 4180; text is made safe as in every CSV of ours, so a row is one line.
  static void quote(std::string& out, std::string_view text) {
    out.clear();
    append_terminal_text(out, text);
    if (out.find_first_of(",\"") == std::string::npos && !out.starts_with(' ') &&
        !out.ends_with(' '))
      return;
    std::string quoted = "\"";
    for (const char c : out) {
      if (c == '"') quoted += '"';
      quoted += c;
    }
    out = quoted + '"';
  }

  std::array<std::string, 2 * kIntervalFields>& cells_;
  const IntervalLineOptions& options_;
};

std::optional<int32_t> known(int32_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

bool is_of_task(RowKind kind) { return kind == RowKind::sleep || kind == RowKind::runnable; }

// What depends on the call chain alone.
template <typename Fields>
void put_place(RowKind kind, const PlaceText& place, Fields& fields) {
  if (is_of_task(kind)) {
    fields.put(F::cause, place.cause);
    fields.put(F::cause_id, place.cause_id);
    fields.put(F::cause_class, place.cause_class);
  } else {
    fields.put(F::caller, std::string_view(place.caller));
  }
  if (kind == RowKind::runnable) return;
  fields.put_frames(F::stack, place.frames);
  if (kind == RowKind::sleep) fields.put_frames(F::user_stack, place.user_frames);
}

template <typename Fields>
void put_task_fields(const IntervalRow& row, Fields& fields) {
  fields.put(F::state, std::string_view(&row.state, 1));
  if (row.kind == RowKind::sleep) {
    fields.put_task(F::waker, row.other);
    fields.put(F::includes_waiting, row.includes_waiting);
  } else {
    fields.put(F::preempted, row.preempted);
    fields.put_task(F::preempted_by, row.other);
  }
  fields.put(F::uncertain, row.uncertain);
  fields.put(F::cgroup, row.cgroup);
}

template <typename Fields>
void put_lock_fields(const IntervalRow& row, Fields& fields) {
  const auto text = [](const std::string& words) {
    return words.empty() ? std::nullopt : std::optional<std::string_view>(words);
  };
  fields.put(F::lock, text(row.lock->name));
  fields.put(F::lock_addr, text(row.lock->address));
  fields.put(F::lock_type, row.lock->type);
  if (row.kind == RowKind::hold) {
    fields.put(F::contended, row.contended);
    return;
  }
  fields.put_task(F::holder, row.other);
  fields.put(F::holder_ns, row.other_ns);
  fields.put(F::spin_ns, row.spin_ns);
  fields.put(F::sleep_ns, row.sleep_ns);
  fields.put(F::failed, row.failed);
}

// All but what depends on the call chain.
template <typename Fields>
void put_row(const IntervalRow& row, uint32_t number, Fields& fields) {
  fields.put(F::type, to_string(row.kind));
  fields.put(F::recording, number);
  fields.put(F::start_ns, row.start_ns);
  fields.put(F::end_ns, row.end_ns);
  fields.put(F::duration_ns, row.end_ns - row.start_ns);
  fields.put(F::full_ns, row.full_ns);
  fields.put(F::cpu, row.cpu);
  fields.put(F::pid, known(row.task.pid));
  fields.put(F::tid, known(row.task.tid));
  fields.put(F::comm, row.task.comm);
  fields.put(F::open, row.open);
  fields.put(F::began_before, row.began_before);
  if (is_of_task(row.kind)) {
    put_task_fields(row, fields);
  } else if (row.kind == RowKind::vmstat_sync) {
    fields.put(F::function, row.function);
    fields.put(F::queued_ns, row.queued_ns);
    fields.put_task(F::behind, row.other);
    fields.put(F::behind_ns, row.other_ns);
  } else {
    put_lock_fields(row, fields);
  }
}

}  // namespace

IntervalLineOptions::IntervalLineOptions() {
  shown.fill(true);
  show(F::recording, false);
  show(F::full_ns, false);
  show(F::cgroup, false);
  show(F::user_stack, false);
}

Result<void> IntervalLineOptions::select(const std::vector<std::string>& names) {
  if (names.empty() || !names.front().starts_with('+')) shown.fill(false);
  for (const std::string& word : names) {
    const std::string_view name = std::string_view(word).substr(word.starts_with('+') ? 1 : 0);
    bool found = false;
    for (size_t i = 0; i < kIntervalFields; ++i)
      if (kNames[i].name == name) found = shown[i] = true;
    if (found) continue;
    std::string all;
    for (const FieldName& field : kNames) all.append(all.empty() ? "" : ", ").append(field.name);
    return make_error("--fields: '" + word + "' is none of " + all);
  }
  return {};
}

IntervalLines::IntervalLines(const IntervalLineOptions& options, Write write)
    : options_(options), write_(std::move(write)) {
  if (options_.csv) write_csv_header();
}

void IntervalLines::begin_recording(uint32_t number) {
  number_ = number;
  places_.clear();
}

void IntervalLines::take(const IntervalRow& row) {
  if (options_.csv)
    write_csv(row);
  else
    write_json(row);
  if (buffer_.size() >= kFlushBytes) flush();
}

void IntervalLines::flush() {
  if (!buffer_.empty()) write_(buffer_);
  buffer_.clear();
}

void IntervalLines::write_json(const IntervalRow& row) {
  JsonLine line(buffer_);
  JsonFields fields(line, options_);
  put_row(row, number_, fields);
  if (row.place != nullptr) {
    const size_t id = row.place->id;
    if (id >= places_.size()) places_.resize(id + id / 2 + 64);
    std::string& place = places_[id];
    if (place.empty()) {
      JsonLine of_place(place);
      JsonFields place_fields(of_place, options_);
      put_place(row.kind, *row.place, place_fields);
      place[0] = ',';
    }
    if (place.size() > 1) buffer_.append(place, buffer_.back() == '{' ? 1 : 0);
  }
  line.end();
}

void IntervalLines::write_csv_header() {
  bool first = true;
  for (size_t i = 0; i < kIntervalFields; ++i) {
    if (!options_.shown[i]) continue;
    if (!first) buffer_ += ',';
    first = false;
    buffer_ += kNames[i].name;
    if (kNames[i].task) buffer_.append(".tid,").append(kNames[i].name).append(".comm");
  }
  buffer_ += '\n';
}

void IntervalLines::write_csv(const IntervalRow& row) {
  for (size_t i = 0; i < kIntervalFields; ++i) {
    if (!options_.shown[i]) continue;
    cells_[2 * i].clear();
    cells_[2 * i + 1].clear();
  }
  CsvFields fields(cells_, options_);
  put_row(row, number_, fields);
  if (row.place != nullptr) put_place(row.kind, *row.place, fields);
  bool first = true;
  for (size_t i = 0; i < kIntervalFields; ++i) {
    if (!options_.shown[i]) continue;
    if (!first) buffer_ += ',';
    first = false;
    buffer_ += cells_[2 * i];
    if (kNames[i].task) buffer_.append(",").append(cells_[2 * i + 1]);
  }
  buffer_ += '\n';
}

}  // namespace perf_latency
