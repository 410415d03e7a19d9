#include <utility>

#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {

LinearProducts linear_products(std::int64_t rows, std::int64_t in, std::int64_t out, DataType type) {
  auto products = LinearProducts{{rows, out, in}, {rows, in, out}, {out, in, rows}};
  for (auto* const gemm : {&products.forward, &products.data_gradient, &products.weight_gradient}) gemm->type = type;
  products.forward.transpose_b = true;
  products.weight_gradient.transpose_a = true;
  return products;
}

void UnitWriter::matrix(std::string const& name, std::int32_t in, std::int32_t weight, std::int32_t out,
                        std::int32_t bias) {
  auto const gemm = linear_products(tokens_, elements(in) / tokens_, elements(out) / tokens_, shape_.compute_type);
  auto accesses = Accesses{reads(in), reads(weight), writes(out)};
  if (bias >= 0) accesses.push_back(reads(bias));
  forward(name + ".forward", gemm.forward, std::move(accesses));
}

void UnitWriter::matrix_data_gradient(std::string const& name, std::int32_t weight, std::int32_t out_gradient,
                                      std::int32_t in_gradient) {
  auto const gemm =
      linear_products(tokens_, elements(in_gradient) / tokens_, elements(out_gradient) / tokens_, shape_.compute_type);
  backward(name + ".data_gradient", gemm.data_gradient, {reads(out_gradient), reads(weight), writes(in_gradient)});
}

void UnitWriter::matrix_weight_gradient(std::string const& name, std::int32_t in, std::int32_t weight_gradient,
                                        std::int32_t out_gradient) {
  auto const gemm =
      linear_products(tokens_, elements(in) / tokens_, elements(out_gradient) / tokens_, shape_.compute_type);
  backward(name + ".weight_gradient", gemm.weight_gradient, {reads(out_gradient), reads(in), writes(weight_gradient)});
}

void UnitWriter::matrix_backward(std::string const& name, std::int32_t in, std::int32_t weight,
                                 std::int32_t weight_gradient, std::int32_t out_gradient, std::int32_t in_gradient) {
  if (in_gradient >= 0) matrix_data_gradient(name, weight, out_gradient, in_gradient);
  matrix_weight_gradient(name, in, weight_gradient, out_gradient);
}

void UnitWriter::linear(std::string const& name, std::string const& tensor, std::int32_t in, std::int32_t out,
                        Bias where) {
  auto const weight = parameter(tensor + ".weight");
  auto const has_bias = where == Bias::kInProduct && has_parameter(tensor + ".bias");
  auto const bias = has_bias ? parameter(tensor + ".bias") : -1;
  if (!shape_.linear_type) return matrix(name, in, weight, out, bias);
  auto const gemm = linear_products(tokens_, elements(in) / tokens_, elements(out) / tokens_, *shape_.linear_type);
  auto const in_cast = cast(in, Order::kForward);
  auto const weight_cast = cast(weight, Order::kForward);
  auto accesses = Accesses{reads(in_cast), reads(weight_cast), writes(out)};
  if (bias >= 0) accesses.push_back(reads(bias));
  forward(name + ".forward", gemm.forward, std::move(accesses));
}

void UnitWriter::data_gradient(std::string const& name, std::string const& tensor, std::int32_t out_gradient,
                               std::int32_t in_gradient) {
  auto const type = shape_.linear_type.value_or(shape_.compute_type);
  auto const gemm = linear_products(tokens_, elements(in_gradient) / tokens_, elements(out_gradient) / tokens_, type);
  auto const weight = parameter(tensor + ".weight");
  auto const by_rows = shape_.linear_type ? cast(out_gradient, Order::kByRows) : out_gradient;
  auto const weight_cast = shape_.linear_type ? cast(weight, Order::kByColumns) : weight;
  backward(name + ".data_gradient", gemm.data_gradient, {reads(by_rows), reads(weight_cast), writes(in_gradient)});
}

void UnitWriter::weight_and_bias_gradients(std::string const& name, std::string const& tensor, std::int32_t in,
                                           std::int32_t out_gradient, std::int32_t own_out_gradient) {
  auto const type = shape_.linear_type.value_or(shape_.compute_type);
  auto const gemm = linear_products(tokens_, elements(in) / tokens_, elements(out_gradient) / tokens_, type);
  auto const by_columns = shape_.linear_type ? cast(out_gradient, Order::kByColumns) : out_gradient;
  auto const in_cast = shape_.linear_type ? cast(in, Order::kByColumns) : in;
  backward(name + ".weight_gradient", gemm.weight_gradient,
           {reads(by_columns), reads(in_cast), writes(gradient(tensor + ".weight"))});
  bias_gradient(name, tensor, shape_.split.sequence && own_out_gradient >= 0 ? own_out_gradient : out_gradient);
}

void UnitWriter::linear_backward(std::string const& name, std::string const& tensor, std::int32_t in,
                                 std::int32_t out_gradient, std::int32_t in_gradient, std::int32_t own_out_gradient) {
  data_gradient(name, tensor, out_gradient, in_gradient);
  weight_and_bias_gradients(name, tensor, in, out_gradient, own_out_gradient);
}

void UnitWriter::bias_gradient(std::string const& name, std::string const& tensor, std::int32_t out_gradient) {
  auto const bias = tensor + ".bias";
  if (!has_parameter(bias)) return;
  // A sum over the tokens: each element is read once.
  auto work = memory_bound(program::Function::kSumRepeated, elements(out_gradient), 1);
  work.rows.width = static_cast<std::int32_t>(elements(parameter(bias)));
  backward(name + ".bias_gradient", work, {reads(out_gradient), writes(gradient(bias))});
}

UnitWriter::Order UnitWriter::cast_order(Order order) const {
  if (is_kept_cast()) return Order::kForward;
  auto const has_one_scale = shape_.scaling == Scaling::kTensorWise;
  return has_one_scale && order == Order::kByColumns ? Order::kByRows : order;
}

program::Elementwise UnitWriter::cast_work(std::int64_t elements) const {
  auto const in = static_cast<std::int32_t>(size_of(shape_.compute_type).count());
  auto const out = static_cast<std::int32_t>(size_of(*shape_.linear_type).count());
  auto const copies = is_kept_cast() ? 2 : 1;
  return {program::Function::kScale, elements, (seeks_largest() ? 2 : 1) * in + copies * out, *shape_.linear_type};
}

std::int32_t UnitWriter::cast(std::int32_t slot, Order order) {
  auto const [found, is_new] = casts_.try_emplace({slot, cast_order(order)});
  if (!is_new) return found->second;
  auto const source = unit_.slots[static_cast<std::size_t>(slot)];
  auto const kind = is_kept_cast() && order == Order::kForward ? SlotKind::kSaved : SlotKind::kTemporary;
  auto const type = *shape_.linear_type;
  found->second = this->slot({source.name + "." + std::string{name_of(type)}, kind, source.elements, type});
  auto const launches = seeks_largest() ? 2U : 1U;
  auto accesses = Accesses{reads(slot), writes(found->second)};
  auto const name = source.name + ".cast";
  if (order == Order::kForward) {
    forward(name, cast_work(source.elements), std::move(accesses), launches);
  } else {
    backward(name, cast_work(source.elements), std::move(accesses), launches);
  }
  return found->second;
}

}  // namespace twinstep::strategies
