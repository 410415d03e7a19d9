#include "tests/support/trace_import.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twinstep::tests {
namespace {

using Row = std::pair<std::int64_t, std::int64_t>;  // process and thread

struct Slice {
  std::string name;
  std::int64_t begin = 0;  // nanoseconds
  std::int64_t end = 0;
};

std::int64_t nanoseconds(io::Node const& event, std::string_view key) {
  return std::llround(event.at(key).number() * 1e3);
}

Row row_of(io::Node const& event) {
  return {event.at("pid").integer(), event.at("tid").integer()};
}

class Importer {
 public:
  void add(io::Node const& event) {
    auto const phase = event.at("ph").string();
    if (phase == "X") return add_slice(event);
    if (phase == "s") return begin_arrow(event);
    if (phase == "f") return end_arrow(event);
    if (phase == "C") return add_counter(event);
    complain(event, "has an unknown phase");
  }
  void name_row(io::Node const& event) {
    if (event.at("name").string() == "thread_name") named_.insert(row_of(event));
  }
  ImportedTrace result() && {
    for (auto const& [id, begin] : open_arrows_)
      if (!begin.second) result_.complaints.push_back(fmt::format("arrow {} has no end", id));
    return std::move(result_);
  }

 private:
  void complain(io::Node const& event, std::string_view what) {
    result_.complaints.push_back(fmt::format("{} \"{}\" at {} ns {}", event.at("ph").string(),
                                             event.at("name").string(), nanoseconds(event, "ts"), what));
  }

  void add_slice(io::Node const& event) {
    auto const begin = nanoseconds(event, "ts");
    auto const slice = Slice{std::string{event.at("name").string()}, begin, begin + nanoseconds(event, "dur")};
    if (slice.end < slice.begin) complain(event, "ends before it begins");
    if (!named_.contains(row_of(event))) complain(event, "stands on a row without a name");
    auto& open = open_[row_of(event)];
    auto const is_instant = slice.begin == slice.end;
    while (!open.empty() && open.back().end <= begin) {
      if (is_instant && open.back().begin == begin) break;  // instants stack up
      open.pop_back();
    }
    if (!open.empty() && slice.end > open.back().end) return complain(event, "overlaps \"" + open.back().name + '"');
    open.push_back(slice);
  }

  void begin_arrow(io::Node const& event) {
    auto const* const slice = enclosing(event);
    if (slice == nullptr) return;
    auto const [entry, is_new] = open_arrows_.try_emplace(event.at("id").integer(), slice->name, false);
    if (!is_new) complain(event, "has the id of another arrow");
  }

  void end_arrow(io::Node const& event) {
    auto const* const slice = enclosing(event);
    auto const begin = open_arrows_.find(event.at("id").integer());
    if (begin == open_arrows_.end()) return complain(event, "ends before it begins");
    if (event.at("bp").string() != "e") complain(event, "does not bind to the slice around it");
    if (slice == nullptr) return;
    begin->second.second = true;
    result_.arrows.push_back({begin->second.first, slice->name});
  }

  /// The open slice of the row; a viewer looks no further than at the last one.
  Slice const* enclosing(io::Node const& event) {
    auto const& open = open_[row_of(event)];
    auto const is_there = !open.empty() && nanoseconds(event, "ts") <= open.back().end;
    if (!is_there) complain(event, "binds to no slice");
    return is_there ? &open.back() : nullptr;
  }

  void add_counter(io::Node const& event) {
    auto const series = event.at("args").members();
    if (series.empty()) complain(event, "shows nothing");
    for (auto const& [key, value] : series)
      if (!std::isfinite(value.number())) complain(event, "is no number");
  }

  ImportedTrace result_;
  std::set<Row> named_;
  std::map<Row, std::vector<Slice>> open_;
  std::map<std::int64_t, std::pair<std::string, bool>> open_arrows_;  // by id: begin, and whether it has ended
};

/// Viewers that do not sort draw a counter as it comes.
void check_order_of_counters(std::vector<io::Node> const& events, ImportedTrace& result) {
  auto last = std::map<std::pair<std::int64_t, std::string>, std::int64_t>{};
  for (auto const& event : events) {
    if (event.at("ph").string() != "C") continue;
    auto const name = std::string{event.at("name").string()};
    auto const [entry, is_new] = last.try_emplace({event.at("pid").integer(), name}, 0);
    auto const now = nanoseconds(event, "ts");
    if (now < entry->second) result.complaints.push_back(fmt::format("counter \"{}\" goes back to {} ns", name, now));
    entry->second = now;
  }
}

}  // namespace

ImportedTrace import_trace(io::Node const& document) {
  auto importer = Importer{};
  auto events = std::vector<io::Node>{};
  for (auto const& event : document.at("traceEvents").elements())
    if (event.at("ph").string() == "M")
      importer.name_row(event);
    else
      events.push_back(event);
  auto in_time = events;
  std::ranges::stable_sort(in_time, {}, [](io::Node const& event) { return nanoseconds(event, "ts"); });
  for (auto const& event : in_time) importer.add(event);
  auto result = std::move(importer).result();
  check_order_of_counters(events, result);
  return result;
}

}  // namespace twinstep::tests
