#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::reports {

/// Numbers of an axis onto the cells of a text, linear or logarithmic.
class CellScale {
 public:
  /// Covers no number yet.
  explicit CellScale(bool is_logarithmic) : is_logarithmic_{is_logarithmic} {}

  /// Widens the scale; a number that has no logarithm is left out.
  void cover(double value);

  [[nodiscard]] bool is_empty() const { return low_ > high_; }
  [[nodiscard]] bool has(double value) const;  ///< can be drawn
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

  /// The one of `cells` cells in which a number stands that the scale has; those beyond its ends are at its ends.
  [[nodiscard]] std::size_t cell(double value, std::size_t cells) const;
  /// The same between the middles of cells: cell i reaches from i - 0.5 to i + 0.5.
  [[nodiscard]] double position(double value, std::size_t cells) const;
  /// The number in the middle of a cell. Requires two cells.
  [[nodiscard]] double value(std::size_t cell, std::size_t cells) const;

 private:
  [[nodiscard]] double place(double value) const;

  bool is_logarithmic_;
  double low_ = 1;
  double high_ = 0;
};

/// Rows of cells, each of which shows one character that is one column wide.
class TextCanvas {
 public:
  TextCanvas(std::size_t rows, std::size_t columns) : rows_(rows, std::vector<std::string_view>(columns, " ")) {}

  /// `glyph` has to outlive the canvas: a literal.
  void set(std::size_t row, std::size_t column, std::string_view glyph) { rows_[row][column] = glyph; }
  /// As `set`, where nothing is yet.
  void set_if_free(std::size_t row, std::size_t column, std::string_view glyph);
  /// From `first` to before `end`, and at least one cell.
  void fill(std::size_t row, std::size_t first, std::size_t end, std::string_view glyph);

  [[nodiscard]] std::string row(std::size_t row) const;

 private:
  std::vector<std::vector<std::string_view>> rows_;
};

/// What areas of a series are filled with; there are twelve.
[[nodiscard]] std::string_view series_shade(std::size_t series);

/// What stands at the points of a series; there are twelve.
[[nodiscard]] std::string_view series_marker(std::size_t series);

/// `text` cut or filled to `width` columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

/// Columns for names of rows: the widest, but no more than 36.
[[nodiscard]] std::size_t label_width(std::vector<std::string> const& labels);

/// Columns of `width` that are left beside those `used`, and never too few to draw in.
[[nodiscard]] std::size_t room_beside(std::size_t used, std::size_t width);

}  // namespace twinstep::reports
