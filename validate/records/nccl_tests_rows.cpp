#include "validate/records/nccl_tests_rows.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

bool is_time(std::string_view title) {
  return title == "time" || title == "cputime";
}

bool is_value(std::string_view word) {
  return word == "N/A" || whole_number<double>(word).has_value();
}

}  // namespace

std::optional<std::size_t> TableColumns::find(std::initializer_list<std::string_view> titles) const {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (std::ranges::find(titles, before[i]) != titles.end()) return i;
  return std::nullopt;
}

TableColumns const& usual_columns() {
  static auto const columns =
      TableColumns{{"size", "count", "type", "redop", "root"}, {"time", "algbw", "busbw", "#wrong"}, 2};
  return columns;
}

std::optional<TableColumns> read_header(std::vector<std::string_view> const& words) {
  if (std::ranges::find(words, "algbw") == words.end()) return std::nullopt;
  auto columns = TableColumns{};
  for (auto const word : words) {
    if (word == "#") continue;
    if (is_time(word)) ++columns.halves;
    if (columns.halves == 0) columns.before.emplace_back(word);
    if (columns.halves == 1) columns.half.emplace_back(word);
  }
  if (columns.halves == 0 || columns.before.empty()) return std::nullopt;
  return columns;
}

bool RowReader::begins_row(std::vector<std::string_view> const& words) const {
  if (!whole_number<std::int64_t>(words.front())) return false;
  if (auto const type = columns_.find({"type"}))
    return words.size() > *type && std::isalpha(static_cast<unsigned char>(words[*type].front())) != 0;
  return words.size() == columns_.words() && std::ranges::all_of(words, is_value);
}

bool RowReader::read(std::vector<std::string_view> const& words) {
  if (begins_row(words)) {
    end_row();
    words_.assign(words.begin(), words.end());
  } else if (is_in_row() && std::ranges::all_of(words, is_value)) {
    words_.insert(words_.end(), words.begin(), words.end());
  } else {
    return false;
  }
  if (words_.size() >= columns_.words()) end_row();
  return true;
}

std::string RowReader::word_at(std::initializer_list<std::string_view> titles) const {
  auto const column = columns_.find(titles);
  return column && *column < words_.size() ? words_[*column] : std::string{};
}

/// The half that begins at word `begin`; nothing if it is not complete.
std::optional<LoggedTiming> RowReader::timing(std::size_t begin) const {
  if (begin + columns_.half.size() > words_.size()) return std::nullopt;
  auto timing = LoggedTiming{};
  for (std::size_t i = 0; i < columns_.half.size(); ++i) {
    auto const& title = columns_.half[i];
    auto const value = whole_number<double>(words_[begin + i]);
    if (is_time(title)) {
      if (!value || !(*value >= 0) || !(*value < 1e12)) return std::nullopt;
      timing.time = to_duration(Seconds{*value * 1e-6});
    } else if (value && title == "algbw") {
      timing.algorithm_bandwidth = BytesPerSecond{*value * 1e9};
    } else if (value && title == "busbw") {
      timing.bus_bandwidth = BytesPerSecond{*value * 1e9};
    } else if (value && title == "#wrong" && std::abs(*value) < 1e18) {
      timing.wrong = static_cast<std::int64_t>(*value);
    }
  }
  return timing;
}

void RowReader::end_row() {
  if (!is_in_row()) return;
  auto const first = columns_.before.size();
  auto const second = first + columns_.half.size();
  auto read = ReadRow{.row = {.size = Bytes{leading_number<std::int64_t>(words_.front()).value_or(0)},
                              .count = whole_number<std::int64_t>(word_at({"count", "N"})),
                              .out_of_place = timing(first)},
                      .type = word_at({"type"}),
                      .reduction = word_at({"redop", "op"})};
  if (columns_.halves > 1) read.row.in_place = timing(second);
  read.is_cut = !read.row.out_of_place || (!read.row.in_place && words_.size() > second);
  read.has_all_words = words_.size() >= columns_.words();
  ended_.push_back(std::move(read));
  words_.clear();
}

}  // namespace twinstep::records
