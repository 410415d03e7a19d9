#include "explore/plan/program_sheet.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "explore/plan/work_terms.hpp"
#include "sim/collectives/folded.hpp"

namespace twinstep::explore::plan {
namespace {

using namespace program;

bool is_matrix_work(Operation const& op) {
  return std::holds_alternative<Gemm>(op.work) || std::holds_alternative<Attention>(op.work);
}

/// Where the operations of each micro-batch have the model's kernels around them.
class Passes {
 public:
  explicit Passes(StepProgram const& program) : program_{program} {
    auto const& operations = program.roles.front().operations;
    is_covered_.resize(operations.size());
    auto before = Pass::kBackward;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto const now = of(operations[i]);
      if (before != Pass::kForward && now == Pass::kForward) has_begun_ = false;
      if (is_matrix_work(operations[i])) cover_up_to(i);
      before = now;
    }
  }

  [[nodiscard]] Pass of(Operation const& op) const {
    if (!op.scope.exists()) return Pass::kForward;
    auto const pass = program_.pass_of(op.scope);
    return pass == Pass::kNone ? Pass::kUpdate : pass;
  }
  /// Whether it lies between the first and the last matrix product of a micro-batch.
  [[nodiscard]] bool is_covered(std::size_t op) const { return is_covered_[op]; }
  /// The first kernel of the last backward, the loss's: everything kept lives then.
  [[nodiscard]] std::size_t turn(Role const& role) const {
    auto turn = role.operations.size();
    auto before = Pass::kForward;
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      if (role.operations[i].is_on_host() || role.operations[i].stream.index() != 0) continue;
      auto const now = of(role.operations[i]);
      if (before == Pass::kForward && goes_back(now)) turn = i;
      before = now;
    }
    return turn;
  }

 private:
  void cover_up_to(std::size_t op) {
    if (has_begun_)
      for (auto i = latest_ + 1; i <= op; ++i) is_covered_[i] = true;
    has_begun_ = true;
    latest_ = op;
  }

  StepProgram const& program_;
  std::vector<bool> is_covered_;
  bool has_begun_ = false;
  std::size_t latest_ = 0;
};

class Adding {
 public:
  Adding(StepProgram const& program, engine::Machine const& machine, CollectiveTimes& known)
      : program_{program}, role_{program.roles.front()}, machine_{machine}, passes_{program}, known_{known} {}

  ProgramSums sums() {
    for (std::size_t i = 0; i < role_.operations.size(); ++i)
      if (!role_.operations[i].is_on_host()) add(i);
    add_memory();
    return sums_;
  }

 private:
  /// The first stream is compute (strategies/compile.cpp makes it first).
  [[nodiscard]] static bool is_on_compute(Operation const& op) { return op.stream.index() == 0; }
  [[nodiscard]] std::int64_t value(RankValue number) const { return program_.evaluate(number, RankId{0}); }

  void add(std::size_t index) {
    auto const& op = role_.operations[index];
    auto const pass = passes_.of(op);
    auto const& host = machine_.cluster().node().host;
    auto const* communication = std::get_if<Communication>(&op.work);
    auto const launch = communication != nullptr ? host.communication_launch.value : host.launch.value;
    sums_.sheet.at(pass, Part::kHost) += to_seconds(launch).count() * op.launches;
    auto const is_beside = !is_on_compute(op) && pass != Pass::kUpdate && passes_.is_covered(index);
    if (communication != nullptr)
      add(*communication, pass, is_beside);
    else if (auto const* copy = std::get_if<Copy>(&op.work);
             copy != nullptr && pass == Pass::kUpdate && rate_to_drives(*copy))
      sums_.sheet.at(pass, copy->direction == CopyDirection::kHostToNvme ? Part::kWritten : Part::kRead) +=
          seconds(*copy);
    else if (copy != nullptr)
      sums_.sheet.at(pass, is_beside ? Part::kCopies : Part::kExposed) += seconds(*copy);
    else if (role_.streams[op.stream.index()].is_on_host)
      sums_.sheet.at(pass, is_beside ? Part::kCopies : Part::kExposed) += host_seconds(op);
    else
      sums_.sheet.at(pass, is_on_compute(op) ? Part::kCompute
                           : is_beside       ? Part::kCopies
                                             : Part::kExposed) += kernel_seconds(op.work, elements(op), 0, machine_);
  }

  [[nodiscard]] std::int64_t elements(Operation const& op) const {
    auto const* elementwise = std::get_if<Elementwise>(&op.work);
    return elementwise != nullptr ? value(elementwise->elements) : 0;
  }
  [[nodiscard]] double seconds(Copy const& copy) const {
    auto const rate = copy.direction == CopyDirection::kDeviceToDevice
                          ? machine_.cluster().node().gpu.memory_bandwidth.value * 0.5
                          : rate_to_drives(copy).value_or(host_copy_rate_);
    return static_cast<double>(value(copy.bytes)) / rate.count();
  }
  /// A rank's share of the drives' rate, for copies to or from them.
  [[nodiscard]] std::optional<BytesPerSecond> rate_to_drives(Copy const& copy) const {
    auto const& node = machine_.cluster().node();
    auto const reads = copy.direction == CopyDirection::kNvmeToHost;
    if (!node.drives || (!reads && copy.direction != CopyDirection::kHostToNvme)) return std::nullopt;
    auto const ranks = static_cast<double>(node.gpus_on_host());
    return (reads ? node.drives->read.value : node.drives->write.value) * (1 / ranks);
  }
  [[nodiscard]] double host_seconds(Operation const& op) const {
    auto const* elementwise = std::get_if<Elementwise>(&op.work);
    if (elementwise == nullptr) return 0;
    auto const& node = machine_.cluster().node();
    return static_cast<double>(value(elementwise->elements) * elementwise->bytes_per_element * node.gpus_on_host()) /
           (node.host.memory_bandwidth.value.count() * node.host.memory_efficiency.value);
  }

  void add(Communication const& communication, Pass pass, bool is_beside) {
    for (auto const& part : role_.parts_of(communication)) {
      auto const* collective = std::get_if<Collective>(&part);
      if (collective == nullptr) continue;
      auto const& alone = time_alone(*collective, payload(program_, part, RankId{0}));
      auto const where = !is_beside ? Part::kExposed : alone.leaves_node ? Part::kBetween : Part::kInside;
      sums_.sheet.at(pass, where) += alone.seconds;
      sums_.held_sms = std::max(sums_.held_sms, alone.channels);
    }
  }
  CollectiveTime const& time_alone(Collective const& collective, Bytes size) {
    auto const along = program_.communicators[collective.communicator.index()].along;
    auto const layout = collectives::layout_of(program_.grids, along, RankId{0}, machine_.topology().gpus_per_node());
    auto const [entry, is_new] =
        known_.try_emplace({collective.kind, collective.reduction, collective.type, size, layout.ranks, layout.nodes(),
                            layout.node_stride, layout.gpu_stride, layout.groups_per_node});
    if (!is_new) return entry->second;
    auto const question = collectives::Question{collective.kind, size, collective.reduction, collective.type, {}};
    auto const folded = collectives::fold(question, layout, machine_.cluster(), machine_.topology());
    entry->second = {to_seconds(collectives::time_alone(folded, machine_.topology())).count(), layout.nodes() > 1,
                     folded.channels};
    return entry->second;
  }

  [[nodiscard]] double bytes(Buffer const& buffer) const {
    return static_cast<double>((size_of(buffer.type) * value(buffer.elements)).count());
  }
  /// What lives, by the order of issue.
  void add_memory() {
    auto const turn = passes_.turn(role_);
    auto change = std::vector<double>(role_.operations.size() + 1);
    for (auto const& buffer : role_.buffers) {
      using enum MemoryCategory;
      if (buffer.is_persistent && buffer.space == MemorySpace::kHost) sums_.held.on_host += bytes(buffer);
      if (buffer.is_persistent && buffer.space == MemorySpace::kNvme) sums_.held.on_nvme += bytes(buffer);
      if (buffer.space != MemorySpace::kDevice || buffer.category == kActivations || buffer.category == kLogits ||
          buffer.category == kInputs)
        continue;
      if (buffer.is_persistent) sums_.held.always += bytes(buffer);
      if (buffer.is_persistent || !buffer.first_use.exists()) continue;
      auto const lives_at_turn = buffer.first_use.index() < turn && turn <= buffer.last_use.index();
      if (buffer.category == kWorkspace && lives_at_turn) {
        sums_.held.casts += bytes(buffer);
        continue;
      }
      change[buffer.first_use.index()] += bytes(buffer);
      change[buffer.last_use.index() + 1] -= bytes(buffer);
    }
    auto live = 0.0;
    for (std::size_t i = 0; i < role_.operations.size(); ++i) {
      live += change[i];
      if (i == turn) sums_.held.at_turn = live;
      sums_.held.at_most = std::max(sums_.held.at_most, live);
    }
    auto const groups = std::ranges::count_if(
        program_.communicators, [&](Communicator const& each) { return program_.grids.size(each.along) > 1; });
    sums_.held.always += static_cast<double>((machine_.cluster().library.buffers.value * groups).count()) +
                         static_cast<double>(machine_.cluster().node().gpu.context_memory.value.count());
  }

  StepProgram const& program_;
  Role const& role_;
  engine::Machine const& machine_;
  Passes passes_;
  BytesPerSecond host_copy_rate_ = host_copy_rate(machine_);
  CollectiveTimes& known_;
  ProgramSums sums_;
};

}  // namespace

ProgramSums add_up(StepProgram const& program, engine::Machine const& machine, CollectiveTimes& known) {
  return Adding{program, machine, known}.sums();
}

}  // namespace twinstep::explore::plan
