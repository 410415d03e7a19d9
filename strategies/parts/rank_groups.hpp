#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "sim/program/builder.hpp"

namespace twinstep::strategies {

/// The ranks that a parameter set is shared by, as groups: all of them, those that share one copy of the states, and
/// those that hold the same shard of different copies. A communicator is made when it is first asked for; where states
/// are sharded over all ranks, the shard group is all of them.
class RankGroups {
 public:
  using Axes = std::initializer_list<std::string_view>;

  /// Of a job whose ranks are all data-parallel: neighbours share states, `shard` of them, which must divide `ranks`.
  RankGroups(std::int64_t ranks, std::int64_t shard);
  /// Of a job one of whose grids is `grid`, its number `id`: the ranks along `replicate` and `shard`, one of which may
  /// be empty. Communicators have `prefix` before their names.
  RankGroups(program::Grid grid, program::GridId id, Axes replicate, Axes shard, std::string prefix = "");

  [[nodiscard]] program::Grid const& grid() const { return grid_; }
  [[nodiscard]] std::int64_t ranks() const { return grid_.size(all_axes().axes); }
  [[nodiscard]] std::int64_t shard_ranks() const { return grid_.size(shard_axes().axes); }
  [[nodiscard]] std::int64_t replicas() const { return ranks() / shard_ranks(); }
  /// Axes along which the ranks of a shard group are counted, and those of all ranks.
  [[nodiscard]] program::GridAxes shard_axes() const {
    return is_one_group() ? all_axes() : program::GridAxes{id_, shard_axes_};
  }
  [[nodiscard]] program::GridAxes all_axes() const { return {id_, replicate_axes_.united_with(shard_axes_)}; }

  [[nodiscard]] CommunicatorId all(program::ProgramBuilder& program);
  [[nodiscard]] CommunicatorId shard(program::ProgramBuilder& program);
  [[nodiscard]] CommunicatorId replicate(program::ProgramBuilder& program);

 private:
  [[nodiscard]] bool is_one_group() const { return replicate_axes_.empty() || shard_axes_.empty(); }

  program::Grid grid_;
  program::GridId id_;
  program::AxisSet replicate_axes_;
  program::AxisSet shard_axes_;
  std::string prefix_;
  CommunicatorId all_;
  CommunicatorId shard_group_;
  CommunicatorId replicate_;
};

}  // namespace twinstep::strategies
