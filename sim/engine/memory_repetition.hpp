#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/allocator_replay.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::engine {

/// Which of a cell's events happen again where micro-batches are left out, and moves the events behind them to when
/// they happen in the whole step. Nothing unless the events of the micro-batch that stands for others and those of the
/// next are alike, give back as much as they take, and stay in their order when those behind move. Cost: linear.
[[nodiscard]] std::optional<RepeatedEvents> repeat_events(program::Role const& role, std::span<Bytes const> sizes,
                                                          Repetition const& repetition, std::size_t cell,
                                                          std::vector<BufferEvent>& events);

}  // namespace twinstep::engine
