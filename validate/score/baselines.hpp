#pragma once

#include <optional>
#include <span>
#include <vector>

#include "validate/score/collective_case.hpp"

/// What a model of collectives has to beat.
namespace twinstep::validate {

using Predictions = std::vector<std::optional<Seconds>>;  ///< one for each point of a record

/// NCCL's own cost model, which it chooses algorithms by.
[[nodiscard]] Predictions predict_by_tuner(CollectiveCase const& one);

/// A line alpha + size / beta.
struct TimeLine {
  double alpha = 0;  ///< in seconds
  double per_byte = 0;
  [[nodiscard]] Seconds at(Bytes size) const { return Seconds{alpha + per_byte * static_cast<double>(size.count())}; }
};

/// The line through the points of a record by least squares of relative errors. Requires a point that is no outlier.
[[nodiscard]] TimeLine line_of(CollectiveRecord const& record);

/// One line alpha + size / beta, fitted to the record itself by least squares of relative errors: not a prediction, but
/// what two free numbers a record can do.
[[nodiscard]] Predictions fit_own_line(CollectiveRecord const& record);

/// The measured curve of `other` at the sizes of `record`: its bus bandwidth, between its points a line over
/// logarithms, beyond the last one constant. Nothing for sizes below its first.
[[nodiscard]] Predictions copy_curve(CollectiveRecord const& record, CollectiveRecord const& other);

/// The measured curve of the most similar record of another system: the same collective, then the same kind of network,
/// of links, the nearest number of ranks. Keeps its bus bandwidth. Nothing for sizes below those that it has, and
/// where no other system measured this collective.
[[nodiscard]] Predictions copy_nearest(CollectiveCase const& one, std::span<CollectiveCase const> all);

}  // namespace twinstep::validate
