#include "validate/records/nccl_tests.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/records/collective_words.hpp"
#include "validate/records/launch_command.hpp"
#include "validate/records/log_words.hpp"
#include "validate/records/nccl_tests_rows.hpp"

namespace twinstep::records {
namespace {

using validate::MeasuredKind;
using Words = std::vector<std::string_view>;

/// The digits and dots that `text` begins with: "2.22.3" of "2.22.3-HEAD:7d8d67c", "2.28.7" of "2.28.7+cuda13.0".
std::string version_in(std::string_view text) {
  return std::string{text.substr(0, text.find_first_not_of("0123456789."))};
}

class LogReader {
 public:
  LogReader(std::string const& name, std::optional<std::int64_t> told_ranks)
      : name_{one_line(name)}, told_ranks_{told_ranks} {}

  void read(std::string_view raw) {
    ++line_;
    auto line = without_launcher_prefix(raw);
    if (!line.starts_with('#')) prefix_.learn(line);
    line = prefix_.strip(line);
    if (auto const message = find_library_message(line)) {
      read_message(message->text);
      if (!message->before.empty()) read_row_words(message->before);
      return;
    }
    auto const words = words_of(line);
    if (words.empty()) return;
    if (auto columns = read_header(words)) return begin_table(std::move(*columns));
    if (words.front().starts_with('#')) return read_comment(words, line);
    if (!read_row_words(words)) read_text(words, line);
  }

  std::vector<CollectiveLog> finish() && {
    end_run();
    return std::move(logs_);
  }

 private:
  void warn(std::string const& sentence) {
    current_.warnings.push_back(fmt::format("{}:{}: {}", name_, line_, sentence));
  }

  // Runs and tables.

  void end_run() {
    end_row();
    if (!current_.rows.empty()) {
      if (!current_.average_bus_bandwidth)
        warn("found no average after the rows: the log may be cut, or its program may have failed");
      complete(name_, current_, told_ranks_);
      logs_.push_back(std::move(current_));
    }
    current_ = {};
    rows_.begin_table(usual_columns());
  }

  /// What follows belongs to another run of the program if this one has rows already.
  void begin_run() {
    if (!current_.rows.empty() || rows_.is_in_row()) end_run();
  }

  /// Another table of the same run: it has all but the rows.
  void begin_part() {
    auto next = current_;
    next.rows.clear();
    next.warnings.clear();
    logs_.push_back(std::exchange(current_, std::move(next)));
    complete(name_, logs_.back(), told_ranks_);
  }

  void begin_table(TableColumns columns) {
    end_row();
    if (!current_.rows.empty()) begin_part();
    if (columns.half.front() == "cputime") warn("its times are the host's (cputime), not the GPU's");
    rows_.begin_table(std::move(columns));
  }

  // Rows.

  bool read_row_words(Words const& words) {
    auto const is_row = rows_.read(words);
    keep_ended_rows();
    return is_row;
  }

  void end_row() {
    rows_.end_row();
    keep_ended_rows();
  }

  void keep_ended_rows() {
    for (auto& read : rows_.take()) {
      if (read.is_cut)
        warn(fmt::format("the row of {} bytes {}{}", read.row.size.count(),
                         read.has_all_words ? "has a time that is no number" : "is cut off",
                         read.row.out_of_place ? " after its first half" : "; it is left out"));
      if (read.row.out_of_place) keep(std::move(read));
    }
  }

  /// A table may go on with another element type or reduction (-d all -o all).
  void keep(ReadRow read) {
    auto const is_other = read.type != current_.type || read.reduction != current_.reduction;
    if (!current_.rows.empty() && is_other) begin_part();
    current_.type = std::move(read.type);
    current_.reduction = std::move(read.reduction);
    current_.rows.push_back(read.row);
  }

  // Everything else.

  void read_comment(Words const& words, std::string_view line) {
    auto const is = [&](std::size_t at, std::string_view word) { return words.size() > at && words[at] == word; };
    if (is(1, "Rank")) return read_rank(words, line);
    end_row();
    if (is(1, "Avg") && words.size() > 3) {
      if (auto const average = whole_number<double>(words.back()))
        current_.average_bus_bandwidth = BytesPerSecond{*average * 1e9};
      return;
    }
    if (is(1, "nThread") || is(1, "nccl-tests") || is(1, "rccl-tests") || is(1, "Collective")) begin_run();
    read_text(words, line);
  }

  void read_rank(Words const& words, std::string_view line) {
    auto rank = LoggedRank{};
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      auto const number = leading_number<std::int64_t>(words[i + 1]).value_or(0);
      if (words[i] == "Rank") rank.rank = number;
      if (words[i] == "Pid") rank.process = number;
      if (words[i] == "on") rank.host = words[i + 1];
      if (words[i] == "device") {
        rank.device = number;
        break;
      }
    }
    if (auto const bracket = line.find("] "); bracket != std::string_view::npos) {
      auto const name = words_of(line.substr(bracket + 2));
      rank.device_name = fmt::format("{}", fmt::join(name, " "));
    }
    if (!current_.rows.empty()) begin_run();
    auto& seen = current_.seen_ranks;
    auto const known = std::ranges::find(seen, rank.rank, &LoggedRank::rank);
    if (known == seen.end())
      seen.push_back(std::move(rank));
    else if (known->process != rank.process || known->host != rank.host)
      ++current_.programs;
  }

  /// Text of the launcher, a script, or a person: the program's name, versions, variables, a caption.
  void read_text(Words const& words, std::string_view line) {
    if (current_.average_bus_bandwidth) begin_run();
    read_version(words);
    if (auto const command = read_launch_command(words)) current_.command = *command;
    auto perf = std::optional<MeasuredKind>{};
    for (auto const word : words) {
      auto const is_program = word.find("_perf") != std::string_view::npos;
      if (is_program && !perf) perf = collective_named_in(word.substr(word.rfind('/') + 1));
      if (word.find("NCCL_") != std::string_view::npos || word.find("RCCL_") != std::string_view::npos)
        read_variable(word);
    }
    auto& collective = current_.collective;
    if (perf)
      collective = perf;
    else if (!collective && current_.rows.empty())
      collective = collective_named_in(line);
  }

  void read_version(Words const& words) {
    if (words.size() > 3 && words[0] == "RCCL" && words[1] == "version") {
      current_.is_rccl = true;
      current_.library_version = version_in(words[3]);
    }
    if (words.size() > 2 && words[0] == "NCCL" && words[1] == "version")
      current_.library_version = version_in(words[2]);
    for (auto const word : words) {
      if (word.starts_with("rccl-tests")) current_.is_rccl = true;
      constexpr std::string_view kCode = "nccl-library=";
      if (!word.starts_with(kCode) || !current_.library_version.empty()) continue;
      if (auto const code = whole_number<std::int64_t>(word.substr(kCode.size())))
        current_.library_version = version_of_code(*code);
    }
  }

  /// "NCCL_ALGO=Ring", perhaps in quotes.
  void read_variable(std::string_view word) {
    auto const begin = std::min(word.find("NCCL_"), word.find("RCCL_"));
    auto const equals = word.find('=', begin);
    if (equals == std::string_view::npos) return;
    auto value = word.substr(equals + 1);
    while (!value.empty() && (value.front() == '"' || value.front() == '\'')) value.remove_prefix(1);
    while (!value.empty() && std::string_view{"\"';\\"}.find(value.back()) != std::string_view::npos)
      value.remove_suffix(1);
    current_.environment.insert_or_assign(std::string{word.substr(begin, equals - begin)}, std::string{value});
  }

  /// "NCCL_SHM_DISABLE set by environment to 0.", "comm 0x… rank 1 nranks 16 …", "NCCL version 2.19.3+cuda12.2"
  void read_message(std::string_view text) {
    auto const words = words_of(text);
    read_version(words);
    if (words.size() > 5 && words[0].starts_with("NCCL_") && words[1] == "set" && words[3] == "environment") {
      auto value = words[5];
      if (value.ends_with('.')) value.remove_suffix(1);
      current_.environment.insert_or_assign(std::string{words[0]}, std::string{value});
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "nranks" || words[i] == "nRanks")
        if (auto const ranks = whole_number<std::int64_t>(words[i + 1])) current_.ranks = *ranks;
  }

  std::string name_;
  std::optional<std::int64_t> told_ranks_;
  int line_ = 0;
  LinePrefix prefix_;
  std::vector<CollectiveLog> logs_;
  CollectiveLog current_;
  RowReader rows_;
};

}  // namespace

std::vector<CollectiveLog> read_nccl_tests(std::string const& name, std::string_view text,
                                           std::optional<std::int64_t> told_ranks) {
  auto const plain = plain_text(text);
  if (begins_object(plain)) return read_nccl_tests_json(io::parse({name, plain}));
  auto reader = LogReader{name, told_ranks};
  for (auto const line : lines_of(plain)) reader.read(line);
  auto logs = std::move(reader).finish();
  if (logs.empty())
    throw InputError{
        fmt::format("{}: found no row of a table of nccl-tests, expected its header (\"# size count type "
                    "redop root time algbw busbw #wrong\") and rows below it; give the whole output of "
                    "the program",
                    one_line(name))};
  return logs;
}

}  // namespace twinstep::records
