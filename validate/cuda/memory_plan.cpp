#include <algorithm>
#include <cstdint>
#include <list>

#include "validate/cuda/rank_run.hpp"

namespace twinstep::cuda {
namespace {

/// By stream: how many of the role's operations, in list order, may matter: those before it and it.
using Moment = std::vector<std::size_t>;

void join(Moment& moment, Moment const& other) {
  for (std::size_t i = 0; i < moment.size(); ++i) moment[i] = std::max(moment[i], other[i]);
}
bool is_after(Moment const& moment, Moment const& last) {
  for (std::size_t i = 0; i < moment.size(); ++i)
    if (last[i] > moment[i]) return false;
  return true;
}

/// What is known to have ended when an operation runs. See sim/program/races.hpp for the same order.
class Order {
 public:
  explicit Order(program::Role const& role)
      : role_{role},
        none_(role.streams.size()),
        of_(role.operations.size(), none_),
        streams_(role.streams.size(), none_),
        host_{none_} {}

  Moment const& issue(OpId id) {
    auto const& op = role_.operations[id.index()];
    auto& moment = of_[id.index()];
    moment = host_;
    if (!op.is_on_host()) join(moment, streams_[op.stream.index()]);
    for (auto const before : role_.waits_of(op)) join(moment, of_[before.index()]);
    if (op.is_on_host()) {
      host_ = moment;
    } else {
      moment[op.stream.index()] = id.index() + 1;
      streams_[op.stream.index()] = moment;
    }
    return moment;
  }

 private:
  program::Role const& role_;
  Moment none_;
  std::vector<Moment> of_;
  std::vector<Moment> streams_;
  Moment host_;
};

/// One piece of memory that grows as needed.
class Arena {
 public:
  Bytes take(Bytes size, Moment const& now) {
    if (size == Bytes{}) return Bytes{};
    auto first = free_.begin();  // of a run of neighbours that can be reused
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (!is_after(now, it->last)) {
        first = std::next(it);
        continue;
      }
      if (it != first && std::prev(it)->end() != it->offset) first = it;
      if (it->end() - first->offset < size) continue;
      return cut(first, std::next(it), size);
    }
    auto const at_end = first != free_.end() && free_.back().end() == size_;
    auto const offset = at_end ? first->offset : size_;
    if (at_end) free_.erase(first, free_.end());
    size_ = offset + size;
    return offset;
  }

  void give_back(Bytes offset, Bytes size, Moment const& last) {
    if (size == Bytes{}) return;
    auto const next = std::ranges::find_if(free_, [&](Piece const& piece) { return piece.offset > offset; });
    free_.insert(next, {offset, size, last});
  }

  [[nodiscard]] Bytes size() const { return size_; }

 private:
  struct Piece {
    Bytes offset;
    Bytes size;
    Moment last;  // who used it
    [[nodiscard]] Bytes end() const { return offset + size; }
  };

  /// Takes `size` from the pieces [first, last), which are neighbours and just large enough.
  Bytes cut(std::list<Piece>::iterator first, std::list<Piece>::iterator last, Bytes size) {
    auto const offset = first->offset;
    auto rest = *std::prev(last);
    rest.size = rest.end() - (offset + size);
    rest.offset = offset + size;
    auto const next = free_.erase(first, last);
    if (rest.size > Bytes{}) free_.insert(next, rest);
    return offset;
  }

  std::list<Piece> free_;  // by address
  Bytes size_;
};

class Planner {
 public:
  Planner(program::StepProgram const& program, program::Role const& role, RankId rank)
      : program_{program},
        role_{role},
        rank_{rank},
        order_{role},
        last_(role.buffers.size(), Moment(role.streams.size())) {
    plan_.offsets.resize(role.buffers.size());
  }

  MemoryPlan run() {
    for (std::size_t i = 0; i < role_.buffers.size(); ++i)
      if (is_input(i)) plan_.offsets[i] = arena(i).take(size(i), {});
    for (std::size_t i = 0; i < role_.operations.size(); ++i) {
      auto const& now = order_.issue(OpId{i});
      auto const accesses = role_.accesses_of(role_.operations[i]);
      for (auto const& access : accesses) begin(access.region.buffer.index(), OpId{i}, now);
      for (auto const& access : accesses) end(access.region.buffer.index(), OpId{i});
    }
    plan_.device = device_.size();
    plan_.host = host_.size();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_input(std::size_t buffer) const {
    return !role_.buffers[buffer].is_persistent && role_.buffers[buffer].category == program::MemoryCategory::kInputs;
  }
  [[nodiscard]] bool moves(std::size_t buffer) const {
    return !role_.buffers[buffer].is_persistent && !is_input(buffer);
  }
  [[nodiscard]] Bytes size(std::size_t buffer) const {
    constexpr std::int64_t kAlignment = 256;
    auto const& b = role_.buffers[buffer];
    return Bytes{round_up((size_of(b.type) * program_.evaluate(b.elements, rank_)).count(), kAlignment)};
  }
  [[nodiscard]] Arena& arena(std::size_t buffer) {
    return role_.buffers[buffer].space == program::MemorySpace::kDevice ? device_ : host_;
  }

  void begin(std::size_t buffer, OpId op, Moment const& now) {
    if (!moves(buffer)) return;
    if (role_.buffers[buffer].first_use == op && is_unplaced(buffer))
      plan_.offsets[buffer] = arena(buffer).take(size(buffer), now);
    auto const& operation = role_.operations[op.index()];
    if (!operation.is_on_host()) last_[buffer][operation.stream.index()] = op.index() + 1;
  }
  /// An operation may name a buffer several times.
  [[nodiscard]] bool is_unplaced(std::size_t buffer) const {
    return std::ranges::all_of(last_[buffer], [](std::size_t last) { return last == 0; });
  }
  void end(std::size_t buffer, OpId op) {
    if (!moves(buffer) || role_.buffers[buffer].last_use != op || is_unplaced(buffer)) return;
    arena(buffer).give_back(plan_.offsets[buffer], size(buffer), last_[buffer]);
    std::ranges::fill(last_[buffer], 0);
  }

  program::StepProgram const& program_;
  program::Role const& role_;
  RankId rank_;
  Order order_;
  std::vector<Moment> last_;  // by buffer: who has used it
  MemoryPlan plan_;
  Arena device_;
  Arena host_;
};

}  // namespace

MemoryPlan plan_memory(program::StepProgram const& program, program::Role const& role, RankId rank) {
  return Planner{program, role, rank}.run();
}

}  // namespace twinstep::cuda
