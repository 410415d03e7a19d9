#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/hardware/cluster.hpp"
#include "strategies/plan/plan.hpp"

/// Which framework's software runs a step: what its kernels cost beyond the least (hw_profiles/stacks), and what it
/// does where nobody says more.
namespace twinstep::explore {

/// The shipped stack of the framework whose code the strategy follows.
[[nodiscard]] std::string_view stack_of(strategies::StrategyName strategy);

/// The cluster with the stack on which a step of the strategy runs: its own if it names one, else the shipped one of
/// the framework whose code the strategy follows. Its calibration says which. GPU efficiencies were fitted with such
/// stacks in place, so a step without any is faster than a framework's; the stack "none" names that machine.
[[nodiscard]] hardware::Cluster with_software(hardware::Cluster cluster, strategies::StrategyName strategy);

/// What the software of a step record is known to do, where the record's words say no more than the software's name.
struct Software {
  std::string_view stack;  ///< the profile of its kernels' costs
  /// Whose code shards and reduces; none where the record's own words decide.
  enum class Framework : std::uint8_t { kAny, kDeepSpeed, kMegatron, kZeroGroups } framework = Framework::kAny;
  strategies::Optimizer optimizer = strategies::Optimizer::kAdamWForeach;
  strategies::CrossEntropy cross_entropy = strategies::CrossEntropy::kPlain;
  strategies::Activation activation = strategies::Activation::kEager;
  strategies::Scaling scaling = strategies::Scaling::kTensorWise;  ///< of products in 8 bits
  std::optional<DataType> reduce_type;  ///< in which gradients cross the wire, if not in that of compute
  /// What it prints as the memory of a GPU.
  enum class Memory : std::uint8_t {
    kAllocated,  ///< torch.cuda.max_memory_allocated
    kReserved,   ///< torch.cuda.max_memory_reserved
    kDevice      ///< nvidia-smi's: with the context and the collective library's buffers
  } memory = Memory::kAllocated;
};

/// The software that a record's words name; PyTorch where they name none of the known ones.
[[nodiscard]] Software software_of(std::string_view words, bool is_compiled);

}  // namespace twinstep::explore
