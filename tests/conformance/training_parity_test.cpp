#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "strategies/flat_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/timeline_checks.hpp"
#include "validate/cpu/executor.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

constexpr std::int64_t kMicroBatch = 2;
constexpr int kSteps = 3;

/// A number in [-1, 1) that depends on nothing but its arguments.
double noise(std::uint64_t seed, std::uint64_t index) {
  auto x = seed * 0x9e3779b97f4a7c15ULL + index + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

/// Where a strategy keeps each parameter, told the way the strategies lay them out.
FlatLayout layout_of(Parameters const& parameters, Plan const& plan) {
  switch (plan.strategy) {
    case StrategyName::kNaive: return {parameters, one_by_one(parameters), 1};
    case StrategyName::kDdp: return {parameters, bucketed(parameters, plan.precision, bucket_limits(plan)), 1};
    case StrategyName::kZero1:
    case StrategyName::kZero2:
      return {parameters, bucketed(parameters, plan.precision, bucket_limits(plan)), plan.ranks};
    case StrategyName::kZero3: return {parameters, by_unit(parameters), plan.ranks};
  }
  return {parameters, {}, 1};
}

/// Trains an MLP for a few steps on the CPU executor and hands back its parameters, tensor after tensor.
class Training {
 public:
  explicit Training(Plan plan)
      : plan_{plan},
        work_{work_of(odd_mlp(), {.micro_batch = plan.micro_batch})},
        parameters_{work_},
        layout_{layout_of(parameters_, plan)} {}

  std::vector<double> run() {
    auto const step = compiled(odd_mlp(), plan_);
    auto environment = cpu::Environment{[this](RankId rank, std::string_view name, std::string_view scope,
                                               std::span<double> values) { initialise(rank, name, scope, values); }};
    for (int i = 0; i < kSteps; ++i) {
      auto const timeline = cpu::run(step, environment);
      CHECK(find_violations(step, timeline) == std::vector<std::string>{});
    }
    return read_parameters(environment);
  }

 private:
  [[nodiscard]] bool is_sharded() const { return plan_.strategy == StrategyName::kZero3; }

  /// Element `offset` of the flat buffer: which rank holds it, and where.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(Group const& group, std::int64_t offset) const {
    if (!is_sharded()) return {0, static_cast<std::size_t>(offset)};
    auto const shard = layout_.shard(group);
    auto const in_group = offset - group.begin;
    return {static_cast<std::size_t>(in_group / shard),
            static_cast<std::size_t>(layout_.shard_begin(group) + in_group % shard)};
  }

  void initialise(RankId rank, std::string_view name, std::string_view scope, std::span<double> values) const {
    if (name == "parameters" || name == "parameter_shard") return initialise_parameters(rank, values);
    if (scope.starts_with("micro_batch.")) {
      // Sample i of the global batch is the same numbers wherever it is computed.
      auto const micro_step = std::stoull(std::string{scope.substr(12)});
      auto const per_sample = values.size() / static_cast<std::size_t>(plan_.micro_batch);
      auto const first = (micro_step * static_cast<std::size_t>(plan_.ranks) + rank.index()) *
                         static_cast<std::size_t>(plan_.micro_batch);
      auto const seed = std::hash<std::size_t>{}(per_sample);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, first * per_sample + i);
      return;
    }
    std::fill(values.begin(), values.end(), 0.0);
  }

  void initialise_parameters(RankId rank, std::span<double> values) const {
    std::fill(values.begin(), values.end(), 0.0);
    for (std::size_t p = 0; p < parameters_.count(); ++p) {
      auto const id = ParameterId{p};
      auto const& group = layout_.groups()[layout_.group_of(id)];
      for (std::int64_t i = 0; i < parameters_.elements(id); ++i) {
        auto const [owner, index] = place(group, layout_.offset(id) + i);
        if (!is_sharded() || owner == rank.index()) values[index] = noise(1000 + p, static_cast<std::uint64_t>(i)) / 2;
      }
    }
  }

  [[nodiscard]] std::vector<double> read_parameters(cpu::Environment const& environment) const {
    auto flat = std::vector<std::vector<double>>{};
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(plan_.ranks); ++rank)
      flat.push_back(environment.read(RankId{rank}, is_sharded() ? "parameter_shard" : "parameters", ""));
    if (!is_sharded())
      for (auto const& replica : flat) CHECK(replica == flat.front());  // replicas stay identical, bit for bit
    auto values = std::vector<double>{};
    for (std::size_t p = 0; p < parameters_.count(); ++p) {
      auto const id = ParameterId{p};
      for (std::int64_t i = 0; i < parameters_.elements(id); ++i) {
        auto const [owner, index] = place(layout_.groups()[layout_.group_of(id)], layout_.offset(id) + i);
        values.push_back(flat[owner][index]);
      }
    }
    return values;
  }

  Plan plan_;
  ModelWork work_;
  Parameters parameters_;
  FlatLayout layout_;
};

double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  auto largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    auto const difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

}  // namespace

// One rank computes the whole global batch at once; the others cut it into ranks and micro-batches. AdamW moves a
// weight by about the learning rate, 3e-4; sums in another order differ by some 1e-16 of the gradients, which it can
// magnify by the ratio of the learning rate to the smallest gradients (about 1e-3 here), so 1e-12 is rounding and
// nothing else.
TEST_CASE("every strategy trains like a single rank", "[conformance][strategies][cpu]") {
  for (auto const recompute : {Recompute::kNone, Recompute::kFull}) {
    for (std::int64_t const ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (std::int64_t const micro_batches : {1, 3}) {
        auto const global_batch = kMicroBatch * ranks * micro_batches;
        auto const reference = Training{
            {.strategy = StrategyName::kNaive,
             .micro_batch = global_batch,
             .global_batch = global_batch,
             .precision =
                 DataType::kFp64}}.run();
        for (auto const name : kAllStrategies) {
          INFO(fmt::format("{}, {} ranks, {} micro-batches, recompute {}", name_of(name), ranks, micro_batches,
                           name_of(recompute)));
          auto const trained = Training{
              {.strategy = name,
               .recompute = recompute,
               .ranks = ranks,
               .micro_batch = kMicroBatch,
               .global_batch = global_batch,
               .precision = DataType::kFp64,
               .bucket = 1_KiB,
               .first_bucket =
                   256_B}}.run();
          CHECK(largest_difference(trained, reference) < 1e-12);
        }
      }
    }
  }
}
