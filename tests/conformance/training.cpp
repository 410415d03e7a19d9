#include "tests/conformance/training.hpp"

#include <cmath>

#include "strategies/deepspeed/trace.hpp"
#include "strategies/megatron/bucket_layout.hpp"
#include "strategies/parts/flat_layout.hpp"
#include "strategies/plan/planned_work.hpp"
#include "strategies/torch/ddp_buckets.hpp"
#include "strategies/torch/fsdp_states.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/timeline_checks.hpp"

namespace twinstep::tests {

using namespace strategies;

double noise(std::uint64_t seed, std::uint64_t index) {
  auto x = seed * 0x9e3779b97f4a7c15ULL + index + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

double initial_parameter(std::size_t tensor, std::int64_t i) {
  return noise(1000 + tensor, static_cast<std::uint64_t>(i)) / 2;
}

std::int64_t token(std::string_view buffer, std::size_t i, std::int64_t vocabulary) {
  auto const share = (noise(buffer == "targets" ? 1 : 2, i) + 1) / 2;
  return static_cast<std::int64_t>(share * static_cast<double>(vocabulary));
}

namespace {

/// What of the parameters a rank has between steps.
enum class Held {
  kAll,
  kShard,        ///< its shard of every group, one behind the other
  kShardInPlace  ///< all, but only its shard of every group is new: the next step begins with gathering them
};

/// Where a strategy keeps its parameters between steps: in a flat buffer of this layout and name.
struct Home {
  FlatLayout layout;
  std::string_view buffer = "parameters";
  Held held = Held::kAll;
  std::string_view beginning;  ///< a buffer that holds the beginning of the layout, all of it on every rank
  std::string_view master;     ///< a buffer with this rank's shard, from which the update makes the parameters
};

/// Told the way the strategies lay them out.
Home home_of(ModelWork const& work, Parameters const& parameters, Plan const& plan) {
  auto const fsdp_units = [&](bool shards_root) { return FsdpUnits{shards_root, work, parameters}.groups(); };
  auto const precision = plan.kernels.precision;
  auto const buckets = [&](std::int64_t shards) {
    return FlatLayout{parameters,
                      bucketed(parameters, precision, bucket_limits(plan.strategy.get<TextbookOptions>(), precision)),
                      shards};
  };
  switch (plan.strategy.name()) {
    case StrategyName::kNaive: return {{parameters, one_by_one(parameters), 1}};
    case StrategyName::kDdp:
      return {{parameters, ddp_buckets(parameters, plan.strategy.get<DdpOptions>(), held_type(plan)), 1}};
    case StrategyName::kZero1:
    case StrategyName::kZero2: return {buckets(shard_ranks(plan))};
    case StrategyName::kZero3:
      return {{parameters, by_unit(parameters), shard_ranks(plan)}, "parameter_shard", Held::kShard};
    case StrategyName::kMegatron: {
      auto const held = gathers_ahead(plan.strategy.get<MegatronOptions>()) ? Held::kShardInPlace : Held::kAll;
      return {megatron_layout(parameters, plan.strategy.get<MegatronOptions>(), plan.parallel.data, shard_ranks(plan)),
              "parameters", held};
    }
    case StrategyName::kFsdp1: {
      auto const units = fsdp_units(plan.strategy.get<Fsdp1Options>().shards_root);
      return {{parameters, units, is_sharded(plan) ? shard_ranks(plan) : 1}, "parameter_shard", Held::kShard};
    }
    case StrategyName::kFsdp2: {
      auto const& fsdp2 = plan.strategy.get<Fsdp2Options>();
      auto const ranks = fsdp2.reshard_after_forward > 1 ? plan.parallel.data : shard_ranks(plan);
      return {{parameters, fsdp_units(fsdp2.shards_root), ranks, {.rows = true}}, "parameter_shard", Held::kShard};
    }
    case StrategyName::kDeepSpeed1:
    case StrategyName::kDeepSpeed2: {
      auto all = std::vector<ParameterId>{};
      for (std::size_t i = 0; i < parameters.count(); ++i) all.emplace_back(i);
      return {{parameters, {all}, plan.parallel.data}, "parameters", Held::kAll, "", "master"};
    }
    case StrategyName::kDeepSpeed3: {
      auto layout = FlatLayout{parameters, persistent_first(plan.strategy.get<DeepSpeedOptions>(), parameters),
                               plan.parallel.data};
      return {std::move(layout), "parameter_shard", Held::kShard, "persistent_parameters", "master"};
    }
    default: FAIL("say where " << name_of(plan.strategy) << " keeps its parameters");
  }
  return {{parameters, {}, 1}};
}

class Training {
 public:
  Training(ModelSpec model, Plan plan, double largest)
      : model_{std::move(model)},
        plan_{plan},
        largest_{largest},
        work_{planned_work(model_, plan)},
        parameters_{work_},
        home_{home_of(work_, parameters_, plan)} {}

  std::vector<double> run(MakeTrainingJob const& make) {
    auto const step = compiled(model_, plan_);
    auto const job = start(make);
    for (int i = 0; i < kTrainingSteps; ++i) CHECK(find_violations(step, job.step(step)) == std::vector<std::string>{});
    return read_parameters(job);
  }

  std::vector<double> first_gradients(MakeTrainingJob const& make) {
    auto const job = start(make);
    job.step(compiled(model_, plan_));
    return job.read(RankId{0}, "gradients", "");
  }

 private:
  TrainingJob start(MakeTrainingJob const& make) {
    return make(plan_.parallel.data,
                [this](program::FreshBuffer const& buffer, std::span<double> values) { initialise(buffer, values); });
  }

  [[nodiscard]] bool is_sharded() const { return home_.held != Held::kAll; }

  /// Where among the ranks that share one copy of the parameters `rank` is: 0 if each holds them all.
  [[nodiscard]] std::size_t place_in_group(RankId rank) const {
    return is_sharded() ? rank.index() % static_cast<std::size_t>(home_.layout.shards()) : 0;
  }

  /// Element `offset` of the flat buffer: which rank of a shard group holds it, and where.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(Group const& group, std::int64_t offset, Held held) const {
    if (held == Held::kAll) return {0, static_cast<std::size_t>(offset)};
    auto const shard = home_.layout.shard(group);
    auto const in_group = offset - group.begin;
    auto const is_apart = held == Held::kShard;
    return {static_cast<std::size_t>(in_group / shard),
            static_cast<std::size_t>(is_apart ? home_.layout.shard_begin(group) + in_group % shard : offset)};
  }

  void initialise(program::FreshBuffer const& buffer, std::span<double> values) const {
    auto const& [rank, name, scope, category] = buffer;
    if (name == home_.buffer) return initialise_parameters(rank, values, home_.held);
    if (name == home_.beginning) return initialise_parameters(rank, values, Held::kAll);
    if (name == home_.master) return initialise_parameters(rank, values, Held::kShard);
    if (category == program::MemoryCategory::kInputs) {
      // Sample i of the global batch is the same numbers wherever it is computed.
      auto const micro_step = static_cast<std::size_t>(scope.micro_batch);
      auto const per_sample = values.size() / static_cast<std::size_t>(plan_.batch.micro_batch);
      auto const first = (micro_step * static_cast<std::size_t>(plan_.parallel.data) + rank.index()) *
                         static_cast<std::size_t>(plan_.batch.micro_batch);
      if (auto const* transformer = std::get_if<Transformer>(&model_)) {
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<double>(token(name, first * per_sample + i, transformer->vocabulary));
        return;
      }
      auto const seed = std::hash<std::size_t>{}(per_sample);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = largest_ * noise(seed, first * per_sample + i);
      return;
    }
    std::fill(values.begin(), values.end(), 0.0);
  }

  void initialise_parameters(RankId rank, std::span<double> values, Held held) const {
    auto const own = rank.index() % static_cast<std::size_t>(home_.layout.shards());
    std::fill(values.begin(), values.end(), 0.0);
    for (std::size_t p = 0; p < parameters_.count(); ++p) {
      auto const id = ParameterId{p};
      auto const& group = home_.layout.groups()[home_.layout.group_of(id)];
      for (std::int64_t i = 0; i < parameters_.elements(id); ++i) {
        auto const [owner, index] = place(group, home_.layout.offset(id) + i, held);
        if (index < values.size() && (held == Held::kAll || owner == own)) values[index] = initial_parameter(p, i);
      }
    }
  }

  [[nodiscard]] std::vector<double> read_parameters(TrainingJob const& job) const {
    auto flat = std::vector<std::vector<double>>{};
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(plan_.parallel.data); ++rank)
      flat.push_back(job.read(RankId{rank}, home_.buffer, ""));
    for (std::size_t rank = 0; rank < flat.size(); ++rank)  // replicas stay identical, bit for bit
      CHECK(flat[rank] == flat[place_in_group(RankId{rank})]);
    auto values = std::vector<double>{};
    for (std::size_t p = 0; p < parameters_.count(); ++p) {
      auto const id = ParameterId{p};
      for (std::int64_t i = 0; i < parameters_.elements(id); ++i) {
        auto const [owner, index] =
            place(home_.layout.groups()[home_.layout.group_of(id)], home_.layout.offset(id) + i, home_.held);
        values.push_back(flat[owner][index]);
      }
    }
    return values;
  }

  ModelSpec model_;
  Plan plan_;
  double largest_;
  ModelWork work_;
  Parameters parameters_;
  Home home_;
};

}  // namespace

std::vector<double> train(Plan const& plan, MakeTrainingJob const& make, double largest) {
  return Training{odd_mlp(), plan, largest}.run(make);
}

std::vector<double> first_gradients(ModelSpec const& model, Plan const& plan, MakeTrainingJob const& make) {
  return Training{model, plan, 1}.first_gradients(make);
}

std::vector<double> train(ModelSpec const& model, Plan const& plan, MakeTrainingJob const& make) {
  return Training{model, plan, 1}.run(make);
}

std::vector<double> train_alone(std::int64_t global_batch, DataType precision, MakeTrainingJob const& make) {
  return train({.strategy = StrategyName::kNaive,
                .batch = {.micro_batch = global_batch, .global_batch = global_batch},
                .kernels = {.precision = precision}},
               make);
}

double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  auto largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    auto const difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

}  // namespace twinstep::tests
