#include "sim/program/step_program.hpp"

#include "sim/base/check.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

TEST_CASE("a value differs between ranks by a stride and a table over their places", "[program]") {
  auto builder = ProgramBuilder{Grid{{{"data", 2}, {"tensor", 3}}}};
  auto const by_tensor = builder.variation({builder.along({"tensor"}), 10, {}});
  auto const by_both = builder.variation({builder.along({"data", "tensor"}), 1, {0, 5, 0, 0, 7, 0}});
  auto const program = std::move(builder).finish();
  // Rank 4 is (1, 1): its place along tensor is 1, and over both axes 1 * 3 + 1 = 4.
  CHECK(program.evaluate(100, RankId{4}) == 100);
  CHECK(program.evaluate({100, by_tensor}, RankId{4}) == 110);
  CHECK(program.evaluate({100, by_both}, RankId{4}) == 100 + 4 + 7);
}

TEST_CASE("a role is played by the ranks at all of its coordinates", "[program]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}, {"data", 4}}}};
  builder.role("first", {{"pipeline", 0}});
  builder.role("last", {{"pipeline", 1}});
  auto const program = std::move(builder).finish();
  CHECK(program.role_of(RankId{3}) == RoleId{0});
  CHECK(program.role_of(RankId{4}) == RoleId{1});
  CHECK(program.multiplicity(RoleId{1}) == 4);  // 8 ranks, 2 places along the pipeline
}

TEST_CASE("a rank without a role is our bug", "[program]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}}}};
  builder.role("first", {{"pipeline", 0}});
  auto const program = std::move(builder).finish();
  CHECK_THROWS_AS(program.role_of(RankId{1}), InternalError);
}

TEST_CASE("a product counts two operations for each multiply-add", "[program]") {
  CHECK(flops_of(Gemm{2, 4, 3, 5}) == Flops{2.0 * 2 * 4 * 3 * 5});
}

TEST_CASE("causal attention counts half of the scores, and backward two and a half times forward", "[program]") {
  // 4 * s^2 * d for each head: 1 sequence, 2 heads, 8 x 8 scores, head size 16: 4 * 2 * 64 * 16 = 8192; causal 4096.
  auto attention = Attention{1, 2, 2, 8, 8, 16, DataType::kBf16, false, false};
  CHECK(flops_of(attention) == Flops{8192});
  attention.causal = true;
  CHECK(flops_of(attention) == Flops{4096});
  attention.backward = true;
  CHECK(flops_of(attention) == Flops{10240});
}

TEST_CASE("work that only moves memory counts no floating-point operations", "[program]") {
  CHECK(flops_of(fill(1000)) == Flops{});
  CHECK(flops_of(Copy{}) == Flops{});
}

TEST_CASE("spans are busy with what their operation does", "[program]") {
  auto const program = four_ranks();
  auto const& role = program.roles[0];
  auto const kind = [&](std::size_t op) { return work_kind_of(role, role.operations[op]); };
  CHECK(kind(0) == WorkKind::kElementwise);
  CHECK(kind(1) == WorkKind::kGemm);
  CHECK(kind(3) == WorkKind::kReduceScatter);
  CHECK(kind(4) == WorkKind::kAllGather);
  CHECK(kind(5) == WorkKind::kHost);
}

TEST_CASE("the payload of a collective is its large side", "[program]") {
  auto const program = four_ranks();
  CHECK(payload(program, program.roles[0].parts[1], RankId{0}) == Bytes{48});  // 12 fp32
}
