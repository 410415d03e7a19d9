#include "explore/ask/users_file.hpp"

#include <array>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "sim/io/document_text.hpp"
#include "sim/io/maker.hpp"
#include "sim/io/other_formats.hpp"
#include "strategies/model/hf_config.hpp"

namespace twinstep::explore {
namespace {

using strategies::UsersFormat;

constexpr auto kFormats = {UsersFormat::kDeepSpeed, UsersFormat::kAccelerate, UsersFormat::kTorchtitan,
                           UsersFormat::kMegatron};

std::optional<UsersFormat> format_named_by(io::Node const& strategy) {
  auto found = std::optional<UsersFormat>{};
  for (auto const format : kFormats) {
    auto const key = strategies::scenario_key(format);
    if (!strategy.find(key)) continue;
    if (found)
      strategy.at(key).fail(fmt::format("found a second file beside \"{}\"", strategies::scenario_key(*found)),
                            "name one");
    found = format;
  }
  return found;
}

/// `patch` over `base`, at the path of `patch`.
io::Node over(io::Node const& base, io::Node const& patch) {
  return io::Node{io::merge(base, patch).shared_value(), patch.step()};
}

/// A cluster to be filled in.
io::Node unknown_cluster(io::Maker const& make) {
  return make.object({{"profile", make.text("CLUSTER")}});
}

}  // namespace

Written with_users_file(io::Node const& document, io::Node const& strategy, std::string const& folder, Parts& parts,
                        std::vector<std::string>& warnings) {
  auto written = Written{document.at("training"), strategy};
  auto const format = format_named_by(strategy);
  if (!format) return written;
  auto const key = strategies::scenario_key(*format);
  auto const path = std::filesystem::path{folder} / std::string{strategy.at(key).string()};
  auto const shared = parts.users_file(*format, path.string());
  auto const& file = *shared;
  warnings.insert(warnings.end(), file.warnings.begin(), file.warnings.end());
  for (auto const& open : file.open) {
    auto const part = open.part == "strategy" ? std::optional{strategy} : document.find(open.part);
    if (!part || !part->is(io::Node::Type::kObject) || !part->has(open.key)) warnings.push_back(open.warning);
  }
  written.training = over(file.training.node(), written.training);
  written.strategy = over(file.strategy.node(), io::without_member(strategy, key));
  return written;
}

std::string scenario_of(UsersFormat format, io::Source source, std::vector<std::string>& warnings) {
  auto const name = source.name;
  auto const file = strategies::read_users_file(format, std::move(source));
  warnings.insert(warnings.end(), file.warnings.begin(), file.warnings.end());
  for (auto const& open : file.open) warnings.push_back(open.warning);
  auto const knows_model = !file.model.node().members().empty();
  warnings.push_back(fmt::format("{}: cannot know the cluster{}", one_line(name),
                                 knows_model ? ": fill in CLUSTER" : " and the model: fill in CLUSTER and PATH"));
  auto const make = io::Maker{"scenario"};
  auto scenario = make.object({{"cluster", unknown_cluster(make)}});
  if (!knows_model)
    scenario = io::with_member(scenario, "model", make.object({{"hf_config", make.text("PATH/config.json")}}));
  for (auto const* const part : {&file.cluster, &file.model, &file.training, &file.strategy})
    scenario = io::merge(scenario, make.object({{part->name(), part->node()}}));
  return io::document_text(scenario);
}

std::string scenario_of_model(io::Source const& config, std::string const& name, std::vector<std::string>& warnings) {
  auto const& path = config.name;
  io::no_larger(path, config.text, io::kLargestModel);
  auto const model = strategies::read_hf_config(io::parse(config, io::Dialect::kForeign), warnings);
  warnings.push_back(
      fmt::format("{}: cannot know the cluster and the strategy: fill in CLUSTER and STRATEGY", one_line(path)));
  warnings.push_back(fmt::format(
      "{}: sequence_length {} is the longest that the model takes, and micro_batch 1 a guess: say what you train with",
      one_line(path), model.max_sequence_length));
  auto const make = io::Maker{"scenario"};
  return io::document_text(
      make.object({{"cluster", unknown_cluster(make)},
                   {"model", make.object({{"hf_config", make.text(name)}})},
                   {"training", make.object({{"sequence_length", make.number(model.max_sequence_length)},
                                             {"micro_batch", make.number(std::int64_t{1})}})},
                   {"strategy", make.object({{"name", make.text("STRATEGY")}})}}));
}

}  // namespace twinstep::explore
