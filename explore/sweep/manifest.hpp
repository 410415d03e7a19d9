#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::explore::sweep {

/// What a results file is of. Two runs whose manifests are equal give the same rows.
struct Manifest {
  std::string version;             ///< of twinstep
  std::string sweep;               ///< the sweep, its base and the options that change results, as JSON text
  std::vector<std::string> paths;  ///< the settings of each row: "cluster.nodes", …
  std::int64_t points = 0;         ///< of the whole sweep, those that constraints leave out included

  bool operator==(Manifest const&) const = default;
};

/// Where `found` first differs from `wanted`: `sweep.axes.cluster.nodes is [1, 2], expected [1, 2, 4]`. Requires two
/// that differ.
[[nodiscard]] std::string difference_of(Manifest const& found, Manifest const& wanted);

}  // namespace twinstep::explore::sweep
