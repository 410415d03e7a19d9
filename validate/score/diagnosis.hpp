#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::validate {

/// One thing that may be wrong with a machine, as a change of what it was said to be.
struct Suspect {
  std::string_view kind;  ///< "fewer NICs": two suspects of one kind exclude each other
  std::string sentence;   ///< "2 of 8 NICs in use"
  std::function<void(hardware::Cluster&)> change;
};

/// What may be wrong with the machine of a record, the likeliest kind first, of each kind the mildest first. Only what
/// the record's collective could show: of one that stays inside a node, nothing between nodes. Refers to `one`.
[[nodiscard]] std::vector<Suspect> suspects_of(CollectiveCase const& one);

/// How a sweep lies apart from its prediction, and which fault of the machine would explain that.
struct Diagnosis {
  Bytes from;                             ///< the size from which on they lie apart
  double factor = 1;                      ///< measured over predicted time, the geometric mean from there on
  std::vector<std::string> causes;        ///< one, or two that act together; empty where nothing explains it
  std::vector<std::string> alternatives;  ///< other single causes that explain it about as well
  double remaining = 1;                   ///< how far, as a factor above 1, predictions with the causes lie apart
  std::vector<std::string> tried;         ///< kinds of faults, where none explains it

  /// "takes 4.3 times as long as predicted from 64 MiB on. 2 of 8 NICs in use would explain it, to within 7 %."
  [[nodiscard]] std::string text() const;
};

/// Nothing for a sweep within 25 % of its prediction: the mean of log(measured / predicted) over each range of sizes
/// (hardware::SizeRange), outliers left out; and for one that nothing explains whose sizes from there on lie in their
/// intervals. For a slower one every suspect is simulated, and if none explains it every two of different kinds. An
/// explanation removes at least half of the distance, the mean of |log(measured / predicted)|, and leaves no more than
/// 30 %, two together 15
/// %. Of those within 10 % of the closest, which is our own error, the first in the order of suspects_of is the cause.
/// Where nothing explains all sizes that lie apart, the larger ones are tried alone. Costs a simulation of the sweep
/// for each suspect and each pair, some hundred.
[[nodiscard]] std::optional<Diagnosis> diagnose(CollectiveCase const& one);

}  // namespace twinstep::validate
