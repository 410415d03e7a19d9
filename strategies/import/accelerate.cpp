#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "strategies/import/known_keys.hpp"
#include "strategies/import/readers.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {
namespace {

constexpr auto kNotModelledOfAccelerate = std::to_array<NotModelled>({
    {"dynamo_backend", R"(name what runs the kernels instead, "stack": "pytorch-compiled" of the cluster)", "NO"},
    {"dynamo_config", R"(name what runs the kernels instead, "stack": "pytorch-compiled" of the cluster)", {}},
    {"fp8_config", "the model trains in 16 bits", {}},
    {"use_cpu", "ranks are GPUs", {}},
    {"tpu_use_cluster", "ranks are GPUs", {}},
    {"fsdp_config.fsdp_ignored_modules", "every parameter is sharded", {}},
    {"deepspeed_config.deepspeed_moe_layer_cls_names", "models are dense", {}},
});

constexpr auto kAccelerateKeys = KnownKeys{
    .format = "an accelerate configuration",
    .read = R"(
        distributed_type num_processes num_machines mixed_precision gradient_accumulation_steps gradient_clipping
        parallelism_config
        fsdp_config.fsdp_version fsdp_config.fsdp_sharding_strategy fsdp_config.fsdp_reshard_after_forward
        fsdp_config.fsdp_backward_prefetch fsdp_config.fsdp_backward_prefetch_policy
        fsdp_config.fsdp_forward_prefetch fsdp_config.fsdp_offload_params fsdp_config.fsdp_activation_checkpointing
        fsdp_config.fsdp_auto_wrap_policy fsdp_config.fsdp_min_num_params
        deepspeed_config.deepspeed_config_file deepspeed_config.zero_stage
        deepspeed_config.gradient_accumulation_steps deepspeed_config.gradient_clipping
        deepspeed_config.offload_optimizer_device deepspeed_config.offload_param_device)",
    .no_matter = R"(
        command_file commands compute_environment debug downcast_bf16
        enable_cpu_affinity gpu_ids machine_rank main_process_ip main_process_port main_training_function
        megatron_lm_config mpirun_config rdzv_backend rdzv_conf same_network tpu_env tpu_name tpu_use_sudo tpu_vm
        tpu_zone ipex_config
        fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_state_dict_type
        fsdp_config.fsdp_sync_module_states fsdp_config.fsdp_transformer_layer_cls_to_wrap
        fsdp_config.fsdp_use_orig_params
        deepspeed_config.deepspeed_exclusion_filter deepspeed_config.deepspeed_hostfile
        deepspeed_config.deepspeed_inclusion_filter deepspeed_config.deepspeed_multinode_launcher
        deepspeed_config.offload_optimizer_nvme_path deepspeed_config.offload_param_nvme_path
        deepspeed_config.zero3_init_flag deepspeed_config.zero3_save_16bit_model)",
    .not_modelled = kNotModelledOfAccelerate,
};

/// accelerate numbers them from 1, in this order (accelerate/utils/constants.py, FSDP_SHARDING_STRATEGY).
constexpr auto kShardings =
    std::to_array<std::string_view>({"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"});

constexpr std::string_view kHybridZero2 = name_of(Fsdp1Options::Sharding::kHybridShardZero2);

class AccelerateReader {
 public:
  AccelerateReader(io::Node const& config, std::string directory, io::ReadText const& read)
      : config_{config}, directory_{std::move(directory)}, read_{read} {}

  UsersFile read() {
    report_keys(config_, kAccelerateKeys, out_.warnings);
    auto const type = config_.at("distributed_type");
    auto const name = type.string();
    if (name == "FSDP")
      read_fsdp(config_.at("fsdp_config"));
    else if (name == "DEEPSPEED")
      read_deepspeed_part(config_.at("deepspeed_config"));
    else if (name == "MULTI_GPU" || name == "NO")
      out_.strategy.put("name", type, "ddp");
    else
      type.fail(fmt::format("found {}, expected FSDP, DEEPSPEED, MULTI_GPU or NO", quoted(name)),
                "the others are not modelled yet");
    read_ranks();
    copy(config_, "num_machines", out_.cluster, "nodes");
    read_precision();
    copy(config_, "gradient_accumulation_steps", out_.training, "gradient_accumulation");
    read_parallelism();
    return std::move(out_);
  }

 private:
  static void copy(io::Node const& from, char const* key, Part& to, char const* ours) {
    if (auto const value = from.find(key)) to.put(ours, *value);
  }

  void read_ranks() {
    auto const is_alone = config_.at("distributed_type").string() == "NO";
    if (auto const processes = config_.find("num_processes"))
      out_.strategy.put("ranks", *processes);
    else if (is_alone)
      out_.strategy.put("ranks", config_.at("distributed_type"), std::int64_t{1});
  }

  void read_precision() {
    auto const node = config_.find("mixed_precision");
    if (out_.training.has("precision")) return;  // DeepSpeed's own file has said it
    if (!node || (node->is(io::Node::Type::kBoolean) && !node->boolean()) || node->string() == "no") {
      out_.training.put("precision", node.value_or(config_), "fp32");
    } else if (node->string() == "fp8") {
      out_.warnings.push_back(at_place_of(*node, "fp8 is not modelled: bf16 is taken"));
      out_.training.put("precision", *node, "bf16");
    } else {
      out_.training.put("precision", *node);
    }
  }

  /// 2 is fully_shard; without a version it is the class FullyShardedDataParallel.
  void read_fsdp(io::Node const& fsdp) {
    auto const version = fsdp.find("fsdp_version");
    auto const number = version ? version->integer() : 1;
    if (number != 1 && number != 2)
      version->fail(fmt::format("found version {}, expected 1 or 2", number), "choose one");
    out_.strategy.put("name", version.value_or(fsdp), number == 1 ? "fsdp1" : "fsdp2");
    if (number == 1)
      read_fsdp1(fsdp);
    else
      read_fsdp2(fsdp);
    // Accelerator.accumulate runs all but the last micro-batch under no_sync (accelerate/accelerator.py).
    out_.strategy.put("accumulation", fsdp, "no_sync");
    if (is_on(fsdp, "fsdp_offload_params")) put_cpu_offload(out_.strategy, fsdp.at("fsdp_offload_params"));
    if (is_on(fsdp, "fsdp_activation_checkpointing"))
      out_.strategy.put("recompute", fsdp.at("fsdp_activation_checkpointing"), "full");
    read_wrapping(fsdp);
  }

  /// TRANSFORMER_BASED_WRAP makes a unit of each layer, NO_WRAP one of all, SIZE_BASED_WRAP of modules that have
  /// fsdp_min_num_params outside of smaller units, 1e8 by default (accelerate/utils/dataclasses.py,
  /// set_auto_wrap_policy; torch/distributed/fsdp/wrap.py, size_based_auto_wrap_policy). Older files number them
  /// from 1.
  void read_wrapping(io::Node const& fsdp) {
    auto const policy = fsdp.find("fsdp_auto_wrap_policy");
    if (!policy) return;
    auto const name = wrapping_policy(*policy);
    if (name == kNoWrap) out_.strategy.put("wrap", *policy, "none");
    if (name != kSizeBasedWrap) return;
    constexpr std::int64_t kDefault = 100'000'000;
    auto const least = fsdp.find("fsdp_min_num_params");
    out_.strategy.put("wrap", least.value_or(*policy),
                      std::max(least ? least->integer_from(0) : kDefault, std::int64_t{1}));
    out_.warnings.push_back(at_place_of(
        *policy,
        "\"SIZE_BASED_WRAP\" is followed down to layers: an MLP or a matrix that is large enough by itself is "
        "no unit of its own"));
  }

  static constexpr std::string_view kSizeBasedWrap = "SIZE_BASED_WRAP";
  static constexpr std::string_view kNoWrap = "NO_WRAP";

  static std::string_view wrapping_policy(io::Node const& policy) {
    constexpr auto kPolicies = std::to_array<std::string_view>({"TRANSFORMER_BASED_WRAP", kSizeBasedWrap, kNoWrap});
    auto const is_number = policy.is(io::Node::Type::kNumber);
    auto const known = std::ranges::find_if(kPolicies, [&](std::string_view const& each) {
      return is_number ? policy.integer() == &each - kPolicies.data() + 1 : policy.string() == each;
    });
    if (known == kPolicies.end())
      policy.fail(fmt::format("found {}, expected a wrapping policy",
                              is_number ? fmt::format("{}", policy.integer()) : quoted(policy.string())),
                  fmt::format("known: {}", fmt::join(kPolicies, ", ")));
    return *known;
  }

  static bool is_on(io::Node const& object, char const* key) {
    auto const value = object.find(key);
    return value && value->boolean();
  }

  /// "fsdp_reshard_after_forward" is what newer versions call the strategy, under its names.
  void read_fsdp1(io::Node const& fsdp) {
    auto const newer = fsdp.find("fsdp_reshard_after_forward");
    auto const node = newer && newer->is(io::Node::Type::kString) ? newer : fsdp.find("fsdp_sharding_strategy");
    auto const sharding = node ? sharding_of(*node) : kShardings.front();
    out_.strategy.put("sharding", node.value_or(fsdp), sharding);
    if (sharding.find("HYBRID") != std::string_view::npos) put_groups_of_nodes(*node);
    auto const older = fsdp.find("fsdp_backward_prefetch_policy");
    if (auto const prefetch = fsdp.find("fsdp_backward_prefetch"); prefetch || older)
      out_.strategy.put("backward_prefetch", prefetch ? *prefetch : *older);
    else  // the default of accelerate's plugin, not of PyTorch
      out_.strategy.put("backward_prefetch", fsdp, "NO_PREFETCH");
    copy(fsdp, "fsdp_forward_prefetch", out_.strategy, "forward_prefetch");
  }

  static std::string_view sharding_of(io::Node const& node) {
    auto const is_number = node.is(io::Node::Type::kNumber);
    auto const found = is_number ? std::string_view{} : node.string();
    auto const number = is_number ? node.integer() : std::ranges::find(kShardings, found) - kShardings.begin() + 1;
    if (number < 1 || number > std::ssize(kShardings))
      node.fail(is_number ? fmt::format("found {}, expected a number from 1 to 5", number)
                          : fmt::format("found {}, expected a sharding strategy", quoted(found)),
                fmt::format("known: {}", fmt::join(kShardings, ", ")));
    auto const name = kShardings[static_cast<std::size_t>(number - 1)];
    return name == kShardings.back() ? kHybridZero2 : name;
  }

  /// PyTorch's default: the processes of a node shard, nodes replicate.
  void put_groups_of_nodes(io::Node const& node) {
    auto const processes = config_.find("num_processes");
    auto const machines = config_.find("num_machines");
    auto const group = processes && machines ? processes->integer_from(1) / machines->integer_from(1) : 0;
    if (group > 0)
      out_.strategy.put("shard_group", *processes, group);
    else
      out_.open.push_back({"strategy", "shard_group",
                           at_place_of(node, "needs the processes of a node: give num_processes and num_machines")});
  }

  /// Older files say SHARD_GRAD_OP where newer ones say false.
  void read_fsdp2(io::Node const& fsdp) {
    if (auto const reshards = fsdp.find("fsdp_reshard_after_forward"))
      out_.strategy.put("reshard_after_forward", *reshards);
    else if (auto const older = fsdp.find("fsdp_sharding_strategy"))
      out_.strategy.put("reshard_after_forward", *older, sharding_of(*older) == "FULL_SHARD");
  }

  void read_deepspeed_part(io::Node const& part) {
    if (auto const file = part.find("deepspeed_config_file")) {
      auto const path = std::filesystem::path{directory_} / std::string{file->string()};
      out_ = merged(read_users_file(UsersFormat::kDeepSpeed, {path.string(), read_(path.string())}));
      return;
    }
    auto const stage = part.find("zero_stage");
    auto const number = stage ? stage->integer() : 2;  // accelerate's default
    if (number < 1 || number > 3)
      stage->fail(fmt::format("found stage {}, expected 1, 2 or 3", number), "choose one, or MULTI_GPU as the type");
    out_.strategy.put("name", stage.value_or(part), fmt::format("deepspeed-{}", number));
    copy(part, "gradient_accumulation_steps", out_.training, "gradient_accumulation");
    if (auto const norm = part.find("gradient_clipping"))
      out_.training.put("clip_gradients", *norm, norm->number() > 0);
    auto offload = Part{"offload"};
    copy(part, "offload_optimizer_device", offload, "optimizer");
    copy(part, "offload_param_device", offload, "parameters");
    if (!offload.node().members().empty()) out_.strategy.put("offload", offload.node());
  }

  /// What DeepSpeed's own file says, with what has been found before.
  UsersFile merged(UsersFile file) {
    file.warnings.insert(file.warnings.begin(), out_.warnings.begin(), out_.warnings.end());
    return file;
  }

  /// Of accelerate 1.10 and newer.
  void read_parallelism() {
    auto const parallelism = config_.find("parallelism_config");
    if (!parallelism) return;
    parallelism->allow_only({"parallelism_config_dp_replicate_size", "parallelism_config_dp_shard_size",
                             "parallelism_config_tp_size", "parallelism_config_cp_size", "parallelism_config_sp_size",
                             "parallelism_config_cp_comm_strategy", "parallelism_config_cp_backend",
                             "parallelism_config_sp_backend"});
    put_tensor_ranks(out_.strategy, parallelism->find("parallelism_config_tp_size"));
    refuse_parallelism(parallelism->find("parallelism_config_cp_size"), "context");
    refuse_parallelism(parallelism->find("parallelism_config_sp_size"), "sequence");
    auto const replicas = parallelism->find("parallelism_config_dp_replicate_size");
    if (replicas && replicas->integer_from(1) > 1 && config_.at("distributed_type").string() == "FSDP")
      out_.strategy.put("replicas", *replicas);
  }

  io::Node config_;
  std::string directory_;
  io::ReadText const& read_;
  UsersFile out_;
};

}  // namespace

UsersFile read_accelerate(io::Node const& config, std::string const& directory, io::ReadText const& read) {
  return AccelerateReader{config, directory, read}.read();
}

}  // namespace twinstep::strategies
