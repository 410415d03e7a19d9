#include "app/sweep/spec.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::app::sweep {
namespace {

constexpr auto kMostPaths = std::size_t{100};

struct Base {
  io::Node scenario;
  std::string directory;
  std::string file = {};  // empty for an inline one
};

std::string folder_of(std::filesystem::path const& file) {
  return file.parent_path().string();
}

/// The base scenario: inline, or a file seen from the sweep's folder.
Base read_base(io::Node const& sweep) {
  auto const base = sweep.at("base");
  auto const here = sweep.source().name;
  if (!base.is(io::Node::Type::kString)) {
    static_cast<void>(base.has("cluster"));  // says what is wrong with anything but an object
    return {base, folder_of(here)};
  }
  auto const path = std::filesystem::path{folder_of(here)} / std::string{base.string()};
  if (auto error = std::error_code{}; !std::filesystem::exists(path, error))
    base.fail(fmt::format("found no file {}", twinstep::quoted(path.string())),
              "paths are seen from the sweep's folder");
  return {io::parse_file(path.string()), folder_of(path), path.string()};
}

/// The value at a dotted path; nothing where the document does not say it.
std::optional<io::Node> find_path(io::Node const& document, std::string_view path) {
  auto node = std::optional{document};
  while (node && !path.empty()) {
    auto const dot = path.find('.');
    auto const key = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    if (node->is(io::Node::Type::kObject)) {
      node = node->find(key);
    } else if (auto const index = io::read_index(key); index && node->is(io::Node::Type::kArray)) {
      auto const elements = node->elements();
      node = *index < elements.size() ? std::optional{elements[*index]} : std::nullopt;
    } else {
      node.reset();
    }
  }
  return node;
}

/// A quantity in its base unit; nothing for other texts.
std::optional<double> read_quantity(std::string_view text) {
  if (text.empty() || std::string_view{"0123456789."}.find(text.front()) == std::string_view::npos) return std::nullopt;
  auto const read = [text](auto reader) -> std::optional<double> {
    try {
      return reader(text);
    } catch (InputError const&) {
      return std::nullopt;
    }
  };
  if (auto const value = read([](auto t) { return static_cast<double>(io::read_bytes(t).count()); })) return value;
  if (auto const value = read([](auto t) { return to_seconds(io::read_duration(t)).count(); })) return value;
  if (auto const value = read([](auto t) { return io::read_bandwidth(t).count(); })) return value;
  return read([](auto t) { return io::read_flop_rate(t).count(); });
}

/// What a constraint calculates with.
Constraint::Value value_of(io::Node const& node) {
  switch (node.type()) {
    case io::Node::Type::kNumber: return node.number();
    case io::Node::Type::kBoolean: return node.boolean() ? 1.0 : 0.0;
    case io::Node::Type::kString: {
      if (auto const quantity = read_quantity(node.string())) return *quantity;
      return std::string{node.string()};
    }
    default: return {};
  }
}

bool is_within(std::string_view path, std::string_view outer) {
  return path == outer || (path.starts_with(outer) && path[outer.size()] == '.');
}

/// Throws InputError for a path that no scenario has.
void check_path(std::string_view path, io::Node const& place) {
  constexpr auto kParts = std::to_array<std::string_view>({"cluster", "model", "training", "strategy", "network"});
  if (path.starts_with('.') || path.ends_with('.') || path.find("..") != std::string_view::npos)
    place.fail(fmt::format("found an empty name in the path {}", twinstep::quoted(path)),
               "write it like cluster.nodes");
  auto const part = path.substr(0, path.find('.'));
  if (std::ranges::find(kParts, part) == kParts.end())
    place.fail(fmt::format("found the path {}, which no scenario has", twinstep::quoted(path)),
               suggest_name(part, {kParts.begin(), kParts.end()}));
}

}  // namespace

Sweep::Sweep(std::string const& path) : Sweep{io::parse_file(path)} {}

Sweep::Sweep(io::Node document) : document_{std::move(document)}, base_{document_} {
  document_.allow_only({"base", "points", "axes", "constraints"});
  auto base = read_base(document_);
  base_ = std::move(base.scenario);
  directory_ = std::move(base.directory);
  base_file_ = std::move(base.file);
  if (auto const points = document_.find("points")) add_points(*points);
  if (auto const axes = document_.find("axes")) {
    if (axes->members().empty()) axes->fail("found no axis, expected at least one", "name a path and its values");
    for (auto const& [name, values] : axes->members()) add_axis(name, values);
  }
  if (dimensions_.empty())
    document_.fail("found nothing that varies, expected \"axes\" or \"points\"",
                   R"(write "axes": {"cluster.nodes": [1, 2, 4]})");
  // Several strategies of the base are as good as an axis.
  auto const strategy = base_.at("strategy");
  if (strategy.is(io::Node::Type::kArray) && std::ranges::find(paths_, "strategy") == paths_.end())
    add_axis("strategy", strategy);
  if (auto const constraints = document_.find("constraints"))
    for (auto const& each : constraints->elements()) add_constraint(each);
  refuse_overruled_values();
  lay_out();
}

std::size_t Sweep::path_index(std::string_view path, io::Node const& place) {
  auto const found = std::ranges::find(paths_, path);
  if (found != paths_.end()) return static_cast<std::size_t>(found - paths_.begin());
  check_path(path, place);
  if (paths_.size() == kMostPaths)
    place.fail(fmt::format("found more than {} paths, expected fewer", kMostPaths), "vary less at a time");
  paths_.emplace_back(path);
  return paths_.size() - 1;
}

void Sweep::add_axis(std::string_view path, io::Node const& values) {
  if (std::ranges::find(paths_, path) != paths_.end())
    values.fail(fmt::format("found {} as an axis and in \"points\"", twinstep::quoted(path)), "leave one of them out");
  auto axis = Axis{path_index(path, values), Values{values}};
  auto const size = axis.values.size();
  dimensions_.push_back({std::move(axis), size});
}

void Sweep::add_points(io::Node const& points) {
  auto together = Together{};
  for (auto const& point : points.elements()) {
    auto& settings = together.points.emplace_back();
    for (auto const& [path, value] : point.members()) settings.push_back({path_index(path, value), value});
  }
  if (paths_.empty()) points.fail("found no point, expected at least one", R"(write [{"cluster.nodes": 4}])");
  auto const size = static_cast<std::int64_t>(together.points.size());
  dimensions_.push_back({std::move(together), size});
}

void Sweep::add_constraint(io::Node const& text) {
  auto const& added = constraints_.emplace_back(text);
  for (auto const& path : added.paths()) {
    auto const is_set = [&path](std::string const& set) { return is_within(path, set) || is_within(set, path); };
    if (find_path(base_, path) || std::ranges::any_of(paths_, is_set)) continue;
    text.fail(fmt::format("found {}, which neither the base nor an axis says", twinstep::quoted(path)),
              suggest_name(path, {paths_.begin(), paths_.end()}));
  }
}

/// A row would say one value and be computed with another.
void Sweep::refuse_overruled_values() const {
  constexpr auto kMostValues = std::int64_t{1000};
  for (auto const& dimension : dimensions_) {
    auto const* axis = std::get_if<Axis>(&dimension.content);
    for (auto const& inner : paths_) {
      if (axis == nullptr || inner == paths_[axis->path] || !is_within(inner, paths_[axis->path])) continue;
      auto const rest = std::string_view{inner}.substr(paths_[axis->path].size() + 1);
      for (std::int64_t i = 0; i < std::min(dimension.size, kMostValues); ++i)
        if (find_path(axis->values.value(i), rest))
          document_.fail(fmt::format("found {} beside values of {} that say it too", twinstep::quoted(inner),
                                     twinstep::quoted(paths_[axis->path])),
                         "leave it out of one of them");
    }
  }
}

void Sweep::lay_out() {
  for (auto dimension = dimensions_.rbegin(); dimension != dimensions_.rend(); ++dimension) {
    dimension->stride = points_;
    if (__builtin_mul_overflow(points_, dimension->size, &points_)) points_ = std::numeric_limits<std::int64_t>::max();
  }
}

std::vector<Setting> Sweep::settings(std::int64_t point) const {
  auto settings = std::vector<Setting>{};
  for (auto const& dimension : dimensions_) {
    auto const index = dimension.index(point);
    if (auto const* axis = std::get_if<Axis>(&dimension.content)) {
      settings.push_back({axis->path, axis->values.value(index)});
    } else {
      auto const& together = std::get<Together>(dimension.content).points[static_cast<std::size_t>(index)];
      settings.insert(settings.end(), together.begin(), together.end());
    }
  }
  return settings;
}

io::Node Sweep::scenario(std::vector<Setting> const& settings) const {
  auto order = std::vector<Setting const*>{};
  for (auto const& setting : settings) order.push_back(&setting);
  auto const depth = [this](Setting const* setting) { return std::ranges::count(paths_[setting->path], '.'); };
  std::ranges::stable_sort(order, {}, depth);
  auto document = base_;
  for (auto const* setting : order) document = io::with_value(document, paths_[setting->path], setting->value);
  return document;
}

bool Sweep::is_asked(io::Node const& scenario) const {
  auto const lookup = [&scenario](std::string const& path) {
    auto const node = find_path(scenario, path);
    return node ? value_of(*node) : Constraint::Value{};
  };
  return std::ranges::all_of(constraints_, [&](Constraint const& constraint) { return constraint.holds(lookup); });
}

bool Sweep::touches(Dimension const& dimension, std::string_view part) const {
  auto const is_part = [&](std::size_t path) { return is_within(paths_[path], part); };
  if (auto const* axis = std::get_if<Axis>(&dimension.content)) return is_part(axis->path);
  return std::ranges::any_of(std::get<Together>(dimension.content).points, [&](auto const& settings) {
    return std::ranges::any_of(settings, [&](Setting const& setting) { return is_part(setting.path); });
  });
}

std::int64_t Sweep::part_key(std::string_view part, std::int64_t point) const {
  auto key = std::int64_t{0};
  for (auto const& dimension : dimensions_)
    if (touches(dimension, part)) key = key * dimension.size + dimension.index(point);
  return key;
}

std::vector<std::int64_t> Sweep::probes(std::int64_t most_per_axis) const {
  auto points = std::vector<std::int64_t>{0};
  for (auto const& dimension : dimensions_)
    for (std::int64_t i = 1; i < std::min(dimension.size, most_per_axis); ++i) points.push_back(i * dimension.stride);
  return points;
}

io::Node Sweep::document() const {
  auto const bare = io::without_member(io::without_member(document_, "$schema"), "comment");
  return io::with_member(bare, "base", base_);
}

}  // namespace twinstep::app::sweep
