#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "validate/records/collective_record.hpp"

/// How far predictions lie from measurements.
namespace twinstep::validate {

/// The sizes over which errors are averaged.
enum class SizeClass : std::uint8_t { kAll, kUpTo64KiB, kFrom1MiB, kFrom256MiB };
inline constexpr std::size_t kSizeClasses = 4;
[[nodiscard]] bool belongs(Bytes size, SizeClass sizes);

/// |predicted / measured - 1|, averaged over the points of a record; nothing where it has none, or none was predicted.
struct Errors {
  std::array<std::optional<double>, kSizeClasses> mean;  ///< by SizeClass
  std::optional<double> worst;
};

/// One predicted time for each point of the record; nothing where there is no prediction. Outliers do not count.
[[nodiscard]] Errors errors_of(CollectiveRecord const& record, std::span<std::optional<Seconds> const> predicted);

/// Median and mean over systems, each counting once with the mean over its records.
struct Summary {
  std::optional<double> median;
  std::optional<double> mean;
  std::optional<double> worst;  ///< of the systems
  std::int64_t systems = 0;
};
struct SystemErrors {
  std::string system;
  Errors errors;
};
[[nodiscard]] Summary summarize(std::span<SystemErrors const> records, SizeClass sizes);

/// Spearman's rank correlation of two equally long lists; nothing for fewer than two.
[[nodiscard]] std::optional<double> rank_correlation(std::vector<double> const& a, std::vector<double> const& b);

}  // namespace twinstep::validate

namespace twinstep {
template <>
struct EnumNames<validate::SizeClass> {
  static constexpr std::array<std::string_view, 4> values{"all sizes", "<= 64 KiB", ">= 1 MiB", ">= 256 MiB"};
};
}  // namespace twinstep
