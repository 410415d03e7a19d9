#include "strategies/parts/rank_groups.hpp"

#include <utility>

namespace twinstep::strategies {
namespace {

using program::Grid;
using program::GridAxes;
using program::GridId;

Grid data_grid(std::int64_t ranks, std::int64_t shard) {
  return shard == ranks ? Grid{{{"data", ranks}}} : Grid{{{"replicate", ranks / shard}, {"shard", shard}}};
}

}  // namespace

RankGroups::RankGroups(std::int64_t ranks, std::int64_t shard)
    : RankGroups{data_grid(ranks, shard), GridId{0}, {}, {}} {
  if (shard == ranks) {
    shard_axes_ = grid_.along({"data"});
  } else {
    replicate_axes_ = grid_.along({"replicate"});
    shard_axes_ = grid_.along({"shard"});
  }
}

RankGroups::RankGroups(Grid grid, GridId id, Axes replicate, Axes shard, std::string prefix)
    : grid_{std::move(grid)},
      id_{id},
      replicate_axes_{grid_.along(replicate)},
      shard_axes_{grid_.along(shard)},
      prefix_{std::move(prefix)} {}

CommunicatorId RankGroups::all(program::ProgramBuilder& program) {
  if (!all_.exists()) all_ = program.communicator(prefix_ + "data", all_axes());
  return all_;
}

CommunicatorId RankGroups::shard(program::ProgramBuilder& program) {
  if (is_one_group()) return all(program);
  if (!shard_group_.exists()) shard_group_ = program.communicator(prefix_ + "shard", shard_axes());
  return shard_group_;
}

CommunicatorId RankGroups::replicate(program::ProgramBuilder& program) {
  if (!replicate_.exists()) replicate_ = program.communicator(prefix_ + "replicate", GridAxes{id_, replicate_axes_});
  return replicate_;
}

}  // namespace twinstep::strategies
