#pragma once

#include <functional>
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

}  // namespace twinstep::validate
