#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/model/work.hpp"

namespace twinstep::strategies {

/// The products of a linear layer with `rows` rows of its input, and of its gradients. Operands of the gradients: that
/// of the output first.
struct LinearProducts {
  program::Gemm forward, data_gradient, weight_gradient;
};
[[nodiscard]] LinearProducts linear_products(std::int64_t rows, std::int64_t in, std::int64_t out, DataType type);

/// What a norm keeps for its backward.
struct SavedNorm {
  std::int32_t input = -1;       ///< what it normalised, or an fp32 copy of it
  std::int32_t statistics = -1;  ///< a number or two for each row
  std::int32_t normalized = -1;  ///< the result before the weight multiplies it, if the norm is written out
  Norm kind = Norm::kRms;
};

/// Writes the work of one unit, kernel by kernel. Only the files that describe models use it.
class UnitWriter {
 public:
  using Accesses = std::vector<SlotAccess>;
  using Slots = std::vector<std::int32_t>;
  enum class Pass : std::uint8_t { kForward, kBackward };
  enum class Bias : std::uint8_t {
    kInProduct,
    kBehind  ///< added by another kernel, once ranks have added up their products
  };

  /// Makes the slots of all parameters and their gradients.
  UnitWriter(std::string name, std::vector<Tensor> parameters, Shape const& shape);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] Shape const& shape() const { return shape_; }

  /// An activation of the compute type.
  std::int32_t slot(std::string_view name, SlotKind kind, std::int64_t elements);
  std::int32_t slot(Slot slot);
  [[nodiscard]] std::int64_t elements(std::int32_t slot) const;

  /// The slot of a parameter of this unit, and of its gradient. Requires a tensor of that name.
  [[nodiscard]] std::int32_t parameter(std::string_view tensor) const;
  [[nodiscard]] std::int32_t gradient(std::string_view tensor) const { return parameter(tensor) + 1; }
  [[nodiscard]] bool has_parameter(std::string_view tensor) const;

  void forward(std::string name, program::Work const& work, Accesses accesses, std::uint32_t launches = 1);
  void backward(std::string name, program::Work const& work, Accesses accesses, std::uint32_t launches = 1);

  void forward(std::string name, UnitCollective collective, Accesses accesses);
  void backward(std::string name, UnitCollective collective, Accesses accesses);

  /// A memory-bound kernel: each element is moved `passes` times in the compute type (a residual add reads twice and
  /// writes once: 3), plus `extra_bytes` (a dropout mask: 1).
  [[nodiscard]] program::Elementwise memory_bound(program::Function function, std::int64_t elements, int passes,
                                                  int extra_bytes = 0) const;
  /// One that only has a cost.
  [[nodiscard]] program::Elementwise memory_bound(std::int64_t elements, int passes, int extra_bytes = 0) const {
    return memory_bound(program::Function::kCostOnly, elements, passes, extra_bytes);
  }
  /// The type of what is kept for each row: statistics of norms and of attention, log-probabilities.
  [[nodiscard]] DataType statistics_type() const {
    return shape_.compute_type == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
  }

  /// out[tokens, n] = in[tokens, k] · weight[n, k]ᵀ, plus a bias if it has one.
  void matrix(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t out, std::int32_t bias = -1);
  void matrix_data_gradient(std::string const& name, std::int32_t weight, std::int32_t out_gradient,
                            std::int32_t in_gradient);
  void matrix_weight_gradient(std::string const& name, std::int32_t in, std::int32_t weight_gradient,
                              std::int32_t out_gradient);
  /// Its data gradient (none if `in_gradient` < 0), then its weight gradient: autograd's order.
  void matrix_backward(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t weight_gradient,
                       std::int32_t out_gradient, std::int32_t in_gradient);

  /// `matrix` with this unit's "<tensor>.weight", in the shape's linear type after casts to it. A "<tensor>.bias" costs
  /// nothing extra, since the GEMM adds it as it writes.
  void linear(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out,
              Bias bias = Bias::kInProduct);
  /// The gradient of "<tensor>.bias", if there is such a parameter.
  void bias_gradient(std::string const& name, std::string const& tensor, std::int32_t out_gradient);
  void data_gradient(std::string const& name, std::string const& tensor, std::int32_t out_gradient,
                     std::int32_t in_gradient);
  void weight_and_bias_gradients(std::string const& name, std::string const& tensor, std::int32_t in,
                                 std::int32_t out_gradient, std::int32_t own_out_gradient = -1);
  /// Both; the bias sees the rank's own tokens of the output, if these are given.
  void linear_backward(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out_gradient,
                       std::int32_t in_gradient, std::int32_t own_out_gradient = -1);

  // What ranks that share a layer exchange (`TensorSplit`): tensor_split.cpp. Without such ranks each gives its
  // argument back.

  /// All tokens of `part`, of which each rank has some.
  std::int32_t gathered(std::string const& name, std::int32_t part, Pass pass);
  /// The sum of `partial` over the ranks: of the rank's tokens, or of all. It lies in `to`, if that is a slot, or where
  /// there is room.
  std::int32_t reduced(std::string const& name, std::int32_t partial, Pass pass, std::int32_t to = -1);
  /// `small`, of which each rank has its own numbers, summed or compared.
  void all_reduce(std::string const& name, std::int32_t small, program::Reduction reduction, Pass pass);

  /// A norm of `in`, with the parameters "<tensor>.weight" and "<tensor>.bias", whose result may lie in several slots.
  /// Normalised are rows as long as the weight. Returns what backward needs.
  SavedNorm norm(std::string const& name, std::string const& tensor, Norm kind, std::int32_t in, Slots const& out);
  void norm_backward(std::string const& name, std::string const& tensor, SavedNorm const& saved,
                     Slots const& out_gradient, std::int32_t in_gradient);

  /// Whether a norm of this kind is written out operator by operator, and then keeps a copy of its input.
  [[nodiscard]] bool is_eager(Norm kind) const;

  [[nodiscard]] UnitWork finish() && { return std::move(unit_); }

 private:
  void collective(std::string name, CollectiveKind kind, std::int32_t from, std::int32_t to, Pass pass,
                  program::Reduction reduction = program::Reduction::kSum);

  /// How a product reads a cast operand: in forward, or in backward by rows or by columns of the uncast tensor.
  enum class Order : std::uint8_t { kForward, kByRows, kByColumns };

  /// `slot` in the shape's linear type. Each tensor is cast once in forward, and once in backward for each order that
  /// has its own scales, as a compiler merges the casts of several readers.
  std::int32_t cast(std::int32_t slot, Order order);
  /// Under whose order a cast is known: TransformerEngine's writes both orders at once and keeps them for backward;
  /// autograd keeps the uncast tensors, so that backward casts again, once for each order that has scales of its own.
  [[nodiscard]] Order cast_order(Order order) const;
  [[nodiscard]] program::Elementwise cast_work(std::int64_t elements) const;
  /// Whether forward's cast is TransformerEngine's, which backward reads again.
  [[nodiscard]] bool is_kept_cast() const {
    return shape_.scaling == Scaling::kDelayed || shape_.scaling == Scaling::kCurrent;
  }
  /// Whether a kernel of its own looks for the largest number before each cast: it reads everything once more. A row's
  /// is found on the way, and a delayed scale is known.
  [[nodiscard]] bool seeks_largest() const {
    return shape_.scaling == Scaling::kTensorWise || shape_.scaling == Scaling::kCurrent;
  }

  Shape shape_;
  std::int64_t tokens_;
  UnitWork unit_;
  std::map<std::pair<std::int32_t, Order>, std::int32_t> casts_;
};

[[nodiscard]] inline SlotAccess reads(std::int32_t slot) {
  return {slot, program::AccessMode::kRead};
}
[[nodiscard]] inline SlotAccess writes(std::int32_t slot) {
  return {slot, program::AccessMode::kWrite};
}
[[nodiscard]] inline SlotAccess updates(std::int32_t slot) {
  return {slot, program::AccessMode::kReadWrite};
}

/// What each rank of a tensor group has of a transformer: a narrower one.
[[nodiscard]] Transformer share_of(Transformer const& model, TensorSplit const& split);
/// Marks tensors of `unit` that every rank of the tensor group has, and of whose gradient each makes a part alone.
void mark_partial_gradients(std::vector<Tensor>& tensors, Transformer const& model, TensorSplit const& split);

/// The layer of a transformer.
[[nodiscard]] UnitWork block_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape);

/// The kind of a transformer's units that the embedding is; a tied head uses its matrix.
inline constexpr std::int32_t kEmbeddingKind = 0;
/// The final norm, the output matrix and the loss; `embedding` is the matrix that a tied head multiplies with.
[[nodiscard]] UnitWork head_work(Transformer const& model, std::vector<Tensor> parameters, Tensor const& embedding,
                                 Shape const& shape);

/// The kinds and units of each family.
[[nodiscard]] ModelWork units_of(Transformer const& model, Shape const& shape);
[[nodiscard]] ModelWork units_of(Mlp const& model, Shape const& shape);
[[nodiscard]] ModelWork units_of(Cnn const& model, Shape const& shape);

}  // namespace twinstep::strategies
