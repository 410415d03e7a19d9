#include "sim/engine/memory_ledger.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace twinstep::engine {

using namespace program;
using timeline::MemorySample;

void MemoryLedger::BuffersOf::add(OpId op, std::size_t buffer) {
  next_[buffer] = first_[op.index()];
  first_[op.index()] = static_cast<std::uint32_t>(buffer);
}

MemoryLedger::MemoryLedger(StepProgram const& program, Role const& role, RankId rank, timeline::TrackId track,
                           Machine const& machine)
    : program_{&program},
      role_{&role},
      rank_{rank},
      track_{track},
      taken_by_{role.operations.size(), role.buffers.size()},
      given_back_by_issue_{role.operations.size(), role.buffers.size()},
      given_back_by_end_{role.operations.size(), role.buffers.size()} {
  by_host_.reserve(2 * role.buffers.size() + kEnumSize<MemoryCategory>);
  enter_persistent(machine);
  for (std::size_t i = 0; i < role.buffers.size(); ++i) {
    auto const& buffer = role.buffers[i];
    if (buffer.is_persistent || !buffer.first_use.exists()) continue;
    taken_by_.add(buffer.first_use, i);
    (buffer.crosses_streams ? given_back_by_end_ : given_back_by_issue_).add(buffer.last_use, i);
  }
}

void MemoryLedger::enter_persistent(Machine const& machine) {
  auto held = std::array<std::array<Bytes, kEnumSize<MemorySpace>>, kEnumSize<MemoryCategory>>{};
  auto const at = [&](MemoryCategory category, MemorySpace space) -> Bytes& {
    return held[static_cast<std::size_t>(category)][static_cast<std::size_t>(space)];
  };
  for (auto const& buffer : role_->buffers)
    if (buffer.is_persistent) at(buffer.category, buffer.space) += size(buffer);
  auto const& cluster = machine.cluster();
  at(MemoryCategory::kContext, MemorySpace::kDevice) += cluster.node.gpu.context_memory.value;
  for (auto const& communicator : program_->communicators)
    if (program_->mesh.size(communicator.axes) > 1)
      at(MemoryCategory::kCollectiveLibrary, MemorySpace::kDevice) += cluster.library.buffers.value;

  for (std::size_t c = 0; c < held.size(); ++c)
    for (std::size_t s = 0; s < held[c].size(); ++s)
      if (held[c][s] > Bytes{})
        by_host_.push_back({track_, Time{}, static_cast<MemoryCategory>(c), static_cast<MemorySpace>(s), held[c][s]});
}

Bytes MemoryLedger::size(Buffer const& buffer) const {
  return size_of(buffer.type) * program_->evaluate(buffer.elements, rank_);
}

MemorySample MemoryLedger::sample(std::uint32_t index, Time now, bool is_taken) const {
  auto const& buffer = role_->buffers[index];
  return {track_, now, buffer.category, buffer.space, is_taken ? size(buffer) : -size(buffer)};
}

void MemoryLedger::on_issue(OpId op, Time now) {
  taken_by_.for_each(op, [&](std::uint32_t buffer) { by_host_.push_back(sample(buffer, now, true)); });
  given_back_by_issue_.for_each(op, [&](std::uint32_t buffer) { by_host_.push_back(sample(buffer, now, false)); });
}

void MemoryLedger::on_end(OpId op, Time now) {
  given_back_by_end_.for_each(op, [&](std::uint32_t buffer) { by_device_.push_back(sample(buffer, now, false)); });
}

void MemoryLedger::append_to(std::vector<MemorySample>& samples) const {
  samples.reserve(samples.size() + by_host_.size() + by_device_.size());
  std::ranges::merge(by_host_, by_device_, std::back_inserter(samples), {}, &MemorySample::time, &MemorySample::time);
}

}  // namespace twinstep::engine
