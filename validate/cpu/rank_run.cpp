#include "validate/cpu/rank_run.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::cpu {

RankRun::RankRun(Step& step, RankId rank)
    : step_{step},
      rank_{rank},
      role_{step.program.roles[step.program.role_of(rank).index()]},
      pool_{step.environment.pool(rank)} {
  queues_.resize(role_.streams.size());
  has_ended_.resize(role_.operations.size());
  record_.spans.resize(role_.operations.size());
  issued_on_.resize(step.program.communicators.size());
  ended_on_.resize(step.program.communicators.size());
  make_memory();
}

void RankRun::run_host() {
  for (std::size_t i = 0; i < role_.operations.size(); ++i) {
    auto const op = OpId{i};
    auto issued = issue(op);
    if (operation(op).is_on_host()) {
      execute(issued);
    } else {
      auto const lock = step_.board.lock();
      queues_[operation(op).stream.index()].push_back(std::move(issued));
      step_.board.wake(rank_.index());
    }
    release(op);
  }
  auto const lock = step_.board.lock();
  is_all_issued_ = true;
  step_.board.wake(rank_.index());
}

void RankRun::run_stream(StreamId stream) {
  auto& queue = queues_[stream.index()];
  while (true) {
    auto next = Issued{};
    {
      auto lock = step_.board.lock();
      step_.board.wait(
          lock, rank_.index(), [&] { return !queue.empty() || is_all_issued_; }, [] { return std::string{}; });
      if (queue.empty()) return;
      next = std::move(queue.front());
      queue.pop_front();
    }
    execute(next);
  }
}

RankRun::Issued RankRun::issue(OpId id) {
  auto const& op = operation(id);
  auto& span = record_.spans[id.index()];
  span.stream = op.stream;
  span.op = id;
  span.name = op.name;
  span.scope = op.scope;
  span.kind = work_kind_of(role_, op);
  span.issue = step_.clock.now();
  allocate(id);
  auto issued = Issued{id, {}, {}};
  if (auto const* communication = std::get_if<program::Communication>(&op.work)) {
    auto parts = std::vector<program::CommunicationPart const*>{};
    for (auto const& part : role_.parts_of(*communication)) {
      parts.push_back(&part);
      span.bytes += payload(step_.program, part, rank_);
    }
    issued.transfer = step_.transport.issue(rank_, parts);
    issued.turns = take_turns(*communication);
  }
  if (auto const* copy = std::get_if<program::Copy>(&op.work))
    span.bytes = Bytes{step_.program.evaluate(copy->bytes, rank_)};
  return issued;
}

std::vector<RankRun::Turn> RankRun::take_turns(program::Communication const& communication) {
  auto communicators = std::set<std::size_t>{};
  for (auto const& part : role_.parts_of(communication))
    if (auto const* collective = std::get_if<program::Collective>(&part))
      communicators.insert(collective->communicator.index());
  auto turns = std::vector<Turn>{};
  for (auto const communicator : communicators) turns.push_back({communicator, issued_on_[communicator]++});
  return turns;
}

void RankRun::execute(Issued const& issued) {
  auto const& op = operation(issued.op);
  auto& span = record_.spans[issued.op.index()];
  wait_until_ready(issued);
  span.arrive = step_.clock.now();
  span.start = span.arrive;
  if (!issued.transfer) {
    compute(op);
    span.end = step_.clock.now();
  } else {
    span.end = std::max(span.arrive, communicate(issued));
  }
  end(issued);
}

void RankRun::wait_until_ready(Issued const& issued) {
  auto const& op = operation(issued.op);
  auto lock = step_.board.lock();
  for (auto const before : role_.waits_of(op)) {
    TWINSTEP_CHECK(before < issued.op, "an operation waits for one issued earlier");
    step_.board.wait(
        lock, rank_.index(), [&] { return has_ended_[before.index()]; },
        [&] { return waits_for(op) + quoted(step_.program.describe(operation(before))); });
  }
  for (auto const& turn : issued.turns)
    step_.board.wait(
        lock, rank_.index(), [&] { return ended_on_[turn.communicator] == turn.number; },
        [&] {
          auto const& communicator = step_.program.communicators[turn.communicator];
          return fmt::format("{}the end of what it issued earlier on communicator {}", waits_for(op),
                             quoted(step_.program.text(communicator.name)));
        });
}

Time RankRun::communicate(Issued const& issued) {
  auto const& op = operation(issued.op);
  return issued.transfer->carry_out(members(op), [&](std::string_view whom) {
    return fmt::format("{}{} to come to {} {}", waits_for(op), whom, name_of(work_kind_of(role_, op)),
                       quoted(step_.program.describe(op)));
  });
}

void RankRun::end(Issued const& issued) {
  auto unused = std::vector<BufferId>{};
  {
    auto const lock = step_.board.lock();
    has_ended_[issued.op.index()] = true;
    for (auto const& turn : issued.turns) ++ended_on_[turn.communicator];
    for (auto const buffer : buffers_of(issued.op))
      if (--users_left_[buffer.index()] == 0) unused.push_back(buffer);
    step_.board.wake(rank_.index());
  }
  // Nobody else touches these any more. Persistent ones live in the environment.
  for (auto const buffer : unused)
    if (auto& storage = storage_[buffer.index()]) pool_.give_back(std::move(*storage));
}

std::string RankRun::waits_for(program::Operation const& op) const {
  auto const where = op.is_on_host() ? std::string{"on the host"}
                                     : "in stream " + quoted(step_.program.text(role_.streams[op.stream.index()].name));
  return fmt::format("rank {} waits {} for ", rank_.index(), where);
}

}  // namespace twinstep::cpu
