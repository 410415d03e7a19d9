#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/enum_names.hpp"

/// A report as data: what it says, before anybody draws it. Whoever has results makes pages (app/report); the renderers
/// of HTML, Markdown, CSV and terminal text know nothing but pages.
namespace twinstep::reports {

/// One point of a series. Numbers are in the units that the axes name.
struct ChartPoint {
  double x = 0;                 ///< a number, or the index of a category
  double y = 0;                 ///< absent points are left out, never zero
  std::optional<double> y_low;  ///< of an interval, with `y_high`
  std::optional<double> y_high;
  std::string note;  ///< said in the tooltip: "ring, Simple"; may be empty
  bool operator==(ChartPoint const&) const = default;
};

enum class SeriesStyle : std::uint8_t {
  kLine,    ///< predicted
  kPoints,  ///< measured
  kBars,    ///< stacked upon each other where the chart says so
  kSteps,   ///< holds its value until the next point: memory over time
  kSpans    ///< each point is a bar from x to `x_end` in the row `y` of the categories: a timeline
};

struct Series {
  std::string name;
  SeriesStyle style = SeriesStyle::kLine;
  std::vector<ChartPoint> points;
  std::vector<double> x_ends;  ///< of spans only: one for each point
  bool operator==(Series const&) const = default;
};

struct Axis {
  std::string name;  ///< "GPUs"
  std::string unit;  ///< "GB/s"; may be empty
  bool is_logarithmic = false;
  std::vector<std::string> categories;  ///< names in place of numbers; may be empty
  bool operator==(Axis const&) const = default;
};

/// A place on an axis that is worth pointing at: a line ("the knee", "capacity"), or with an `end` a region ("ring,
/// LL").
struct Mark {
  double at = 0;
  std::optional<double> end;
  std::string text;
  bool operator==(Mark const&) const = default;
};

/// One picture, with a sentence that says what to see in it.
struct Chart {
  std::string id;  ///< of the element, unique on the page: "scaling-strong"
  std::string title;
  std::string text;  ///< the finding: "the knee is at 256 GPUs: the NICs are full"; may be empty
  Axis x;
  Axis y;
  std::string fold;  ///< charts in a row with the same fold are shown when asked for it: "the other strategies"
  bool is_stacked = false;
  std::vector<Series> series;
  std::vector<Mark> x_marks;
  std::vector<Mark> y_marks;
  bool operator==(Chart const&) const = default;
};

struct PageTable {
  std::string title;
  std::vector<std::string> headers;            ///< with units
  std::vector<std::vector<std::string>> rows;  ///< as people read them
  std::string fold;                            ///< shown when asked for it, under this name; empty: shown
  bool operator==(PageTable const&) const = default;
};

struct Section {
  std::string title;
  std::string text;  ///< may be empty
  std::vector<PageTable> tables;
  std::vector<Chart> charts;
  std::vector<std::string> notes;  ///< below the tables, a sentence or two each
  std::vector<std::string> code;   ///< lines to be copied as they are
  bool operator==(Section const&) const = default;
};

/// What one file shows, top to bottom.
struct Page {
  std::string title;
  std::string text;                                            ///< the answer in a sentence or two; may be empty
  std::vector<std::pair<std::string, std::string>> headlines;  ///< what people came for: name, value with its unit
  std::vector<std::pair<std::string, std::string>> facts;  ///< scenario, calibration, versions, hashes: name and value
  std::vector<std::string> commands;                       ///< that make the page again
  std::vector<std::string> warnings;
  std::vector<Section> sections;
  bool operator==(Page const&) const = default;
};

}  // namespace twinstep::reports

template <>
struct twinstep::EnumNames<twinstep::reports::SeriesStyle> {
  static constexpr std::array<std::string_view, 5> values{"line", "points", "bars", "steps", "spans"};
};
