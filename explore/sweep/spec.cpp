#include "explore/sweep/spec.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "explore/sweep/results.hpp"
#include "explore/sweep/scenario_path.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kMostPaths = std::size_t{100};
constexpr auto kMostProbes = std::int64_t{1000};  ///< of each axis

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

/// What paths mean in a scenario.
Constraint::Lookup looked_up(io::Node scenario) {
  return [document = std::move(scenario)](std::string const& path) {
    auto const node = find_path(document, path);
    return node ? value_of(*node) : Value{};
  };
}

io::Node parse_sweep(std::string const& path) {
  if (is_results_file(path))
    throw InputError{
        fmt::format("{}: found results, expected a sweep; give the sweep that made them, or name no file for results "
                    "to see what they are",
                    one_line(path))};
  return io::parse_file(path);
}

}  // namespace

Sweep::Sweep(std::string const& path) : Sweep{parse_sweep(path)} {}

Sweep::Sweep(io::Node document) : document_{std::move(document)}, base_{document_} {
  if (document_.has("cluster") && document_.has("model"))
    document_.fail("found a scenario, expected a sweep",
                   R"(write a file {"base": "SCENARIO.json", "axes": {"cluster.nodes": [1, 2, 4]}})");
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
  refuse_doubles(points.elements());
  if (paths_.empty())
    points.fail(together.points.empty() ? "found no point, expected at least one"
                                        : "found points that set nothing, expected at least one setting",
                R"(write [{"cluster.nodes": 4}])");
  auto const size = static_cast<std::int64_t>(together.points.size());
  dimensions_.push_back({std::move(together), size});
}

std::vector<Setting> Sweep::some_settings() const {
  auto settings = std::vector<Setting>{};
  for (auto const& dimension : dimensions_)
    for (std::int64_t i = 0; i < std::min(dimension.size, kMostProbes); ++i) add_settings(dimension, i, settings);
  return settings;
}

void Sweep::add_constraint(io::Node const& text) {
  auto const& added = constraints_.emplace_back(text);
  auto const settings = some_settings();
  for (auto const& path : added.paths()) {
    auto const is_set = [&](std::string const& set) { return is_within(set, path); };
    auto const is_in_value = [&](Setting const& setting) {
      auto const& set = paths_[setting.path];
      return path != set && is_within(path, set) &&
             find_path(setting.value, std::string_view{path}.substr(set.size() + 1)).has_value();
    };
    if (find_path(base_, path) || std::ranges::any_of(paths_, is_set) || std::ranges::any_of(settings, is_in_value))
      continue;
    auto known = scalar_paths(base_);
    known.insert(known.end(), paths_.begin(), paths_.end());
    text.fail(fmt::format("found {}, which neither the base nor an axis says", twinstep::quoted(path)),
              suggest_name(path, {known.begin(), known.end()}));
  }
}

/// A row would say one value and be computed with another.
void Sweep::refuse_overruled_values() const {
  for (auto const& setting : some_settings()) {
    auto const& outer = paths_[setting.path];
    for (auto const& inner : paths_)
      if (inner != outer && is_within(inner, outer) &&
          find_path(setting.value, std::string_view{inner}.substr(outer.size() + 1)))
        setting.value.fail(fmt::format("found a value of {} that says {} too, which varies by itself",
                                       twinstep::quoted(outer), twinstep::quoted(inner)),
                           "leave it out of one of them");
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
  for (auto const& dimension : dimensions_) add_settings(dimension, dimension.index(point), settings);
  return settings;
}

void Sweep::add_settings(Dimension const& dimension, std::int64_t index, std::vector<Setting>& settings) {
  if (auto const* axis = std::get_if<Axis>(&dimension.content)) {
    settings.push_back({axis->path, axis->values.value(index)});
  } else {
    auto const& together = std::get<Together>(dimension.content).points[static_cast<std::size_t>(index)];
    settings.insert(settings.end(), together.begin(), together.end());
  }
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
  auto const lookup = looked_up(scenario);
  return std::ranges::all_of(constraints_, [&](Constraint const& constraint) { return constraint.holds(lookup); });
}

void Sweep::check_constraints() const {
  auto const points = probes(kMostProbes);
  for (auto const& constraint : constraints_) {
    auto failure = std::optional<InputError>{};
    auto const has_answer = [&](std::int64_t point) {
      try {
        static_cast<void>(constraint.holds(looked_up(scenario(settings(point)))));
        return true;
      } catch (InputError const& error) {
        if (!failure) failure = error;
        return false;
      }
    };
    if (std::ranges::none_of(points, has_answer)) throw InputError{*failure};
  }
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

std::vector<std::int64_t> Sweep::probes(std::int64_t of_range) const {
  auto points = std::vector<std::int64_t>{0};
  for (auto const& dimension : dimensions_) {
    auto const* axis = std::get_if<Axis>(&dimension.content);
    auto const most = axis != nullptr && axis->values.is_range() ? of_range : kMostProbes;
    for (std::int64_t i = 1; i < std::min(dimension.size, most); ++i) points.push_back(i * dimension.stride);
  }
  return points;
}

io::Node Sweep::document() const {
  auto const bare = io::without_member(io::without_member(document_, "$schema"), "comment");
  return io::with_member(bare, "base", base_);
}

}  // namespace twinstep::explore::sweep
