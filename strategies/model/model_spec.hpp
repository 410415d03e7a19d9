#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/enum_names.hpp"

/// What is trained and how it is trained: models, plans, and their compilation into step programs.
namespace twinstep::strategies {

enum class Norm : std::uint8_t {
  kRms,   ///< a weight; saves one number a token
  kLayer  ///< a weight and a bias; saves two numbers a token
};

/// Whose code names and orders the modules that hold parameters. Source: transformers' modeling_*.py.
enum class Modules : std::uint8_t { kLlama, kGpt2, kGptNeoX, kOpt, kMpt };

/// A decoder-only transformer with pre-normalised blocks: attention, residual, MLP, residual.
/// Requires heads % kv_heads == 0 and every size >= 1; the readers see to it.
struct Transformer {
  std::string name;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;   ///< fewer than heads: grouped queries
  std::int64_t head_size = 1;  ///< heads * head_size need not be hidden
  std::int64_t ffn = 1;        ///< width inside the MLP
  std::int64_t vocabulary = 1;
  std::int64_t positions = 0;  ///< learned position embeddings; 0 means rotary embedding or ALiBi, which have none
  std::int64_t max_sequence_length = 1;
  Norm norm = Norm::kRms;
  bool gated_mlp = true;   ///< SwiGLU with three matrices; otherwise GELU or ReLU with two
  bool fused_qkv = false;  ///< one projection for queries, keys and values
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;    ///< the head multiplies by the embedding's own matrix
  bool dropout = false;            ///< after the embedding, attention and MLP
  bool parallel_branches = false;  ///< attention and MLP both read the block's input
  bool query_key_norm = false;     ///< an RMS norm of each head's queries and keys
  bool relu = false;               ///< in an MLP without gate
  bool norm_bias = true;           ///< of layer norms
  bool alibi = false;              ///< positions as a bias of the scores
  std::int64_t rotary_size = 0;    ///< numbers of each head that are rotated; 0 for all
  std::optional<Modules> modules;  ///< by default Llama's, or GPT-2's with a fused projection

  [[nodiscard]] std::int64_t query_width() const { return heads * head_size; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_size; }
  [[nodiscard]] bool has_rotary_embedding() const { return positions == 0 && !alibi; }
  bool operator==(Transformer const&) const = default;
};

/// Fully connected layers without biases, a GELU after every layer but the last, and a squared error at the end.
struct Mlp {
  std::string name;
  std::vector<std::int64_t> widths;  ///< of the input, then of each layer's output: two entries at least

  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(widths.size()) - 1; }
  bool operator==(Mlp const&) const = default;
};

/// Blocks of a residual network that have one width and image size.
struct CnnStage {
  std::int64_t blocks = 1;
  std::int64_t width = 64;  ///< channels of a block's output; with bottlenecks, a quarter of them
  std::int64_t stride = 1;  ///< of its first block: images shrink by it
  bool operator==(CnnStage const&) const = default;
};

/// A residual network that classifies square images of three channels, as torchvision's resnet.py builds it: a stem of
/// a 7 × 7 convolution and pooling, stages of blocks, and a head that averages and classifies.
/// Requires at least one stage; groups other than 1 need bottlenecks.
struct Cnn {
  std::string name;
  std::vector<CnnStage> stages;
  bool bottleneck = false;            ///< blocks of 1 × 1, 3 × 3 and 1 × 1 convolutions; otherwise of two 3 × 3
  std::int64_t groups = 1;            ///< of a bottleneck's 3 × 3 convolution
  std::int64_t width_per_group = 64;  ///< a bottleneck's inner channels are width · this / 64 · groups
  std::int64_t classes = 1000;
  std::int64_t image_size = 224;  ///< pixels of a side

  bool operator==(Cnn const&) const = default;
};

using ModelSpec = std::variant<Transformer, Mlp, Cnn>;

[[nodiscard]] std::string_view model_name(ModelSpec const& model);

/// One parameter as PyTorch holds it. A linear layer's weight is [out, in]; a vector has one column.
/// (GPT-2's Conv1D stores the transpose, which changes neither the count nor the arithmetic.)
struct Tensor {
  std::string name;  ///< within its unit: "self_attn.q_proj.weight"
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  /// The parameter set that it belongs to: 0, but for tensors that other ranks share than those that share most (an
  /// expert's, say). A data-parallel strategy keeps each set by itself.
  std::int32_t set = 0;
  /// Every rank of the tensor group has it, and each makes a part of its gradient alone: what its own tokens or heads
  /// add. The parts are summed once a step.
  bool has_partial_gradient = false;
  /// Another stage of a pipeline has a copy, and both add up their gradients: it is sharded by itself, so that ranks of
  /// both have the same shard.
  bool has_copy = false;

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  bool operator==(Tensor const&) const = default;
};

/// The parameters of `count` successive units that are alike: "embedding", "layer" (times the number of layers),
/// "head" (final norm and, unless it is tied, the output matrix).
struct UnitParameters {
  std::string name;
  std::int64_t count = 1;
  std::vector<Tensor> tensors;  ///< in the order in which the module registers them

  [[nodiscard]] std::int64_t elements() const;  ///< of one of the units
  bool operator==(UnitParameters const&) const = default;
};

/// All parameters in registration order. Names and order are those of transformers' modeling files (`Modules`) and of
/// torchvision's resnet.py; the norm behind OPT's layers, which it registers before them, stands with the head. A tied
/// head holds no matrix. Cost O(1) in the layers of a transformer.
[[nodiscard]] std::vector<UnitParameters> parameters_of(ModelSpec const& model);

/// Numbers that the model's modules hold beside its parameters and that training updates without gradients: running
/// mean and variance of each channel of a batch norm, and its count of batches. PyTorch's DDP broadcasts them before
/// every forward (broadcast_buffers); they are fp32, the counts int64.
[[nodiscard]] std::int64_t buffer_elements(ModelSpec const& model);

/// Trainable parameters; a shared matrix counts once.
[[nodiscard]] std::int64_t parameter_count(ModelSpec const& model);

}  // namespace twinstep::strategies

namespace twinstep {

template <>
struct EnumNames<strategies::Norm> {
  static constexpr std::array<std::string_view, 2> values{"rms", "layer"};
};

}  // namespace twinstep
