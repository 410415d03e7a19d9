#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "validate/cpu/kernels.hpp"

namespace twinstep::cpu {
namespace {

using program::Attention;

/// The heads of one tensor: rows of tokens, in which they begin at `begin`.
struct Heads {
  Numbers numbers;
  std::size_t row = 1;
  std::size_t begin = 0;
  std::size_t head_size = 1;

  /// The numbers of one head of a token.
  [[nodiscard]] Numbers at(std::size_t token, std::size_t head) const {
    return numbers.part(token * row + begin + head * head_size, head_size);
  }
};

double product(Numbers a, Numbers b) {
  auto sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(Numbers to, double factor, Numbers from) {
  for (std::size_t i = 0; i < to.size(); ++i) to.set(i, to[i] + factor * from[i]);
}

/// Sizes, and queries, keys and values, whether they lie in one tensor or in three.
class Core {
 public:
  Core(Attention const& attention, std::span<Numbers const> operands)
      : a_{attention},
        size_{static_cast<std::size_t>(attention.head_size)},
        heads_{static_cast<std::size_t>(attention.heads)},
        kv_heads_{static_cast<std::size_t>(attention.kv_heads)},
        inputs_{operands.size() == (attention.backward ? 7U : 3U) ? 1U : 3U} {
    auto const [q, k] = std::pair{heads_ * size_, kv_heads_ * size_};
    auto const row = q + 2 * k;
    if (inputs_ == 1)
      in_ = {Heads{operands[0], row, 0, size_}, {operands[0], row, q, size_}, {operands[0], row, q + k, size_}};
    else
      in_ = {Heads{operands[0], q, 0, size_}, {operands[1], k, 0, size_}, {operands[2], k, 0, size_}};
  }

  void forward(Numbers result, Numbers log_sum_exp) const;
  void backward(std::span<Numbers const> operands) const;
  [[nodiscard]] std::size_t inputs() const { return inputs_; }

 private:
  /// One query of one head, with the keys that it sees.
  struct Query {
    std::size_t token, head, first_key, keys;
  };
  /// Calls `visit` for each query; keys are counted over the whole batch.
  template <class Visit>
  void for_each(Visit const& visit) const {
    auto const [queries, keys] =
        std::pair{static_cast<std::size_t>(a_.query_length), static_cast<std::size_t>(a_.key_length)};
    for (std::size_t token = 0; token < static_cast<std::size_t>(a_.batch) * queries; ++token)
      for (std::size_t head = 0; head < heads_; ++head) {
        auto const seen = a_.causal ? std::min(keys, token % queries + 1 + keys - queries) : keys;
        visit(Query{token, head, token / queries * keys, seen});
      }
  }
  [[nodiscard]] std::size_t kv_head(Query const& q) const { return q.head * kv_heads_ / heads_; }
  [[nodiscard]] double score(Query const& q, std::size_t key) const {
    return product(in_[0].at(q.token, q.head), in_[1].at(q.first_key + key, kv_head(q))) /
           std::sqrt(static_cast<double>(size_));
  }
  [[nodiscard]] Heads by_token(Numbers numbers, std::size_t heads) const { return {numbers, heads * size_, 0, size_}; }

  Attention a_;
  std::size_t size_, heads_, kv_heads_, inputs_;
  std::array<Heads, 3> in_;
};

void Core::forward(Numbers result, Numbers log_sum_exp) const {
  auto const out = by_token(result, heads_);
  for_each([&](Query const& q) {
    auto scores = std::vector<double>{};
    for (std::size_t key = 0; key < q.keys; ++key) scores.push_back(score(q, key));
    auto const largest = *std::ranges::max_element(scores);
    auto sum = 0.0;
    for (auto const each : scores) sum += std::exp(each - largest);
    auto const total = largest + std::log(sum);
    log_sum_exp.set(q.token * heads_ + q.head, total);
    auto row = std::vector<double>(size_);
    for (std::size_t key = 0; key < q.keys; ++key) {
      auto const value = in_[2].at(q.first_key + key, kv_head(q));
      for (std::size_t i = 0; i < size_; ++i) row[i] += std::exp(scores[key] - total) * value[i];
    }
    for (std::size_t i = 0; i < size_; ++i) out.at(q.token, q.head).set(i, row[i]);
  });
}

/// With probabilities p and the gradient g of the result: of a value p g, of a score p (g · value - g · result).
/// Source: Dao et al., FlashAttention, arXiv 2205.14135, algorithm 4.
void Core::backward(std::span<Numbers const> operands) const {
  auto const result = by_token(operands[inputs_], heads_);
  auto const log_sum_exp = operands[inputs_ + 1];
  auto const gradient = by_token(operands[inputs_ + 2], heads_);
  auto const out = operands.last(3);
  for (auto const& numbers : out)
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers.set(i, 0);
  auto const query_gradient = by_token(out[0], heads_);
  auto const key_gradient = by_token(out[1], kv_heads_);
  auto const value_gradient = by_token(out[2], kv_heads_);
  for_each([&](Query const& q) {
    auto const g = gradient.at(q.token, q.head);
    auto const mean = product(g, result.at(q.token, q.head));
    for (std::size_t key = 0; key < q.keys; ++key) {
      auto const token = q.first_key + key;
      auto const p = std::exp(score(q, key) - log_sum_exp[q.token * heads_ + q.head]);
      auto const slope = p * (product(g, in_[2].at(token, kv_head(q))) - mean) / std::sqrt(static_cast<double>(size_));
      add(value_gradient.at(token, kv_head(q)), p, g);
      add(query_gradient.at(q.token, q.head), slope, in_[1].at(token, kv_head(q)));
      add(key_gradient.at(token, kv_head(q)), slope, in_[0].at(q.token, q.head));
    }
  });
}

}  // namespace

void attend(Attention const& attention, std::span<Numbers const> operands) {
  auto const core = Core{attention, operands};
  if (attention.backward) return core.backward(operands);
  core.forward(operands[core.inputs()], operands[core.inputs() + 1]);
}

}  // namespace twinstep::cpu
