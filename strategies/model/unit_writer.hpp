#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/model/work.hpp"

namespace twinstep::strategies {

/// Writes the work of one unit, kernel by kernel. Only the files that describe models use it.
class UnitWriter {
 public:
  using Accesses = std::vector<SlotAccess>;

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

  /// A memory-bound kernel that only has a cost: each element is moved `passes` times in the compute type (a residual
  /// add reads twice and writes once: 3), plus `extra_bytes` (a dropout mask: 1).
  [[nodiscard]] program::Elementwise memory_bound(std::int64_t elements, int passes, int extra_bytes = 0) const;

  /// out[tokens, n] = in[tokens, k] · weight[n, k]ᵀ.
  void matrix(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t out);
  /// Its data gradient (none if `in_gradient` < 0), then its weight gradient: autograd's order.
  void matrix_backward(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t weight_gradient,
                       std::int32_t out_gradient, std::int32_t in_gradient);

  /// `matrix` with this unit's "<tensor>.weight". A "<tensor>.bias" costs nothing extra, since the GEMM adds it as it
  /// writes; as a GEMM has three operands, the next kernel of another kind is the one that is said to read it.
  void linear(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out);
  /// Its data, weight and bias gradients.
  void linear_backward(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out_gradient,
                       std::int32_t in_gradient);

  /// A norm of `in`, with the parameters "<tensor>.weight" and "<tensor>.bias"; returns the slot of its statistics.
  std::int32_t norm(std::string const& name, std::string const& tensor, Norm kind, std::int32_t in, std::int32_t out);
  void norm_backward(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t statistics,
                     std::int32_t out_gradient, std::int32_t in_gradient);

  [[nodiscard]] UnitWork finish() && { return std::move(unit_); }

 private:
  Shape shape_;
  std::int64_t tokens_;
  UnitWork unit_;
  Accesses unread_biases_;
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

/// The layer of a transformer.
[[nodiscard]] UnitWork block_work(Transformer const& model, std::vector<Tensor> parameters, Shape const& shape);

/// The kinds and units of each family.
[[nodiscard]] ModelWork units_of(Transformer const& model, Shape const& shape);
[[nodiscard]] ModelWork units_of(Mlp const& model, Shape const& shape);

}  // namespace twinstep::strategies
