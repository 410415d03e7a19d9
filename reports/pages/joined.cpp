#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"

namespace twinstep::pages {
namespace {

using reports::Axis;
using reports::Chart;
using reports::Page;
using reports::PageTable;
using reports::Section;
using reports::Series;
using reports::SeriesStyle;

std::string numbered(std::size_t number, std::string_view text) {
  return fmt::format("[{}] {}", number, text);
}

/// What one of a unit is in seconds or bytes; nothing for units that are no other's multiple.
std::optional<double> size_of_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 8> kSizes{{{"us", 1e-6},
                                                                       {"ms", 1e-3},
                                                                       {"s", 1},
                                                                       {"B", 1},
                                                                       {"KiB", 0x1p10},
                                                                       {"MiB", 0x1p20},
                                                                       {"GiB", 0x1p30},
                                                                       {"TiB", 0x1p40}}};
  auto const found = std::ranges::find(kSizes, unit, &std::pair<std::string_view, double>::first);
  return found == kSizes.end() ? std::nullopt : std::optional{found->second};
}

/// What numbers on axis `from` are to be multiplied with on axis `to`; nothing where they cannot stand there.
std::optional<double> scale_between(Axis const& from, Axis const& to) {
  if (from.name != to.name || from.categories.empty() != to.categories.empty()) return std::nullopt;
  if (from.unit == to.unit) return 1;
  auto const [one, other] = std::pair{size_of_unit(from.unit), size_of_unit(to.unit)};
  auto const is_time = [](Axis const& axis) { return axis.unit.ends_with('s'); };
  if (!one || !other || is_time(from) != is_time(to)) return std::nullopt;
  return *one / *other;
}

bool can_share(Chart const& chart) {
  return std::ranges::none_of(chart.series, [&](Series const& series) {
    return series.style == SeriesStyle::kSpans || (series.style == SeriesStyle::kSteps && chart.is_stacked);
  });
}

bool is_over_names(Chart const& chart) {
  return !chart.x.categories.empty();
}

/// Puts the number of the page before all that names a result: series, or over names the names.
void number(Chart& chart, std::size_t page) {
  for (auto& name : chart.x.categories) name = numbered(page, name);
  if (!is_over_names(chart))
    for (auto& series : chart.series) series.name = numbered(page, series.name);
  std::erase_if(chart.x_marks, [](reports::Mark const& mark) { return mark.end.has_value(); });  // of one result only
  for (auto& mark : chart.x_marks) mark.text = numbered(page, mark.text);
}

void append_text(std::string& text, std::string const& more) {
  if (!more.empty()) text += (text.empty() ? "" : " ") + more;
}

/// What several results say at one place of the page.
class Texts {
 public:
  void add(std::string const& place, std::size_t page, std::string const& text) {
    texts_[place].emplace_back(page, text);
  }
  /// Puts what was added into the text of its place: once where all results say the same, else each behind its number.
  void put(std::string const& place, std::string& text) const {
    auto const found = texts_.find(place);
    if (found == texts_.end()) return;
    auto const& all = found->second;
    auto const says_the_same = [&](auto const& each) { return each.second == all.front().second; };
    text = all.size() > 1 && std::ranges::all_of(all, says_the_same) ? all.front().second : std::string{};
    if (!text.empty()) return;
    for (auto const& [page, its_text] : all)
      if (!its_text.empty()) append_text(text, numbered(page, its_text));
  }

 private:
  std::map<std::string, std::vector<std::pair<std::size_t, std::string>>> texts_;
};

std::string place_of(Section const& section, Chart const& chart) {
  return section.title + "\n" + chart.id;
}

/// Adds the chart of another page to the one of the same id. False where they cannot be one.
bool merge(Chart& all, Chart chart) {
  auto const [x, y] = std::pair{scale_between(chart.x, all.x), scale_between(chart.y, all.y)};
  if (!x || !y || !can_share(all) || !can_share(chart) || chart.is_stacked != all.is_stacked) return false;
  scale(chart, *x, *y);
  auto const offset = static_cast<double>(all.x.categories.size());
  for (auto& series : chart.series) {
    for (auto& point : series.points) point.x += offset;
    auto const same = std::ranges::find(all.series, series.name, &Series::name);
    if (same == all.series.end())
      all.series.push_back(std::move(series));
    else
      same->points.insert(same->points.end(), series.points.begin(), series.points.end());
  }
  all.x.categories.insert(all.x.categories.end(), chart.x.categories.begin(), chart.x.categories.end());
  for (auto& mark : chart.x_marks) all.x_marks.push_back(std::move(mark));
  return true;
}

void add(Section& section, Chart chart, std::string const& id, std::size_t page, Texts& texts) {
  auto const shares = can_share(chart);
  if (shares) {
    number(chart, page);
    chart.id = "all-" + id;
  } else {
    chart.title = numbered(page, chart.title);
    chart.id = fmt::format("r{}-{}", page, id);
  }
  auto const same = std::ranges::find(section.charts, chart.id, &Chart::id);
  auto const is_merged = shares && same != section.charts.end() && merge(*same, chart);
  if (!is_merged && same != section.charts.end()) chart.id = fmt::format("r{}-{}", page, id);
  if (shares) texts.add(place_of(section, chart), page, chart.text);
  if (is_merged) return;
  section.charts.push_back(std::move(chart));
}

/// A row says of which page it is, where tables become one.
void add(Section& section, PageTable table, std::size_t page) {
  for (auto& row : table.rows)
    if (!row.empty()) row.front() = numbered(page, row.front());
  auto const same = std::ranges::find_if(section.tables, [&](PageTable const& each) {
    return each.title == table.title && each.headers == table.headers;
  });
  if (same == section.tables.end())
    section.tables.push_back(std::move(table));
  else
    same->rows.insert(same->rows.end(), table.rows.begin(), table.rows.end());
}

/// The section of the joined page for a section of a page; made where there is none.
Section& section_for(Page& all, Section const& section, std::string title) {
  auto const same = std::ranges::find(all.sections, title, &Section::title);
  if (same != all.sections.end()) return *same;
  return all.sections.emplace_back(Section{.title = std::move(title), .text = section.text});
}

bool has_section(Page const& page, std::string_view title) {
  return std::ranges::find(page.sections, title, &Section::title) != page.sections.end();
}

void add_sections(Page& all, std::vector<Page>& pages, std::size_t place, Texts& texts) {
  for (auto& section : pages[place].sections) {
    auto const number = place + 1;
    auto const is_shared =
        std::ranges::count_if(pages, [&](Page const& page) { return has_section(page, section.title); }) > 1;
    auto& target = section_for(all, section, is_shared ? section.title : numbered(number, section.title));
    if (is_shared) texts.add(target.title, number, section.text);
    for (auto& chart : section.charts) {
      auto const id = chart.id;
      if (is_shared) {
        add(target, std::move(chart), id, number, texts);
      } else {
        chart.id = fmt::format("r{}-{}", number, id);
        target.charts.push_back(std::move(chart));
      }
    }
    for (auto& note : section.notes) target.notes.push_back(is_shared ? numbered(number, note) : std::move(note));
    for (auto& line : section.code) target.code.push_back(std::move(line));
    for (auto& table : section.tables) {
      if (is_shared)
        add(target, std::move(table), number);
      else
        target.tables.push_back(std::move(table));
    }
  }
}

}  // namespace

Page joined(std::vector<Page> pages) {
  if (pages.size() == 1) return std::move(pages.front());
  auto all = Page{.title = fmt::format("{} results", pages.size())};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    auto& page = pages[i];
    append_text(all.text, numbered(i + 1, page.title) + (page.text.empty() ? "." : ": " + page.text));
    for (auto& [key, value] : page.facts) all.facts.emplace_back(numbered(i + 1, key), std::move(value));
    for (auto const& warning : page.warnings) all.warnings.push_back(numbered(i + 1, warning));
    for (auto& command : page.commands) all.commands.push_back(std::move(command));
  }
  auto texts = Texts{};
  for (std::size_t i = 0; i < pages.size(); ++i) add_sections(all, pages, i, texts);
  for (auto& section : all.sections) {
    texts.put(section.title, section.text);
    for (auto& chart : section.charts) texts.put(place_of(section, chart), chart.text);
  }
  return all;
}

}  // namespace twinstep::pages
