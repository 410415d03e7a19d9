#include "reports/render/why_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "reports/shell_text.hpp"

namespace twinstep::reports {
namespace {

constexpr std::size_t kShownWaits = 6;
constexpr std::size_t kShownChanges = 3;

std::string waits(Summary const& summary) {
  auto entries = summary.breakdown;
  std::ranges::stable_sort(entries, std::greater{}, &BreakdownEntry::time);
  auto text = std::string{};
  for (std::size_t i = 0; i < std::min(entries.size(), kShownWaits); ++i)
    text += fmt::format("  {:<40} {:>10}  {:>7}\n", in_words(entries[i]), time_text(entries[i].time),
                        percent_text(share(entries[i].time, summary.step_time)));
  auto const busiest = std::ranges::max_element(summary.links, {}, &LinkUse::utilisation);
  if (busiest != summary.links.end())
    text += fmt::format("  busiest link: {}, {} one way, in use {} of the step\n", busiest->traffic.name,
                        rate_text(busiest->traffic.bandwidth), percent_text(busiest->utilisation));
  return text;
}

std::string changes(Why const& why) {
  if (why.changes.empty()) return "  no single change that was tried makes it faster and fits\n";
  auto text = std::string{};
  for (std::size_t i = 0; i < std::min(why.changes.size(), kShownChanges); ++i) {
    auto const& change = why.changes[i];
    text += fmt::format("  −{:<10} {}{}\n", time_text(why.step_time - change.step_time), change.name,
                        change.is_hardware ? " (hardware)" : "");
    for (auto const& setting : change.settings) text += fmt::format("      --set {}\n", quoted_in_shell(setting));
  }
  return text;
}

}  // namespace

std::string why_text(Summary const& summary, Why const& why, TextStyle const& style) {
  auto text = toned(fmt::format("Why {} takes {}", why.title, time_text(why.step_time)), Tone::kHeader, style) + "\n";
  text += waits(summary);
  text += fmt::format("  with communication free: {}, so communication costs {} ({})\n",
                      time_text(why.without_communication), time_text(why.communication()),
                      percent_text(share(why.communication(), why.step_time)));
  return text + "What would help most, one change at a time\n" + changes(why);
}

}  // namespace twinstep::reports
