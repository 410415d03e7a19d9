#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reports/summary.hpp"
#include "sim/base/enum_names.hpp"

/// What a sweep finds out: a row for each point, the same columns in the results file, in CSV and in JSON Lines.
namespace twinstep::explore::sweep {

/// One value; nothing where the point has none.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// What became of a point. All but `kOk` have a reason.
enum class Status : std::uint8_t {
  kOk,
  kDoesNotFit,  ///< simulated, but a device's memory does not hold it
  kInfeasible,  ///< the plan cannot be laid out
  kWrongInput,  ///< the point's scenario is wrong
};

struct Column {
  enum class Kind : std::uint8_t {
    kInteger,
    kReal,
    kBoolean,  ///< an integer, 0 or 1
    kText,
    kJson,  ///< text that is one JSON document
  };
  std::string_view name;
  Kind kind{};
  bool may_be_absent = false;  ///< of a step that was simulated
};

/// What a row tells of its step, in the words and units of `simulate --json`. Order matters: rows hold them in it.
inline constexpr auto kFigures = std::to_array<Column>({
    {"scenario", Column::Kind::kText},
    {"world_size", Column::Kind::kInteger},
    {"tokens", Column::Kind::kInteger},
    {"counted", Column::Kind::kText},  ///< what they are: "tokens", or "samples" of a model without sequences
    {"step_time_s", Column::Kind::kReal},
    {"interval_low_s", Column::Kind::kReal, true},
    {"interval_high_s", Column::Kind::kReal, true},
    {"tokens_per_s", Column::Kind::kReal},
    {"tokens_per_s_per_gpu", Column::Kind::kReal},
    {"model_tflops_per_gpu", Column::Kind::kReal},
    {"mfu", Column::Kind::kReal, true},
    {"hfu", Column::Kind::kReal, true},
    {"fits", Column::Kind::kBoolean},
    {"peak_memory_bytes", Column::Kind::kInteger},
    {"reserved_memory_bytes", Column::Kind::kInteger, true},
    {"memory_capacity_bytes", Column::Kind::kInteger, true},
    {"host_memory_bytes", Column::Kind::kInteger},
    {"nvme_bytes", Column::Kind::kInteger},
    {"exposed_communication_s", Column::Kind::kReal},
    {"communication_s", Column::Kind::kReal},
    {"bytes_on_wire_intra", Column::Kind::kInteger},
    {"bytes_on_wire_inter", Column::Kind::kInteger},
    {"events", Column::Kind::kInteger},
    {"calibration", Column::Kind::kText},
    {"memory", Column::Kind::kJson},     ///< {category: bytes} at the peak
    {"breakdown", Column::Kind::kJson},  ///< [{name, seconds}]
});

/// Place of a figure in a row. Requires one of `kFigures`.
[[nodiscard]] std::size_t figure_index(std::string_view name);

/// One point.
struct Row {
  std::int64_t point = 0;  ///< its number in the sweep, from 0
  /// The value of each path of the sweep. Objects, lists and booleans are their JSON text.
  std::vector<Cell> settings;
  Status status{};
  std::string reason;  ///< empty for `kOk`
  /// In the order of `kFigures`; empty where nothing was simulated.
  std::vector<Cell> figures;

  /// A number among the figures, integer or real; nothing where the row has none. Requires one of `kFigures`.
  [[nodiscard]] std::optional<double> number(std::string_view figure) const;
  /// A text among the figures; "" where the row has none. Requires one of `kFigures`.
  [[nodiscard]] std::string_view text(std::string_view figure) const;

  bool operator==(Row const&) const = default;
};

/// All of a row in the order of its columns: point, settings, status, reason, figures, absent ones where it has none.
[[nodiscard]] std::vector<Cell> cells_of(Row const& row);

/// What a row tells of its step: one cell for each of `kFigures`.
[[nodiscard]] std::vector<Cell> figures_of(reports::Summary const& summary);

/// The first column of a row that holds what it cannot hold: `column "mfu": found -0.5, expected a number from 0 on`.
/// @param cells   as `cells_of` orders them
/// @param points  of the whole sweep
[[nodiscard]] std::optional<std::string> damage_of(std::span<Cell const> cells, std::vector<std::string> const& paths,
                                                   std::int64_t points);

}  // namespace twinstep::explore::sweep

namespace twinstep {

template <>
struct EnumNames<explore::sweep::Status> {
  static constexpr std::array<std::string_view, 4> values{"ok", "does not fit", "infeasible", "wrong input"};
};

}  // namespace twinstep
