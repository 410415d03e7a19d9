#include <array>
#include <numeric>

#include <fmt/format.h>

#include "sim/io/maker.hpp"
#include "strategies/import/known_keys.hpp"
#include "strategies/import/megatron_layout.hpp"
#include "strategies/import/megatron_model.hpp"
#include "strategies/import/readers.hpp"

namespace twinstep::strategies {
namespace {

using std::int64_t;

constexpr auto kNotModelledOfMegatron = std::to_array<NotModelled>({
    {"squared-relu", "the MLP's activation is GELU", {}},
    {"quick-geglu", "the MLP's activation is GELU", {}},
    {"multi-latent-attention", "attention has whole keys and values", {}},
    {"mtp-num-layers", "one token is predicted at a time", {}},
    {"window-size", "attention is over the whole sequence", {}},
    {"apply-residual-connection-post-layernorm", "residuals are taken before norms", {}},
    {"fp32-residual-connection", "residuals are in the precision of compute", {}},
    {"fp16-lm-cross-entropy", "the loss is in fp32", {}},
    {"activations-checkpoint-method", "nothing is recomputed: say --recompute-granularity", {}},
    {"checkpoint-activations", "nothing is recomputed: say --recompute-granularity", {}},
    {"hybrid-layer-pattern", "layers are those of a GPT", {}},
    {"rampup-batch-size", "the batch is the global batch", {}},
    {"step-batch-size-schedule", "the batch is the global batch", {}},
    {"spec", "layers are those of a GPT", {}},
    {"hybrid-override-pattern", "layers are those of a GPT", {}},
    {"heterogeneous-layers-config-path", "all layers are alike", {}},
    {"yaml-cfg", "arguments are those of this text", {}},
    {"use-checkpoint-args", "arguments are those of this text", {}},
    {"use-megatron-fsdp", "the distributed optimizer shards states, or nothing does", {}},
    {"use-torch-fsdp2", "the distributed optimizer shards states, or nothing does", {}},
    {"data-parallel-sharding-strategy", "the distributed optimizer shards states, or nothing does", "no_shard"},
    {"ddp-num-buckets", "buckets have Megatron's default size", {}},
    {"ddp-average-in-collective", "gradients are scaled before they are reduced", {}},
    {"no-align-grad-reduce", "every stage reduces when its gradients are there", {}},
    {"no-align-param-gather", "every stage gathers when its forward begins", {}},
    {"overlap-param-gather-with-optimizer-step", "gathers follow the update", {}},
    {"use-nccl-ub", "buffers are NCCL's own", {}},
    {"use-sharp", "switches add nothing up", {}},
    {"use-tp-pp-dp-mapping", "ranks count up along tensor, then data, then the pipeline", {}},
    {"tp-comm-overlap", "collectives of tensor ranks run beside matrix products, not inside them", {}},
    {"overlap-p2p-communication-warmup-flush", "warm-up and flush exchange as the rest does", {}},
    {"defer-embedding-wgrad-compute", "the embedding's gradient is made with its backward", {}},
    {"delay-wgrad-compute", "weight gradients are made with their backward", {}},
    {"no-gradient-accumulation-fusion", "matrix products add gradients up in place", {}},
    {"distribute-saved-activations", "each tensor rank keeps whole inputs of layers", {}},
    {"cpu-offloading-num-layers", "activations stay on the GPU", {}},
    {"optimizer-cpu-offload", "the optimizer's states stay on the GPU", {}},
    {"use-precision-aware-optimizer", "masters and moments are fp32", {}},
    {"main-grads-dtype", "main gradients are as the reduction is", "fp32"},
    {"main-params-dtype", "masters are fp32", "fp32"},
    {"exp-avg-dtype", "moments are fp32", "fp32"},
    {"exp-avg-sq-dtype", "moments are fp32", "fp32"},
    {"fp8-param-gather", "parameters are gathered in 16 bits", {}},
    {"no-fp8-wgrad", "weight gradients multiply in 8 bits too", {}},
    {"first-last-layers-bf16", "every layer multiplies in 8 bits", {}},
    {"fp4-format", "linear layers multiply in the precision", {}},
    {"enable-cuda-graph", "the host issues every kernel", {}},
    {"external-cuda-graph", "the host issues every kernel", {}},
    {"cuda-graph-impl", "the host issues every kernel", {}},
});

constexpr auto kMegatronKeys = KnownKeys{
    .format = "a Megatron-LM command line",
    .read = R"(
        nnodes nproc-per-node
        num-layers hidden-size ffn-hidden-size num-attention-heads group-query-attention num-query-groups kv-channels
        swiglu normalization max-position-embeddings position-embedding-type use-rotary-position-embeddings
        untie-embeddings-and-output-weights vocab-size padded-vocab-size make-vocab-size-divisible-by tokenizer-type
        disable-bias-linear add-qkv-bias qk-layernorm hidden-dropout attention-dropout num-experts
        tensor-model-parallel-size pipeline-model-parallel-size sequence-parallel context-parallel-size
        expert-model-parallel-size expert-tensor-parallel-size num-layers-per-virtual-pipeline-stage
        num-virtual-stages-per-pipeline-rank microbatch-group-size-per-virtual-pipeline-stage
        decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers account-for-embedding-in-pipeline-split
        account-for-loss-in-pipeline-split pipeline-model-parallel-layout no-overlap-p2p-communication
        micro-batch-size global-batch-size seq-length bf16 fp16 clip-grad optimizer sgd-momentum
        use-distributed-optimizer num-distributed-optimizer-instances overlap-grad-reduce overlap-param-gather
        accumulate-allreduce-grads-in-fp32 grad-reduce-in-bf16 ddp-bucket-size ddp-pad-buckets-for-high-nccl-busbw
        recompute-activations recompute-granularity recompute-method recompute-num-layers recompute-modules
        use-flash-attn attention-backend transformer-impl cross-entropy-loss-fusion no-bias-swiglu-fusion
        fp8-format fp8-recipe)",
    .no_matter = R"(
        node-rank master-addr master-port rdzv-id rdzv-backend rdzv-endpoint standalone max-restarts log-dir tee
        redirects local-ranks-filter role module no-python local-rank
        use-mcore-models use-legacy-models train-iters train-samples lr lr-decay-style lr-decay-iters lr-decay-samples
        lr-warmup-fraction lr-warmup-iters lr-warmup-samples lr-warmup-init lr-wsd-decay-style lr-wsd-decay-iters
        lr-wsd-decay-samples min-lr decoupled-lr decoupled-min-lr weight-decay start-weight-decay end-weight-decay
        weight-decay-incr-style adam-beta1 adam-beta2 adam-eps init-method-std embedding-init-method-std
        init-method-xavier-uniform seed data-parallel-random-init override-opt-param-scheduler
        use-checkpoint-opt-param-scheduler loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis
        norm-epsilon apply-layernorm-1p openai-gelu rotary-base rotary-percent rotary-interleaved
        rotary-seq-len-interpolation-factor use-rope-scaling rope-scaling-factor apply-query-key-layer-scaling
        attention-softmax-in-fp32 disable-bf16-reduced-precision-matmul no-masked-softmax-fusion no-bias-gelu-fusion
        no-bias-dropout-fusion no-rope-fusion no-persist-layer-norm cross-entropy-fusion-impl
        no-async-tensor-model-parallel-allreduce no-scatter-gather-tensors-in-pipeline use-ring-exchange-p2p
        encoder-seq-length decoder-seq-length fp8-margin fp8-interval fp8-amax-history-len fp8-amax-compute-algo
        te-rng-tracker cp-comm-type tp-comm-overlap-cfg tp-comm-bootstrap-backend pipeline-model-parallel-comm-backend
        high-priority-stream-groups nccl-communicator-config-path distributed-backend distributed-timeout-minutes
        disable-gloo-process-groups use-cpu-initialization lazy-mpu-init empty-unused-memory-level deterministic-mode
        calculate-per-token-loss manual-gc manual-gc-interval no-manual-gc-eval train-sync-interval
        check-weight-hash-across-dp-replicas-interval no-check-for-nan-in-loss-and-grad check-for-spiky-loss
        check-for-large-grads rerun-mode exit-interval exit-duration-in-mins exit-signal-handler
        data-path data-impl DDP-impl split train-data-path valid-data-path test-data-path data-args-path data-cache-path mock-data
        no-mmap-bin-files num-workers dataloader-type reset-position-ids reset-attention-mask eod-mask-loss
        no-create-attention-mask-in-dataloader num-dataset-builder-threads vocab-file merge-file vocab-extra-ids
        tokenizer-model tiktoken-pattern tiktoken-num-special-tokens tiktoken-special-tokens
        save save-interval load no-save-optim no-save-rng no-load-optim no-load-rng finetune pretrained-checkpoint
        ckpt-step ckpt-format ckpt-fully-parallel-load ckpt-fully-parallel-save no-ckpt-fully-parallel-save
        ckpt-assume-constant-structure async-save use-dist-ckpt dist-ckpt-format dist-ckpt-strictness
        use-persistent-ckpt-worker auto-detect-ckpt-format exit-on-missing-checkpoint non-persistent-save-interval
        log-interval log-throughput log-progress log-params-norm log-num-zeros-in-grad log-timers-to-tensorboard
        log-memory-to-tensorboard log-validation-ppl-to-tensorboard log-world-size-to-tensorboard log-straggler
        log-energy logging-level timing-log-level timing-log-option tensorboard-dir tensorboard-log-interval
        tensorboard-queue-size wandb-project wandb-exp-name wandb-save-dir no-one-logger eval-iters eval-interval
        test-mode skip-train profile profile-step-start profile-step-end profile-ranks use-pytorch-profiler
        record-memory-history memory-snapshot-path)",
    .not_modelled = kNotModelledOfMegatron,
};

class MegatronReader {
 public:
  MegatronReader(io::Node const& arguments, std::vector<std::string> warnings) : arguments_{arguments} {
    out_.warnings = std::move(warnings);
  }

  UsersFile read() {
    report_keys(arguments_, kMegatronKeys, out_.warnings);
    refuse_parallelism(find("context-parallel-size"), "context");
    refuse_parallelism(find("expert-model-parallel-size"), "expert");
    refuse_parallelism(find("expert-tensor-parallel-size"), "expert tensor");
    out_.model = megatron_model(arguments_, out_.warnings);
    out_.strategy.put("name", arguments_, "megatron");
    read_ranks();
    read_parallelism();
    read_data_parallelism();
    read_batches();
    read_types();
    read_optimizer();
    read_recompute();
    read_kernels();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<io::Node> find(std::string_view name) const {
    return megatron_argument(arguments_, name);
  }
  [[nodiscard]] bool is_on(std::string_view flag) const {
    auto const value = find(flag);
    return value && value->boolean();
  }
  [[nodiscard]] int64_t count(std::string_view name, int64_t otherwise) const {
    auto const value = find(name);
    if (!value) return otherwise;
    auto const number = value->integer_from(1);
    if (number > kMost) value->fail(fmt::format("found {}", number), fmt::format("at most {}", kMost));
    return number;
  }
  void copy(std::string_view name, Part& to, std::string_view ours) const {
    if (auto const value = find(name)) to.put(ours, *value);
  }
  /// A flag that is off where it does not stand.
  void copy_flag(std::string_view name, Part& to, std::string_view ours) const {
    to.put(ours, find(name).value_or(arguments_), is_on(name));
  }
  void warn(io::Node const& place, std::string_view sentence) { out_.warnings.push_back(at_place_of(place, sentence)); }

  /// torchrun's: processes of a node, one a GPU. Both may be variables, ranges ("1:4") or words ("gpu").
  void read_ranks() {
    auto const number = [this](std::string_view name) {
      auto const value = arguments_.find(name);
      return value && value->is(io::Node::Type::kNumber) ? value : std::nullopt;
    };
    auto const nodes = number("nnodes");
    auto const processes = number("nproc-per-node");
    if (nodes) out_.cluster.put("nodes", *nodes);
    if (!nodes || !processes) return;
    auto const ranks = count("nnodes", 1) * count("nproc-per-node", 1);
    out_.strategy.put("ranks", *processes, ranks);
  }

  void read_parallelism() {
    auto parallel = Part{"parallel"};
    auto const tensor = find("tensor-model-parallel-size");
    auto const stages = find("pipeline-model-parallel-size");
    auto const sequence = find("sequence-parallel");
    stages_ = count("pipeline-model-parallel-size", 1);
    if (count("tensor-model-parallel-size", 1) > 1) {  // Megatron drops sequence parallelism without it
      parallel.put("tensor", *tensor);
      parallel.put("sequence", sequence.value_or(*tensor), is_on("sequence-parallel"));
    }
    if (stages_ > 1) {
      parallel.put("pipeline", *stages);
      read_pipeline(parallel);
    }
    if (!parallel.node().members().empty()) out_.strategy.put("parallel", parallel.node());
  }

  void read_pipeline(Part& parallel) {
    auto const chunks = read_chunks();
    if (chunks > 1) parallel.put("chunks", place_of_chunks(), chunks);
    if (chunks > 1) copy("microbatch-group-size-per-virtual-pipeline-stage", parallel, "micro_batch_group");
    auto const alone = find("no-overlap-p2p-communication");
    if (chunks > 1 && alone && alone->boolean()) parallel.put("exchange", *alone, "batched");
    if (auto const layout = find("pipeline-model-parallel-layout")) return put_layout(*layout, parallel);
    if (find("decoder-first-pipeline-num-layers") || find("decoder-last-pipeline-num-layers"))
      return put_layers(chunks, parallel);
    if (is_on("account-for-embedding-in-pipeline-split"))
      copy_flag("account-for-embedding-in-pipeline-split", parallel, "embedding_counts");
    if (is_on("account-for-loss-in-pipeline-split"))
      copy_flag("account-for-loss-in-pipeline-split", parallel, "head_counts");
    check_even(chunks);
  }

  /// What says how many there are; Megatron takes one of the three.
  [[nodiscard]] io::Node place_of_chunks() const {
    auto found = std::optional<io::Node>{};
    for (auto const* const name : {"pipeline-model-parallel-layout", "num-virtual-stages-per-pipeline-rank",
                                   "num-layers-per-virtual-pipeline-stage"})
      if (auto const value = find(name)) {
        if (found)
          value->fail(fmt::format("found it beside {}, which says the same", found->path()),
                      "leave out one of the two");
        found = value;
      }
    return found.value_or(arguments_);
  }

  /// Layers with those that embedding and loss count as.
  [[nodiscard]] int64_t counted_layers() const {
    return count("num-layers", 0) + (is_on("account-for-embedding-in-pipeline-split") ? 1 : 0) +
           (is_on("account-for-loss-in-pipeline-split") ? 1 : 0);
  }

  [[nodiscard]] int64_t read_chunks() const {
    auto const place = place_of_chunks();
    if (find("pipeline-model-parallel-layout")) {
      auto const parts = std::ssize(layers_of_layout(place));
      if (parts % stages_ != 0)
        place.fail(fmt::format("found {} parts for {} stages, which they do not divide", parts, stages_),
                   "write as many for each stage");
      return parts / stages_;
    }
    if (find("num-virtual-stages-per-pipeline-rank")) return count("num-virtual-stages-per-pipeline-rank", 1);
    auto const of_chunk = find("num-layers-per-virtual-pipeline-stage");
    if (!of_chunk) return 1;
    if (!find("num-layers")) of_chunk->fail("found it without --num-layers", "give both");
    auto const layers = count("num-layers-per-virtual-pipeline-stage", 1);
    if (counted_layers() % (stages_ * layers) != 0)
      of_chunk->fail(fmt::format("found chunks of {} for {} layers on {} stages, which they do not divide", layers,
                                 counted_layers(), stages_),
                     "use a divisor of a stage's layers");
    return counted_layers() / stages_ / layers;
  }

  void put_layout(io::Node const& layout, Part& parallel) const {
    auto const layers = layers_of_layout(layout);
    auto const sum = std::accumulate(layers.begin(), layers.end(), int64_t{0});
    if (find("num-layers") && sum != count("num-layers", 1))
      layout.fail(fmt::format("found {} layers in all, expected the {} of --num-layers", sum, count("num-layers", 1)),
                  "change one of the two");
    put_list(layers, parallel);
  }

  static void put_list(std::vector<int64_t> const& layers, Part& parallel) {
    auto numbers = std::vector<io::Node>{};
    auto const make = io::Maker{"layers of the pipeline"};
    for (auto const number : layers) numbers.push_back(make.number(number));
    parallel.put("layers", make.array(numbers));
  }

  void check_even(int64_t chunks) const {
    auto const layers = find("num-layers");
    if (!layers || static_cast<double>(stages_) * static_cast<double>(chunks) > 1e15) return;
    if (counted_layers() % (stages_ * chunks) == 0) return;
    layers->fail(fmt::format("found {} layers (embedding and loss that count as such with them) for {} stages × {} "
                             "chunks, which they do not divide",
                             counted_layers(), stages_, chunks),
                 "change one of them, or give --decoder-first-pipeline-num-layers");
  }

  /// First and last stage as told, the others evenly; each stage's over its chunks
  /// (megatron/core/transformer/transformer_block.py, get_num_layers_to_build).
  void put_layers(int64_t chunks, Part& parallel) {
    auto const first = find("decoder-first-pipeline-num-layers");
    auto const last = find("decoder-last-pipeline-num-layers");
    auto const place = first ? *first : *last;
    if (!find("num-layers")) place.fail("found it without --num-layers", "give both");
    if (stages_ * chunks > kMostParts) place.fail("found more parts than any model has layers", "lower the degrees");
    auto const told = count("decoder-first-pipeline-num-layers", 0) + count("decoder-last-pipeline-num-layers", 0);
    auto const others = stages_ - (first ? 1 : 0) - (last ? 1 : 0);
    auto const rest = count("num-layers", 1) - told;
    if (rest < 0 || (others == 0 ? rest != 0 : rest % others != 0))
      place.fail(fmt::format("found {} layers for the {} other stages, which cannot share them evenly", rest, others),
                 "change the layers of the first or the last stage");
    auto of_stages = std::vector<int64_t>(static_cast<std::size_t>(stages_), others == 0 ? 0 : rest / others);
    if (first) of_stages.front() = count("decoder-first-pipeline-num-layers", 1);
    if (last) of_stages.back() = count("decoder-last-pipeline-num-layers", 1);
    auto list = std::vector<int64_t>{};
    for (auto chunk = int64_t{0}; chunk < chunks; ++chunk)
      for (auto const layers : of_stages) {
        if (layers % chunks != 0)
          place.fail(fmt::format("found a stage of {} layers for {} chunks", layers, chunks), "use a multiple of them");
        list.push_back(layers / chunks);
      }
    put_list(list, parallel);
  }

  void read_data_parallelism() {
    auto const gathers = find("overlap-param-gather");
    for (auto const* const needed : {"use-distributed-optimizer", "overlap-grad-reduce"})
      if (gathers && gathers->boolean() && !is_on(needed))
        gathers->fail(fmt::format("found it without --{}, which Megatron-LM refuses", needed), "add that too");
    copy_flag("use-distributed-optimizer", out_.strategy, "use_distributed_optimizer");
    copy_flag("overlap-grad-reduce", out_.strategy, "overlap_grad_reduce");
    copy_flag("overlap-param-gather", out_.strategy, "overlap_param_gather");
    copy("ddp-bucket-size", out_.strategy, "bucket_size");
    copy("ddp-pad-buckets-for-high-nccl-busbw", out_.strategy, "pad_buckets_for_high_nccl_busbw");
    if (auto const instances = find("num-distributed-optimizer-instances"); instances && instances->integer_from(1) > 1)
      out_.strategy.put("replicas", *instances);
  }

  void read_batches() {
    copy("micro-batch-size", out_.training, "micro_batch");
    copy("global-batch-size", out_.training, "global_batch");
    copy("seq-length", out_.training, "sequence_length");
    for (auto const& [name, ours] : {std::pair{"micro-batch-size", "micro_batch"}, {"seq-length", "sequence_length"}})
      if (!find(name))
        out_.open.push_back(
            {"training", ours,
             at_place_of(arguments_, fmt::format("does not say --{}: give the \"{}\" of \"training\"", name, ours))});
  }

  /// bf16's gradients add up in fp32 unless told otherwise, fp16's only if told so.
  void read_types() {
    auto const bf16 = is_on("bf16");
    auto const fp16 = is_on("fp16");
    if (bf16 && fp16) find("fp16")->fail("found it beside --bf16", "choose one");
    auto const place = find(fp16 ? "fp16" : "bf16").value_or(arguments_);
    out_.training.put("precision", place, fp16 ? "fp16" : bf16 ? "bf16" : "fp32");
    auto const in_bf16 = find("grad-reduce-in-bf16");
    auto const in_fp32 = find("accumulate-allreduce-grads-in-fp32");
    out_.strategy.put("grad_reduce_in_fp32", in_bf16.value_or(in_fp32.value_or(place)),
                      fp16 ? is_on("accumulate-allreduce-grads-in-fp32") : !is_on("grad-reduce-in-bf16"));
    auto const format = find("fp8-format");
    if (!format) return;
    out_.training.put("linear_type", *format, "fp8");
    auto const recipe = find("fp8-recipe");
    auto const word = recipe ? recipe->string() : std::string_view{"delayed"};
    if (word != "delayed" && word != "tensorwise")
      warn(*recipe, fmt::format("{} is not modelled: scales of whole tensors are taken", quoted(word)));
    out_.training.put("scaling", recipe.value_or(*format), word == "delayed" ? "delayed" : "current");
  }

  /// FusedAdam, which decays weights apart, and FusedSGD (megatron/core/optimizer/__init__.py).
  void read_optimizer() {
    auto const norm = find("clip-grad");
    out_.training.put("clip_gradients", norm.value_or(arguments_), !norm || norm->number() > 0);
    auto const name = find("optimizer");
    auto const word = name ? name->string() : std::string_view{"adam"};
    auto const momentum = find("sgd-momentum");
    if (word == "sgd")
      return out_.training.put("optimizer", *name, momentum && momentum->number() == 0 ? "sgd" : "sgd-momentum");
    if (word != "adam") warn(*name, fmt::format("{} is not modelled: AdamW is taken", quoted(word)));
    out_.training.put("optimizer", name.value_or(arguments_), "adamw-fused");
  }

  void read_recompute() {
    auto const all = find("recompute-activations");
    auto const granularity = find("recompute-granularity");
    auto const is_short = all && all->boolean();
    auto const word = is_short      ? std::string_view{"selective"}
                      : granularity ? granularity->string()
                                    : std::string_view{};
    if (word.empty()) return;
    auto const place = is_short ? *all : *granularity;
    if (word == "selective") {
      out_.strategy.put("recompute", place, "selective");
      if (auto const modules = find("recompute-modules"); modules && !is_core_attention(*modules))
        warn(*modules, "is not modelled: the core of attention is recomputed");
    } else if (word == "full") {
      read_full_recompute(place);
    } else {
      place.fail(fmt::format("found {}, expected full or selective", quoted(word)), "choose one of them");
    }
  }

  static bool is_core_attention(io::Node const& modules) {
    return modules.is(io::Node::Type::kString) && modules.string() == "core_attn";
  }

  /// uniform: runs of so many layers, each from its first one's input; block: the first so many of each stage.
  void read_full_recompute(io::Node const& place) {
    auto const method = find("recompute-method");
    if (!method) place.fail("found full recomputation without --recompute-method", "add uniform or block");
    auto const word = method->string();
    if (word != "uniform" && word != "block")
      method->fail(fmt::format("found {}, expected uniform or block", quoted(word)), "choose one of them");
    auto const number = find("recompute-num-layers");
    if (!number) method->fail("found it without --recompute-num-layers", "add the number of layers");
    auto const layers = count("recompute-num-layers", 1);
    if (word == "uniform" && layers == 1) return out_.strategy.put("recompute", *number, "full");
    auto recompute = Part{"recompute"};
    recompute.put("what", place, "full");
    recompute.put(word == "uniform" ? "segment" : "first", *number);
    out_.strategy.put("recompute", recompute.node());
    if (word == "block" && stages_ > 1)
      warn(*number, "is not modelled of each stage: the model's first layers are recomputed");
  }

  /// TransformerEngine's attention is fused unless told otherwise; Megatron's own is not, unless told so.
  void read_kernels() {
    auto const backend = find("attention-backend");
    auto const implementation = find("transformer-impl");
    auto const flash = find("use-flash-attn");
    auto const is_local = implementation && implementation->string() == "local" && !is_on("use-flash-attn");
    auto const is_unfused = backend && (backend->string() == "unfused" || backend->string() == "local");
    if (backend || implementation || flash)
      out_.training.put("flash_attention",
                        backend ? *backend
                        : flash ? *flash
                                : *implementation,
                        backend ? !is_unfused : !is_local);
    auto const eager = find("no-bias-swiglu-fusion");
    if (is_on("swiglu")) out_.training.put("activation", eager.value_or(*find("swiglu")), eager ? "eager" : "fused");
    auto const loss = find("cross-entropy-loss-fusion");
    if (loss && loss->boolean()) out_.training.put("cross_entropy", *loss, "fused");
  }

  static constexpr int64_t kMost = int64_t{1} << 31;
  static constexpr int64_t kMostParts = 100'000;

  io::Node arguments_;
  UsersFile out_;
  int64_t stages_ = 1;
};

}  // namespace

UsersFile read_megatron(io::Node const& arguments, std::vector<std::string> warnings) {
  return MegatronReader{arguments, std::move(warnings)}.read();
}

}  // namespace twinstep::strategies
