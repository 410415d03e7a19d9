#include "reports/render/text_canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/table.hpp"

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

std::size_t CellScale::cell(double value, std::size_t cells) const {
  return static_cast<std::size_t>(std::lround(position(value, cells)));
}

double CellScale::position(double value, std::size_t cells) const {
  auto const length = place(high_) - place(low_);
  if (!(length > 0)) return 0;
  return std::clamp((place(value) - place(low_)) / length, 0.0, 1.0) * static_cast<double>(cells - 1);
}

double CellScale::value(std::size_t cell, std::size_t cells) const {
  auto const share = static_cast<double>(cell) / static_cast<double>(cells - 1);
  auto const where = place(low_) + share * (place(high_) - place(low_));
  return is_logarithmic_ ? std::exp(where) : where;
}

void TextCanvas::set_if_free(std::size_t row, std::size_t column, std::string_view glyph) {
  if (rows_[row][column] == " ") rows_[row][column] = glyph;
}

void TextCanvas::fill(std::size_t row, std::size_t first, std::size_t end, std::string_view glyph) {
  for (auto column = first; column < std::max(end, first + 1); ++column) rows_[row][column] = glyph;
}

std::string TextCanvas::row(std::size_t row) const {
  auto text = std::string{};
  for (auto const cell : rows_[row]) text += cell;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string_view series_shade(std::size_t series) {
  static constexpr auto kShades =
      std::array<std::string_view, 12>{"█", "▒", "░", "▓", "▞", "▤", "▥", "▦", "▚", "▧", "▨", "▩"};
  return kShades[series % kShades.size()];
}

std::string_view series_marker(std::size_t series) {
  static constexpr auto kMarkers =
      std::array<std::string_view, 12>{"●", "○", "▲", "△", "■", "□", "◆", "◇", "▼", "▽", "★", "☆"};
  return kMarkers[series % kMarkers.size()];
}

std::string padded(std::string_view text, std::size_t width) {
  auto const shown = shortened(text, width);
  return shown + std::string(width - display_width(shown), ' ');
}

std::size_t label_width(std::vector<std::string> const& labels) {
  constexpr std::size_t kMost = 36;
  auto width = std::size_t{0};
  for (auto const& label : labels) width = std::max(width, display_width(label));
  return std::min(width, kMost);
}

std::size_t room_beside(std::size_t used, std::size_t width) {
  constexpr std::size_t kLeast = 16;
  return std::max(kLeast, width - std::min(width, used));
}

}  // namespace twinstep::reports
