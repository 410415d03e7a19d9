#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "explore/plan/bound.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/engine/host_paths.hpp"
#include "sim/program/projection.hpp"

namespace twinstep::explore::plan {
namespace {

using namespace program;

constexpr auto kRank = RankId{0};
constexpr auto kCell = CellId{0};  // of rank 0, the lowest of all

/// What each operation of rank 0 takes when nothing else runs.
class Alone {
 public:
  Alone(StepProgram const& program, engine::Machine const& machine)
      : program_{program}, machine_{machine}, cells_{program}, host_paths_{program, cells_, machine} {}

  [[nodiscard]] Duration kernel(Role const& role, Operation const& op) const {
    auto const* elementwise = std::get_if<Elementwise>(&op.work);
    auto const elements = elementwise != nullptr ? program_.evaluate(elementwise->elements, kRank) : 0;
    if (role.streams[op.stream.index()].is_on_host) return host_kernel(elements * elementwise->bytes_per_element);
    auto const demand = machine_.kernels().demand(op.work, elements, 0);
    return demand.start + std::max(demand.compute, transfer_time(demand.memory, hbm()));
  }
  [[nodiscard]] Duration copy(Copy const& copy) const {
    auto const bytes = program_.evaluate(copy.bytes, kRank);
    auto const is_inside = copy.direction == CopyDirection::kDeviceToDevice;
    auto time = is_inside ? transfer_time(Bytes{2 * bytes}, hbm()) : Duration{};
    if (!is_inside && bytes > 0)
      for (auto const& hop : host_paths_.of(copy.direction, kCell)) time = std::max(time, on(hop, bytes));
    return machine_.cluster().node().gpu.kernel_start.value + time;
  }
  [[nodiscard]] Duration collective(CommunicationPart const& part) {
    auto const* asked = std::get_if<Collective>(&part);
    if (asked == nullptr) return {};  // a message may take no time at all, for what is known of its other end
    auto const size = payload(program_, part, kRank);
    auto const [entry, is_new] =
        collectives_.try_emplace({asked->kind, asked->reduction, asked->type, size, asked->communicator});
    if (!is_new) return entry->second;
    auto const along = program_.communicators[asked->communicator.index()].along;
    auto const layout = collectives::layout_of(program_.grids, along, kRank, machine_.topology().gpus_per_node());
    auto const question = collectives::Question{asked->kind, size, asked->reduction, asked->type, {}};
    return entry->second = collectives::time_alone(
               collectives::fold(question, layout, machine_.cluster(), machine_.topology()), machine_.topology());
  }

 private:
  [[nodiscard]] BytesPerSecond hbm() const { return machine_.cluster().node().gpu.memory_bandwidth.value; }
  [[nodiscard]] Duration on(engine::HostPaths::Hop const& hop, std::int64_t bytes) const {
    return transfer_time(to_bytes(static_cast<double>(bytes) * hop.weight),
                         machine_.topology().resource(hop.resource).bandwidth);
  }
  [[nodiscard]] Duration host_kernel(std::int64_t bytes) const {
    if (bytes == 0) return {};
    auto const reached = machine_.cluster().node().host.memory_efficiency.value;
    return on(host_paths_.memory(kCell), to_bytes(static_cast<double>(bytes) / reached).count());
  }

  StepProgram const& program_;
  engine::Machine const& machine_;
  Projection cells_;
  engine::HostPaths host_paths_;
  std::map<std::tuple<CollectiveKind, Reduction, DataType, Bytes, CommunicatorId>, Duration> collectives_;
};

/// Walks the operations of rank 0 in the order of issue, by the rules of the engine's host and streams.
class CriticalPath {
 public:
  CriticalPath(StepProgram const& program, engine::Machine const& machine, bool communication_is_free)
      : program_{program},
        role_{program.roles.front()},
        host_{machine.cluster().node().host},
        communication_is_free_{communication_is_free},
        alone_{program, machine},
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
    auto const launch = communication != nullptr ? host_.communication_launch.value : host_.launch.value;
    auto const issue = launch * static_cast<std::int64_t>(op.launches);
    auto& stream = streams_[op.stream.index()];
    let_further_pass(op, stream);
    host_time_ += issue;
    auto const begin = ready(op, std::max(host_time_, stream.free));
    auto const end = communication != nullptr ? meet(*communication, begin) : begin + duration(op);
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

  [[nodiscard]] Duration duration(Operation const& op) const {
    if (auto const* copy = std::get_if<Copy>(&op.work)) return alone_.copy(*copy);
    if (auto const* delay = std::get_if<Delay>(&op.work)) return delay->duration;
    return alone_.kernel(role_, op);
  }
  /// Collectives of one communicator run one after another.
  Duration meet(Communication const& communication, Duration begin) {
    if (communication_is_free_) return begin;
    auto end = begin;
    for (auto const& part : role_.parts_of(communication)) {
      auto const communicator = std::visit([](auto const& each) { return each.communicator; }, part);
      auto& free = communicator_free_[communicator.index()];
      free = std::max(begin, free) + alone_.collective(part);
      end = std::max(end, free);
    }
    return end;
  }

  StepProgram const& program_;
  Role const& role_;
  hardware::Host const& host_;
  bool communication_is_free_;
  Alone alone_;
  std::vector<StreamState> streams_;
  std::vector<Duration> communicator_free_;
  std::vector<Duration> end_;  // by operation
  Duration host_time_;
  Duration host_of_one_;
  bool host_is_behind_ = false;
  Duration longest_;
};

using BySpace = std::array<Bytes, kEnumSize<MemorySpace>>;

/// The most that lives at one moment of the host's issue, in each memory: a buffer that several streams touch lives on.
BySpace most_held(StepProgram const& program) {
  auto const& role = program.roles.front();
  auto held = BySpace{};
  auto change = std::vector<BySpace>(role.operations.size() + 1);
  for (auto const& buffer : role.buffers) {
    auto const bytes = size_of(buffer.type) * program.evaluate(buffer.elements, kRank);
    auto const space = static_cast<std::size_t>(buffer.space);
    if (buffer.is_persistent) {
      held[space] += bytes;
    } else if (buffer.first_use.exists() && !role.operations[buffer.first_use.index()].is_on_host()) {
      change[buffer.first_use.index()][space] += bytes;
      change[buffer.last_use.index() + 1][space] -= bytes;
    }
  }
  auto most = held;
  for (auto const& each : change)
    for (std::size_t space = 0; space < held.size(); ++space)
      most[space] = std::max(most[space], held[space] += each[space]);
  return most;
}

Bytes beside_program(StepProgram const& program, engine::Machine const& machine) {
  auto const communicators = std::ranges::count_if(program.communicators, [&](Communicator const& communicator) {
    return program.grids.size(communicator.along) > 1;
  });
  return machine.cluster().node().gpu.context_memory.value + machine.cluster().library.buffers.value * communicators;
}

}  // namespace

Bound program_bound(StepProgram const& program, engine::Machine const& machine, bool communication_is_free) {
  auto const held = most_held(program);
  auto const in = [&](MemorySpace space) { return held[static_cast<std::size_t>(space)]; };
  return {CriticalPath{program, machine, communication_is_free}.length(),
          in(MemorySpace::kDevice) + beside_program(program, machine), in(MemorySpace::kHost), in(MemorySpace::kNvme)};
}

}  // namespace twinstep::explore::plan
