#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/io/maker.hpp"
#include "strategies/import/known_keys.hpp"
#include "strategies/import/readers.hpp"

namespace twinstep::strategies {
namespace {

constexpr auto kNotModelledOfMegatron = std::to_array<NotModelled>({
    {"tp-comm-overlap", "collectives of tensor ranks are whole, one after another", {}},
    {"num-experts", "models are dense", {}},
    {"fp8-param-gather", "parameters are gathered in 16 bits", {}},
    {"pipeline-model-parallel-layout", "layers are shared out evenly: list them in parallel.layers", {}},
    {"decoder-first-pipeline-num-layers", "layers are shared out evenly: list them in parallel.layers", {}},
    {"decoder-last-pipeline-num-layers", "layers are shared out evenly: list them in parallel.layers", {}},
    {"squared-relu", "the MLP has GELU", {}},
    {"use-megatron-fsdp", "the distributed optimizer is taken", {}},
    {"use-torch-fsdp2", "the distributed optimizer is taken", {}},
    {"optimizer-cpu-offload", "the optimizer stays on the GPU", {}},
    {"cpu-offloading", "activations stay on the GPU", {}},
    {"enable-cuda-graph", "kernels are launched one by one", {}},
    {"external-cuda-graph", "kernels are launched one by one", {}},
    {"recompute-modules", "all but the attention core is kept", "core_attn"},
});

constexpr auto kMegatronKeys = KnownKeys{
    .format = "a Megatron-LM command line",
    .read = R"(
        tensor-model-parallel-size pipeline-model-parallel-size context-parallel-size expert-model-parallel-size
        sequence-parallel num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank
        microbatch-group-size-per-virtual-pipeline-stage no-overlap-p2p-communication
        account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split
        micro-batch-size global-batch-size seq-length bf16 fp16 clip-grad optimizer fp8-format fp8-recipe
        use-distributed-optimizer overlap-grad-reduce overlap-param-gather accumulate-allreduce-grads-in-fp32
        grad-reduce-in-bf16 ddp-bucket-size num-distributed-optimizer-instances
        recompute-activations recompute-granularity recompute-method recompute-num-layers
        num-layers hidden-size ffn-hidden-size num-attention-heads group-query-attention num-query-groups kv-channels
        swiglu normalization max-position-embeddings position-embedding-type
        untie-embeddings-and-output-weights vocab-size padded-vocab-size disable-bias-linear
        use-flash-attn attention-backend)",
    .no_matter = R"(
        lr min-lr lr-decay-style lr-warmup-iters lr-warmup-fraction lr-warmup-samples lr-decay-iters lr-decay-samples
        weight-decay adam-beta1 adam-beta2 adam-eps init-method-std train-iters train-samples exit-interval
        exit-duration-in-mins save load save-interval eval-interval eval-iters log-interval log-throughput
        tensorboard-dir tensorboard-queue-size wandb-project wandb-exp-name wandb-save-dir
        data-path data-cache-path split tokenizer-type tokenizer-model vocab-file merge-file mock-data num-workers
        use-mcore-models transformer-impl no-load-optim no-load-rng no-save-optim no-save-rng
        attention-dropout hidden-dropout seed rotary-base rotary-percent no-position-embedding use-rotary-position-embeddings
        norm-epsilon use-checkpoint-args distributed-backend distributed-timeout-minutes
        log-params-norm log-num-zeros-in-grad timing-log-level manual-gc manual-gc-interval ckpt-format
        no-masked-softmax-fusion no-bias-gelu-fusion no-bias-swiglu-fusion no-rope-fusion cross-entropy-loss-fusion
        no-gradient-accumulation-fusion make-vocab-size-divisible-by use-tp-pp-dp-mapping apply-layernorm-1p
        loss-scale initial-loss-scale min-loss-scale loss-scale-window dataloader-type rampup-batch-size
        nproc_per_node nnodes node_rank master_addr master_port nproc-per-node nnodes node-rank master-addr
        master-port rdzv-backend rdzv-endpoint rdzv-id)",
    .not_modelled = kNotModelledOfMegatron,
};

/// A word of a command line and the line that it stands on.
struct ShellWord {
  std::string text;
  std::size_t line = 1;
};

/// Words between blanks; quotes go, comments of the shell and continued lines too.
std::vector<ShellWord> shell_words(std::string_view text) {
  auto words = std::vector<ShellWord>{};
  auto line = std::size_t{1};
  auto word = std::string{};
  auto quote = '\0';
  auto const finish = [&] {
    if (!word.empty()) words.push_back({std::exchange(word, {}), line});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    if (c == '#' && word.empty() && quote == '\0')
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    else if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\n')
      finish();
    else if ((c == '"' || c == '\'') && (quote == '\0' || quote == c))
      quote = quote == '\0' ? c : '\0';
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '(' || c == ')')
      finish();
    else if (c != '\\')
      word += c;
    if (c == '\n') ++line;
  }
  finish();
  return words;
}

/// A number where the word is one, else text.
io::Node value_of(ShellWord const& word, io::Maker const& make) {
  auto const& text = word.text;
  auto whole = std::int64_t{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc{} && end == text.data() + text.size()) return make.number(whole);
  char* stop = nullptr;
  auto const real = std::strtod(text.c_str(), &stop);
  return stop == text.c_str() + text.size() ? make.number(real) : make.text(text);
}

/// {"tensor-model-parallel-size": 8, "bf16": true, …}, each value placed at its line. Of a flag that stands several
/// times the last counts, as in argparse.
io::Node flags_of(io::Source const& source) {
  auto const words = shell_words(source.text);
  auto flags = io::Maker{source.name}.object({});
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto name = words[i].text;
    if (!name.starts_with("--") || name.size() < 3) continue;
    auto const make = io::Maker{fmt::format("{}:{}: {}", source.name, words[i].line, one_line(name))};
    name.erase(0, 2);
    auto value = std::optional<ShellWord>{};
    if (auto const sign = name.find('='); sign != std::string::npos) {
      value = ShellWord{name.substr(sign + 1), words[i].line};
      name.erase(sign);
    } else if (i + 1 < words.size() && !words[i + 1].text.starts_with("--")) {
      value = words[i + 1];
    }
    std::ranges::replace(name, '.', '-');
    flags = io::with_member(flags, name, value ? value_of(*value, make) : make.fact(true));
  }
  return flags;
}

class MegatronReader {
 public:
  explicit MegatronReader(io::Node flags) : flags_{std::move(flags)} {}

  UsersFile read() {
    report_keys(flags_, kMegatronKeys, out_.warnings);
    refuse_parallelism(find("context-parallel-size"), "context");
    refuse_parallelism(find("expert-model-parallel-size"), "expert");
    read_model();
    read_training();
    read_strategy();
    read_parallel();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<io::Node> find(std::string_view key) const {
    auto value = flags_.find(key);
    if (value && value->is(io::Node::Type::kString) && value->string().find('$') != std::string_view::npos)
      value->fail(fmt::format("found {}, a variable of the shell", quoted(value->string())),
                  "write its value into the file");
    return value;
  }
  [[nodiscard]] bool is_on(std::string_view key) const { return flags_.has(key); }
  void copy(std::string_view from, Part& to, std::string_view key) const {
    if (auto const value = find(from)) to.put(key, *value);
  }

  /// The flags of a GPT: LLaMA's form with SwiGLU, else GPT-2's.
  void read_model() {
    if (!is_on("num-layers")) return;
    auto& model = out_.model;
    auto const is_gated = is_on("swiglu");
    model.put("family", flags_, is_gated ? "llama" : "gpt2");
    copy("num-layers", model, "layers");
    copy("hidden-size", model, "hidden");
    copy("num-attention-heads", model, "heads");
    if (is_on("group-query-attention")) copy("num-query-groups", model, "kv_heads");
    copy("kv-channels", model, "head_size");
    copy("ffn-hidden-size", model, "ffn");
    if (is_gated && !is_on("ffn-hidden-size") && is_on("hidden-size"))  // arguments.py: 4 · h · 2 / 3, rounded
      model.put("ffn", flags_.at("hidden-size"), flags_.at("hidden-size").integer_from(1) * 8 / 3 / 64 * 64);
    auto const padded = find("padded-vocab-size");
    if (auto const vocabulary = padded ? padded : find("vocab-size")) model.put("vocabulary", *vocabulary);
    copy("max-position-embeddings", model, "max_sequence_length");
    model.put("tied_embeddings", flags_, !is_on("untie-embeddings-and-output-weights"));
    model.put("biases", flags_, !is_on("disable-bias-linear"));
    if (!is_on("vocab-size") && !padded)
      out_.warnings.push_back(
          at_place_of(flags_, "the vocabulary is the tokenizer's: say \"vocabulary\" of the model"));
  }

  void read_training() {
    auto& training = out_.training;
    copy("micro-batch-size", training, "micro_batch");
    copy("global-batch-size", training, "global_batch");
    copy("seq-length", training, "sequence_length");
    training.put("precision", flags_, is_on("bf16") ? "bf16" : is_on("fp16") ? "fp16" : "fp32");
    training.put("optimizer", flags_, "adamw-fused");
    if (auto const optimizer = find("optimizer"); optimizer && optimizer->string() == "sgd")
      training.put("optimizer", *optimizer, "sgd-momentum");
    auto const clip = find("clip-grad");  // 1 by default
    training.put("clip_gradients", clip.value_or(flags_), !clip || clip->number() > 0);
    if (auto const format = find("fp8-format")) {
      training.put("linear_type", *format, "fp8");
      auto const recipe = find("fp8-recipe");
      training.put("scaling", recipe.value_or(*format),
                   recipe && recipe->string() == "tensorwise" ? "current" : "delayed");
    }
  }

  void read_strategy() {
    auto& strategy = out_.strategy;
    strategy.put("name", flags_, "megatron");
    strategy.put("use_distributed_optimizer", flags_, is_on("use-distributed-optimizer"));
    strategy.put("overlap_grad_reduce", flags_, is_on("overlap-grad-reduce"));
    strategy.put("overlap_param_gather", flags_, is_on("overlap-param-gather"));
    // --bf16 turns accumulate_allreduce_grads_in_fp32 on (megatron/training/arguments.py).
    strategy.put("grad_reduce_in_fp32", flags_,
                 !is_on("grad-reduce-in-bf16") && (is_on("bf16") || is_on("accumulate-allreduce-grads-in-fp32")));
    copy("ddp-bucket-size", strategy, "bucket_size");
    copy("num-distributed-optimizer-instances", strategy, "replicas");
    read_recompute();
  }

  void read_recompute() {
    auto const granularity = find("recompute-granularity");
    if (is_on("recompute-activations") || (granularity && granularity->string() == "selective"))
      return out_.strategy.put("recompute", granularity.value_or(flags_), "selective");
    if (!granularity) return;
    if (granularity->string() != "full")
      granularity->fail(fmt::format("found {}, expected full or selective", quoted(granularity->string())),
                        "choose one of them");
    auto recompute = Part{"recompute"};
    recompute.put("what", *granularity, "full");
    auto const method = find("recompute-method");
    auto const layers = find("recompute-num-layers");
    if (layers) recompute.put(method && method->string() == "block" ? "first" : "segment", *layers);
    out_.strategy.put("recompute", recompute.node());
  }

  void read_parallel() {
    auto parallel = Part{"parallel"};
    copy("tensor-model-parallel-size", parallel, "tensor");
    copy("pipeline-model-parallel-size", parallel, "pipeline");
    if (is_on("sequence-parallel")) parallel.put("sequence", flags_.at("sequence-parallel"), true);
    copy("num-virtual-stages-per-pipeline-rank", parallel, "chunks");
    if (auto const layers = find("num-layers-per-virtual-pipeline-stage")) {
      auto const stages = find("pipeline-model-parallel-size");
      auto const of_stage = flags_.at("num-layers").integer_from(1) / (stages ? stages->integer_from(1) : 1);
      parallel.put("chunks", *layers, std::max(of_stage / layers->integer_from(1), std::int64_t{1}));
    }
    copy("microbatch-group-size-per-virtual-pipeline-stage", parallel, "micro_batch_group");
    if (is_on("no-overlap-p2p-communication"))
      parallel.put("exchange", flags_.at("no-overlap-p2p-communication"), "batched");
    if (is_on("account-for-embedding-in-pipeline-split"))
      parallel.put("embedding_counts", flags_.at("account-for-embedding-in-pipeline-split"), true);
    if (is_on("account-for-loss-in-pipeline-split"))
      parallel.put("head_counts", flags_.at("account-for-loss-in-pipeline-split"), true);
    if (!parallel.node().members().empty()) out_.strategy.put("parallel", parallel.node());
  }

  io::Node flags_;
  UsersFile out_;
};

}  // namespace

UsersFile read_megatron(io::Source const& source) {
  return MegatronReader{flags_of(source)}.read();
}

}  // namespace twinstep::strategies
