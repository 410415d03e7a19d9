#include "validate/measure/real_executor.hpp"

#include <algorithm>
#include <cmath>

#include "sim/program/builder.hpp"
#include "validate/measure/executor.hpp"

namespace twinstep::measure {
namespace {

using namespace program;

constexpr auto kName = "sum";
constexpr auto kAgreementScope = "agreement";

StepProgram sum_program(std::int64_t ranks) {
  auto builder = ProgramBuilder{Grid{{{"data", ranks}}}};
  auto const world = builder.communicator("world", {"data"});
  auto& role = builder.role("rank");
  auto const stream = role.stream("agreement");
  role.enter({.unit = builder.name(kAgreementScope)});
  auto const number = role.buffer({.name = builder.name(kName),
                                   .elements = 1,
                                   .type = DataType::kFp64,
                                   .category = MemoryCategory::kWorkspace,
                                   .is_persistent = true});
  role.add(stream, builder.name(kName), Collective{.type = DataType::kFp64, .communicator = world, .elements = 1},
           role.whole(number), role.whole(number));
  return std::move(builder).finish();
}

}  // namespace

std::int64_t RealExecutor::sum(std::int64_t contribution) {
  auto const ranks = local_ranks();
  auto const program = sum_program(job_.ranks);
  auto is_there = true;
  for (auto const rank : ranks) {
    auto const value = rank == ranks.front() ? static_cast<double>(contribution) : 0.0;
    is_there = write(rank, kName, kAgreementScope, std::span{&value, 1}) && is_there;
  }
  static_cast<void>(run(program));
  if (!is_there) return sum(contribution);  // the first run made the buffers
  return std::llround(read(ranks.front(), kName, kAgreementScope, 0, 1).front());
}

using program::MemoryCategory;

void fill_with_known_values(program::FreshBuffer const& buffer, std::span<double> values) {
  auto const is_known = buffer.category == MemoryCategory::kInputs || buffer.category == MemoryCategory::kParameters;
  auto const source = buffer.category == MemoryCategory::kParameters ? RankId{0} : buffer.rank;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = is_known ? initial_value(source, i) : 0;
}

}  // namespace twinstep::measure
