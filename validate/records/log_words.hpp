#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Text logs as words.
namespace twinstep::records {

/// The words of a line, between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// The lines of a text, without their ends ("\n", "\r\n").
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// A text of any program as plain UTF-8: UTF-16, with a byte order mark or without, is converted (characters beyond
/// ASCII become
/// "?"), and what colours a terminal (ECMA-48 control sequences, whole or without their escape) is left out.
[[nodiscard]] std::string plain_text(std::string_view text);

/// Whether a text begins like a JSON object, or like an array of them, as no log does: mpirun's "[1,0]<stdout>:" does
/// not.
[[nodiscard]] bool begins_object(std::string_view text);
[[nodiscard]] bool begins_array(std::string_view text);

/// The number that `text` begins with, or is; nothing without one.
template <class Number>
requires std::integral<Number> || std::floating_point<Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text) {
  auto value = Number{};
  auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
  auto value = Number{};
  auto const* const end = text.data() + text.size();
  auto const result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

/// What a launcher or a collector puts in front of every line, learnt from a line of which the rest is known:
/// "worker-0  | " of "worker-0  | # nThread 1 …". Numbers may differ from line to line.
class LinePrefix {
 public:
  /// Learns all before the first "#" of a line that nccl-tests begins with one.
  void learn(std::string_view line);
  /// The line without the prefix, if it begins with one.
  [[nodiscard]] std::string_view strip(std::string_view line) const;

 private:
  std::string form_;  // a run of digits is "0"
};

/// A line as a process wrote it, without what launchers and collectors of logs put before it: tags of mpirun
/// ("[1,0]<stdout>:", "[prterun-node0-1@1,0]<stdout>: "), with a time or without, labels of srun -l and mpiexec
/// ("0: ", "[0] "), and times ("2025-01-31T12:00:00.123Z ", "2025-01-31 12:00:00 ").
[[nodiscard]] std::string_view without_launcher_prefix(std::string_view line);

/// A line with a message of the library's ("host:pid:tid [0] NCCL INFO text"), which may stand behind the beginning of
/// another line that the same process was printing.
struct LibraryMessage {
  std::vector<std::string_view> before;  ///< words of the other line
  std::string_view text;
};
[[nodiscard]] std::optional<LibraryMessage> find_library_message(std::string_view line);

/// Letters and digits only, the letters small: "All-Reduce" is "allreduce".
[[nodiscard]] std::string plain_letters(std::string_view text);

}  // namespace twinstep::records
