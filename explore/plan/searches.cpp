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

/// Whether it sets `path` or something below it.
bool sets(std::string_view setting, std::string_view path) {
  return setting.starts_with(path) && setting.size() > path.size() &&
         (setting[path.size()] == '=' || setting[path.size()] == '.');
}

/// What is wrong with a cluster's name is said of --cluster, not of the setting that stands for it.
[[noreturn]] void throw_of_cluster(InputError const& error, std::string const& cluster) {
  auto const what = std::string_view{error.what()};
  auto const place = fmt::format("--set cluster={}: /cluster: ", one_line(cluster));
  if (what.starts_with(place)) throw InputError{fmt::format("--cluster: {}", what.substr(place.size()))};
  throw error;
}

}  // namespace

std::vector<ClusterSearch> searches_of(PlanOptions const& options, std::function<void()> const& progress) {
  auto clusters = std::vector<std::optional<std::string>>(options.clusters.begin(), options.clusters.end());
  if (clusters.empty()) clusters.emplace_back();
  check_clusters(options.clusters);
  if (options.prices.size() > 1 && options.prices.size() != clusters.size())
    throw InputError{fmt::format("--price: found {} prices for {} clusters; give one, or one for each",
                                 options.prices.size(), clusters.size())};
  auto searches = std::vector<ClusterSearch>{};
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    auto price = std::optional<std::string>{};
    if (!options.prices.empty()) price = options.prices[options.prices.size() > 1 ? i : 0];
    try {
      searches.emplace_back(options, clusters[i], price, progress);
    } catch (InputError const& error) {
      throw_of_cluster(error, clusters[i].value_or(""));
    }
  }
  check_currencies(searches);
  return searches;
}

void check_not_searched(std::string_view option, std::string const& setting) {
  constexpr auto kSearched = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"strategy", "name one with --strategy, or ask `twinstep simulate`"},
       {"training.micro_batch", "leave it out, or ask `twinstep simulate`"},
       {"training.gradient_accumulation", "leave it out, or ask `twinstep simulate`"},
       {"cluster.nodes", "give numbers of GPUs with --gpus"}});
  for (auto const& [path, way_out] : kSearched)
    if (sets(setting, path))
      throw InputError{
          fmt::format("{} {}: found {}, which a plan searches itself; {}", option, one_line(setting), path, way_out)};
}

}  // namespace twinstep::explore::plan
