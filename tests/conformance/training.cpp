#include "tests/conformance/training.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "strategies/deepspeed/trace.hpp"
#include "strategies/megatron/bucket_layout.hpp"
#include "strategies/mesh/stages.hpp"
#include "strategies/model/transformer_layout.hpp"
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
Home home_of(ModelWork const& work, Parameters const& parameters, Plan const& plan, StagePlace const& place) {
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
      return {megatron_layout(parameters, plan.strategy.get<MegatronOptions>(), plan.parallel.data, shard_ranks(plan),
                              place),
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

/// What the ranks of one stage hold of the model, and where.
struct Part {
  Part(ModelWork own, Plan const& plan, std::int64_t stage = 0, std::vector<UnitRange> units = {})
      : work{std::move(own)},
        parameters{work},
        chunks{std::move(units)},
        home{home_of(work, parameters, plan, {stage, chunks})} {}

  [[nodiscard]] bool is_sharded() const { return home.held != Held::kAll; }

  ModelWork work;
  Parameters parameters;
  std::vector<UnitRange> chunks;
  Home home;
};

/// Stages of `plan`'s pipeline in their order.
std::vector<std::unique_ptr<Part>> parts_of(ModelSpec const& model, Plan const& plan) {
  auto out = std::vector<std::unique_ptr<Part>>{};
  if (plan.parallel.model_ranks() == 1) {
    out.push_back(std::make_unique<Part>(planned_work(model, plan), plan));
    return out;
  }
  for (auto& role : mesh_step(std::get<Transformer>(model), plan).roles) {
    auto chunks = std::vector<UnitRange>{};
    for (auto const& chunk : role.chunks) chunks.push_back(chunk.units);
    out.push_back(std::make_unique<Part>(std::move(role.model), plan, role.stage, std::move(chunks)));
  }
  return out;
}

Plan without_mesh(Plan plan) {
  plan.parallel = {.data = plan.parallel.data};
  return plan;
}

/// Where a rank stands: the innermost axis counts tensor ranks, the next data ranks, then stages.
struct Place {
  Place(RankId rank, Parallel const& parallel)
      : tensor{static_cast<std::int64_t>(rank.index()) % parallel.tensor},
        data{rank.index() / static_cast<std::size_t>(parallel.tensor) % static_cast<std::size_t>(parallel.data)},
        stage{rank.index() / static_cast<std::size_t>(parallel.tensor * parallel.data)} {}
  std::int64_t tensor;
  std::size_t data;
  std::size_t stage;
};

class Training {
 public:
  Training(ModelSpec model, Plan plan, double largest)
      : model_{std::move(model)},
        plan_{plan},
        largest_{largest},
        whole_work_{planned_work(model_, without_mesh(plan))},
        whole_{whole_work_},
        parts_{parts_of(model_, plan)} {
    for (std::size_t p = 0; p < whole_.count(); ++p) ids_[name_of(whole_work_, whole_, ParameterId{p})] = p;
  }

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
    return make(plan_.parallel.world(),
                [this](program::FreshBuffer const& buffer, std::span<double> values) { initialise(buffer, values); });
  }

  [[nodiscard]] Part const& part(Place const& place) const { return *parts_[place.stage]; }

  /// "layer.1 self_attn.q_proj.weight". A head's copy of a tied matrix is the embedding's.
  [[nodiscard]] std::string name_of(ModelWork const& work, Parameters const& parameters, ParameterId id) const {
    auto const unit = unit_name(work, work.units[parameters.unit_of(id)]);
    auto const& tensor = parameters.tensor(id).name;
    auto const* transformer = std::get_if<Transformer>(&model_);
    if (transformer == nullptr || !transformer->tied_embeddings) return unit + " " + tensor;
    auto const names = modules_of(*transformer);
    return tensor == names.output + ".weight" ? "embedding " + names.token_embedding + ".weight" : unit + " " + tensor;
  }

  /// Row `row` of a tensor that a tensor rank has `rows` of: the whole one's. Queries, keys and values of a fused
  /// projection are shared out each by itself.
  [[nodiscard]] std::int64_t whole_row(std::string_view tensor, std::int64_t row, std::int64_t rows,
                                       std::int64_t rank) const {
    auto const& model = std::get<Transformer>(model_);
    auto const fused = modules_of(model).qkv;
    if (!model.fused_qkv || !tensor.starts_with(fused)) return rank * rows + row;
    auto begin = std::int64_t{0};
    for (auto const width : {model.query_width(), model.kv_width(), model.kv_width()}) {
      auto const share = width / plan_.parallel.tensor;
      if (row < share) return begin + rank * share + row;
      row -= share;
      begin += width;
    }
    FAIL("a fused projection has queries, keys and values");
    return 0;
  }

  /// The whole model's parameter, and which of its numbers number `i` of the rank's share is; none for padding.
  struct InWhole {
    std::size_t tensor = 0;
    std::optional<std::int64_t> number;
  };
  [[nodiscard]] InWhole in_whole(Place const& place, ParameterId id, std::int64_t i) const {
    auto const& own = part(place);
    auto const& share = own.parameters.tensor(id);
    auto const whole_id = ids_.at(name_of(own.work, own.parameters, id));
    auto const& whole = whole_.tensor(ParameterId{whole_id});
    auto row = i / share.columns;
    auto column = i % share.columns;
    if (share.rows != whole.rows) row = whole_row(share.name, row, share.rows, place.tensor);
    if (share.columns != whole.columns) column += place.tensor * share.columns;
    if (row >= whole.rows) return {whole_id, {}};
    return {whole_id, row * whole.columns + column};
  }

  /// Element `offset` of the flat buffer: which rank of a shard group holds it, and where.
  [[nodiscard]] static std::pair<std::size_t, std::size_t> place(Home const& home, Group const& group,
                                                                 std::int64_t offset, Held held) {
    if (held == Held::kAll) return {0, static_cast<std::size_t>(offset)};
    auto const shard = home.layout.shard(group);
    auto const in_group = offset - group.begin;
    auto const is_apart = held == Held::kShard;
    return {static_cast<std::size_t>(in_group / shard),
            static_cast<std::size_t>(is_apart ? home.layout.shard_begin(group) + in_group % shard : offset)};
  }

  /// Calls `visit(where it is in the buffer, which parameter of the whole model, which of its numbers)` for each number
  /// that a rank holds in a buffer of parameters.
  template <class Visit>
  void for_each_held(RankId rank, Held held, Visit const& visit) const {
    auto const at = Place{rank, plan_.parallel};
    auto const& [work, parameters, chunks, home] = part(at);
    auto const own = at.data % static_cast<std::size_t>(home.layout.shards());
    for (std::size_t p = 0; p < parameters.count(); ++p) {
      auto const id = ParameterId{p};
      auto const& group = home.layout.groups()[home.layout.group_of(id)];
      for (std::int64_t i = 0; i < parameters.elements(id); ++i) {
        auto const [owner, index] = place(home, group, home.layout.offset(id) + i, held);
        if (held != Held::kAll && owner != own) continue;
        auto const [tensor, number] = in_whole(at, id, i);
        if (number) visit(index, tensor, *number);
      }
    }
  }

  void initialise(program::FreshBuffer const& buffer, std::span<double> values) const {
    auto const& home = part(Place{buffer.rank, plan_.parallel}).home;
    if (buffer.category == program::MemoryCategory::kInputs) return fill_samples(buffer, values);
    std::fill(values.begin(), values.end(), 0.0);
    auto const fill = [&](Held held) {
      for_each_held(buffer.rank, held, [&](std::size_t index, std::size_t tensor, std::int64_t number) {
        if (index < values.size()) values[index] = initial_parameter(tensor, number);
      });
    };
    if (buffer.name == home.buffer) fill(home.held);
    if (buffer.name == home.beginning) fill(Held::kAll);
    if (buffer.name == home.master) fill(Held::kShard);
  }

  /// Sample i of the global batch is the same numbers wherever it is computed. Ranks that share a vocabulary count ids
  /// from where their own part begins.
  void fill_samples(program::FreshBuffer const& buffer, std::span<double> values) const {
    auto const at = Place{buffer.rank, plan_.parallel};
    auto const samples = static_cast<std::size_t>(plan_.batch.micro_batch);
    auto const micro_step = static_cast<std::size_t>(buffer.scope.micro_batch);
    auto const per_sample = values.size() / samples;
    auto const first = (micro_step * static_cast<std::size_t>(plan_.parallel.data) + at.data) * samples * per_sample;
    auto const* transformer = std::get_if<Transformer>(&model_);
    auto const begin = transformer == nullptr ? 0 : at.tensor * share_of_vocabulary();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = transformer == nullptr
                      ? largest_ * noise(std::hash<std::size_t>{}(per_sample), first + i)
                      : static_cast<double>(token(buffer.name, first + i, transformer->vocabulary) - begin);
  }

  /// Rows of the embedding's matrix on a tensor rank.
  [[nodiscard]] std::int64_t share_of_vocabulary() const {
    return planned_work(model_, plan_).kinds.front().parameters.front().rows;
  }

  [[nodiscard]] std::vector<double> read_parameters(TrainingJob const& job) const {
    auto values = std::vector<std::vector<std::optional<double>>>(whole_.count());
    for (std::size_t p = 0; p < whole_.count(); ++p)
      values[p].resize(static_cast<std::size_t>(whole_.elements(ParameterId{p})));
    auto agree = true;
    auto first_copies = std::map<std::tuple<std::size_t, std::int64_t, std::size_t>, std::vector<double>>{};
    for (std::size_t r = 0; r < static_cast<std::size_t>(plan_.parallel.world()); ++r) {
      auto const at = Place{RankId{r}, plan_.parallel};
      auto const& [work, parameters, chunks, home] = part(at);
      auto const flat = job.read(RankId{r}, home.buffer, "");
      auto const in_group = part(at).is_sharded() ? at.data % static_cast<std::size_t>(home.layout.shards()) : 0;
      auto const& first = first_copies.try_emplace({at.stage, at.tensor, in_group}, flat).first->second;
      CHECK(flat == first);  // replicas stay identical, bit for bit
      for_each_held(RankId{r}, home.held, [&](std::size_t index, std::size_t tensor, std::int64_t number) {
        auto& value = values[tensor][static_cast<std::size_t>(number)];
        agree = agree && (!value || *value == flat[index]);
        value = flat[index];
      });
    }
    CHECK(agree);  // so do what tensor ranks have in common, and tied copies
    auto out = std::vector<double>{};
    for (auto const& tensor : values)
      for (auto const& value : tensor) out.push_back(value.value());
    return out;
  }

  ModelSpec model_;
  Plan plan_;
  double largest_;
  ModelWork whole_work_;
  Parameters whole_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<std::string, std::size_t> ids_;  // of the whole model's parameters, by name
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
