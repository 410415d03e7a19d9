#include "sim/engine/memory_ledger.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace twinstep::engine {

using namespace program;
using timeline::MemorySample;

MemoryLedger::MemoryLedger(StepProgram const& program, Role const& role, RankId rank, timeline::TrackId track,
                           Machine const& machine)
    : program_{&program}, role_{&role}, rank_{rank}, track_{track} {
  by_host_.reserve(2 * role.buffers.size() + 16);
  auto persistent = std::array<std::array<Bytes, kEnumSize<MemorySpace>>, kEnumSize<MemoryCategory>>{};
  for (auto const& buffer : role.buffers)
    if (buffer.is_persistent)
      persistent[static_cast<std::size_t>(buffer.category)][static_cast<std::size_t>(buffer.space)] += size(buffer);
  auto const device = static_cast<std::size_t>(MemorySpace::kDevice);
  auto const& cluster = machine.cluster();
  persistent[static_cast<std::size_t>(MemoryCategory::kContext)][device] += cluster.node.gpu.context_memory.value;
  for (auto const& communicator : program.communicators)
    if (program.mesh.size(communicator.axes) > 1)
      persistent[static_cast<std::size_t>(MemoryCategory::kCollectiveLibrary)][device] +=
          cluster.collectives.buffers.value;

  for (std::size_t c = 0; c < persistent.size(); ++c)
    for (std::size_t s = 0; s < persistent[c].size(); ++s)
      if (persistent[c][s] > Bytes{})
        by_host_.push_back(
            {track, Time{}, static_cast<MemoryCategory>(c), static_cast<MemorySpace>(s), persistent[c][s]});
}

Bytes MemoryLedger::size(Buffer const& buffer) const {
  return size_of(buffer.type) * program_->evaluate(buffer.elements, rank_);
}

void MemoryLedger::enter(std::vector<MemorySample>& samples, Buffer const& buffer, Time now, bool is_taken) {
  auto const bytes = size(buffer);
  if (bytes == Bytes{}) return;
  samples.push_back({track_, now, buffer.category, buffer.space, is_taken ? bytes : -bytes});
}

namespace {

/// An operation may name one buffer several times, in several regions; only its first mention counts.
bool is_first_mention(std::span<Access const> accesses, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j)
    if (accesses[j].region.buffer == accesses[i].region.buffer) return false;
  return true;
}

}  // namespace

void MemoryLedger::on_issue(OpId op, std::span<Access const> accesses, Time now) {
  for (auto const is_taken : {true, false}) {
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      auto const& buffer = role_->buffers[accesses[i].region.buffer.index()];
      auto const is_due = is_taken ? buffer.first_use == op : buffer.last_use == op && !buffer.crosses_streams;
      if (is_due && !buffer.is_persistent && is_first_mention(accesses, i)) enter(by_host_, buffer, now, is_taken);
    }
  }
}

void MemoryLedger::on_end(OpId op, std::span<Access const> accesses, Time now) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    auto const& buffer = role_->buffers[accesses[i].region.buffer.index()];
    auto const is_due = buffer.last_use == op && buffer.crosses_streams;
    if (is_due && !buffer.is_persistent && is_first_mention(accesses, i)) enter(by_device_, buffer, now, false);
  }
}

void MemoryLedger::append_to(std::vector<MemorySample>& samples) const {
  std::ranges::merge(by_host_, by_device_, std::back_inserter(samples), {}, &MemorySample::time, &MemorySample::time);
}

}  // namespace twinstep::engine
