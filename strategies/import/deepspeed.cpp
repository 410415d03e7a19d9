#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "strategies/import/known_keys.hpp"
#include "strategies/import/readers.hpp"
#include "strategies/plan/optimizer_names.hpp"

namespace twinstep::strategies {
namespace {

constexpr auto kNotModelledOfDeepSpeed = std::to_array<NotModelled>({
    {"amp", "the precision is that of fp16 or bf16", {}},
    {"bf16.bf16_master_weights_and_grads", "masters and gradients are fp32", {}},
    {"bf16.bf16_optimizer_states", "the optimizer's states are fp32", {}},
    {"fp16.fp16_master_weights_and_grads", "masters and gradients are fp32", {}},
    {"torch_autocast", "parameters are held in the precision of compute", {}},
    {"data_types.grad_accum_dtype", "gradients accumulate as each stage does by default", {}},
    {"compile", R"(name what runs the kernels instead, "stack": "pytorch-compiled" of the cluster)", {}},
    {"compression_training", "the model trains whole", {}},
    {"curriculum_learning", "every sequence has the same length", {}},
    {"data_efficiency", "every sequence has the same length", {}},
    {"moe", "models are dense", {}},
    {"pipeline", "there is one stage", {}},
    {"progressive_layer_drop", "every layer runs", {}},
    {"quantize_training", "the model trains in its precision", {}},
    {"sparse_attention", "attention is over the whole sequence", {}},
    {"sparse_gradients", "gradients are dense", {}},
    // all_gather_dp_groups (deepspeed/runtime/utils.py) gathers whole groups where PyTorch has all_gather_into_tensor.
    {"zero_optimization.allgather_bucket_size", "PyTorch 1.13 and newer gather a group of parameters whole",
     "500000000"},
    {"zero_optimization.allgather_partitions", "updated parameters are all-gathered", "true"},
    {"zero_optimization.contiguous_gradients", "gradients are copied into contiguous buckets", "true"},
    {"zero_optimization.leaf_module", "each linear layer and norm is fetched by itself", {}},
    {"zero_optimization.legacy_stage1", "stage 1 is today's", {}},
    {"zero_optimization.mics_hierarchical_params_gather", "gathers are over all ranks", {}},
    {"zero_optimization.mics_shard_size", "states are sharded over all ranks", "-1"},
    {"zero_optimization.offload_optimizer.pin_memory", "copies are from pinned memory", "true"},
    {"zero_optimization.offload_optimizer.ratio", "all of the optimizer is offloaded", "1"},
    {"zero_optimization.offload_param.pin_memory", "copies are from pinned memory", "true"},
    {"zero_optimization.round_robin_gradients", "gradients are cut into one stretch a rank", {}},
    {"zero_optimization.stage3_allgather_sequential", "gathers are coalesced", {}},
    {"zero_optimization.allgather_sequential", "gathers are coalesced", {}},
    {"zero_optimization.stage3_model_persistence_threshold", "persistent parameters have no limit together", {}},
    {"zero_optimization.model_persistence_threshold", "persistent parameters have no limit together", {}},
    {"zero_optimization.stage3_module_granularity_threshold", "each linear layer and norm is fetched by itself", {}},
    {"zero_optimization.module_granularity_threshold", "each linear layer and norm is fetched by itself", {}},
    {"zero_optimization.stage3_use_all_reduce_for_fetch_params", "parameters are all-gathered", {}},
    {"zero_optimization.use_all_reduce_for_fetch_params", "parameters are all-gathered", {}},
    {"zero_optimization.zenflow", "the whole update follows the step", {}},
    {"zero_optimization.zero_quantized_nontrainable_weights", "every weight is trained", {}},
    {"zero_optimization.zeropp_loco_param", "quantised gradients have no error feedback", {}},
});

constexpr auto kDeepSpeedKeys = KnownKeys{
    .format = "a DeepSpeed configuration",
    .read = R"(
        train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps gradient_clipping
        bf16.enabled bfloat16.enabled fp16.enabled communication_data_type optimizer.type optimizer.params.torch_adam
        activation_checkpointing tensor_parallel.autotp_size sequence_parallel_size
        zero_optimization.stage zero_optimization.reduce_bucket_size
        zero_optimization.overlap_comm zero_optimization.reduce_scatter
        zero_optimization.use_multi_rank_bucket_allreduce
        zero_optimization.stage3_prefetch_bucket_size zero_optimization.prefetch_bucket_size
        zero_optimization.stage3_param_persistence_threshold zero_optimization.param_persistence_threshold
        zero_optimization.stage3_max_live_parameters zero_optimization.max_live_parameters
        zero_optimization.stage3_max_reuse_distance zero_optimization.max_reuse_distance
        zero_optimization.sub_group_size
        zero_optimization.zero_hpz_partition_size zero_optimization.zero_quantized_weights
        zero_optimization.zero_quantized_gradients zero_optimization.cpu_offload zero_optimization.cpu_offload_param
        zero_optimization.offload_optimizer.device zero_optimization.offload_param.device)",
    .no_matter = R"(
        aio autotuning checkpoint comet comms_logger csv_monitor dataloader_drop_last disable_allgather dump_state
        elasticity flops_profiler gradient_predivide_factor hybrid_engine memory_breakdown monitor_config nebula
        optimizer.legacy_fusion optimizer.params prescale_gradients scheduler seed seq_parallel_communication_data_type
        steps_per_print tensorboard timers train_steps use_data_before_expert_parallelism use_node_local_storage
        wall_clock_breakdown wandb zero_allow_untested_optimizer zero_force_ds_cpu_optimizer
        bf16.check_grad_overflow bf16.immediate_grad_update bf16.auto_cast
        fp16.auto_cast fp16.consecutive_hysteresis fp16.hysteresis fp16.initial_scale_power fp16.loss_scale
        fp16.loss_scale_window fp16.min_loss_scale
        zero_optimization.cpu_offload_use_pin_memory zero_optimization.elastic_checkpoint
        zero_optimization.enable_sanity_checks zero_optimization.gather_16bit_weights_on_model_save
        zero_optimization.ignore_unused_parameters zero_optimization.load_from_fp32_weights
        zero_optimization.log_trace_cache_warnings zero_optimization.memory_efficient_linear
        zero_optimization.offload_optimizer.buffer_count zero_optimization.offload_optimizer.buffer_size
        zero_optimization.offload_optimizer.fast_init zero_optimization.offload_optimizer.nvme_path
        zero_optimization.offload_optimizer.pipeline zero_optimization.offload_optimizer.pipeline_read
        zero_optimization.offload_optimizer.pipeline_write zero_optimization.offload_param.buffer_count
        zero_optimization.offload_param.buffer_size zero_optimization.offload_param.max_in_cpu
        zero_optimization.offload_param.nvme_path zero_optimization.override_module_apply
        zero_optimization.pipeline_loading_checkpoint zero_optimization.save_muon_momentum_buffer_in_memory
        zero_optimization.stage3_gather_16bit_weights_on_model_save
        zero_optimization.stage3_gather_fp16_weights_on_model_save
        zero_optimization.stage3_partition_stream_chunk_size)",
    .not_modelled = kNotModelledOfDeepSpeed,
};

bool is_auto(io::Node const& node) {
  return node.is(io::Node::Type::kString) && node.string() == "auto";
}

std::optional<io::Node> find_in(io::Node const& config, std::string_view section, std::string_view key) {
  auto const object = config.find(section);
  return object ? object->find(key) : std::nullopt;
}

class DeepSpeedReader {
 public:
  explicit DeepSpeedReader(io::Node const& config) : config_{config} {}

  UsersFile read() {
    report_keys(config_, kDeepSpeedKeys, out_.warnings);
    read_parallelism();
    read_stage();
    read_batches();
    read_precision();
    read_optimizer();
    read_zero_options();
    read_offload();
    read_recompute();
    return std::move(out_);
  }

 private:
  /// Stages of a pipeline are made in code (deepspeed/runtime/pipe/module.py). No degree of tensor parallelism, or 0,
  /// is none (deepspeed/runtime/tensor_parallel/config.py).
  void read_parallelism() {
    auto const tensor = find_in(config_, "tensor_parallel", "autotp_size");
    if (tensor && !is_auto(*tensor) && tensor->integer() != 0) put_tensor_ranks(out_.strategy, tensor);
    auto const sequence = config_.find("sequence_parallel_size");
    if (sequence && !is_auto(*sequence)) refuse_parallelism(sequence, "sequence");
  }

  void read_stage() {
    auto const zero = config_.find("zero_optimization");
    if (zero && zero->is(io::Node::Type::kBoolean)) {  // as long ago
      stage_ = zero->boolean() ? 1 : 0;
    } else if (auto const stage = find_in(config_, "zero_optimization", "stage")) {
      stage_ = stage->integer();
      if (stage_ < 0 || stage_ > 3)
        stage->fail(fmt::format("found stage {}, expected 0, 1, 2 or 3", stage_), "choose one of them");
    }
    auto const place = zero.value_or(config_);
    if (stage_ > 0) {
      out_.strategy.put("name", place, fmt::format("deepspeed-{}", stage_));
      return;
    }
    out_.strategy.put("name", place, "naive");
    out_.warnings.push_back(
        at_place_of(place, "DeepSpeed without ZeRO is not modelled: naive reduces after backward too, but by tensors"));
  }

  void read_batches() {
    auto const put = [this](char const* key, char const* ours, std::string_view argument) {
      auto const value = config_.find(key);
      if (!value) return false;
      if (!is_auto(*value)) out_.training.put(ours, *value);
      if (is_auto(*value) && !argument.empty())
        out_.open.push_back({"training", ours,
                             at_place_of(*value, fmt::format("is \"auto\", the Trainer's {}: give it as \"{}\" of "
                                                             "\"training\"; 1 is taken",
                                                             argument, ours))});
      return true;
    };
    auto const has_micro = put("train_micro_batch_size_per_gpu", "micro_batch", "per_device_train_batch_size");
    auto const has_steps = put("gradient_accumulation_steps", "gradient_accumulation", "gradient_accumulation_steps");
    auto const has_global = put("train_batch_size", "global_batch", {});
    // DeepSpeed accumulates nothing when it has the whole batch alone (deepspeed/runtime/config.py).
    if (has_global && !has_micro && !has_steps)
      out_.training.put("gradient_accumulation", config_.at("train_batch_size"), std::int64_t{1});
  }

  void read_precision() {
    for (auto const* const section : {"bf16", "bfloat16", "fp16"}) {
      auto const enabled = find_in(config_, section, "enabled");
      if (!enabled) continue;
      auto const type = std::string_view{section} == "fp16" ? "fp16" : "bf16";
      if (is_auto(*enabled)) {
        out_.open.push_back(
            {"training", "precision",
             at_place_of(*enabled, R"(is "auto", a Trainer's argument: give the "precision" of "training"; )"
                                   "bf16 is taken")});
        return;
      }
      if (enabled->boolean()) {
        out_.training.put("precision", *enabled, type);
        return;
      }
    }
    out_.training.put("precision", config_, "fp32");
  }

  /// DeepSpeed's own, FusedAdam, in any case (deepspeed/runtime/config.py, optimizer_name.lower()); other names are of
  /// torch.optim (deepspeed/runtime/engine.py, _configure_basic_optimizer), whose SGD has no momentum unless told.
  static bool is_adam(std::string_view name) {
    auto const is = [&](std::string_view ours) {
      return std::ranges::equal(name, ours, {}, [](unsigned char c) { return std::tolower(c); });
    };
    return is("adam") || is("adamw");
  }

  void read_optimizer() {
    if (auto const clipping = config_.find("gradient_clipping"))
      out_.training.put("clip_gradients", *clipping, is_auto(*clipping) || clipping->number() > 0);
    if (auto const type = config_.find("communication_data_type"))
      out_.training.put("reduce_type", *type, type->string() == "bfp16" ? "bf16" : type->string());
    auto const type = find_in(config_, "optimizer", "type");
    if (!type) return;
    auto const name = type->string();
    auto const params = config_.at("optimizer").find("params");
    auto const is_torch = params && params->find("torch_adam") && params->at("torch_adam").boolean();
    auto const momentum = params ? params->find("momentum") : std::nullopt;
    auto const has_momentum = momentum && (is_auto(*momentum) || momentum->number() > 0);
    auto const optimizer = optimizer_called(name);
    if (optimizer == Optimizer::kSgd)
      out_.training.put("optimizer", *type, has_momentum ? "sgd-momentum" : "sgd");
    else if (is_adam(name))
      out_.training.put("optimizer", *type, is_torch ? "adamw-foreach" : "adamw-fused");
    else if (optimizer)
      out_.training.put("optimizer", *type, name_of(*optimizer));
    else
      out_.warnings.push_back(at_place_of(*type, fmt::format("{} is not modelled: AdamW is taken", quoted(name))));
  }

  /// Options of other stages change nothing, as in DeepSpeed.
  void read_zero_options() {
    constexpr auto kEveryStage = std::to_array<std::string_view>({"reduce_bucket_size", "overlap_comm"});
    constexpr auto kStages12 = std::to_array<std::string_view>({"reduce_scatter", "use_multi_rank_bucket_allreduce"});
    constexpr auto kStage3 = std::to_array<std::string_view>(
        {"stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "stage3_max_live_parameters",
         "stage3_max_reuse_distance", "sub_group_size", "zero_hpz_partition_size", "zero_quantized_weights",
         "zero_quantized_gradients"});
    if (stage_ == 0) return;
    auto const put = [this](auto const& keys) {
      for (auto const key : keys)
        if (auto const value = find_option(key)) out_.strategy.put(key, *value);
    };
    put(kEveryStage);
    if (stage_ == 3)
      put(kStage3);
    else
      put(kStages12);
  }

  /// The options whose names begin with "stage3_" also go by their names without it: pydantic's field beside its alias
  /// (deepspeed/runtime/zero/config.py, populate_by_name).
  [[nodiscard]] std::optional<io::Node> find_option(std::string_view key) const {
    constexpr std::string_view kAlias = "stage3_";
    auto const found = find_in_zero(key);
    return found || !key.starts_with(kAlias) ? found : find_in_zero(key.substr(kAlias.size()));
  }

  /// An option of ZeRO, which long ago was but a flag.
  [[nodiscard]] std::optional<io::Node> find_in_zero(std::string_view key) const {
    auto const zero = config_.find("zero_optimization");
    return zero && zero->is(io::Node::Type::kObject) ? zero->find(key) : std::nullopt;
  }

  void read_offload() {
    auto offload = Part{"offload"};
    auto const put = [&](char const* section, char const* flag, char const* ours) {
      if (auto const is_on = find_in_zero(flag); is_on && is_on->boolean()) offload.put(ours, *is_on, "cpu");
      auto const object = find_in_zero(section);
      if (!object) return;
      if (auto const device = object->find("device")) offload.put(ours, *device);
    };
    put("offload_optimizer", "cpu_offload", "optimizer");
    put("offload_param", "cpu_offload_param", "parameters");
    if (auto const checkpointing = config_.find("activation_checkpointing"))
      if (auto const is_on = checkpointing->find("cpu_checkpointing"); is_on && is_on->boolean())
        offload.put("activations", *is_on);
    if (!offload.node().members().empty()) out_.strategy.put("offload", offload.node());
  }

  /// The section only says how; whether is in the model's code. Who sets something in it does checkpoint.
  void read_recompute() {
    auto const section = config_.find("activation_checkpointing");
    if (!section) return;
    section->allow_only({"partition_activations", "cpu_checkpointing", "contiguous_memory_optimization",
                         "number_checkpoints", "synchronize_checkpoint_boundary", "profile"});
    auto is_used = false;
    for (auto const& [key, value] : section->members())
      is_used = is_used || (value.is(io::Node::Type::kBoolean) ? value.boolean() : value.is(io::Node::Type::kNumber));
    if (is_used)
      out_.strategy.put("recompute", *section, "full");
    else
      out_.open.push_back({"strategy", "recompute",
                           at_place_of(*section,
                                       "does not say whether the model checkpoints its activations: give "
                                       "the \"recompute\" of the strategy; none is taken")});
  }

  io::Node config_;
  UsersFile out_;
  std::int64_t stage_ = 0;
};

}  // namespace

UsersFile read_deepspeed(io::Node const& config) {
  return DeepSpeedReader{config}.read();
}

}  // namespace twinstep::strategies
