#include <array>
#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"
#include "tests/support/programs.hpp"
#include "validate/cpu/kernels.hpp"

using namespace twinstep;
using program::Function;

namespace {

using Values = std::vector<double>;

/// Computes `function` on fp64 operands and returns the last one.
Values compute(Function function, std::vector<Values> operands, double scalar = 1) {
  auto numbers = std::vector<cpu::Numbers>{};
  for (auto& operand : operands) numbers.emplace_back(std::span{operand});
  cpu::compute({.function = function,
                .elements = static_cast<std::int64_t>(operands.back().size()),
                .type = DataType::kFp64,
                .scalar = scalar},
               numbers, {});
  return operands.back();
}

double gelu(double x) {
  return compute(Function::kGelu, {{x}, {0}})[0];
}

/// Small integers of either sign, so products and sums are exact in fp32 too.
double entry(std::size_t i, std::size_t factor) {
  return static_cast<double>(i * factor % 5) - 2;
}

/// C by the definition of the GEMM.
Values naive(program::Gemm const& g) {
  auto c = Values{};
  for (std::int64_t batch = 0; batch < g.batch; ++batch) {
    for (std::int64_t row = 0; row < g.m; ++row) {
      for (std::int64_t column = 0; column < g.n; ++column) {
        auto const place = static_cast<std::size_t>((batch * g.m + row) * g.n + column);
        auto sum = g.accumulate ? entry(place, 4) : 0.0;
        for (std::int64_t i = 0; i < g.k; ++i) {
          auto const a = batch * g.m * g.k + (g.transpose_a ? i * g.m + row : row * g.k + i);
          auto const b = batch * g.k * g.n + (g.transpose_b ? column * g.k + i : i * g.n + column);
          sum += entry(static_cast<std::size_t>(a), 3) * entry(static_cast<std::size_t>(b), 7);
        }
        c.push_back(sum);
      }
    }
  }
  return c;
}

Values executed(program::Gemm const& g) {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const a = small.persistent(role, "a", g.batch * g.m * g.k, g.type);
  auto const b = small.persistent(role, "b", g.batch * g.k * g.n, g.type);
  auto const c = small.persistent(role, "c", g.batch * g.m * g.n, g.type);
  role.add(role.stream("main"), small.builder.name("matmul"), g,
           {program::reads(role.whole(a)), program::reads(role.whole(b)), program::writes(role.whole(c))});
  // Without accumulation C keeps the poison of fresh memory until it is written.
  auto environment = cpu::Environment{[&](program::FreshBuffer const& buffer, std::span<double> values) {
    if (buffer.name == "c" && !g.accumulate) return;
    auto const factor = buffer.name == "a" ? 3U : buffer.name == "b" ? 7U : 4U;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = entry(i, factor);
  }};
  static_cast<void>(cpu::run(std::move(small.builder).finish(), environment));
  return environment.read(RankId{0}, "c", "");
}

}  // namespace

TEST_CASE("a GEMM is the sum of products, however its operands are stored", "[cpu][kernels]") {
  for (auto const type : {DataType::kFp32, DataType::kFp64})
    for (auto const transpose_a : {false, true})
      for (auto const transpose_b : {false, true})
        for (auto const accumulate : {false, true})
          for (std::int64_t const batch : {1, 3}) {
            auto const gemm = program::Gemm{.m = 2,
                                            .n = 5,
                                            .k = 3,
                                            .batch = batch,
                                            .type = type,
                                            .transpose_a = transpose_a,
                                            .transpose_b = transpose_b,
                                            .accumulate = accumulate};
            CHECK(executed(gemm) == naive(gemm));
          }
}

TEST_CASE("gelu weighs x by the normal distribution", "[cpu][kernels]") {
  CHECK(gelu(0) == 0);
  // The normal distribution at 1 is 0.841344746.
  CHECK(gelu(1) == Approx(0.841344746));
  CHECK(gelu(-1) == Approx(0.841344746 - 1));
  CHECK(gelu(20) == 20);
}

TEST_CASE("gelu's derivative agrees with finite differences", "[cpu][kernels]") {
  auto const h = 1e-5;  // the error of central differences is h², of rounding 1e-16 / h
  for (double const x : {-3.0, -1.0, -0.2, 0.0, 0.7, 2.5}) {
    auto const slope = (gelu(x + h) - gelu(x - h)) / (2 * h);
    CHECK(compute(Function::kGeluBackward, {{x}, {2.0}, {0}})[0] == Approx(2 * slope).margin(1e-9));
  }
}

TEST_CASE("the plain functions compute what they are called", "[cpu][kernels]") {
  CHECK(compute(Function::kFill, {{1, 2}}, 7) == Values{7, 7});
  CHECK(compute(Function::kScale, {{1, 2}, {0, 0}}, 3) == Values{3, 6});
  CHECK(compute(Function::kAdd, {{1, 2}, {10, 20}, {0, 0}}) == Values{11, 22});
  CHECK(compute(Function::kSquaredError, {{5, 1}, {3, 2}, {0, 0}}, 0.5) == Values{1, -0.5});
}

TEST_CASE("scale casts between types", "[cpu][kernels]") {
  auto from = Values{0.1};
  auto to = std::vector<float>{0};
  auto const operands = std::array{cpu::Numbers{std::span{from}}, cpu::Numbers{std::span{to}}};
  cpu::compute({.function = Function::kScale, .elements = 1, .type = DataType::kFp32}, operands, {});
  CHECK(to[0] == 0.1F);
}

TEST_CASE("momentum steps as computed by hand", "[cpu][kernels]") {
  // v = 0.5 · 2 + (1 + 0.1 · 4) = 2.4, w = 4 - 0.25 · 2.4 = 3.4.
  auto master = Values{4};
  auto gradient = Values{1};
  auto momentum = Values{2};
  auto copy = std::vector<float>{0};
  auto const operands = std::array{cpu::Numbers{std::span{master}}, cpu::Numbers{std::span{gradient}},
                                   cpu::Numbers{std::span{momentum}}, cpu::Numbers{std::span{copy}}};
  auto const settings = program::AdamWSettings{.learning_rate = 0.25, .beta1 = 0.5, .weight_decay = 0.1};
  cpu::compute({.function = Function::kSgdMomentum, .elements = 1, .type = DataType::kFp64}, operands, {settings, 1});
  CHECK(momentum[0] == Approx(2.4));
  CHECK(master[0] == Approx(3.4));
  CHECK(copy[0] == static_cast<float>(master[0]));
}

TEST_CASE("a squared norm adds up all its tensors, and clipping scales them to the norm that is left",
          "[cpu][kernels]") {
  // 1 + 3² + 4² = 26 on top of what was there; 3, 4 have norm 5, which is clipped to 2.5: half of each.
  CHECK(compute(Function::kSquaredNorm, {{3}, {4}, {1}}) == Values{26});
  CHECK(compute(Function::kClip, {{25}, {0}, {3, 4}}, 2.5)[0] == Approx(1.5).epsilon(1e-6));
  CHECK(compute(Function::kClip, {{25}, {0}, {3, 4}}, 2.5)[1] == Approx(2).epsilon(1e-6));
  CHECK(compute(Function::kClip, {{25}, {3, 4}}, 6) == Values{3, 4});  // a smaller norm stays
}

TEST_CASE("an optimizer takes its gradients tensor by tensor, each for the stretch that it covers", "[cpu][kernels]") {
  // Without momentum and decay w = w - g, and v = g.
  auto master = Values{10, 20, 30};
  auto first = Values{1};
  auto second = Values{2, 3};
  auto momentum = Values{0, 0, 0};
  auto const operands = std::array{cpu::Numbers{std::span{master}}, cpu::Numbers{std::span{first}},
                                   cpu::Numbers{std::span{second}}, cpu::Numbers{std::span{momentum}}};
  auto const settings = program::AdamWSettings{.learning_rate = 1, .beta1 = 0, .weight_decay = 0};
  cpu::compute({.function = Function::kSgdMomentum, .elements = 3, .type = DataType::kFp64}, operands, {settings, 1});
  CHECK(master == Values{9, 18, 27});
  CHECK(momentum == Values{1, 2, 3});
}

TEST_CASE("adamw steps as computed by hand, and counts its steps", "[cpu][kernels]") {
  auto small = tests::SmallProgram{1};
  small.builder.adamw() = {.learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 0, .weight_decay = 0.1};
  auto& role = small.builder.role("worker");
  auto const buffer = [&](std::string_view name, DataType type = DataType::kFp64) {
    return role.whole(small.persistent(role, name, 1, type));
  };
  auto const kernel = program::Elementwise{.function = Function::kAdamW, .elements = 1, .type = DataType::kFp64};
  auto const master = buffer("master");
  auto const gradient = buffer("gradient");
  auto const first = buffer("first");
  auto const second = buffer("second");
  auto const copy = buffer("copy", DataType::kFp32);
  role.add(role.stream("main"), small.builder.name("adamw"), kernel,
           {program::updates(master), program::reads(gradient), program::updates(first), program::updates(second),
            program::writes(copy)});
  auto const step = std::move(small.builder).finish();
  auto environment = cpu::Environment{[](program::FreshBuffer const& buffer, std::span<double> values) {
    values[0] = buffer.name == "master" ? 1.0 : buffer.name == "gradient" ? 0.5 : 0.0;
  }};
  auto const read = [&](std::string_view name) { return environment.read(RankId{0}, name, "")[0]; };

  // m = 0.1 · 0.5 = 0.05, v = 0.01 · 0.25 = 0.0025; corrected by 0.1 and 0.01: 0.5 and 0.25, so the direction is
  // 0.5 / √0.25 = 1. Decay: 0.1 · 1. Master: 1 - 0.1 · (1 + 0.1) = 0.89.
  static_cast<void>(cpu::run(step, environment));
  CHECK(read("master") == Approx(0.89));
  CHECK(read("first") == Approx(0.05));
  CHECK(read("second") == Approx(0.0025));
  CHECK(read("copy") == static_cast<float>(read("master")));

  // With gradient -1: m = 0.9 · 0.05 - 0.1 = -0.055, v = 0.99 · 0.0025 + 0.01 = 0.012475; corrected by 1 - 0.9² = 0.19
  // and 1 - 0.99² = 0.0199.
  environment.write(RankId{0}, "gradient", "", Values{-1});
  static_cast<void>(cpu::run(step, environment));
  CHECK(environment.steps() == 2);
  CHECK(read("master") == Approx(0.89 - 0.1 * (-0.055 / 0.19 / std::sqrt(0.012475 / 0.0199) + 0.1 * 0.89)));
}
