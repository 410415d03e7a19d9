#include "sim/program/model_operands.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/base/check.hpp"

namespace twinstep::program {
namespace {

using Sizes = std::span<std::int64_t const>;

std::int64_t sum(Sizes sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

bool are_all(Sizes sizes, std::int64_t elements) {
  return std::ranges::all_of(sizes, [=](std::int64_t size) { return size == elements; });
}

bool is_backward(Function function) {
  return function == Function::kRmsNormBackward || function == Function::kLayerNormBackward;
}

bool is_layer_norm(Function function) {
  return function == Function::kLayerNorm || function == Function::kLayerNormBackward;
}

bool divides(std::int64_t part, std::int64_t whole) {
  return part > 0 && whole % part == 0;
}

bool fits_norm(Function function, std::int64_t elements, Sizes sizes) {
  auto const is_back = is_backward(function);
  if (sizes.size() < (is_back ? 6U : 4U) || sizes[0] != elements) return false;
  auto const weight = sizes[is_back ? 2 : 1];
  auto const statistics = is_back ? sizes[1] : sizes.back();
  auto const numbers = is_layer_norm(function) ? 2 : 1;
  if (!divides(weight, elements) || statistics != numbers * (elements / weight)) return false;
  auto const [has_bias, first, end] = norm_operands(function, sizes);
  if (sum(sizes.subspan(first, end - first)) != elements) return false;
  if (has_bias && !is_layer_norm(function)) return false;
  if (!is_back) return !has_bias || sizes[2] == weight;
  return sizes[end] == elements && are_all(sizes.subspan(end + 1), weight);
}

bool fits_table(std::int64_t rows, std::int64_t ids, std::int64_t table, std::int64_t elements) {
  return rows == elements && divides(ids, rows) && divides(rows / ids, table);
}

bool fits_repeated(Elementwise const& kernel, std::int64_t elements, Sizes sizes) {
  auto const width = kernel.rows.period();
  if (!divides(width, elements)) return false;
  if (kernel.function == Function::kSumRepeated) return sizes.size() == 2 && sizes[0] == elements && sizes[1] >= width;
  if (sizes.size() != 3 && sizes.size() != 4) return false;
  auto const repeated = sizes.size() - 2;
  return sizes[repeated] >= width && are_all(sizes.first(repeated), elements) && sizes.back() == elements;
}

bool fits_rotation(Elementwise const& kernel, std::int64_t elements, Sizes sizes) {
  auto const [width, sequence, heads, head_size] = kernel.rows;
  auto tensors = sizes;
  if (kernel.function == Function::kRotate) {
    if (sizes.size() % 2 != 0) return false;
    tensors = sizes.first(sizes.size() / 2);
    if (!std::ranges::equal(tensors, sizes.subspan(tensors.size()))) return false;
  }
  if (tensors.empty() || sequence < 1 || heads < 1 || !divides(width, sum(tensors))) return false;
  auto const [rows, rotated] = rotation(kernel, elements, tensors);
  auto const has_heads = [&, size = head_size](std::int64_t tensor) { return divides(rows * size, tensor); };
  return divides(head_size, width) && heads <= width / head_size && rotated * rows * heads == elements &&
         rotated <= head_size && rotated % 2 == 0 && std::ranges::all_of(tensors, has_heads);
}

/// Of `sources` for queries, keys and values, by tokens: queries and, for each of the other two, whole groups of heads.
bool fits_heads(RowShape const& rows, Sizes by_token, Sizes by_head, std::int64_t queries) {
  auto const head = std::int64_t{rows.sequence} * rows.head_size;
  return divides(head * rows.heads, queries) && are_all(by_head, queries) &&
         std::ranges::all_of(by_token,
                             [&](std::int64_t keys) { return divides(keys, queries) && divides(head, keys); });
}

bool fits_split(Elementwise const& kernel, Sizes sizes) {
  if (sizes.size() == 6)
    return sizes[0] == sizes[3] && fits_heads(kernel.rows, sizes.first(3), sizes.subspan(3), sizes[3]);
  if (sizes.size() != 4) return false;
  auto const keys = (sizes[0] - sizes[1]) / 2;
  return fits_heads(kernel.rows, std::array{keys}, sizes.subspan(1), sizes[1]) && sizes[1] + 2 * keys == sizes[0];
}

bool fits_part(std::int64_t elements, Sizes sizes) {
  if (sizes.size() != 6 && sizes.size() != 7) return false;
  auto const results = sizes.subspan(2, sizes.size() - 5);
  return sizes[0] == elements && divides(sizes[1], elements) && are_all(results, elements) &&
         are_all(sizes.last(3), sizes[1]);
}

bool fits_softmax(Elementwise const& kernel, std::int64_t elements, Sizes sizes, std::size_t operands) {
  return sizes.size() == operands && are_all(sizes, elements) &&
         divides(std::int64_t{kernel.rows.width} * kernel.rows.width, elements);
}

}  // namespace

NormOperands norm_operands(Function function, Sizes sizes) {
  auto const is_back = is_backward(function);
  auto out = NormOperands{.first = is_back ? 3U : 2U};
  if (!is_back) {
    out.end = sizes.size() - 1;
    out.has_bias = sum(sizes.subspan(2, out.end - 2)) > sizes[0];
    out.first += out.has_bias ? 1 : 0;
    return out;
  }
  out.end = out.first;
  for (auto left = sizes[0]; left > 0 && out.end < sizes.size() - 2; ++out.end) left -= sizes[out.end];
  out.has_bias = sizes.size() - out.end == 3;
  return out;
}

Rotation rotation(Elementwise const& kernel, std::int64_t elements, Sizes tensors) {
  auto const rows = sum(tensors) / kernel.rows.width;
  return {rows, elements / std::max<std::int64_t>(1, rows * kernel.rows.heads)};
}

bool fits(Elementwise const& kernel, std::int64_t elements, Sizes sizes) {
  auto const is_map = [&](std::size_t least, std::size_t most) {
    return sizes.size() >= least && sizes.size() <= most && are_all(sizes, elements);
  };
  using enum Function;
  switch (kernel.function) {
    case kAddTo:
    case kRelu: return is_map(2, 2);
    case kReluBackward: return is_map(3, 3);
    case kGate: return is_map(3, 4);
    case kGateBackward: return is_map(5, 6);
    case kGatherRows: return sizes.size() == 3 && fits_table(sizes[2], sizes[0], sizes[1], elements);
    case kScatterRows: return sizes.size() == 3 && fits_table(sizes[0], sizes[1], sizes[2], elements);
    case kAddRepeated:
    case kSumRepeated: return fits_repeated(kernel, elements, sizes);
    case kJoinColumns:
      return sizes.size() > 1 && sizes.back() == elements && sum(sizes) == 2 * elements &&
             divides(kernel.rows.width, elements);
    case kRmsNorm:
    case kRmsNormBackward:
    case kLayerNorm:
    case kLayerNormBackward: return fits_norm(kernel.function, elements, sizes);
    case kRotate:
    case kRotateBack: return fits_rotation(kernel, elements, sizes);
    case kSplitHeads: return fits_split(kernel, sizes);
    case kMergeHeads: return sizes.size() == 4 && fits_heads(kernel.rows, sizes.subspan(2), sizes.first(2), sizes[0]);
    case kSoftmax: return fits_softmax(kernel, elements, sizes, 2);
    case kSoftmaxBackward: return fits_softmax(kernel, elements, sizes, 3);
    case kCrossEntropy:
      return (sizes.size() == 3 || sizes.size() == 4) && divides(sizes[1], elements) && sizes[0] == elements &&
             are_all(sizes.subspan(2), elements);
    case kCrossEntropyBackward:
      return sizes.size() == 4 && divides(sizes[0], elements) && are_all(sizes.subspan(1), elements);
    case kFusedCrossEntropy:
    case kFusedCrossEntropyBackward:
      return sizes.size() == (kernel.function == kFusedCrossEntropy ? 3U : 4U) && sizes[0] == elements &&
             divides(sizes[1], elements) && are_all(sizes.subspan(2), elements);
    case kRowMaximum: return sizes.size() == 2 && sizes[0] == elements && divides(sizes[1], elements);
    case kCrossEntropyPart:
    case kFusedCrossEntropyPart: return fits_part(elements, sizes);
    case kCrossEntropyJoin:
    case kFusedCrossEntropyJoin:
      return sizes.size() == 4 && sizes[3] == elements && divides(sizes[0], elements) &&
             are_all(sizes.first(3), sizes[0]);
    default: TWINSTEP_UNREACHABLE("a function of a transformer says what it needs");
  }
}

bool fits(Attention const& a, Sizes sizes) {
  auto const queries = a.batch * a.query_length * a.heads * a.head_size;
  auto const keys = a.batch * a.key_length * a.kv_heads * a.head_size;
  auto const is_joined = sizes.size() == (a.backward ? 7U : 3U);
  auto expected = std::vector<std::int64_t>{};
  if (is_joined)
    expected = {queries + 2 * keys};
  else
    expected = {queries, keys, keys};
  expected.push_back(queries);
  expected.push_back(a.batch * a.heads * a.query_length);
  if (a.backward) expected.insert(expected.end(), {queries, queries, keys, keys});
  return std::ranges::equal(sizes, expected);
}

}  // namespace twinstep::program
