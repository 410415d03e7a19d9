#include <algorithm>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/program/meetings.hpp"

namespace twinstep::program {
namespace {

/// Runs a program without time: whatever can happen does, in some order.
class Run {
 public:
  Run(StepProgram const& program, Projection const& projection, std::vector<Meeting> const& meetings);

  void run();
  [[nodiscard]] std::vector<std::string> who_waits_for_whom() const;

 private:
  /// One part of a communication: where it takes place.
  struct Seat {
    std::size_t meeting = 0;
    std::size_t comes_after = 0;  // collectives of this cell on the communicator, before this operation's own
    bool is_collective = false;
  };
  struct CellState {
    std::size_t issued = 0;                             // operations that the host has issued
    std::vector<std::size_t> head;                      // by stream: the next operation, in its list
    std::vector<char> has_arrived, has_ended;           // by operation
    std::vector<std::vector<Seat>> seats;               // by operation
    std::vector<std::size_t> turn;                      // by communicator: collectives that have ended
    std::vector<std::vector<std::size_t>> collectives;  // by communicator: the operation of each collective
  };

  [[nodiscard]] Role const& role_of(std::size_t cell) const {
    return program_.roles[projection_.role(CellId{cell}).index()];
  }
  [[nodiscard]] bool waits_are_over(std::size_t cell, Operation const& op) const;
  [[nodiscard]] bool has_turn(std::size_t cell, std::size_t op) const;
  [[nodiscard]] bool is_complete(std::size_t meeting) const {
    return arrivals_[meeting] == meetings_[meeting].participants.size();
  }
  bool issue(std::size_t cell);
  bool advance_stream(std::size_t cell, std::size_t stream);
  bool finish_communication(std::size_t cell, std::size_t op);
  void arrive(std::size_t cell, std::size_t op);
  [[nodiscard]] std::size_t find_arrived(std::size_t cell, std::size_t op) const;
  [[nodiscard]] std::string where(std::size_t cell, std::size_t op) const;
  [[nodiscard]] std::string name(std::size_t meeting) const;

  StepProgram const& program_;
  Projection const& projection_;
  std::vector<Meeting> const& meetings_;
  std::vector<std::vector<std::vector<std::size_t>>> ops_of_stream_;  // by role and stream
  std::vector<CellState> cells_;
  std::vector<std::size_t> arrivals_;  // by meeting
  std::vector<std::size_t> to_visit_;  // cells where something may have become possible
};

Run::Run(StepProgram const& program, Projection const& projection, std::vector<Meeting> const& meetings)
    : program_{program}, projection_{projection}, meetings_{meetings}, arrivals_(meetings.size()) {
  for (auto const& role : program.roles) {
    auto& streams = ops_of_stream_.emplace_back(role.streams.size());
    for (std::size_t i = 0; i < role.operations.size(); ++i)
      if (auto const& op = role.operations[i]; !op.is_on_host()) streams[op.stream.index()].push_back(i);
  }
  for (std::size_t i = 0; i < projection.size(); ++i) {
    auto const count = role_of(i).operations.size();
    auto const communicators = program.communicators.size();
    cells_.push_back({0, std::vector<std::size_t>(role_of(i).streams.size()), std::vector<char>(count),
                      std::vector<char>(count), std::vector<std::vector<Seat>>(count),
                      std::vector<std::size_t>(communicators), std::vector<std::vector<std::size_t>>(communicators)});
  }
  // Meetings on one communicator are listed in their order, so each cell's collectives follow one another.
  for (std::size_t m = 0; m < meetings.size(); ++m)
    for (auto const& [cell, op, part] : meetings[m].participants) {
      auto& state = cells_[cell.index()];
      auto const is_collective = std::holds_alternative<Collective>(*part);
      auto& issued = state.collectives[meetings[m].communicator.index()];
      auto comes_after = issued.size();
      while (comes_after > 0 && issued[comes_after - 1] == op.index()) --comes_after;  // its own earlier parts
      state.seats[op.index()].push_back({m, comes_after, is_collective});
      if (is_collective) issued.push_back(op.index());
    }
}

void Run::run() {
  for (auto i = cells_.size(); i-- > 0;) to_visit_.push_back(i);
  while (!to_visit_.empty()) {
    auto const cell = to_visit_.back();
    to_visit_.pop_back();
    for (auto is_moving = true; is_moving;) {
      is_moving = issue(cell);
      for (std::size_t s = 0; s < cells_[cell].head.size(); ++s) is_moving = advance_stream(cell, s) || is_moving;
    }
  }
}

bool Run::waits_are_over(std::size_t cell, Operation const& op) const {
  return std::ranges::all_of(role_of(cell).waits_of(op),
                             [&](OpId wait) { return cells_[cell].has_ended[wait.index()] != 0; });
}

/// Whether every collective before those of `op` has ended on its communicator.
bool Run::has_turn(std::size_t cell, std::size_t op) const {
  return std::ranges::all_of(cells_[cell].seats[op], [&](Seat const& seat) {
    return !seat.is_collective || cells_[cell].turn[meetings_[seat.meeting].communicator.index()] == seat.comes_after;
  });
}

/// Lets the host issue until it waits for something. Returns whether it issued anything.
bool Run::issue(std::size_t cell) {
  auto& state = cells_[cell];
  auto const& operations = role_of(cell).operations;
  auto const before = state.issued;
  for (; state.issued < operations.size(); ++state.issued) {
    auto const& op = operations[state.issued];
    if (!op.is_on_host()) continue;
    if (!waits_are_over(cell, op)) break;
    state.has_ended[state.issued] = 1;
  }
  return state.issued != before;
}

/// Runs what can run on one stream. Returns whether anything ended.
bool Run::advance_stream(std::size_t cell, std::size_t stream) {
  auto& state = cells_[cell];
  auto const& role = role_of(cell);
  auto const& ops = ops_of_stream_[projection_.role(CellId{cell}).index()][stream];
  auto const before = state.head[stream];
  for (; state.head[stream] < ops.size(); ++state.head[stream]) {
    auto const op = ops[state.head[stream]];
    if (op >= state.issued) break;
    if (state.has_arrived[op] == 0) {
      if (!waits_are_over(cell, role.operations[op]) || !has_turn(cell, op)) break;
      arrive(cell, op);
    }
    if (!finish_communication(cell, op)) break;
    state.has_ended[op] = 1;
  }
  return state.head[stream] != before;
}

void Run::arrive(std::size_t cell, std::size_t op) {
  cells_[cell].has_arrived[op] = 1;
  for (auto const& seat : cells_[cell].seats[op]) {
    ++arrivals_[seat.meeting];
    if (!is_complete(seat.meeting)) continue;
    for (auto const& other : meetings_[seat.meeting].participants)
      if (other.cell.index() != cell) to_visit_.push_back(other.cell.index());
  }
}

bool Run::finish_communication(std::size_t cell, std::size_t op) {
  auto const& seats = cells_[cell].seats[op];
  if (!std::ranges::all_of(seats, [&](Seat const& seat) { return is_complete(seat.meeting); })) return false;
  for (auto const& seat : seats)
    if (seat.is_collective) ++cells_[cell].turn[meetings_[seat.meeting].communicator.index()];
  return true;
}

/// What keeps `op` from running: the communication of the same cell that has arrived and waits for others. Each step
/// goes to an operation issued earlier, so there is an end.
std::size_t Run::find_arrived(std::size_t cell, std::size_t op) const {
  auto const& state = cells_[cell];
  auto const& role = role_of(cell);
  auto const first_open = [&](Operation const& waiting) {
    return std::ranges::find_if(role.waits_of(waiting), [&](OpId w) { return state.has_ended[w.index()] == 0; })
        ->index();
  };
  while (state.has_arrived[op] == 0) {
    if (op >= state.issued) {
      op = first_open(role.operations[state.issued]);
      continue;
    }
    auto const stream = role.operations[op].stream.index();
    auto const head = ops_of_stream_[projection_.role(CellId{cell}).index()][stream][state.head[stream]];
    if (head != op) {
      op = head;
    } else if (!waits_are_over(cell, role.operations[op])) {
      op = first_open(role.operations[op]);
    } else {
      auto const late = std::ranges::find_if(state.seats[op], [&](Seat const& seat) {
        return seat.is_collective && state.turn[meetings_[seat.meeting].communicator.index()] != seat.comes_after;
      });
      auto const communicator = meetings_[late->meeting].communicator.index();
      op = state.collectives[communicator][state.turn[communicator]];
    }
  }
  return op;
}

std::string Run::name(std::size_t meeting) const {
  auto const& [communicator, number, expected, participants] = meetings_[meeting];
  auto const* collective = std::get_if<Collective>(participants.front().part);
  return fmt::format("{} #{} on communicator \"{}\"",
                     collective != nullptr ? name_of(collective->kind) : std::string_view{"send/receive"}, number,
                     program_.text(program_.communicators[communicator.index()].name));
}

/// Where `cell` is instead of in `op`.
std::string Run::where(std::size_t cell, std::size_t op) const {
  auto const& role = role_of(cell);
  auto const blocker = find_arrived(cell, op);
  auto const& seats = cells_[cell].seats[blocker];
  auto const open = std::ranges::find_if(seats, [&](Seat const& seat) { return !is_complete(seat.meeting); });
  TWINSTEP_CHECK(open != seats.end(), "an operation that has arrived and not ended waits for someone");
  auto const& operation = role.operations[blocker];
  return fmt::format("{}, which waits in stream \"{}\" for {} ({})", projection_.describe(CellId{cell}),
                     program_.text(role.streams[operation.stream.index()].name), name(open->meeting),
                     program_.describe(operation));
}

std::vector<std::string> Run::who_waits_for_whom() const {
  auto out = std::vector<std::string>{};
  for (std::size_t m = 0; m < meetings_.size(); ++m) {
    if (arrivals_[m] == 0 || is_complete(m)) continue;
    auto ranks = std::int64_t{0};
    auto present = std::int64_t{0};
    auto missing = std::string{};
    for (auto const& [cell, op, part] : meetings_[m].participants) {
      auto const is_collective = std::holds_alternative<Collective>(*part);
      auto const members = is_collective ? projection_.members_in_group(meetings_[m].communicator, cell) : 1;
      ranks += members;
      if (cells_[cell.index()].has_arrived[op.index()] != 0)
        present += members;
      else
        missing += fmt::format("{}{}", missing.empty() ? "" : "; ", where(cell.index(), op.index()));
    }
    out.push_back(fmt::format("stuck: {} has {} of {} ranks. Missing: {}", name(m), present, ranks, missing));
  }
  return out;
}

}  // namespace

std::vector<std::string> find_stuck(StepProgram const& program, Projection const& projection,
                                    std::vector<Meeting> const& meetings) {
  auto run = Run{program, projection, meetings};
  run.run();
  return run.who_waits_for_whom();
}

}  // namespace twinstep::program
