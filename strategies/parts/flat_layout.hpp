#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// Parameters that are communicated together: a bucket, or a unit.
struct Group {
  std::vector<ParameterId> members;
  std::int64_t begin = 0;     ///< where it starts in the flat buffer
  std::int64_t used = 0;      ///< elements up to the end of its last member
  std::int64_t elements = 0;  ///< with padding: a multiple of the number of shards
};

/// All parameters one behind the other in one flat buffer, group by group. Every group is padded so that it can be cut
/// into equal shards; shard r of a group is its r-th stretch, and a rank's shards of all groups lie one behind the
/// other in its own flat shard buffer.
class FlatLayout {
 public:
  /// What is padded beside groups, which always divide into shards: lengths are rounded up to multiples.
  struct Alignment {
    std::int64_t member = 1;  ///< where a member begins
    std::int64_t group = 1;   ///< the length of a group
    bool rows = false;        ///< the rows of each member divide into shards: each is cut along its first dimension
  };

  /// Each parameter must be in exactly one group. `parameters` must outlive the layout.
  FlatLayout(Parameters const& parameters, std::vector<std::vector<ParameterId>> groups, std::int64_t shards,
             Alignment alignment);
  FlatLayout(Parameters const& parameters, std::vector<std::vector<ParameterId>> groups, std::int64_t shards)
      : FlatLayout{parameters, std::move(groups), shards, Alignment{}} {}

  [[nodiscard]] std::vector<Group> const& groups() const { return groups_; }
  [[nodiscard]] std::size_t group_of(ParameterId id) const { return group_of_[id.index()]; }
  [[nodiscard]] std::int64_t offset(ParameterId id) const { return offset_[id.index()]; }
  /// Elements of `id` with its padding rows.
  [[nodiscard]] std::int64_t padded(ParameterId id) const;
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t shards() const { return shards_; }
  /// Elements of one shard of `group`, and where it lies in a rank's shard buffer.
  [[nodiscard]] std::int64_t shard(Group const& group) const { return group.elements / shards_; }
  [[nodiscard]] std::int64_t shard_begin(Group const& group) const { return group.begin / shards_; }

  /// The stretch of `id`, or of `group`, in a buffer that holds everything.
  [[nodiscard]] program::Region place(BufferId buffer, ParameterId id) const {
    return {buffer, offset(id), parameters_->elements(id)};
  }
  [[nodiscard]] program::Region place(BufferId buffer, Group const& group) const {
    return {buffer, group.begin, group.elements};
  }
  /// The stretch of `id` in a buffer that holds its group alone.
  [[nodiscard]] program::Region place_in_group(BufferId buffer, ParameterId id) const {
    return {buffer, offset(id) - groups_[group_of(id)].begin, parameters_->elements(id)};
  }
  /// The stretch of `group` in a rank's shard buffer.
  [[nodiscard]] program::Region place_shard(BufferId buffer, Group const& group) const {
    return {buffer, shard_begin(group), shard(group)};
  }

 private:
  Parameters const* parameters_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;
  std::vector<std::int64_t> offset_;
  std::int64_t total_ = 0;
  std::int64_t shards_ = 1;
  bool pads_rows_ = false;
};

/// Buckets of whole gradients in the order in which they become ready. A bucket closes when it holds at least its
/// limit, so a tensor larger than the limit makes a larger bucket; the limit is `first` for the first bucket, then
/// `cap`. A tensor of which another stage has a copy is a bucket by itself. Source: PyTorch,
/// torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
[[nodiscard]] std::vector<std::vector<ParameterId>> bucketed(Parameters const& parameters, DataType gradient_type,
                                                             BucketLimits limits);
/// The same in another order.
[[nodiscard]] std::vector<std::vector<ParameterId>> bucketed(Parameters const& parameters,
                                                             std::span<ParameterId const> order, DataType gradient_type,
                                                             BucketLimits limits);

/// One group for each unit that has parameters, in forward order, tensors in registration order.
[[nodiscard]] std::vector<std::vector<ParameterId>> by_unit(Parameters const& parameters);

/// One group for each parameter, in the order in which gradients become ready.
[[nodiscard]] std::vector<std::vector<ParameterId>> one_by_one(Parameters const& parameters);

}  // namespace twinstep::strategies
