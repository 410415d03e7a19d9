#include "validate/study/measured_step.hpp"

#include <map>

#include <fmt/format.h>

#include "reports/intervals.hpp"
#include "reports/quantity_text.hpp"
#include "reports/summary.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::study {
namespace {

using reports::Align;
using reports::Table;
using reports::time_text;

/// A kind of communication on the rank that ends last.
struct Communication {
  std::int64_t count = 0;
  Duration time;
  Duration exposed;
};

std::map<program::WorkKind, Communication> communications(timeline::Timeline const& timeline,
                                                          reports::Summary const& summary) {
  auto kinds = std::map<program::WorkKind, Communication>{};
  for (auto const& span : reports::spans_of(timeline, reports::slowest_track(timeline))) {
    if (!program::is_communication(span.kind)) continue;
    auto& kind = kinds[span.kind];
    ++kind.count;
    kind.time += span.end - span.arrive;
  }
  for (auto const& entry : summary.breakdown)
    if (entry.activity == reports::Activity::kTransfer && entry.kind) kinds[*entry.kind].exposed += entry.time;
  return kinds;
}

std::string steps_text(MeasuredStep const& measured, reports::TextStyle const& style) {
  if (measured.steps.empty()) return "";
  auto table = Table{{{"step"}, {"shortest rank"}, {"longest rank"}}};
  for (auto const& step : measured.steps)
    table.add_row({fmt::format("{}", step.number), time_text(step.shortest), time_text(step.longest)});
  return "\nSteps by the host's clock\n" + table.render(style);
}

std::string breakdown_text(reports::Summary const& summary, reports::TextStyle const& style) {
  auto table = Table{{{"time goes into", Align::kLeft}, {"time"}, {"of the step"}}};
  for (auto const& entry : summary.breakdown)
    table.add_row({reports::breakdown_name(entry), time_text(entry.time),
                   reports::percent_text(static_cast<double>(entry.time.count()) /
                                         static_cast<double>(summary.step_time.count()))});
  return fmt::format("\n{}\n{}", summary.breakdown_rank, table.render(style));
}

std::string communications_text(timeline::Timeline const& timeline, reports::Summary const& summary,
                                reports::TextStyle const& style) {
  auto const kinds = communications(timeline, summary);
  if (kinds.empty()) return "\nNo communication\n";
  auto table = Table{{{"communication", Align::kLeft}, {"kernels"}, {"time"}, {"exposed"}}};
  for (auto const& [kind, figures] : kinds)
    table.add_row({std::string{name_of(kind)}, fmt::format("{}", figures.count), time_text(figures.time),
                   time_text(figures.exposed)});
  return "\n" + table.render(style);
}

}  // namespace

MeasuredStep read_traces(std::vector<io::Node> const& documents, std::optional<std::int64_t> step) {
  auto const& first = documents.front();
  if (documents.size() == 1 && first.is(io::Node::Type::kObject) && first.has("twinstep"))
    return {io::read_timeline(first), {}};
  auto traces = std::vector<records::KinetoTrace>{};
  for (auto const& document : documents) traces.push_back(records::read_kineto_trace(document));
  return {records::kineto_timeline(traces, step), records::steps_of(traces)};
}

std::string measured_step_text(MeasuredStep const& measured, reports::TextStyle const& style) {
  auto const summary = reports::summarize(measured.timeline);
  auto text = fmt::format("{}: {} on {} of {} rank{}, communication {}, {} of it exposed\n", summary.scenario,
                          time_text(summary.step_time), measured.timeline.tracks.size(), summary.world_size,
                          summary.world_size == 1 ? "" : "s", time_text(summary.communication),
                          time_text(summary.exposed_communication));
  text += steps_text(measured, style);
  if (summary.step_time > Duration{}) text += breakdown_text(summary, style);
  return text + communications_text(measured.timeline, summary, style);
}

}  // namespace twinstep::study
