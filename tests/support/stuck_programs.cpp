#include <array>

#include "tests/support/programs.hpp"

/// Programs that never end: executors say who waits for whom.
namespace twinstep::tests {

using namespace program;

namespace {

/// all_reduce or all_gather of one element a rank on `stream`.
OpId collect(SmallProgram& small, RoleBuilder& role, StreamId stream, std::string_view name, CollectiveKind kind,
             CommunicatorId communicator) {
  auto const sent = small.temporary(role, "sent", kind == CollectiveKind::kAllReduce ? 2 : 1);
  auto const received = small.temporary(role, "received", 2);
  return role.add(stream, small.builder.name(name),
                  Collective{.kind = kind, .type = DataType::kFp32, .communicator = communicator, .elements = 2},
                  role.whole(sent), role.whole(received));
}

}  // namespace

StepProgram missing_collective() {
  auto small = SmallProgram{2};
  auto const communicator = small.builder.communicator("data", {"data"});
  auto& first = small.builder.role("first", {{"data", 0}});
  auto& second = small.builder.role("second", {{"data", 1}});
  auto const first_comm = first.stream("comm");
  auto const second_comm = second.stream("comm");
  collect(small, first, first_comm, "loss", CollectiveKind::kAllReduce, communicator);
  collect(small, second, second_comm, "loss", CollectiveKind::kAllReduce, communicator);
  collect(small, first, first_comm, "parameters", CollectiveKind::kAllGather, communicator);
  return std::move(small.builder).finish();
}

StepProgram send_without_receive() {
  auto small = SmallProgram{2};
  auto const communicator = small.builder.communicator("pair", {"data"});
  auto& first = small.builder.role("first", {{"data", 0}});
  auto& second = small.builder.role("second", {{"data", 1}});
  auto const comm = first.stream("comm");
  auto const main = second.stream("main");
  auto const message = small.temporary(first, "message", 4);
  auto const part = CommunicationPart{
      PointToPoint{.sends = true, .type = DataType::kFp32, .communicator = communicator, .peer = 1, .elements = 4}};
  auto const access = reads(first.whole(message));
  first.group(comm, small.builder.name("send"), std::span{&part, 1}, std::span{&access, 1});
  small.fill(second, main, "work", small.temporary(second, "other", 4));
  return std::move(small.builder).finish();
}

StepProgram crossed_collectives() {
  auto small = SmallProgram{2};
  auto const left = small.builder.communicator("left", {"data"});
  auto const right = small.builder.communicator("right", {"data"});
  auto& first = small.builder.role("first", {{"data", 0}});
  auto& second = small.builder.role("second", {{"data", 1}});
  auto const first_comm = first.stream("comm");
  auto const second_comm = second.stream("comm");
  collect(small, first, first_comm, "a", CollectiveKind::kAllReduce, left);
  collect(small, first, first_comm, "b", CollectiveKind::kAllReduce, right);
  collect(small, second, second_comm, "b", CollectiveKind::kAllReduce, right);
  collect(small, second, second_comm, "a", CollectiveKind::kAllReduce, left);
  return std::move(small.builder).finish();
}

}  // namespace twinstep::tests
