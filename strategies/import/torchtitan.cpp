#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include <fmt/format.h>

#include "strategies/import/known_keys.hpp"
#include "strategies/import/readers.hpp"
#include "strategies/import/torchtitan_models.hpp"
#include "strategies/plan/optimizer_names.hpp"

namespace twinstep::strategies {
namespace {

constexpr auto kNotModelledOfTorchtitan = std::to_array<NotModelled>({
    {"activation_checkpoint.early_stop", "recomputation stops as soon as backward has what it needs", "true"},
    {"activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", "every second product is kept", {}},
    {"float8.enable_fsdp_float8_all_gather", "parameters are gathered in the precision of compute", {}},
    {"float8.filter_fqns", "each linear layer of a block multiplies in 8 bits", {}},
    {"optimizer.early_step_in_backward", "the update follows backward", {}},
    {"fault_tolerance.enable", "there is one job", {}},
    {"parallelism.enable_compiled_autograd", "backward is PyTorch's", {}},
    {"parallelism.fsdp_disable_prefetch", "units are prefetched", {}},
    {"experimental.enable_async_tensor_parallel", "collectives run between matrix products, not inside them", {}},
    {"parallelism.enable_async_tensor_parallel", "collectives run between matrix products, not inside them", {}},
    {"training.enable_async_tensor_parallel", "collectives run between matrix products, not inside them", {}},
    {"parallelism.disable_loss_parallel", "the loss is split over the vocabulary", {}},
    {"training.enable_loss_parallel", "the loss is split over the vocabulary", "true"},
    {"experimental.pipeline_parallel_microbatches", "pipeline_parallel_microbatch_size says how many there are", {}},
    {"experimental.pipeline_parallel_schedule_csv", "the schedule is one of those that have a name", {}},
    {"experimental.pipeline_parallel_split_points", "layers are shared out evenly", {}},
    {"parallelism.module_fqns_per_model_part", "layers are shared out evenly", {}},
    {"parallelism.pipeline_parallel_schedule_csv", "the schedule is one of those that have a name", {}},
    {"parallelism.pipeline_parallel_split_points", "layers are shared out evenly", {}},
    {"training.enable_compiled_autograd", "backward is PyTorch's", {}},
});

constexpr auto kTorchtitanKeys = KnownKeys{
    .format = "a torchtitan configuration",
    .read = R"(
        training.batch_size training.local_batch_size training.global_batch_size training.seq_len training.max_norm
        training.dtype training.enable_cpu_offload training.mixed_precision_param training.mixed_precision_reduce
        training.compile compile.enable compile.components
        training.data_parallel_degree training.data_parallel_replicate_degree training.data_parallel_shard_degree
        training.data_parallel_type training.tensor_parallel_degree training.fsdp_reshard_after_forward
        parallelism.data_parallel_replicate_degree parallelism.data_parallel_shard_degree
        parallelism.fsdp_reshard_after_forward parallelism.tensor_parallel_degree
        parallelism.pipeline_parallel_degree parallelism.context_parallel_degree parallelism.expert_parallel_degree
        parallelism.expert_tensor_parallel_degree
        parallelism.pipeline_parallel_first_stage_less_layers parallelism.pipeline_parallel_last_stage_less_layers
        parallelism.pipeline_parallel_layers_per_stage parallelism.pipeline_parallel_microbatch_size
        parallelism.pipeline_parallel_schedule experimental.pipeline_parallel_schedule
        experimental.pipeline_parallel_degree experimental.context_parallel_degree
        activation_checkpoint.mode activation_checkpoint.selective_ac_option
        optimizer.name optimizer.momentum optimizer.implementation optimizer.fused optimizer.foreach
        model.converters model.flavor model.name float8.recipe_name float8.enable_float8_linear)",
    .no_matter = R"(
        checkpoint comm debug fault_tolerance job logging lr_scheduler memory_estimation metrics mx profiling
        validation compile.backend
        experimental.custom_args_module experimental.custom_import experimental.enable_compiled_autograd
        experimental.context_parallel_rotate_method
        activation_checkpoint.debug activation_checkpoint.determinism_check
        activation_checkpoint.preserve_rng_state activation_checkpoint.memory_budget
        activation_checkpoint.visualize_memory_budget_pareto
        float8.emulate float8.force_recompute_fp8_weight_in_bwd float8.moe_fqns_prototype
        float8.precompute_float8_dynamic_scale_for_fsdp
        model.hf_assets_path model.norm_type model.print_after_conversion model.tokenizer_path
        optimizer.beta1 optimizer.beta2 optimizer.eps optimizer.lr optimizer.weight_decay
        parallelism.context_parallel_rotate_method
        training.dataset training.dataset_path training.debug_moe_force_load_balance training.deterministic
        training.gc_debug training.gc_freq
        training.seed training.steps training.warmup_steps)",
    .not_modelled = kNotModelledOfTorchtitan,
};

/// The first of `places` that the file has: {section, key}, newer ones first.
using Place = std::pair<char const*, char const*>;

class TorchtitanReader {
 public:
  explicit TorchtitanReader(io::Node const& config) : config_{config} {}

  UsersFile read() {
    report_keys(uses_float8() ? config_ : io::without_member(config_, "float8"), kTorchtitanKeys, out_.warnings);
    read_model();
    refuse_other_parallelism();
    read_parallelism();
    read_strategy();
    read_batches();
    read_types();
    read_optimizer();
    read_recompute();
    read_compiler();
    read_float8();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<io::Node> find(std::initializer_list<Place> places) const {
    for (auto const& [section, key] : places)
      if (auto const table = config_.find(section))
        if (auto value = table->find(key)) return value;
    return std::nullopt;
  }

  void refuse_other_parallelism() const {
    refuse_parallelism(find({{"parallelism", "context_parallel_degree"}, {"experimental", "context_parallel_degree"}}),
                       "context");
    refuse_parallelism(find({{"parallelism", "expert_parallel_degree"}}), "expert");
  }

  /// Layers' inputs are split along the sequence wherever there is a tensor degree, as our default for PyTorch is.
  void read_parallelism() {
    auto const tensor = find({{"parallelism", "tensor_parallel_degree"}, {"training", "tensor_parallel_degree"}});
    auto const stages =
        find({{"parallelism", "pipeline_parallel_degree"}, {"experimental", "pipeline_parallel_degree"}});
    auto parallel = Part{"parallel"};
    tensor_ = tensor ? tensor->integer_from(1) : 1;
    stages_ = stages ? stages->integer_from(1) : 1;
    if (tensor_ > kMostRanks || stages_ > kMostRanks)
      (tensor_ > kMostRanks ? tensor : stages)->fail("found a degree beyond any cluster", "lower it");
    if (tensor_ > 1) parallel.put("tensor", *tensor);
    if (stages_ > 1) {
      parallel.put("pipeline", *stages);
      read_schedule(*stages, parallel);
      put_counted(parallel, "pipeline_parallel_first_stage_less_layers", "embedding_counts");
      put_counted(parallel, "pipeline_parallel_last_stage_less_layers", "head_counts");
    }
    if (!parallel.node().members().empty()) out_.strategy.put("parallel", parallel.node());
  }

  /// Names of PyTorch's classes (torch/distributed/pipelining/schedules.py, get_schedule_class). Those with several
  /// stages a rank have two, unless the file says how many layers a stage has.
  void read_schedule(io::Node const& stages, Part& parallel) {
    struct Schedule {
      std::string_view theirs, ours;
      bool has_chunks;
    };
    constexpr auto kSchedules = std::to_array<Schedule>({{"1F1B", "1f1b", false},
                                                         {"GPipe", "gpipe", false},
                                                         {"Interleaved1F1B", "interleaved-1f1b", true},
                                                         {"InterleavedZeroBubble", "interleaved-zb1p", true},
                                                         {"ZBVZeroBubble", "zbv", true},
                                                         {"DualPipeV", "dualpipev", true}});
    auto const name =
        find({{"parallelism", "pipeline_parallel_schedule"}, {"experimental", "pipeline_parallel_schedule"}});
    auto const word = name ? name->string() : std::string_view{"1F1B"};
    auto const schedule = std::ranges::find(kSchedules, word, &Schedule::theirs);
    if (schedule == kSchedules.end()) {
      auto names = std::vector<std::string_view>{};
      for (auto const& each : kSchedules) names.push_back(each.theirs);
      name->fail(fmt::format("found {}, expected one of {}", quoted(word), fmt::join(names, ", ")),
                 "the others are not modelled yet");
    }
    parallel.put("schedule", name.value_or(stages), schedule->ours);
    if (schedule->has_chunks) put_chunks(name.value_or(stages), parallel);
  }

  /// Stages are ⌈(layers + embedding + head) / layers of a stage⌉ (torchtitan/distributed/pipeline_parallel.py).
  void put_chunks(io::Node const& schedule, Part& parallel) {
    auto const each = find({{"parallelism", "pipeline_parallel_layers_per_stage"}});
    if (!each) return parallel.put("chunks", schedule, std::int64_t{2});
    auto const of_stage = each->integer_from(1);
    if (!out_.model.has("layers")) {
      out_.open.push_back({"strategy", "parallel",
                           at_place_of(*each,
                                       "needs a model whose layers are known: give the \"chunks\" of the strategy's "
                                       "\"parallel\"; 2 are taken")});
      return parallel.put("chunks", schedule, std::int64_t{2});
    }
    auto const layers = out_.model.node().at("layers").integer() +
                        weight_of("pipeline_parallel_first_stage_less_layers") +
                        weight_of("pipeline_parallel_last_stage_less_layers");
    auto const parts = (layers - 1) / of_stage + 1;
    if (parts % stages_ != 0)
      each->fail(fmt::format("found {} layers a stage, which makes {} stages on {} ranks", of_stage, parts, stages_),
                 "use a number that makes as many on each rank");
    parallel.put("chunks", *each, parts / stages_);
  }

  /// How many layers embedding or head count as: 1 unless the file says otherwise.
  [[nodiscard]] std::int64_t weight_of(char const* key) const {
    auto const weight = find({{"parallelism", key}});
    return weight ? std::clamp(weight->integer_from(0), std::int64_t{0}, kMostRanks) : 1;
  }

  void put_counted(Part& parallel, char const* key, std::string_view ours) {
    auto const weight = find({{"parallelism", key}});
    if (!weight) return;
    parallel.put(ours, *weight, weight_of(key) > 0);
    if (weight_of(key) > 1)
      out_.warnings.push_back(at_place_of(*weight, "is not modelled: embedding and head count as one layer each"));
  }

  /// Sharding is fully_shard, -1 over all that replication leaves; without sharding it is DDP.
  void read_strategy() {
    auto const shard = find({{"parallelism", "data_parallel_shard_degree"},
                             {"training", "data_parallel_shard_degree"},
                             {"training", "data_parallel_degree"}});
    auto const replicate =
        find({{"parallelism", "data_parallel_replicate_degree"}, {"training", "data_parallel_replicate_degree"}});
    auto const type = find({{"training", "data_parallel_type"}});
    auto const shards = shard ? shard->integer() : -1;
    auto const replicas = replicate ? replicate->integer_from(1) : 1;
    if (shards != -1 && shards < 1)
      shard->fail(fmt::format("found {}, expected -1 or a number of ranks", shards), "-1 takes all that are left");
    if (replicas > kMostRanks || shards > kMostRanks)
      (shards > kMostRanks ? shard : replicate)->fail("found a degree beyond any cluster", "lower it");
    auto const is_ddp = (type && type->string() == "ddp") || (shards == 1 && replicas > 1);
    auto const ranks = static_cast<double>(shards * replicas) * static_cast<double>(tensor_ * stages_);
    if (ranks > 1e15) shard->fail("found degrees beyond any cluster", "lower them");
    out_.strategy.put("name", shard.value_or(config_), is_ddp ? "ddp" : "fsdp2");
    if (shards > 0) out_.strategy.put("ranks", *shard, static_cast<std::int64_t>(ranks));
    if (!is_ddp) read_sharding(shards, replicas, shard, replicate);
    if (auto const offload = find({{"training", "enable_cpu_offload"}}); offload && offload->boolean())
      put_cpu_offload(out_.strategy, *offload);
  }

  void read_sharding(std::int64_t shards, std::int64_t replicas, std::optional<io::Node> const& shard,
                     std::optional<io::Node> const& replicate) {
    // Embedding, and final norm with head, are units of their own beside the layers.
    out_.strategy.put("shards_root", config_, false);
    if (replicas > 1 && shards > 1) out_.strategy.put("shard_group", *shard);
    if (replicas > 1 && shards < 1) out_.strategy.put("replicas", *replicate);
    auto const policy =
        find({{"parallelism", "fsdp_reshard_after_forward"}, {"training", "fsdp_reshard_after_forward"}});
    if (!policy) return;
    auto const word = policy->string();
    if (word != "default" && word != "always" && word != "never")
      policy->fail(fmt::format("found {}, expected one of default, always, never", quoted(word)), "choose one of them");
    out_.strategy.put("reshard_after_forward", *policy, word != "never");
  }

  void read_batches() {
    auto const micro = find({{"training", "local_batch_size"}, {"training", "batch_size"}});
    auto const local = micro ? micro->integer_from(1) : 8;  // torchtitan's default
    if (stages_ > 1)
      put_pipelined(micro.value_or(config_), local);
    else if (micro)
      out_.training.put("micro_batch", *micro);
    else
      out_.training.put("micro_batch", config_, local);
    if (auto const global = find({{"training", "global_batch_size"}}); global && global->integer() != -1)
      out_.training.put("global_batch", *global);
    if (auto const length = find({{"training", "seq_len"}}))
      out_.training.put("sequence_length", *length);
    else
      out_.training.put("sequence_length", config_, std::int64_t{2048});  // likewise
    auto const norm = find({{"training", "max_norm"}});
    out_.training.put("clip_gradients", norm.value_or(config_), !norm || norm->number() > 0);
  }

  /// A pipeline cuts a rank's batch into micro-batches, of one sequence unless the file says otherwise.
  void put_pipelined(io::Node const& place, std::int64_t local) {
    auto const size = find({{"parallelism", "pipeline_parallel_microbatch_size"}});
    auto const of_micro = size ? size->integer_from(1) : 1;
    if (local % of_micro != 0)
      size->fail(fmt::format("found micro-batches of {} for the {} sequences of a rank", of_micro, local),
                 "use a divisor of them");
    out_.training.put("micro_batch", size.value_or(place), of_micro);
    auto const global = find({{"training", "global_batch_size"}});
    if (!global || global->integer() == -1) out_.training.put("gradient_accumulation", place, local / of_micro);
  }

  /// Our name of a PyTorch type.
  static std::string type_of(io::Node const& node) {
    for (auto const& [theirs, ours] : {std::pair{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}})
      if (node.string() == theirs) return ours;
    node.fail(fmt::format("found {}, expected bfloat16, float16 or float32", quoted(node.string())),
              "choose one of them");
  }

  /// Mixed precision is fully_shard's; under DDP it is autocast, which reduces gradients as they are held.
  void read_types() {
    auto const param = find({{"training", "mixed_precision_param"}});
    auto const reduce = find({{"training", "mixed_precision_reduce"}});
    auto const held = find({{"training", "dtype"}});
    out_.training.put("precision", param.value_or(config_), param ? type_of(*param) : "bf16");
    if (held) out_.training.put("parameter_type", *held, type_of(*held));
    if (out_.strategy.node().at("name").string() == "fsdp2")
      out_.training.put("reduce_type", reduce.value_or(config_), reduce ? type_of(*reduce) : "fp32");
  }

  /// "for-loop" is slower than foreach still.
  void read_optimizer() {
    auto const name = find({{"optimizer", "name"}});
    auto const implementation = find({{"optimizer", "implementation"}});
    auto const fused = find({{"optimizer", "fused"}});
    auto const word = implementation ? implementation->string() : std::string_view{"fused"};
    auto const is_fused = word == "fused" && (!fused || fused->boolean());
    if (word == "for-loop")
      out_.warnings.push_back(at_place_of(*implementation, "\"for-loop\" is not modelled: foreach is taken"));
    else if (word != "fused" && word != "foreach")
      implementation->fail(fmt::format("found {}, expected one of for-loop, foreach, fused", quoted(word)),
                           "choose one of them");
    auto const optimizer = name ? optimizer_called(name->string()) : Optimizer::kAdamWForeach;
    if (optimizer == Optimizer::kSgd) {
      auto const momentum = find({{"optimizer", "momentum"}});
      return out_.training.put("optimizer", *name, momentum && momentum->number() > 0 ? "sgd-momentum" : "sgd");
    }
    if (optimizer && *optimizer != Optimizer::kAdamWForeach)
      return out_.training.put("optimizer", *name, name_of(*optimizer));
    if (!optimizer)
      out_.warnings.push_back(
          at_place_of(*name, fmt::format("{} is not modelled: AdamW is taken", quoted(name->string()))));
    out_.training.put("optimizer", implementation.value_or(name.value_or(config_)),
                      is_fused ? "adamw-fused" : "adamw-foreach");
  }

  /// Selective by default, every second layer.
  void read_recompute() {
    auto const mode = find({{"activation_checkpoint", "mode"}});
    auto const option = find({{"activation_checkpoint", "selective_ac_option"}});
    auto const word = mode ? mode->string() : std::string_view{"selective"};
    auto const place = option.value_or(mode.value_or(config_));
    if (word == "none" || word == "full")
      out_.strategy.put("recompute", *mode, word);
    else if (word == "memory_budget")
      out_.warnings.push_back(at_place_of(*mode, "\"memory_budget\" is not modelled: nothing is recomputed"));
    else if (word != "selective")
      mode->fail(fmt::format("found {}, expected one of none, full, selective", quoted(word)), "choose one of them");
    else if (option && option->is(io::Node::Type::kString) && option->string() == "op")
      out_.strategy.put("recompute", place, "per-op");
    else
      put_every(place, option ? every_of(*option) : 2);
  }

  void put_every(io::Node const& place, std::int64_t every) {
    auto recompute = Part{"recompute"};
    recompute.put("what", place, "full");
    recompute.put("every", place, every);
    out_.strategy.put("recompute", recompute.node());
  }

  /// 2 or "2".
  static std::int64_t every_of(io::Node const& option) {
    if (option.is(io::Node::Type::kNumber)) return option.integer_from(1);
    auto const text = option.string();
    auto every = std::int64_t{0};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
    if (error != std::errc{} || end != text.data() + text.size() || every < 1)
      option.fail(fmt::format("found {}, expected \"op\" or a number of layers", quoted(text)), "choose one of them");
    return every;
  }

  /// Where it compiles, it compiles the loss too unless `components` leave it out (torchtitan/components/loss.py,
  /// build_cross_entropy_loss; torchtitan/config/job_config.py, Compile): one kernel.
  void read_compiler() {
    auto const compile = find({{"compile", "enable"}, {"training", "compile"}});
    if (!compile || !compile->boolean()) return;
    auto const components = find({{"compile", "components"}});
    auto const compiles = [&](std::string_view what) {
      return !components ||
             std::ranges::any_of(components->elements(), [&](io::Node const& each) { return each.string() == what; });
    };
    if (compiles("loss")) out_.training.put("cross_entropy", components.value_or(*compile), "fused");
    if (compiles("model"))
      out_.open.push_back({"cluster", "stack",
                           at_place_of(*compile,
                                       "is not modelled by the strategy: name what runs the kernels, "
                                       "\"stack\": \"pytorch-compiled\" of the cluster")});
  }

  void read_model() {
    auto const name = find({{"model", "name"}});
    auto const flavor = find({{"model", "flavor"}});
    if (name && flavor) out_.model = torchtitan_model(*name, *flavor);
  }

  static bool is_float8(io::Node const& converter) {
    return converter.string() == "float8" || converter.string() == "quantize.linear.float8";
  }
  [[nodiscard]] bool uses_float8() const {
    auto const older = find({{"float8", "enable_float8_linear"}});
    auto const converters = find({{"model", "converters"}});
    return (older && older->boolean()) || (converters && std::ranges::any_of(converters->elements(), is_float8));
  }

  /// The converter "float8" and, in older files, a flag.
  void read_float8() {
    auto const older = find({{"float8", "enable_float8_linear"}});
    if (older && older->boolean()) put_float8(*older);
    auto const converters = find({{"model", "converters"}});
    if (!converters) return;
    for (auto const& converter : converters->elements())
      if (is_float8(converter))
        put_float8(converter);
      else
        out_.warnings.push_back(at_place_of(
            converter, fmt::format("{} is not modelled: the precision is taken", quoted(converter.string()))));
  }

  void put_float8(io::Node const& place) {
    out_.training.put("linear_type", place, "fp8");
    auto const recipe = find({{"float8", "recipe_name"}});
    if (recipe && recipe->string() != "tensorwise") out_.training.put("scaling", *recipe, "row-wise");
    if (recipe && recipe->string() == "rowwise_with_gw_hp")
      out_.warnings.push_back(at_place_of(*recipe, "is not modelled: weight gradients multiply in 8 bits too"));
  }

  static constexpr std::int64_t kMostRanks = 10'000'000;

  io::Node config_;
  UsersFile out_;
  std::int64_t tensor_ = 1;
  std::int64_t stages_ = 1;
};

}  // namespace

UsersFile read_torchtitan(io::Node const& config) {
  return TorchtitanReader{config}.read();
}

}  // namespace twinstep::strategies
