#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep::reports {

/// How text is laid out, as whoever prints it knows.
struct TextStyle {
  std::size_t width = 80;    ///< columns at most
  bool is_terminal = false;  ///< colours may be used
};

/// `text` in bold on a terminal; unchanged elsewhere.
[[nodiscard]] std::string bold(std::string_view text, TextStyle const& style);

/// How many columns a UTF-8 text takes, with one for each code point ("µ", "–", "█"; texts here have no wide ones).
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text` cut to `width` columns, its last one "…" if anything is missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// `text` in lines of at most `style.width` columns, broken at spaces; the first begins with `first`, the others with
/// as many spaces, or fewer before a word that has no room there. A word that is longer than a line stands alone on
/// one. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string_view text, std::string_view first, TextStyle const& style);

enum class Align : std::uint8_t { kLeft, kRight };

struct Column {
  std::string header;
  Align align = Align::kRight;
  bool may_shrink = false;  ///< where the table is too wide its texts go on below, and words may be cut
};

/// A small text table: a header, a rule, rows. Columns are as wide as their widest text, two spaces apart. A table
/// that is too wide takes the excess from the widest columns: first by breaking headers at spaces and behind dots,
/// and texts of columns that may shrink at spaces; then, down to 8 columns, from those that may shrink, whose words are
/// cut. No other cell is.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

  /// Requires one cell for each column.
  void add_row(std::vector<std::string> cells);

  /// Columns that it takes to be read with ease: no word of up to 24 columns is cut, no text broken into more than
  /// three lines or so.
  [[nodiscard]] std::size_t readable_width() const;

  /// The lines, each with its line end and without spaces before it.
  [[nodiscard]] std::string render(TextStyle const& style) const;

 private:
  /// Of each column.
  struct Widths {
    std::vector<std::size_t> natural;   ///< nothing is broken
    std::vector<std::size_t> readable;  ///< texts have few lines
    std::vector<std::size_t> uncut;     ///< no word is cut
    std::vector<std::size_t> least;
  };
  [[nodiscard]] Widths widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace twinstep::reports
