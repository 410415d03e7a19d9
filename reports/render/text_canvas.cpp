#include "reports/render/text_canvas.hpp"

#include <algorithm>
#include <cmath>

namespace twinstep::reports {

bool CellScale::has(double value) const {
  return std::isfinite(value) && (!is_logarithmic_ || value > 0);
}

void CellScale::cover(double value) {
  if (!has(value)) return;
  auto const is_first = is_empty();
  low_ = is_first ? value : std::min(low_, value);
  high_ = is_first ? value : std::max(high_, value);
}

double CellScale::place(double value) const {
  return is_logarithmic_ ? std::log(value) : value;
}

std::size_t CellScale::cell(double value) const {
  auto const length = place(high_) - place(low_);
  if (!(length > 0)) return 0;
  auto const share = std::clamp((place(value) - place(low_)) / length, 0.0, 1.0);
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(cells_ - 1)));
}

void TextCanvas::set_if_free(std::size_t row, std::size_t column, std::string_view glyph) {
  if (rows_[row][column] == " ") rows_[row][column] = glyph;
}

void TextCanvas::fill(std::size_t row, std::size_t first, std::size_t last, std::string_view glyph) {
  for (auto column = first; column <= last; ++column) rows_[row][column] = glyph;
}

std::string TextCanvas::row(std::size_t row) const {
  auto text = std::string{};
  for (auto const cell : rows_[row]) text += cell;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace twinstep::reports
