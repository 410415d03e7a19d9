#include "reports/render/plan_parts.hpp"

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {
namespace {

/// "reshard after forward false", "HYBRID SHARD": names of options, whose words may then stand on several lines. An
/// underscore before a name stays.
std::string spaced(std::string text) {
  for (std::size_t i = 1; i < text.size(); ++i)
    if (text[i] == '_' && text[i - 1] != ' ') text[i] = ' ';
  return text;
}

}  // namespace

std::string strategy_text(PlannedStep const& plan) {
  auto text = plan.strategy;
  if (plan.shard_group > 1 && plan.shard_group < plan.gpus) text += fmt::format(", groups of {}", plan.shard_group);
  if (!plan.options.empty()) text += ", " + spaced(plan.options);
  if (plan.offload != "none") text += ", offload " + plan.offload;
  return text;
}

std::string numbers_text(std::vector<std::int64_t> const& numbers) {
  constexpr std::size_t kListed = 3;
  auto texts = std::vector<std::string>{};
  for (auto const number : numbers) texts.push_back(whole_text(number));
  return texts.size() > kListed ? fmt::format("{} to {}", texts.front(), texts.back())
                                : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace twinstep::reports
