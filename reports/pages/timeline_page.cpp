#include "reports/pages/pages.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"
#include "reports/summary.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::pages {

reports::Page timeline_page(io::Node const& document) {
  auto const timeline = io::read_timeline(document);
  auto const summary = reports::summarize(timeline);
  auto const& manifest = timeline.manifest;
  auto page = reports::Page{.title = manifest.scenario.empty() ? std::string{"a timeline"} : manifest.scenario};
  page.headlines = {{"step time", reports::time_text(summary.step_time)},
                    {"peak memory", reports::memory_text(summary.peak.total())}};
  page.facts = {{"scenario", page.title},
                {"clock", std::string{name_of(manifest.clock)}},
                {"calibration", manifest.calibration},
                {"made by", "twinstep " + manifest.version},
                {"program", manifest.program_hash},
                {"machine", manifest.machine_hash}};
  if (!summary.stages.empty())
    page.sections.push_back(
        {.title = "The pipeline", .charts = {pipeline_chart(timeline, "pipeline", manifest.scenario)}});
  page.sections.push_back(
      {.title = "Timeline by stream", .charts = {streams_chart(timeline, "streams", manifest.scenario)}});
  if (!summary.peak.track.exists()) return page;
  page.sections.push_back({.title = "Memory",
                           .charts = {memory_waterfall_chart(summary, "memory-peak", "At the peak"),
                                      memory_over_time_chart(timeline, summary, "memory-time", "Over the step")}});
  return page;
}

}  // namespace twinstep::pages
