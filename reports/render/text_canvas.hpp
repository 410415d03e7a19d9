#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::reports {

/// Numbers of an axis onto the cells of a text, linear or logarithmic.
class CellScale {
 public:
  /// Covers no number yet. Requires at least one cell.
  CellScale(bool is_logarithmic, std::size_t cells) : is_logarithmic_{is_logarithmic}, cells_{cells} {}

  /// Widens the scale; a number that has no logarithm is left out.
  void cover(double value);

  [[nodiscard]] bool is_empty() const { return low_ > high_; }
  [[nodiscard]] bool has(double value) const;  ///< can be drawn
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

  /// The cell of a number that the scale has; those beyond its ends are at its ends.
  [[nodiscard]] std::size_t cell(double value) const;

 private:
  [[nodiscard]] double place(double value) const;

  bool is_logarithmic_;
  std::size_t cells_;
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
  /// From `first` to `last`, both included.
  void fill(std::size_t row, std::size_t first, std::size_t last, std::string_view glyph);

  [[nodiscard]] std::string row(std::size_t row) const;

 private:
  std::vector<std::vector<std::string_view>> rows_;
};

}  // namespace twinstep::reports
