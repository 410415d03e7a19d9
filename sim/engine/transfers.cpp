#include "sim/engine/transfers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace twinstep::engine {

using namespace program;

namespace {

/// Folds communications, each distinct one once.
class Folder {
 public:
  Folder(StepProgram const& program, Projection const& cells, Machine const& machine, Fidelity fidelity)
      : program_{program}, cells_{cells}, machine_{machine}, is_exact_{fidelity == Fidelity::kExact} {}

  /// The index of the meeting's cost in `folded`.
  std::uint32_t fold(Meeting const& meeting) {
    auto const rank = cells_.representative(meeting.expected.front());
    auto const& first = meeting.participants.front();
    if (!meeting.is_message())
      return fold(std::get<Collective>(*first.part), payload(program_, *first.part, rank), meeting.communicator, rank);
    auto const size = payload(program_, *first.part, cells_.representative(first.cell));
    return fold_message(size, rank, cells_.representative(meeting.expected.back()));
  }

  std::vector<collectives::Folded> folded;
  std::vector<collectives::Replay> replays;  // exact only

 private:
  std::uint32_t fold(Collective const& part, Bytes size, CommunicatorId communicator, RankId rank) {
    auto const key = CollectiveKey{part.kind, part.reduction, part.type, size, communicator, rank};
    auto const [entry, is_new] = collectives_.try_emplace(key, next());
    if (is_new) {
      auto const along = program_.communicators[communicator.index()].along;
      auto const layout = collectives::layout_of(program_.grids, along, rank, machine_.topology().gpus_per_node());
      auto const question = collectives::Question{part.kind, size, part.reduction, part.type, {}};
      folded.push_back(collectives::fold(question, layout, machine_.cluster(), machine_.topology()));
      if (is_exact_) replays.push_back(replay(question, layout, folded.back()));
    }
    return entry->second;
  }
  std::uint32_t fold_message(Bytes size, RankId from, RankId to) {
    auto const [entry, is_new] = messages_.try_emplace({size, from, to}, next());
    if (is_new) {
      folded.push_back(collectives::fold_message(size, from, to, machine_.cluster(), machine_.topology()));
      if (is_exact_)
        replays.push_back(folded.back().phases.empty() ? collectives::Replay{}
                                                       : collectives::replay_of_message(
                                                             size, from, to, machine_.cluster(), machine_.topology()));
    }
    return entry->second;
  }
  /// The same collective, by the algorithm and protocol that were chosen, message by message.
  [[nodiscard]] collectives::Replay replay(collectives::Question const& question, collectives::Layout const& layout,
                                           collectives::Folded const& chosen) const {
    if (chosen.phases.empty()) return {};
    auto const placement = collectives::Placement{layout, machine_.cluster(), machine_.topology()};
    auto request =
        collectives::FoldRequest{question.kind, question.size, placement, machine_.cluster(), machine_.topology()};
    request.algorithm = chosen.algorithm;
    request.protocol = chosen.protocol;
    request.channels = chosen.channels;
    return collectives::replay_of(request);
  }
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint32_t>(folded.size()); }

  StepProgram const& program_;
  Projection const& cells_;
  Machine const& machine_;
  bool is_exact_;
  using CollectiveKey = std::tuple<CollectiveKind, Reduction, DataType, Bytes, CommunicatorId, RankId>;
  std::map<CollectiveKey, std::uint32_t> collectives_;
  std::map<std::tuple<Bytes, RankId, RankId>, std::uint32_t> messages_;
};

/// Leaves of a communication nothing but the time that it takes alone.
void close(collectives::Folded& communication, topology::Topology const& topology) {
  if (communication.phases.empty()) return;
  auto const time = collectives::time_alone(communication, topology);
  communication.phases = {{time, {}, {}}};
}

/// Sorts the loads of a communication's phases into flows.
class FlowSorter {
 public:
  explicit FlowSorter(topology::Topology const& topology) : topology_{topology} {}

  [[nodiscard]] std::vector<TransferFlow> sort(collectives::Folded const& communication) const {
    auto flows = std::vector<TransferFlow>{};
    for (std::uint32_t p = 0; p < communication.phases.size(); ++p) add_phase(communication.phases[p], p, flows);
    return flows;
  }

 private:
  /// Every message reads and writes device memory, so both kinds have their part of what passes there.
  void add_phase(collectives::Phase const& phase, std::uint32_t number, std::vector<TransferFlow>& flows) const {
    auto between_gpus = TransferFlow{number, {}, 0, phase.least};
    auto others = between_gpus;
    auto memory = Bytes{};
    for (auto const& load : phase.loads) {
      if (load.bytes == Bytes{}) continue;
      if (load.resource == topology_.hbm())
        memory += load.bytes;
      else
        (resource(load).is_gpu_link ? between_gpus : others).loads.push_back(load);
    }
    between_gpus.bytes = bytes_of_rank(between_gpus);
    others.bytes = bytes_of_rank(others);
    auto const total = between_gpus.bytes + others.bytes;
    auto const of_others = total > 0 ? to_bytes(static_cast<double>(memory.count()) * others.bytes / total) : memory;
    add_memory(memory - of_others, between_gpus);
    add_memory(of_others, others);
    for (auto* flow : {&between_gpus, &others})
      if (!flow->loads.empty()) flows.push_back(std::move(*flow));
    if (flows.empty() || flows.back().phase != number) flows.push_back({number, {}, 0, phase.least});
  }

  void add_memory(Bytes bytes, TransferFlow& flow) const {
    if (bytes > Bytes{}) flow.loads.push_back({topology_.hbm(), bytes});
  }

  /// What the links carry that a rank has for itself; where it has none, the least that any link does.
  [[nodiscard]] double bytes_of_rank(TransferFlow const& flow) const {
    auto most = Bytes{};
    auto least = flow.loads.empty() ? Bytes{} : flow.loads.front().bytes;
    for (auto const& load : flow.loads) {
      if (resource(load).gpus == 1) most = std::max(most, load.bytes);
      least = std::min(least, load.bytes);
    }
    return static_cast<double>((most > Bytes{} ? most : least).count());
  }
  [[nodiscard]] topology::Resource const& resource(collectives::Load const& load) const {
    return topology_.resource(load.resource);
  }

  topology::Topology const& topology_;
};

/// How many groups of ranks (or pairs of ranks) do what one of them does here.
std::int64_t real_groups(Meeting const& meeting, StepProgram const& program, Projection const& cells) {
  if (meeting.is_message()) return cells.multiplicity(meeting.expected.front());
  auto ranks = std::int64_t{0};
  for (auto const cell : meeting.expected) ranks += cells.multiplicity(cell);
  return ranks / program.grids.size(program.communicators[meeting.communicator.index()].along);
}

}  // namespace

Transfers::Transfers(StepProgram const& program, Projection const& cells, Machine const& machine, Fidelity fidelity,
                     std::vector<ResourceId> const& others_use) {
  for (std::size_t c = 0; c < cells.size(); ++c)
    transfer_of_part_.emplace_back(program.roles[cells.role(CellId{c}).index()].parts.size());
  auto folder = Folder{program, cells, machine, fidelity};
  auto meetings = find_meetings(list_communications(program, cells), cells);
  transfers_.reserve(meetings.size());
  for (auto& meeting : meetings) {
    for (auto const& [cell, op, part] : meeting.participants) {
      auto const* first_part = program.roles[cells.role(cell).index()].parts.data();
      transfer_of_part_[cell.index()][static_cast<std::size_t>(part - first_part)] =
          static_cast<std::uint32_t>(transfers_.size());
    }
    transfers_.push_back({.folded = folder.fold(meeting),
                          .groups = real_groups(meeting, program, cells),
                          .follows_another = !meeting.is_message() && meeting.number > 0});
    transfers_.back().meeting = std::move(meeting);
  }
  folded_ = std::move(folder.folded);
  replays_ = std::move(folder.replays);
  if (fidelity == Fidelity::kClosed)
    for (auto& communication : folded_) close(communication, machine.topology());
  merge_alike_resources(folded_, machine.topology(), others_use);
  auto const sorter = FlowSorter{machine.topology()};
  for (auto const& communication : folded_) flows_.push_back(sorter.sort(communication));
}

}  // namespace twinstep::engine
