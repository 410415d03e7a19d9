#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "explore/sweep/constraint.hpp"
#include "explore/sweep/value.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

/// One path of a sweep and its value at a point.
struct Setting {
  std::size_t path = 0;  ///< in `Sweep::paths()`
  io::Node value;
};

/// A sweep file, as explore/sweep/schema/sweep.schema.json describes it: a base scenario, and the settings that vary.
///
/// Its points are every combination of its "points" (settings that go together) and its axes, in this order, the last
/// axis fastest. They are numbered from 0 and never listed: all of this takes the same time for 10^15 points.
class Sweep {
 public:
  /// Reads it and its base. A base whose "strategy" is a list has it as its last axis, unless another one is it.
  /// Throws InputError.
  explicit Sweep(std::string const& path);

  /// What varies: "cluster.nodes", …, in the order of the file.
  [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
  /// How many combinations there are, those that constraints leave out included; at most 2^63 - 1.
  [[nodiscard]] std::int64_t points() const { return points_; }
  /// Folder in which the base's own files are looked for.
  [[nodiscard]] std::string const& directory() const { return directory_; }
  /// The base's file; empty where it stands in the sweep.
  [[nodiscard]] std::string const& base_file() const { return base_file_; }

  [[nodiscard]] std::vector<Setting> settings(std::int64_t point) const;
  /// The base with the settings of a point, the shorter paths first.
  [[nodiscard]] io::Node scenario(std::vector<Setting> const& settings) const;
  /// Whether all constraints hold. Throws InputError where one has no answer.
  [[nodiscard]] bool is_asked(io::Node const& scenario) const;
  /// Throws InputError for a constraint that has no answer at any of a thousand points along each axis.
  void check_constraints() const;
  /// The same for points that agree in all settings of one part of the scenario ("cluster").
  [[nodiscard]] std::int64_t part_key(std::string_view part, std::int64_t point) const;
  /// Points in which each setting takes its values in turn while the others keep their first: every mistake in a name
  /// shows in one of them. At most a thousand of each list, and `of_range` of each range, whose values are of one kind.
  [[nodiscard]] std::vector<std::int64_t> probes(std::int64_t of_range) const;

  /// The sweep with its base inline: what decides about its points, and nothing else.
  [[nodiscard]] io::Node document() const;

 private:
  explicit Sweep(io::Node document);

  /// Settings that go together, in turn: an axis has one a value.
  struct Axis {
    std::size_t path = 0;
    Values values;
  };
  struct Together {
    std::vector<std::vector<Setting>> points;
  };
  struct Dimension {
    std::variant<Axis, Together> content;
    std::int64_t size = 0;
    std::int64_t stride = 1;  ///< points from one of its values to the next
    [[nodiscard]] std::int64_t index(std::int64_t point) const { return point / stride % size; }
  };

  /// Adds what a dimension sets with its value `index`.
  static void add_settings(Dimension const& dimension, std::int64_t index, std::vector<Setting>& settings);
  /// Every value of every dimension, of long ones the first.
  [[nodiscard]] std::vector<Setting> some_settings() const;
  void add_axis(std::string_view path, io::Node const& values);
  void add_points(io::Node const& points);
  void add_constraint(io::Node const& text);
  void lay_out();
  void refuse_overruled_values() const;
  /// Where the path stands in `paths_`, where it is added unless it is there.
  std::size_t path_index(std::string_view path, io::Node const& place);
  [[nodiscard]] bool touches(Dimension const& dimension, std::string_view part) const;

  io::Node document_;
  io::Node base_;
  std::string directory_;
  std::string base_file_;
  std::vector<std::string> paths_;
  std::vector<Dimension> dimensions_;
  std::vector<Constraint> constraints_;
  std::int64_t points_ = 1;
};

}  // namespace twinstep::explore::sweep
