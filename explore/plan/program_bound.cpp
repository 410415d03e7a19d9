#include <algorithm>
#include <vector>

#include "explore/plan/alone.hpp"
#include "explore/plan/bound.hpp"

namespace twinstep::explore::plan {
namespace {

using namespace program;

/// Walks the operations of rank 0 in the order of issue, by the rules of the engine's host and streams.
class CriticalPath {
 public:
  CriticalPath(StepProgram const& program, engine::Machine const& machine, bool communication_is_free)
      : program_{program},
        role_{program.roles.front()},
        alone_{program, machine, communication_is_free},
        streams_(role_.streams.size()),
        communicator_free_(program.communicators.size()),
        end_(role_.operations.size()) {}

  Duration length() {
    for (std::size_t i = 0; i < role_.operations.size(); ++i) {
      auto const& op = role_.operations[i];
      end_[i] = op.is_on_host() ? work_on_host(op) : run(op);
      longest_ = std::max(longest_, end_[i]);
    }
    return longest_;
  }

 private:
  struct StreamState {
    Duration free;           // from then on
    Duration of_one;         // what the micro-batch takes of it that stands for others
    bool is_behind = false;  // the others
  };

  /// All that it waits for, from `earliest` on.
  [[nodiscard]] Duration ready(Operation const& op, Duration earliest) const {
    for (auto const wait : role_.waits_of(op)) earliest = std::max(earliest, end_[wait.index()]);
    return earliest;
  }
  Duration work_on_host(Operation const& op) {
    return host_time_ = ready(op, host_time_) + std::get<Delay>(op.work).duration;
  }

  Duration run(Operation const& op) {
    auto const* communication = std::get_if<Communication>(&op.work);
    auto const issue = alone_.issue(op);
    auto& stream = streams_[op.stream.index()];
    let_further_pass(op, stream);
    host_time_ += issue;
    auto const begin = ready(op, std::max(host_time_, stream.free));
    auto const end = communication != nullptr ? meet(*communication, begin) : begin + alone_.operation(op);
    if (program_.repeat && micro_batch(op) == program_.repeat->micro_batch) {
      host_of_one_ += issue;
      stream.of_one += end - begin;
    }
    return stream.free = end;
  }

  /// Before the micro-batch that follows those that are not written, they pass: whatever else happens, each takes of
  /// the host and of a stream what the one does that stands for them.
  void let_further_pass(Operation const& op, StreamState& stream) {
    if (!program_.repeat || micro_batch(op) <= program_.repeat->micro_batch) return;
    if (!host_is_behind_) host_time_ += host_of_one_ * program_.repeat->times;
    if (!stream.is_behind) stream.free += stream.of_one * program_.repeat->times;
    host_is_behind_ = stream.is_behind = true;
  }
  [[nodiscard]] std::int32_t micro_batch(Operation const& op) const {
    return op.scope.exists() ? program_.scopes[op.scope.index()].micro_batch : Scope::kNoMicroBatch;
  }

  /// Collectives of one communicator run one after another.
  Duration meet(Communication const& communication, Duration begin) {
    if (alone_.communication_is_free()) return begin;
    auto end = begin;
    for (auto const& part : role_.parts_of(communication)) {
      auto const communicator = std::visit([](auto const& each) { return each.communicator; }, part);
      auto& free = communicator_free_[communicator.index()];
      free = std::max(begin, free) + alone_.part(part);
      end = std::max(end, free);
    }
    return end;
  }

  StepProgram const& program_;
  Role const& role_;
  Alone alone_;
  std::vector<StreamState> streams_;
  std::vector<Duration> communicator_free_;
  std::vector<Duration> end_;  // by operation
  Duration host_time_;
  Duration host_of_one_;
  bool host_is_behind_ = false;
  Duration longest_;
};

}  // namespace

Bound program_bound(StepProgram const& program, engine::Machine const& machine, bool communication_is_free) {
  auto const held = Held{program}.most();
  auto const in = [&](MemorySpace space) { return held[static_cast<std::size_t>(space)]; };
  return {CriticalPath{program, machine, communication_is_free}.length(),
          in(MemorySpace::kDevice) + held_beside(program, machine), in(MemorySpace::kHost), in(MemorySpace::kNvme)};
}

}  // namespace twinstep::explore::plan
