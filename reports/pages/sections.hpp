#pragma once

#include <string>
#include <vector>

#include "explore/scale/closer_look.hpp"
#include "reports/page/page.hpp"
#include "reports/summary.hpp"
#include "sim/timeline/timeline.hpp"

/// The sections of a scenario's page, one file each. All but the answer require a strategy that can be laid out. Ids of
/// charts are unique within one page of one scenario.
namespace twinstep::pages {

/// The answer in a sentence: the best strategy, how fast it is.
[[nodiscard]] std::string answer_sentence(explore::Answered const& question);

/// Answers side by side, one a row: speed with exposed communication, memory at the peak, and a sentence for each that
/// does not fit or cannot run.
[[nodiscard]] reports::Section side_by_side(std::vector<reports::NamedSummary> const& answers);

/// What each strategy comes to: time, rates, memory, and whether it fits.
[[nodiscard]] reports::Section answer_section(explore::Answered const& question);

/// Adds the changes that help most, the best first, and the settings that make each.
void add_changes(reports::Section& section, reports::Why const& why);

/// Where each strategy's step time goes, as bars that add up to it, and what would help the best one.
[[nodiscard]] reports::Section breakdown_section(explore::CloserLook const& look);

/// What each stage of a pipeline comes to, and a drawing of its passes. Requires stages.
[[nodiscard]] reports::Section stages_section(reports::Summary const& summary);
/// The passes of the stages over the step, where there are stages.
[[nodiscard]] reports::Section pipeline_section(explore::Answered const& question);
/// The same of one timeline: a row for each role, a series for each pass, a bar for each micro-batch.
[[nodiscard]] reports::Chart pipeline_chart(timeline::Timeline const& timeline, std::string id, std::string title);

/// When the streams of one rank of each role are busy with what.
[[nodiscard]] reports::Section streams_section(explore::Answered const& question);

/// What the device holds at its peak and over the step.
[[nodiscard]] reports::Section memory_section(explore::Answered const& question);

/// How speed grows with nodes, weak and strong, where it stops doing so and for what reason.
[[nodiscard]] reports::Section scaling_section(explore::CloserLook const& look);

/// Bus bandwidth of the collectives that the steps issue against message size, with the steps' own messages.
[[nodiscard]] reports::Section bus_bandwidth_section(explore::CloserLook const& look);

/// What a tenth more or less of each of the machine's parameters does to the best strategy's step time.
[[nodiscard]] reports::Section sensitivity_section(explore::CloserLook const& look);

/// Step time against the size of gradient buckets. No charts where no strategy has any.
[[nodiscard]] reports::Section bucket_size_section(explore::CloserLook const& look);

/// What the device's track that holds most holds over the step, stacked by category, with a line at its capacity and
/// one at the peak. What the host allocates while it issues an operation is drawn at the time at which the GPU comes to
/// that operation, so that the chart lies below the streams'. Some 400 moments are drawn: of those that fall together
/// the one at which most is allocated, so that the peak is among them.
[[nodiscard]] reports::Chart memory_over_time_chart(timeline::Timeline const& timeline, reports::Summary const& summary,
                                                    std::string id, std::string title);

/// What is held at the peak that decides whether the step fits, category by category: each bar stands on those before
/// it, the last one is their total.
[[nodiscard]] reports::Chart memory_waterfall_chart(reports::Summary const& summary, std::string id, std::string title);

/// The spans of a timeline, a row for each stream of the first track of every role, a series for each kind of work.
/// Bars that an eye could not tell apart are drawn as one that says how many it stands for: of one kind in one row,
/// less than a two-thousandth of the step long and apart. Cost: a sort of the spans.
[[nodiscard]] reports::Chart streams_chart(timeline::Timeline const& timeline, std::string id, std::string title);

}  // namespace twinstep::pages
