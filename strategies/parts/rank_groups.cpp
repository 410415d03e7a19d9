#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

using program::Axis;
using program::AxisSet;

RankGroups::RankGroups(std::int64_t ranks, std::int64_t shard) : ranks_{ranks}, shard_{shard} {}

program::Mesh RankGroups::mesh() const {
  if (is_one_group()) return program::Mesh{{{Axis::kData, ranks_}}};
  return program::Mesh{{{Axis::kReplicate, replicas()}, {Axis::kShard, shard_}}};
}

AxisSet RankGroups::shard_axes() const {
  return is_one_group() ? AxisSet{Axis::kData} : AxisSet{Axis::kShard};
}

AxisSet RankGroups::all_axes() const {
  return is_one_group() ? AxisSet{Axis::kData} : AxisSet{Axis::kReplicate, Axis::kShard};
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
  if (!replicate_.exists()) replicate_ = program.communicator("replicate", {Axis::kReplicate});
  return replicate_;
}

}  // namespace twinstep::strategies
