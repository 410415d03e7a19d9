#include "sim/program/matching.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/program/meetings.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::program {
namespace {

/// Compares what the participants of each meeting say about it.
class Matcher {
 public:
  Matcher(StepProgram const& program, Projection const& projection, std::vector<std::string>& findings)
      : program_{program}, projection_{projection}, findings_{findings} {}

  void compare_collectives(CommunicatorId communicator, std::vector<std::vector<Participant>> const& by_cell);
  void compare_messages(Communications::Ends const& of, Communications::Pair const& pair);

 private:
  void expect_one_root(CommunicatorId communicator, std::size_t number, Participant const& participant);
  [[nodiscard]] std::int64_t on(CellId cell, RankValue value) const {
    return program_.evaluate(value, projection_.representative(cell));
  }
  [[nodiscard]] std::string words(Participant const& participant) const;
  [[nodiscard]] std::string op_of(Participant const& participant) const {
    auto const& role = program_.roles[projection_.role(participant.cell).index()];
    return fmt::format("{} (op {})", program_.describe(role.operations[participant.op.index()]),
                       participant.op.index());
  }
  /// Of two sequences of different lengths: the first of the longer one that has no counterpart.
  [[nodiscard]] std::string first_alone(std::vector<Participant> const& a, std::vector<Participant> const& b) const {
    return op_of(a.size() > b.size() ? a[b.size()] : b[a.size()]);
  }
  [[nodiscard]] std::string_view name(CommunicatorId communicator) const {
    return program_.text(program_.communicators[communicator.index()].name);
  }

  StepProgram const& program_;
  Projection const& projection_;
  std::vector<std::string>& findings_;
};

/// "all_reduce of 12 fp32 (sum)", with what must agree in it.
std::string Matcher::words(Participant const& participant) const {
  auto const& c = std::get<Collective>(*participant.part);
  if (c.kind == CollectiveKind::kAllToAll) return fmt::format("{} of {}", name_of(c.kind), name_of(c.type));
  auto text = fmt::format("{} of {} {}", name_of(c.kind), on(participant.cell, c.elements), name_of(c.type));
  if (reduces(c.kind)) text += fmt::format(" ({})", name_of(c.reduction));
  if (has_root(c.kind)) text += fmt::format(" with root {}", on(participant.cell, c.root));
  return text;
}

/// Roots do not make ranks differ, so the ranks of one cell are asked too.
void Matcher::expect_one_root(CommunicatorId communicator, std::size_t number, Participant const& participant) {
  auto const root = std::get<Collective>(*participant.part).root;
  auto const along = program_.communicators[communicator.index()].along;
  auto const& grids = program_.grids;
  auto const shared = axes_of(program_, root).shared_with(grids.common_axes(along));
  auto const rank = projection_.representative(participant.cell);
  for (std::int64_t i = 0; i < grids.common().size(shared); ++i) {
    auto const other = grids.common().rank_in_group(rank, shared, i);
    if (program_.role_of(other) != projection_.role(participant.cell)) continue;
    if (grids.rank_in_group(other, along, 0) != grids.rank_in_group(rank, along, 0)) continue;
    if (program_.evaluate(root, other) == program_.evaluate(root, rank)) continue;
    findings_.push_back(
        fmt::format("collective #{} on communicator \"{}\": {} has root {} on rank {}, but root {} on rank {}", number,
                    name(communicator), op_of(participant), program_.evaluate(root, rank), rank.index(),
                    program_.evaluate(root, other), other.index()));
    return;
  }
}

/// Each cell's sequence against that of the first cell of its group.
void Matcher::compare_collectives(CommunicatorId communicator, std::vector<std::vector<Participant>> const& by_cell) {
  for (std::size_t i = 0; i < by_cell.size(); ++i) {
    auto const first_cell = projection_.group(communicator, CellId{i}).front();
    auto const& first = by_cell[first_cell.index()];
    auto const& mine = by_cell[i];
    for (std::size_t k = 0; k < std::min(first.size(), mine.size()); ++k) {
      auto const& mine_part = std::get<Collective>(*mine[k].part);
      if (mine_part.root.varies()) expect_one_root(communicator, k, mine[k]);
      auto const is_constant = !mine_part.root.varies() && !mine_part.elements.varies();
      if (is_constant && mine_part == std::get<Collective>(*first[k].part)) continue;
      auto const expected = words(first[k]);
      auto const found = words(mine[k]);
      if (found == expected) continue;
      findings_.push_back(fmt::format("collective #{} on communicator \"{}\": {} issues {}, {}, but {} issues {}, {}",
                                      k, name(communicator), projection_.describe(first_cell), expected,
                                      op_of(first[k]), projection_.describe(CellId{i}), found, op_of(mine[k])));
      break;  // what follows is shifted
    }
    if (first.size() != mine.size())
      findings_.push_back(
          fmt::format("communicator \"{}\": {} issues {} collectives, but {} issues {}; {} has no counterpart",
                      name(communicator), projection_.describe(first_cell), first.size(),
                      projection_.describe(CellId{i}), mine.size(), first_alone(first, mine)));
  }
}

void Matcher::compare_messages(Communications::Ends const& of, Communications::Pair const& pair) {
  auto const& [communicator, from, to] = of;
  auto const ends = fmt::format("on communicator \"{}\" from {} to {}", name(communicator), projection_.describe(from),
                                projection_.describe(to));
  auto const& [sends, receives] = pair;
  for (std::size_t k = 0; k < std::min(sends.size(), receives.size()); ++k) {
    auto const& send = std::get<PointToPoint>(*sends[k].part);
    auto const& receive = std::get<PointToPoint>(*receives[k].part);
    auto const sent = fmt::format("{} {}", on(from, send.elements), name_of(send.type));
    auto const received = fmt::format("{} {}", on(to, receive.elements), name_of(receive.type));
    if (sent == received) continue;
    findings_.push_back(fmt::format("message #{} {}: {} sends {}, but {} receives {}", k, ends, op_of(sends[k]), sent,
                                    op_of(receives[k]), received));
    break;
  }
  if (sends.size() != receives.size())
    findings_.push_back(fmt::format("{} messages are sent {}, but {} are received; {} has no counterpart", sends.size(),
                                    ends, receives.size(), first_alone(sends, receives)));
}

}  // namespace

std::vector<std::string> find_mismatches(StepProgram const& program) {
  auto findings = std::vector<std::string>{};
  auto const projection = Projection{program};
  auto const communications = list_communications(program, projection);
  auto matcher = Matcher{program, projection, findings};
  for (std::size_t i = 0; i < program.communicators.size(); ++i)
    matcher.compare_collectives(CommunicatorId{i}, communications.collectives[i]);
  for (auto const& [ends, pair] : communications.messages) matcher.compare_messages(ends, pair);
  if (!findings.empty()) return findings;
  return find_stuck(program, projection, find_meetings(communications, projection));
}

}  // namespace twinstep::program
