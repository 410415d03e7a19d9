#include "tests/device/kernel_checks.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"
#include "validate/cuda/collective_benchmark.hpp"
#include "validate/cuda/cuda_executor.hpp"

namespace twinstep::tests {

using namespace literals;
using program::Elementwise;
using program::Function;
using program::Gemm;
using Values = std::vector<double>;

namespace {

/// One step on the device of one rank.
class OneRank {
 public:
  explicit OneRank(cuda::DeviceApi& device) : device_{device}, connection_{cuda::connect(device, {}, {})} {}

  timeline::Timeline run(program::StepProgram const& program, program::Initialiser initialise) {
    environment_.emplace(device_, connection_.ranks, std::move(initialise));
    return cuda::Executor{device_, connection_}.run(program, *environment_);
  }
  [[nodiscard]] Values read(std::string_view name) const { return environment_->read(RankId{0}, name, ""); }

 private:
  cuda::DeviceApi& device_;
  cuda::Connection connection_;
  std::optional<cuda::Environment> environment_;
};

/// Half the distance between neighbours around 1: the relative error of one rounding.
double rounding_of(DataType type) {
  switch (type) {
    case DataType::kFp64: return 0x1p-53;
    case DataType::kFp32: return 0x1p-24;
    case DataType::kTf32:  // operands lose what is beyond 10 bits, without rounding on some devices
    case DataType::kFp16: return 0x1p-11;
    default: return 0x1p-8;
  }
}

/// Multiples of 1/8 in [-2, 2): exact in every type, and so are their products.
double value_at(std::string_view name, std::size_t i) {
  return (static_cast<double>((i * 7 + name.size() * 5 + static_cast<std::size_t>(name.front())) % 32) - 16) / 8;
}
void initialise(program::FreshBuffer const& buffer, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(buffer.name, i);
}

/// C after C = A · B (+ C), element by element.
Values expected_product(Gemm const& g) {
  auto const index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  auto out = Values{};
  for (std::int64_t b = 0; b < g.batch; ++b)
    for (std::int64_t i = 0; i < g.m; ++i)
      for (std::int64_t j = 0; j < g.n; ++j) {
        auto sum = g.accumulate ? value_at("c", out.size()) : 0.0;
        for (std::int64_t l = 0; l < g.k; ++l)
          sum += value_at("a", index(b * g.m * g.k + (g.transpose_a ? l * g.m + i : i * g.k + l))) *
                 value_at("bb", index(b * g.k * g.n + (g.transpose_b ? j * g.k + l : l * g.n + j)));
        out.push_back(sum);
      }
  return out;
}

/// Products of small multiples of 1/64 are exact, and so are their sums in fp32 below 2^18; what is left is the
/// rounding of the result.
void check_product(OneRank& rank, Gemm const& gemm) {
  INFO(fmt::format("{} x {} x {}, batch {}, {}, transposed {} {}, accumulating {}", gemm.m, gemm.n, gemm.k, gemm.batch,
                   name_of(gemm.type), gemm.transpose_a, gemm.transpose_b, gemm.accumulate));
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const a = small.persistent(role, "a", gemm.batch * gemm.m * gemm.k, gemm.type);
  auto const b = small.persistent(role, "bb", gemm.batch * gemm.k * gemm.n, gemm.type);
  auto const c = small.persistent(role, "c", gemm.batch * gemm.m * gemm.n, gemm.type);
  role.add(role.stream("main"), small.builder.name("multiply"), gemm,
           {program::reads(role.whole(a)), program::reads(role.whole(b)),
            gemm.accumulate ? program::updates(role.whole(c)) : program::writes(role.whole(c))});
  static_cast<void>(rank.run(std::move(small.builder).finish(), initialise));
  auto const expected = expected_product(gemm);
  auto const found = rank.read("c");
  auto worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(found[i] - expected[i]) - rounding_of(gemm.type) * std::abs(expected[i]));
  CHECK(worst <= 0);
}

double gelu_slope(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(8 * std::atan(1.0));
}

/// What a function gives for its inputs x (and y), with scalar 0.75.
double expected_value(Function function, double x, double y) {
  switch (function) {
    case Function::kFill: return 0.75;
    case Function::kScale: return 0.75 * x;
    case Function::kAdd: return x + y;
    case Function::kGelu: return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Function::kGeluBackward: return y * gelu_slope(x);
    case Function::kSquaredError: return 0.75 * (x - y);
    default: return NAN;
  }
}

/// `elements` begin at `offset`, so that whole packs and single elements are both met.
void check_function(OneRank& rank, Function function, std::vector<DataType> const& types, std::int64_t elements,
                    std::int64_t offset) {
  INFO(fmt::format("{} of {} elements from {} on, {} into {}", name_of(function), elements, offset,
                   name_of(types.front()), name_of(types.back())));
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto accesses = std::vector<program::Access>{};
  auto const names = std::array<std::string_view, 3>{"x", "yy", "out"};
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto const is_last = i + 1 == types.size();
    auto const buffer = small.persistent(role, is_last ? "out" : names[i], elements + offset, types[i]);
    auto const region = program::Region{buffer, offset, elements};
    accesses.push_back(is_last ? program::writes(region) : program::reads(region));
  }
  auto const computed = types.back() == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
  role.add(role.stream("main"), small.builder.name("compute"),
           Elementwise{.function = function, .elements = elements, .type = computed, .scalar = 0.75},
           std::span{accesses});
  static_cast<void>(rank.run(std::move(small.builder).finish(), initialise));
  auto const found = rank.read("out");
  // A few roundings of the arithmetic (8: erf and exp are within 2 units of the last place) and one of the result.
  auto const bound = 8 * rounding_of(computed) + rounding_of(types.back());
  auto worst = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const is_inside = i >= static_cast<std::size_t>(offset);
    auto const expected =
        is_inside ? expected_value(function, value_at("x", i), value_at("yy", i)) : value_at("out", i);
    worst = std::max(worst, std::abs(found[i] - expected) - bound * std::max(1.0, std::abs(expected)));
  }
  CHECK(worst <= 0);
}

/// With no decay and zero moments, the first step of AdamW moves by rate * g / (|g| + epsilon), whatever the betas.
void check_adamw(OneRank& rank) {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  small.builder.adamw() = {.learning_rate = 0.25, .epsilon = 0.5, .weight_decay = 0};
  auto accesses = std::vector<program::Access>{};
  for (auto const* name : {"master", "gradient", "first", "second"})
    accesses.push_back(program::updates(role.whole(small.persistent(role, name, 33))));
  accesses.push_back(program::writes(role.whole(small.persistent(role, "copy", 33, DataType::kBf16))));
  accesses[1].mode = program::AccessMode::kRead;
  role.add(role.stream("main"), small.builder.name("update"),
           Elementwise{.function = Function::kAdamW, .elements = 33, .type = DataType::kFp32}, std::span{accesses});
  static_cast<void>(
      rank.run(std::move(small.builder).finish(), [](program::FreshBuffer const& buffer, std::span<double> values) {
        std::ranges::fill(values, buffer.name == "master" ? 1.0 : buffer.name == "gradient" ? 1.5 : 0.0);
      }));
  // 1 - 0.25 * 1.5 / (1.5 + 0.5) = 0.8125, exact in bf16.
  for (auto const value : rank.read("master")) CHECK(value == Approx(0.8125).epsilon(8 * 0x1p-24));
  CHECK(rank.read("copy") == Values(33, 0.8125));
}

/// Two gradients, each for its stretch; with rate 0.25, momentum 0.5 and no decay the first step moves by 0.25 g.
void check_momentum(OneRank& rank) {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  small.builder.adamw() = {.learning_rate = 0.25, .beta1 = 0.5, .weight_decay = 0};
  auto const whole = [&](std::string_view name, std::int64_t elements) {
    return role.whole(small.persistent(role, name, elements));
  };
  role.add(role.stream("main"), small.builder.name("update"),
           Elementwise{.function = Function::kSgdMomentum, .elements = 300, .type = DataType::kFp32},
           {program::updates(whole("master", 300)), program::reads(whole("ones", 33)),
            program::reads(whole("twos", 267)), program::updates(whole("momentum", 300))});
  static_cast<void>(
      rank.run(std::move(small.builder).finish(), [](program::FreshBuffer const& buffer, std::span<double> values) {
        std::ranges::fill(values, buffer.name == "momentum" ? 0.0 : buffer.name == "twos" ? 2.0 : 1.0);
      }));
  auto expected = Values(33, 0.75);
  expected.resize(300, 0.5);
  CHECK(rank.read("master") == expected);
}

/// 4000 threes and 9000 fours have the squared norm 180,000; on top of as much it is 600², which is clipped to 150.
void check_clipping(OneRank& rank) {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const whole = [&](std::string_view name, std::int64_t elements) {
    return role.whole(small.persistent(role, name, elements));
  };
  auto const main = role.stream("main");
  auto const threes = whole("threes", 4000);
  auto const fours = whole("fours", 9000);
  auto const norm = whole("norm", 1);
  auto const kernel = [](Function function) {
    return Elementwise{.function = function, .elements = 13000, .type = DataType::kFp32, .scalar = 150};
  };
  role.add(main, small.builder.name("norm"), kernel(Function::kSquaredNorm),
           {program::reads(threes), program::reads(fours), program::updates(norm)});
  role.add(main, small.builder.name("clip"), kernel(Function::kClip),
           {program::reads(norm), program::updates(threes), program::updates(fours)});
  static_cast<void>(
      rank.run(std::move(small.builder).finish(), [](program::FreshBuffer const& buffer, std::span<double> values) {
        std::ranges::fill(values, buffer.name == "norm" ? 180'000.0 : buffer.name == "threes" ? 3.0 : 4.0);
      }));
  CHECK(rank.read("norm") == Values{360'000});
  for (auto const value : rank.read("threes")) CHECK(value == Approx(0.75).epsilon(1e-6));
  for (auto const value : rank.read("fours")) CHECK(value == Approx(1).epsilon(1e-6));
}

/// A kernel that only has a cost leaves finite numbers; a delay takes its time; both ways of a copy carry the numbers.
void check_the_rest(OneRank& rank) {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const from = small.persistent(role, "from", 1000);
  auto const normed = small.persistent(role, "normed", 1000, DataType::kBf16);
  auto const back = small.persistent(role, "back", 1000);
  auto const host = role.buffer({.name = small.builder.name("host"),
                                 .elements = 1000,
                                 .type = DataType::kFp32,
                                 .space = program::MemorySpace::kHost});
  using program::CopyDirection;
  role.add(main, small.builder.name("norm"), Elementwise{.elements = 1000, .bytes_per_element = 6},
           {program::reads(role.whole(from)), program::writes(role.whole(normed))}, 3);
  role.add(main, small.builder.name("delay"), program::Delay{200_us}, {});
  role.add(main, small.builder.name("save"), program::Copy{CopyDirection::kDeviceToHost, 4000},
           {program::reads(role.whole(from)), program::writes(role.whole(host))});
  role.add(main, small.builder.name("load"), program::Copy{CopyDirection::kHostToDevice, 4000},
           {program::reads(role.whole(host)), program::writes(role.whole(back))});
  auto const timeline = rank.run(std::move(small.builder).finish(), initialise);
  CHECK(timeline.spans[1].end - timeline.spans[1].start >= 200_us);
  CHECK(rank.read("back") == rank.read("from"));
  CHECK(std::ranges::all_of(rank.read("normed"), [](double value) { return std::isfinite(value); }));
}

}  // namespace

void check_kernels(cuda::DeviceApi& device) {
  auto rank = OneRank{device};
  SECTION("products") {
    for (auto const type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kBf16, DataType::kFp16})
      for (auto const transposes : {0U, 1U, 2U, 3U})
        for (auto const accumulates : {false, true})
          for (std::int64_t const batch : {1, 3})
            check_product(rank, {.m = 24,
                                 .n = 40,
                                 .k = 16,
                                 .batch = batch,
                                 .type = type,
                                 .transpose_a = (transposes & 1U) != 0,
                                 .transpose_b = (transposes & 2U) != 0,
                                 .accumulate = accumulates});
  }
  SECTION("memory-bound kernels") {
    for (auto const function : {Function::kFill, Function::kScale, Function::kAdd, Function::kGelu,
                                Function::kGeluBackward, Function::kSquaredError}) {
      auto const inputs = function == Function::kFill                                   ? 0U
                          : function == Function::kScale || function == Function::kGelu ? 1U
                                                                                        : 2U;
      for (auto const type : {DataType::kFp64, DataType::kFp32, DataType::kBf16, DataType::kFp16})
        for (std::int64_t const offset : {0, 1})
          check_function(rank, function, std::vector(inputs + 1, type), 4096, offset);
      auto mixed = std::vector(inputs + 1, DataType::kBf16);
      mixed.back() = DataType::kFp32;
      check_function(rank, function, mixed, 4099, 0);
    }
  }
  SECTION("optimizers and clipping") {
    check_adamw(rank);
    check_momentum(rank);
    check_clipping(rank);
  }
  SECTION("copies, delays and kernels that only have a cost") {
    check_the_rest(rank);
  }
  SECTION("collectives on data") {
    auto const world = std::min(device.device_count(), 4);
    auto const connection = cuda::connect(device, {.world = world, .local_ranks = world}, {});
    for (auto const name : all_names<CollectiveKind>()) {
      INFO(name << " on " << world);
      auto const options = cuda::BenchmarkOptions{.kind = *find_enum<CollectiveKind>(name),
                                                  .smallest = 256_B,
                                                  .largest = 64_KiB,
                                                  .factor = 16,
                                                  .iterations = 2,
                                                  .warm_up = 1};
      cuda::run_benchmark(device, connection, options, [&](cuda::BenchmarkRow const& row) {
        CHECK(row.out_of_place.wrong == 0);
        if (row.in_place) CHECK(row.in_place->wrong == 0);
      });
    }
  }
}

}  // namespace twinstep::tests
