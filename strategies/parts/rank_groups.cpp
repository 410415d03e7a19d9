#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

using program::Grid;
using program::GridAxes;

RankGroups::RankGroups(std::int64_t ranks, std::int64_t shard)
    : ranks_{ranks},
      shard_{shard},
      grid_{is_one_group() ? Grid{{{"data", ranks}}} : Grid{{{"replicate", replicas()}, {"shard", shard}}}} {}

GridAxes RankGroups::shard_axes() const {
  return {program::GridId{0}, is_one_group() ? grid_.along({"data"}) : grid_.along({"shard"})};
}

GridAxes RankGroups::all_axes() const {
  return {program::GridId{0}, is_one_group() ? grid_.along({"data"}) : grid_.along({"replicate", "shard"})};
}

CommunicatorId RankGroups::all(program::ProgramBuilder& program) {
  if (!all_.exists()) all_ = program.communicator("data", all_axes());
  return all_;
}

CommunicatorId RankGroups::shard(program::ProgramBuilder& program) {
  if (is_one_group()) return all(program);
  if (!shard_group_.exists()) shard_group_ = program.communicator("shard", shard_axes());
  return shard_group_;
}

CommunicatorId RankGroups::replicate(program::ProgramBuilder& program) {
  if (!replicate_.exists()) replicate_ = program.communicator("replicate", {"replicate"});
  return replicate_;
}

}  // namespace twinstep::strategies
