#include "explore/plan/searches.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::explore::plan {
namespace {

void check_clusters(std::vector<std::string> const& clusters) {
  for (auto each = clusters.begin(); each != clusters.end(); ++each)
    if (std::find(clusters.begin(), each, *each) != each)
      throw InputError{fmt::format("--cluster: found {} twice; give each once", *each)};
}

/// Costs are compared.
void check_currencies(std::vector<ClusterSearch> const& searches) {
  for (auto const& search : searches)
    if (auto const& [first, other] = std::pair{searches.front().price(), search.price()};
        first && other && first->per_gpu_hour.currency != other->per_gpu_hour.currency)
      throw InputError{fmt::format("--price: found {} and {}; give all prices in one currency",
                                   first->per_gpu_hour.currency, other->per_gpu_hour.currency)};
}

/// Whether it changes `path` or something below it.
bool changes(io::Change const& change, std::string_view path) {
  return change.path.starts_with(path) && (change.path.size() == path.size() || change.path[path.size()] == '.');
}

/// The question on a cluster in place of its own, which comes before changes of it. Throws InputError of --cluster
/// where there is none of this name.
explore::Question on_cluster(explore::Question question, std::string const& cluster) {
  auto value = io::read_value("--cluster", cluster);
  static_cast<void>(question.parts->cluster(value));
  question.changes.insert(question.changes.begin(), {"cluster", std::move(value)});
  return question;
}

}  // namespace

std::vector<ClusterSearch> searches_of(PlanOptions const& options, explore::Question const& question,
                                       std::function<void()> const& progress) {
  check_clusters(options.clusters);
  auto questions = std::vector<explore::Question>{};
  for (auto const& cluster : options.clusters) questions.push_back(on_cluster(question, cluster));
  if (questions.empty()) questions.push_back(question);
  if (options.prices.size() > 1 && options.prices.size() != questions.size())
    throw InputError{fmt::format("--price: found {} prices for {} clusters; give one, or one for each",
                                 options.prices.size(), questions.size())};
  auto searches = std::vector<ClusterSearch>{};
  for (std::size_t i = 0; i < questions.size(); ++i) {
    auto price = std::optional<std::string>{};
    if (!options.prices.empty()) price = options.prices[options.prices.size() > 1 ? i : 0];
    searches.emplace_back(options, std::move(questions[i]), price, progress);
  }
  check_currencies(searches);
  return searches;
}

void check_not_searched(io::Change const& change) {
  constexpr auto kSearched = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"strategy", "name one with --strategy, or ask `twinstep simulate`"},
       {"training.micro_batch", "leave it out, or ask `twinstep simulate`"},
       {"training.gradient_accumulation", "leave it out, or ask `twinstep simulate`"},
       {"cluster.nodes", "give numbers of GPUs with --gpus"}});
  for (auto const& [path, way_out] : kSearched)
    if (changes(change, path))
      throw InputError{fmt::format("{}: found {}, which a plan searches itself; {}", option_of(change), path, way_out)};
}

}  // namespace twinstep::explore::plan
