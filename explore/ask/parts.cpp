#include "explore/ask/parts.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "explore/ask/software.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/io/document_text.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::explore {
namespace {

/// Whether the scenario changes more of a profile than the number of nodes.
bool is_changed(io::Node const& cluster) {
  if (!cluster.is(io::Node::Type::kObject) || !cluster.has("profile")) return false;
  auto const parts = {"gpu", "node", "fabric", "collectives"};
  return std::ranges::any_of(parts, [&](char const* part) { return cluster.has(part); });
}

Read<hardware::Cluster> read_cluster(io::Node const& reference, io::ReadText const& text_of) {
  auto read = Read<hardware::Cluster>{};
  read.value = hw_profiles::read_cluster(reference, read.warnings, text_of);
  if (is_changed(reference)) read.value.name += ", changed";
  return read;
}

}  // namespace

Read<Parts::Cluster> Parts::cluster(io::Node const& reference) {
  auto const read = clusters_.get(io::document_line(reference), [&] { return read_cluster(reference, read_); });
  return {Cluster{read, &read->value}, read->warnings};
}

std::shared_ptr<Read<strategies::ModelSpec> const> Parts::model(io::Node const& reference, std::string const& folder) {
  return models_.get(io::document_line(reference), [&] {
    auto warnings = std::vector<std::string>{};
    auto model = strategies::read_model(reference, folder, warnings, read_);
    return Read<strategies::ModelSpec>{std::move(model), std::move(warnings)};
  });
}

std::shared_ptr<strategies::UsersFile const> Parts::users_file(strategies::UsersFormat format,
                                                               std::string const& path) {
  return users_files_.get({format, path}, [&] {
    return strategies::read_users_file(format, {path, read_(path)}, read_);
  });
}

std::shared_ptr<engine::Machine const> Parts::machine(Cluster const& cluster, strategies::StrategyName strategy,
                                                      std::int64_t ranks) {
  auto const stack = std::string_view{cluster->stack.name.empty() ? stack_of(strategy) : std::string_view{}};
  auto const equipped = machines_.get({cluster.get(), stack, ranks}, [&] {
    return Equipped{cluster, engine::Machine{with_software(*cluster, strategy), ranks}};
  });
  return {equipped, &equipped->machine};
}

}  // namespace twinstep::explore
