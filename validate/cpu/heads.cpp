#include <algorithm>
#include <cmath>
#include <vector>

#include "validate/cpu/model_kernels.hpp"

// Attention that is written out: the kernels around its products.

namespace twinstep::cpu {
namespace {

/// Rows of tokens with `heads` heads each.
struct ByToken {
  std::size_t sequence = 1, head_size = 1;
  std::size_t row = 1;    ///< numbers of a row
  std::size_t begin = 0;  ///< where the heads begin in it

  [[nodiscard]] std::size_t at(std::size_t batch, std::size_t token, std::size_t head, std::size_t i) const {
    return (batch * sequence + token) * row + begin + head * head_size + i;
  }
};

/// Calls `visit(number by head, number by token)` for all numbers of `heads` heads, which share those of `own` heads.
template <class Visit>
void for_each_number(ByToken const& by_token, std::size_t elements, std::size_t heads, std::size_t own,
                     Visit const& visit) {
  auto const [sequence, head_size] = std::pair{by_token.sequence, by_token.head_size};
  for (std::size_t i = 0; i < elements; ++i) {
    auto const token = i / head_size % sequence;
    auto const head = i / head_size / sequence % heads;
    auto const batch = i / head_size / sequence / heads;
    visit(i, by_token.at(batch, token, head * own / heads, i % head_size));
  }
}

std::size_t unsigned_size(std::int32_t size) {
  return static_cast<std::size_t>(size);
}

}  // namespace

void split_heads(program::RowShape const& rows, Operands operands) {
  auto const heads = unsigned_size(rows.heads);
  auto const head_size = unsigned_size(rows.head_size);
  auto const results = operands.last(3);
  auto const tokens = results[0].size() / heads / head_size;
  auto const is_joined = operands.size() == 4;
  auto const keys = is_joined ? (operands[0].size() - results[0].size()) / 2 : operands[1].size();
  auto begin = std::size_t{0};
  for (std::size_t t = 0; t < 3; ++t) {
    auto const source = operands[is_joined ? 0 : t];
    auto const own = t == 0 ? heads : keys / tokens / head_size;
    auto const by_token = ByToken{unsigned_size(rows.sequence), head_size, source.size() / tokens, begin};
    for_each_number(by_token, results[t].size(), heads, own,
                    [&](std::size_t to, std::size_t from) { results[t].set(to, source[from]); });
    if (is_joined) begin += own * head_size;
  }
}

void merge_heads(program::RowShape const& rows, Operands operands) {
  auto const heads = unsigned_size(rows.heads);
  auto const head_size = unsigned_size(rows.head_size);
  for (std::size_t t = 0; t < 2; ++t) {
    auto const [from, to] = std::pair{operands[t], operands[t + 2]};
    auto const tokens = from.size() / heads / head_size;
    auto const own = to.size() / tokens / head_size;
    auto const by_token = ByToken{unsigned_size(rows.sequence), head_size, own * head_size, 0};
    for (std::size_t i = 0; i < to.size(); ++i) to.set(i, 0);
    for_each_number(by_token, from.size(), heads, own,
                    [&](std::size_t source, std::size_t sum) { to.set(sum, to[sum] + from[source]); });
  }
}

void softmax(program::Elementwise const& kernel, Operands operands) {
  auto const width = unsigned_size(kernel.rows.width);
  for (std::size_t row = 0; row < operands[0].size() / width; ++row) {
    auto const in = operands[0].part(row * width, width);
    auto const out = operands[1].part(row * width, width);
    auto const seen = row % width + 1;
    auto largest = in[0];
    for (std::size_t i = 0; i < seen; ++i) largest = std::max(largest, in[i]);
    auto sum = 0.0;
    for (std::size_t i = 0; i < seen; ++i) sum += std::exp(kernel.scalar * (in[i] - largest));
    for (std::size_t i = 0; i < width; ++i)
      out.set(i, i < seen ? std::exp(kernel.scalar * (in[i] - largest)) / sum : 0.0);
  }
}

/// scale · p (g - Σ p g).
void softmax_backward(program::Elementwise const& kernel, Operands operands) {
  auto const width = unsigned_size(kernel.rows.width);
  for (std::size_t begin = 0; begin < operands[0].size(); begin += width) {
    auto const p = operands[0].part(begin, width);
    auto const g = operands[1].part(begin, width);
    auto sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) sum += p[i] * g[i];
    for (std::size_t i = 0; i < width; ++i) operands[2].set(begin + i, kernel.scalar * p[i] * (g[i] - sum));
  }
}

}  // namespace twinstep::cpu
