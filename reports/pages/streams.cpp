
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "reports/intervals.hpp"
#include "reports/memory.hpp"
#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using program::WorkKind;
using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

constexpr std::size_t kSpansDrawnOneByOne = 2000;
constexpr std::int64_t kBarsAcross = 2000;

/// One track of every role, the first.
std::vector<TrackId> shown_tracks(Timeline const& timeline) {
  auto roles = std::set<std::string>{};
  auto tracks = std::vector<TrackId>{};
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i)
    if (roles.insert(timeline.tracks[i].role).second) tracks.emplace_back(i);
  return tracks;
}

/// A bar, and how many spans it stands for.
struct Bar {
  double row = 0;
  Time begin;
  Time end;
  std::string name;
  std::int64_t spans = 1;
};

/// Adds bars in the order of their begin.
class Bars {
 public:
  /// Bars shorter than `least` that are less than that apart are joined, until they are that long together.
  explicit Bars(Duration least) : least_{least} {}

  void add(Bar bar) {
    if (!bars_.empty() && bars_.back().row == bar.row && bar.begin - bars_.back().end < least_ && is_short(bar) &&
        is_short(bars_.back())) {
      bars_.back().end = std::max(bars_.back().end, bar.end);
      ++bars_.back().spans;
      return;
    }
    bars_.push_back(std::move(bar));
  }
  [[nodiscard]] std::vector<Bar> const& all() const { return bars_; }

 private:
  [[nodiscard]] bool is_short(Bar const& bar) const { return bar.end - bar.begin < least_; }

  Duration least_;
  std::vector<Bar> bars_;
};

/// Bars by kind of work and by pass, and the names of their rows.
struct Picture {
  std::vector<std::string> rows;
  std::array<std::vector<Bar>, kEnumSize<WorkKind>> bars;
  std::map<std::string, std::vector<Bar>, std::less<>> passes;
};

/// The pass of the step that a kernel is of; what goes back is one. Empty for other work.
std::string_view pass_of(Timeline const& timeline, Span const& span) {
  auto const pass = timeline.pass_of(span);
  if (pass == program::Pass::kNone) return {};
  return name_of(program::goes_back(pass) ? program::Pass::kBackward : pass);
}

/// A row that says what the kernels below it are for: forward, backward, optimizer; none where scopes do not say.
void add_passes(Picture& picture, Timeline const& timeline, TrackId track, std::string const& prefix) {
  auto const row = static_cast<double>(picture.rows.size());
  auto latest = std::string_view{};
  for (auto const& span : reports::spans_of(timeline, track)) {
    auto const pass = pass_of(timeline, span);
    if (!program::is_compute(span.kind) || span.start == span.end || pass.empty()) continue;
    auto& bars = picture.passes[std::string{pass}];
    if (pass == latest)
      bars.back().end = std::max(bars.back().end, span.end);
    else
      bars.push_back({row, span.start, span.end, std::string{pass}});
    latest = pass;
  }
  if (!latest.empty()) picture.rows.push_back(prefix + "pass");
}

/// Adds the streams of one track that are ever busy, and with what.
void add_track(Picture& picture, Timeline const& timeline, TrackId track, bool is_alone) {
  auto const& about = timeline.tracks[track.index()];
  auto const prefix = is_alone ? std::string{} : about.role + ": ";
  add_passes(picture, timeline, track, prefix);
  auto rows = std::map<StreamId, double>{};  // the host is the stream that does not exist
  for (auto const& span : reports::spans_of(timeline, track)) {
    auto const [begin, end] = reports::occupied(span);
    if (begin < end) rows.emplace(span.stream, 0);
  }
  for (auto& [stream, row] : rows) {
    row = static_cast<double>(picture.rows.size());
    picture.rows.push_back(prefix + (stream.exists() ? about.streams[stream.index()] : "host"));
  }
  for (auto const& span : reports::spans_of(timeline, track)) {
    auto const [begin, end] = reports::occupied(span);
    if (begin < end)
      picture.bars[static_cast<std::size_t>(span.kind)].push_back(
          {rows.at(span.stream), begin, end, reports::describe(timeline, span)});
  }
}

reports::Series series_of(std::string name, std::vector<Bar> bars, Duration least, TimeUnit const& unit) {
  auto series = reports::Series{.name = std::move(name), .style = reports::SeriesStyle::kSpans};
  std::ranges::stable_sort(bars, {}, [](Bar const& bar) { return std::pair{bar.row, bar.begin}; });
  auto joined = Bars{least};
  for (auto& bar : bars) joined.add(std::move(bar));
  for (auto const& bar : joined.all()) {
    auto const more = bar.spans > 1 ? fmt::format(" and {} more", bar.spans - 1) : std::string{};
    series.points.push_back({.x = number_in(bar.begin, unit), .y = bar.row, .note = bar.name + more});
    series.x_ends.push_back(number_in(bar.end, unit));
  }
  return series;
}

}  // namespace

reports::Chart streams_chart(Timeline const& timeline, std::string id, std::string title) {
  auto const tracks = shown_tracks(timeline);
  auto picture = Picture{};
  for (auto const track : tracks) add_track(picture, timeline, track, tracks.size() == 1);
  auto spans = std::size_t{0};
  for (auto const& bars : picture.bars) spans += bars.size();
  auto const least = spans > kSpansDrawnOneByOne ? Duration{timeline.step_time.count() / kBarsAcross} : Duration{};
  auto const unit = time_unit_for(timeline.step_time);
  auto chart = reports::Chart{.id = std::move(id), .title = std::move(title)};
  for (auto const track : tracks)
    chart.text += (chart.text.empty() ? "Shown: " : "; ") + reports::describe(timeline.tracks[track.index()]);
  chart.x = {.name = "time", .unit = unit.name};
  chart.y = {.name = "stream", .categories = picture.rows};
  for (std::size_t i = 0; i < picture.bars.size(); ++i)
    if (!picture.bars[i].empty())
      chart.series.push_back(
          series_of(std::string{name_of(static_cast<WorkKind>(i))}, std::move(picture.bars[i]), least, unit));
  for (auto& [pass, bars] : picture.passes) chart.series.push_back(series_of(pass, std::move(bars), least, unit));
  return chart;
}

reports::Section streams_section(Answered const& question) {
  auto section = reports::Section{.title = "Timeline by stream"};
  section.text =
      "One rank of each role; ranks that behave alike are simulated once. A trace of the step has all of it, "
      "for ui.perfetto.dev.";
  for (auto const i : question.best_first()) {
    auto chart = streams_chart(question.run(i)->timeline, fmt::format("streams-{}", i + 1),
                               question.scenarios[i].strategy_title);
    chart.fold = question.fold(i);
    section.charts.push_back(std::move(chart));
  }
  return section;
}

}  // namespace twinstep::pages
