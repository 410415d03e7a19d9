#include <cmath>
#include <numeric>

#include "tests/support/catch.hpp"
#include "validate/cpu/kernels.hpp"

using namespace twinstep;
using program::Elementwise;
using program::Function;

namespace {

using Values = std::vector<double>;
using Lists = std::vector<Values>;

Values noisy(std::size_t size, std::uint64_t seed) {
  auto out = Values(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = std::sin(static_cast<double>(100 * seed + i) * 1.7);  // in [-1, 1]
  return out;
}

/// Computes on fp64 operands in place.
void compute(program::Work const& work, Lists& operands) {
  auto numbers = std::vector<cpu::Numbers>{};
  for (auto& operand : operands) numbers.emplace_back(std::span{operand});
  if (auto const* attention = std::get_if<program::Attention>(&work)) return cpu::attend(*attention, numbers);
  cpu::compute(std::get<Elementwise>(work), numbers, {});
}

Elementwise kernel(Function function, std::size_t elements, program::RowShape const& rows = {}, double scalar = 1) {
  return {.function = function,
          .elements = static_cast<std::int64_t>(elements),
          .type = DataType::kFp64,
          .scalar = scalar,
          .rows = rows};
}

double dot(Values const& a, Values const& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// A forward kernel: its operands, of which `result` is what gradients are given for.
struct Forward {
  program::Work work;
  Lists operands;
  std::size_t result = 0;

  Values run() {
    compute(work, operands);
    return operands[result];
  }
};

/// The slope of gradient · result along each number of operand `input`, by central differences.
Values slopes(Forward forward, std::size_t input, Values const& gradient) {
  constexpr auto kStep = 1e-5;
  auto out = Values{};
  for (std::size_t i = 0; i < forward.operands[input].size(); ++i) {
    auto const value = forward.operands[input][i];
    forward.operands[input][i] = value + kStep;
    auto const above = dot(forward.run(), gradient);
    forward.operands[input][i] = value - kStep;
    auto const below = dot(forward.run(), gradient);
    forward.operands[input][i] = value;
    out.push_back((above - below) / (2 * kStep));
  }
  return out;
}

void check_equal(Values const& found, Values const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-7).margin(1e-8));
}

constexpr std::size_t kRows = 6, kWidth = 8;
constexpr auto kSize = kRows * kWidth;

/// Forward of a norm and what its backward is given.
void check_norm(Function forward, Function backward, bool has_bias) {
  auto const numbers = forward == Function::kLayerNorm ? 2U : 1U;
  auto operands = Lists{noisy(kSize, 1), noisy(kWidth, 2)};
  if (has_bias) operands.push_back(noisy(kWidth, 3));
  // The result in two parts.
  operands.insert(operands.end(), {Values(kWidth), Values(kSize - kWidth), Values(numbers * kRows)});
  auto norm = Forward{kernel(forward, kSize, {}, 1e-5), operands, operands.size() - 2};
  static_cast<void>(norm.run());
  auto const gradient = noisy(kSize - kWidth, 4);
  auto back = Lists{norm.operands[0], norm.operands.back(), norm.operands[1], Values(kWidth),
                    gradient,         Values(kSize),        Values(kWidth)};
  if (has_bias) back.emplace_back(kWidth);
  compute(kernel(backward, kSize), back);
  check_equal(back[5], slopes(norm, 0, gradient));
  check_equal(back[6], slopes(norm, 1, gradient));
  if (has_bias) check_equal(back[7], slopes(norm, 2, gradient));
  // Added to what is there.
  auto adding = kernel(backward, kSize);
  adding.accumulate = true;
  auto const once = back[6];
  compute(adding, back);
  for (std::size_t i = 0; i < kWidth; ++i) CHECK(back[6][i] == Approx(2 * once[i]));
}

void check_attention(std::int64_t heads, std::int64_t kv_heads, bool is_causal, bool is_joined) {
  CAPTURE(heads, kv_heads, is_causal, is_joined);
  constexpr std::int64_t kBatch = 2, kLength = 3, kHead = 4;
  auto attention = program::Attention{.batch = kBatch,
                                      .heads = heads,
                                      .kv_heads = kv_heads,
                                      .query_length = kLength,
                                      .key_length = kLength,
                                      .head_size = kHead,
                                      .type = DataType::kFp64,
                                      .causal = is_causal};
  auto const queries = static_cast<std::size_t>(kBatch * kLength * heads * kHead);
  auto const keys = static_cast<std::size_t>(kBatch * kLength * kv_heads * kHead);
  auto inputs =
      is_joined ? Lists{noisy(queries + 2 * keys, 1)} : Lists{noisy(queries, 1), noisy(keys, 2), noisy(keys, 3)};
  auto operands = inputs;
  operands.insert(operands.end(), {Values(queries), Values(queries / kHead)});
  auto forward = Forward{attention, operands, inputs.size()};
  auto const result = forward.run();
  auto const gradient = noisy(queries, 4);
  auto back = inputs;
  back.insert(back.end(), {result, forward.operands.back(), gradient, Values(queries), Values(keys), Values(keys)});
  attention.backward = true;
  compute(attention, back);
  auto const found = std::span{back}.last(3);
  if (!is_joined) {
    for (std::size_t i = 0; i < 3; ++i) check_equal(found[i], slopes(forward, i, gradient));
    return;
  }
  auto joined = Lists{found[0], found[1], found[2], Values(queries + 2 * keys)};
  auto const width = static_cast<std::int32_t>((heads + 2 * kv_heads) * kHead);
  compute(kernel(Function::kJoinColumns, joined[3].size(), {.width = width}), joined);
  check_equal(joined[3], slopes(forward, 0, gradient));
}

}  // namespace

TEST_CASE("the gradients of norms are their slopes", "[cpu][kernels][transformer]") {
  check_norm(Function::kRmsNorm, Function::kRmsNormBackward, false);
  check_norm(Function::kLayerNorm, Function::kLayerNormBackward, false);
  check_norm(Function::kLayerNorm, Function::kLayerNormBackward, true);
}

TEST_CASE("a normed row has mean square one, a layer norm's also mean zero", "[cpu][kernels][transformer]") {
  // 3, 4: mean square 12.5, so 3 / sqrt(12.5) and 4 / sqrt(12.5). Less the mean 3.5: -0.5 and 0.5, divided by 0.5.
  auto rms = Lists{{3, 4}, {1, 2}, {0, 0}, {0}};
  compute(kernel(Function::kRmsNorm, 2, {}, 0), rms);
  CHECK(rms[2][0] == Approx(3 / std::sqrt(12.5)));
  CHECK(rms[2][1] == Approx(2 * 4 / std::sqrt(12.5)));
  auto layer = Lists{{3, 4}, {1, 2}, {10, 20}, {0, 0}, {0, 0}};
  compute(kernel(Function::kLayerNorm, 2, {}, 0), layer);
  CHECK(layer[3] == Values{10 - 1, 20 + 2});
  CHECK(layer[4] == Values{3.5, 2});
}

TEST_CASE("the gradients of attention are its slopes", "[cpu][kernels][transformer]") {
  for (auto const is_joined : {false, true})
    for (auto const is_causal : {false, true}) {
      check_attention(4, 4, is_causal, is_joined);
      check_attention(4, 2, is_causal, is_joined);
      check_attention(3, 1, is_causal, is_joined);
    }
}

TEST_CASE("attention that sees one key gives its value", "[cpu][kernels][transformer]") {
  // The first token sees itself alone; the second two equal keys, so the mean of their values.
  auto operands = Lists{{1, 1}, {5, 5}, {2, 4}, {0, 0}, {0, 0}};
  compute(program::Attention{.query_length = 2, .key_length = 2, .type = DataType::kFp64}, operands);
  check_equal(operands[3], {2, 3});
}

TEST_CASE("the gradients of gates and activations are their slopes", "[cpu][kernels][transformer]") {
  auto gate =
      Forward{kernel(Function::kGate, kSize), {noisy(kSize, 1), noisy(kSize, 2), Values(kSize), Values(kSize)}, 3};
  static_cast<void>(gate.run());
  auto const gradient = noisy(kSize, 4);
  auto back = Lists{gradient, gate.operands[0], gate.operands[1], gate.operands[2], Values(kSize), Values(kSize)};
  compute(kernel(Function::kGateBackward, kSize), back);
  check_equal(back[4], slopes(gate, 0, gradient));
  check_equal(back[5], slopes(gate, 1, gradient));
  auto relu = Forward{kernel(Function::kRelu, kSize), {noisy(kSize, 1), Values(kSize)}, 1};
  auto relu_back = Lists{relu.run(), gradient, Values(kSize)};
  compute(kernel(Function::kReluBackward, kSize), relu_back);
  check_equal(relu_back[2], slopes(relu, 0, gradient));
}

TEST_CASE("rows of a table are gathered by id, and their gradients added where they came from",
          "[cpu][kernels][transformer]") {
  // Row 7 is another rank's.
  auto gather = Lists{{2, 0, 7, 2}, {1, 2, 3, 4, 5, 6}, Values(8)};
  compute(kernel(Function::kGatherRows, 8), gather);
  CHECK(gather[2] == Values{5, 6, 1, 2, 0, 0, 5, 6});
  auto scatter = Lists{{1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 7, 2}, Values(6)};
  compute(kernel(Function::kScatterRows, 8), scatter);
  CHECK(scatter[2] == Values{3, 4, 0, 0, 8, 10});
}

TEST_CASE("what is repeated is added to every row or sequence, and its gradient is their sum",
          "[cpu][kernels][transformer]") {
  // Two sequences of two rows of one number; the table of positions has a third row.
  auto const rows = program::RowShape{.width = 1, .sequence = 2};
  auto added = Lists{{1, 2, 3, 4}, {10, 20, 30}, Values(4)};
  compute(kernel(Function::kAddRepeated, 4, rows), added);
  CHECK(added[2] == Values{11, 22, 13, 24});
  auto summed = Lists{{1, 2, 3, 4}, {7, 7, 7}};
  compute(kernel(Function::kSumRepeated, 4, rows), summed);
  CHECK(summed[1] == Values{4, 6, 0});
  auto more = kernel(Function::kSumRepeated, 4, rows);
  more.accumulate = true;
  compute(more, summed);
  CHECK(summed[1] == Values{8, 12, 0});
}

TEST_CASE("rotary positions turn pairs by their position, and back", "[cpu][kernels][transformer]") {
  // One sequence of two tokens, a head of four numbers of which two turn; base 10000, pair (0, 1): by the position.
  auto const rows = program::RowShape{.width = 4, .sequence = 2, .heads = 1, .head_size = 4};
  auto turned = Lists{{1, 0, 5, 6, 1, 0, 7, 8}, Values(8)};
  compute(kernel(Function::kRotate, 4, rows, 10000), turned);
  CHECK(std::vector(turned[1].begin(), turned[1].begin() + 4) == Values{1, 0, 5, 6});
  CHECK(turned[1][4] == Approx(std::cos(1)));
  CHECK(turned[1][5] == Approx(std::sin(1)));
  CHECK(turned[1][6] == 7);
  auto back = Lists{turned[1]};
  compute(kernel(Function::kRotateBack, 4, rows, 10000), back);
  check_equal(back[0], turned[0]);
}

TEST_CASE("the gradient of a cross-entropy is its slope, in one kernel or several", "[cpu][kernels][transformer]") {
  auto const targets = Values{3, 0, 7, 1, 1, 5};
  auto const logits = noisy(kSize, 1);
  constexpr auto kScale = 0.25;
  auto plain = Forward{kernel(Function::kCrossEntropy, kSize), {logits, targets, Values(kSize)}, 2};
  auto const log_probabilities = plain.run();
  auto picks = Values(kSize);  // the loss is the sum of -scale times the targets' log-probabilities
  for (std::size_t row = 0; row < kRows; ++row) picks[row * kWidth + static_cast<std::size_t>(targets[row])] = -kScale;
  auto const expected = slopes(plain, 0, picks);
  auto back = Lists{targets, log_probabilities, Values(kSize), Values(kSize)};
  compute(kernel(Function::kCrossEntropyBackward, kSize, {}, kScale), back);
  check_equal(back[2], picks);
  check_equal(back[3], expected);
  auto fused = Lists{logits, targets, Values(kSize)};
  compute(kernel(Function::kFusedCrossEntropy, kSize), fused);
  auto fused_back = Lists{logits, targets, fused[2], Values(kSize)};
  compute(kernel(Function::kFusedCrossEntropyBackward, kSize, {}, kScale), fused_back);
  check_equal(fused_back[3], expected);
}

TEST_CASE("ranks that share a vocabulary get the cross-entropy of the whole", "[cpu][kernels][transformer]") {
  auto const targets = Values{3, 0, 7, 1, 1, 5};
  auto const logits = noisy(kSize, 1);
  for (auto const is_fused : {false, true}) {
    auto whole = Lists{logits, targets, Values(kSize)};
    compute(kernel(is_fused ? Function::kFusedCrossEntropy : Function::kCrossEntropy, kSize), whole);
    constexpr std::size_t kHalf = kWidth / 2;
    auto parts = std::vector<Lists>{};
    auto largest = Values(kRows, -HUGE_VAL);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      auto own = Values{};
      auto shifted = targets;  // as the rank counts them
      for (auto& target : shifted) target -= static_cast<double>(rank * kHalf);
      for (std::size_t i = 0; i < kSize; ++i)
        if (i % kWidth / kHalf == rank) own.push_back(logits[i]);
      auto maximum = Lists{own, Values(kRows)};
      compute(kernel(Function::kRowMaximum, own.size()), maximum);
      for (std::size_t row = 0; row < kRows; ++row) largest[row] = std::max(largest[row], maximum[1][row]);
      parts.push_back({own, shifted, Values(own.size()), {}, Values(kRows), Values(kRows)});
    }
    auto picked = Values(kRows), sum = Values(kRows);
    for (auto& part : parts) {
      part[3] = largest;
      compute(kernel(is_fused ? Function::kFusedCrossEntropyPart : Function::kCrossEntropyPart, part[0].size()), part);
      for (std::size_t row = 0; row < kRows; ++row) picked[row] += part[4][row], sum[row] += part[5][row];
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      auto join = Lists{parts[rank][1], picked, sum, parts[rank][2]};
      compute(kernel(is_fused ? Function::kFusedCrossEntropyJoin : Function::kCrossEntropyJoin, join[3].size()), join);
      auto expected = Values{};
      for (std::size_t i = 0; i < kSize; ++i)
        if (i % kWidth / kHalf == rank) expected.push_back(whole[2][i]);
      check_equal(join[3], expected);
      if (is_fused) continue;
      for (std::size_t row = 0; row < kRows; ++row)  // the loss: log Σ exp less the target's logit
        CHECK(picked[row] - std::log(sum[row]) ==
              Approx(whole[2][row * kWidth + static_cast<std::size_t>(targets[row])]));
    }
  }
}

TEST_CASE("the gradient of a causal softmax is its slope", "[cpu][kernels][transformer]") {
  auto const rows = program::RowShape{.width = 4};
  auto softmax = Forward{kernel(Function::kSoftmax, 32, rows, 0.5), {noisy(32, 1), Values(32)}, 1};
  auto const result = softmax.run();
  CHECK(result[1] == 0);  // of the first row only the first number is seen
  CHECK(result[0] == 1);
  auto const gradient = noisy(32, 2);
  auto back = Lists{result, gradient, Values(32)};
  compute(kernel(Function::kSoftmaxBackward, 32, rows, 0.5), back);
  check_equal(back[2], slopes(softmax, 0, gradient));
}
