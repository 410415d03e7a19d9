#include <cmath>
#include <map>
#include <numbers>

#include "strategies/model/work.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using program::Elementwise;
using program::Function;
using program::Gemm;

namespace {

using Values = std::vector<double>;

double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}
double gelu_slope(double x) {
  return (1 + std::erf(x / std::numbers::sqrt2)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

void run(Gemm const& gemm, Values const& a, Values const& b, Values& c) {
  auto const at = [](Values const& values, std::int64_t row, std::int64_t column, std::int64_t columns) {
    return values[static_cast<std::size_t>(row * columns + column)];
  };
  for (std::int64_t i = 0; i < gemm.m; ++i) {
    for (std::int64_t j = 0; j < gemm.n; ++j) {
      auto sum = 0.0;
      for (std::int64_t k = 0; k < gemm.k; ++k) {
        sum += (gemm.transpose_a ? at(a, k, i, gemm.m) : at(a, i, k, gemm.k)) *
               (gemm.transpose_b ? at(b, j, k, gemm.k) : at(b, k, j, gemm.n));
      }
      c[static_cast<std::size_t>(i * gemm.n + j)] = sum;
    }
  }
}

void run(Elementwise const& work, std::vector<Values*> const& operands) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.elements.base); ++i) {
    auto const in = [&](std::size_t operand) { return (*operands[operand])[i]; };
    switch (work.function) {
      case Function::kGelu: (*operands[1])[i] = gelu(in(0)); break;
      case Function::kGeluBackward: (*operands[2])[i] = in(1) * gelu_slope(in(0)); break;
      case Function::kSquaredError: (*operands[2])[i] = work.scalar * (in(0) - in(1)); break;
      default: FAIL("an MLP uses functions that carry data");
    }
  }
}

/// An MLP with values: the slots of every unit, neighbours sharing outputs and inputs.
class Network {
 public:
  explicit Network(ModelWork const& model) : model_{model}, values_(model.units.size()) {
    auto seed = 0.0;
    for (std::size_t u = 0; u < values_.size(); ++u) {
      for (auto const& slot : model.work(model.units[u]).slots) {
        values_[u].emplace_back(static_cast<std::size_t>(slot.elements));
        if (slot.kind != SlotKind::kParameter && slot.kind != SlotKind::kData) continue;
        for (auto& value : values_[u].back()) value = std::sin(seed += 1.7);  // spread over [-1, 1]
      }
    }
  }

  void step() {
    for (std::size_t u = 0; u < values_.size(); ++u) run_all(model_.work(model_.units[u]).forward, u);
    for (auto u = values_.size(); u-- > 0;) run_all(model_.work(model_.units[u]).backward, u);
  }
  /// Half of `scale` times the sum of squared errors, whose gradient the loss unit computes.
  double loss(double scale) {
    step();
    auto const& prediction = find(values_.size() - 1, SlotKind::kInput);
    auto const& target = find(values_.size() - 1, SlotKind::kData);
    auto sum = 0.0;
    for (std::size_t i = 0; i < prediction.size(); ++i) sum += std::pow(prediction[i] - target[i], 2);
    return scale / 2 * sum;
  }
  Values& find(std::size_t unit, SlotKind kind) {
    auto const& slots = model_.work(model_.units[unit]).slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].kind == kind) return values_of(unit, static_cast<std::int32_t>(i));
    }
    FAIL("the unit has such a slot");
    throw std::logic_error{"unreachable"};
  }

 private:
  Values& values_of(std::size_t unit, std::int32_t index) {
    auto const slot = static_cast<std::size_t>(index);
    auto const kind = model_.work(model_.units[unit]).slots[slot].kind;
    if (kind == SlotKind::kInput) return find(unit - 1, SlotKind::kOutput);
    if (kind == SlotKind::kOutputGradient) return find(unit + 1, SlotKind::kInputGradient);
    return values_[unit][slot];
  }
  void run_all(std::vector<Kernel> const& kernels, std::size_t unit) {
    for (auto const& kernel : kernels) {
      auto operands = std::vector<Values*>{};
      for (auto const access : kernel.accesses) operands.push_back(&values_of(unit, access.slot));
      if (auto const* gemm = std::get_if<Gemm>(&kernel.work)) {
        run(*gemm, *operands[0], *operands[1], *operands[2]);
      } else {
        run(std::get<Elementwise>(kernel.work), operands);
      }
    }
  }

  ModelWork const& model_;
  std::vector<std::vector<Values>> values_;
};

}  // namespace

TEST_CASE("an MLP's kernels compute the gradient of the scaled squared error", "[model][work]") {
  // The slope of the loss along each parameter, by central differences, is the reference.
  auto const scale = 0.25;
  auto const model = work_of(
      Mlp{"mlp", {3, 4, 4, 2}},
      {.micro_batch = 5, .compute_type = DataType::kFp64, .gradient_type = DataType::kFp64, .loss_scale = scale});
  auto network = Network{model};
  for (std::size_t layer = 0; layer < 3; ++layer) {
    network.step();
    auto const gradient = network.find(layer, SlotKind::kParameterGradient);
    auto& weight = network.find(layer, SlotKind::kParameter);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      auto const value = weight[i];
      weight[i] = value + 1e-5;
      auto const above = network.loss(scale);
      weight[i] = value - 1e-5;
      auto const below = network.loss(scale);
      weight[i] = value;
      CHECK(gradient[i] == Approx((above - below) / 2e-5).epsilon(1e-6).margin(1e-9));
    }
  }
}

TEST_CASE("an MLP's first layer computes no gradient of the batch", "[model][work]") {
  auto const model = work_of(Mlp{"mlp", {3, 4, 2}}, {.micro_batch = 5});
  auto const& first = model.work(model.units.front());
  REQUIRE(first.backward.size() == 2);
  CHECK(first.backward[0].name == "gelu.backward");
  CHECK(first.backward[1].name == "linear.weight_gradient");
}
