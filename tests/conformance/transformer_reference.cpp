#include "tests/conformance/transformer_reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "sim/program/step_program.hpp"
#include "tests/conformance/training.hpp"

namespace twinstep::tests {

using strategies::Transformer;

namespace {

/// What was computed, in order: each number with its slopes along the two that it was made of.
struct Tape {
  struct Entry {
    std::size_t a = 0, b = 0;
    double slope_a = 0, slope_b = 0;
  };
  std::vector<Entry> entries;
  std::vector<double> values;

  std::size_t add(double value, Entry const& entry) {
    entries.push_back(entry);
    values.push_back(value);
    return values.size() - 1;
  }
  /// Of the last number, along all before it.
  [[nodiscard]] std::vector<double> gradients() const {
    auto out = std::vector<double>(values.size());
    out.back() = 1;
    for (auto i = values.size(); i-- > 0;) {
      out[entries[i].a] += out[i] * entries[i].slope_a;
      out[entries[i].b] += out[i] * entries[i].slope_b;
    }
    return out;
  }
};

/// A number on the tape.
struct Number {
  Tape* tape = nullptr;
  std::size_t at = 0;
  [[nodiscard]] double value() const { return tape->values[at]; }
};
using Row = std::vector<Number>;

/// A number that is not differentiated along: its slopes point at itself and are zero.
Number constant(Tape& tape, double value) {
  auto const at = tape.values.size();
  return {&tape, tape.add(value, {at, at, 0, 0})};
}
Number unary(Number x, double value, double slope) {
  return {x.tape, x.tape->add(value, {x.at, x.at, slope, 0})};
}
Number operator+(Number a, Number b) {
  return {a.tape, a.tape->add(a.value() + b.value(), {a.at, b.at, 1, 1})};
}
Number operator-(Number a, Number b) {
  return {a.tape, a.tape->add(a.value() - b.value(), {a.at, b.at, 1, -1})};
}
Number operator*(Number a, Number b) {
  return {a.tape, a.tape->add(a.value() * b.value(), {a.at, b.at, b.value(), a.value()})};
}
Number operator*(double factor, Number x) {
  return unary(x, factor * x.value(), factor);
}
Number power(Number x, double exponent) {
  return unary(x, std::pow(x.value(), exponent), exponent * std::pow(x.value(), exponent - 1));
}
Number exponential(Number x) {
  return unary(x, std::exp(x.value()), std::exp(x.value()));
}
Number logarithm(Number x) {
  return unary(x, std::log(x.value()), 1 / x.value());
}
Number plus(Number x, double value) {
  return unary(x, x.value() + value, 1);
}
Number gelu(Number x) {
  auto const v = x.value();
  auto const distribution = 0.5 * (1 + std::erf(v / std::numbers::sqrt2));
  auto const density = std::exp(-v * v / 2) / std::sqrt(2 * std::numbers::pi);
  return unary(x, v * distribution, distribution + v * density);
}
Number relu(Number x) {
  return unary(x, std::max(0.0, x.value()), x.value() > 0 ? 1 : 0);
}
Number silu(Number x) {
  return x * power(plus(exponential(-1.0 * x), 1), -1);
}

Number sum(Row const& row) {
  auto out = row.front();
  for (std::size_t i = 1; i < row.size(); ++i) out = out + row[i];
  return out;
}
Number mean(Row const& row) {
  return 1 / static_cast<double>(row.size()) * sum(row);
}
Number dot(Row const& a, Row const& b) {
  auto products = Row{};
  for (std::size_t i = 0; i < a.size(); ++i) products.push_back(a[i] * b[i]);
  return sum(products);
}
Row operator+(Row const& a, Row const& b) {
  auto out = Row{};
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] + b[i]);
  return out;
}
Row part(Row const& row, std::size_t first, std::size_t count) {
  return {row.begin() + static_cast<std::ptrdiff_t>(first), row.begin() + static_cast<std::ptrdiff_t>(first + count)};
}
Row joined(std::vector<Row> const& parts) {
  auto out = Row{};
  for (auto const& each : parts) out.insert(out.end(), each.begin(), each.end());
  return out;
}

/// One model with its parameters as numbers.
class Network {
 public:
  Network(Transformer const& model, Tape& tape, std::vector<double> const& parameters) : model_{model}, tape_{tape} {
    auto next = std::size_t{0};
    for (auto const& unit : parameters_of(model))
      for (std::int64_t copy = 0; copy < unit.count; ++copy)
        for (auto const& tensor : unit.tensors) {
          auto& rows = tensors_[unit.name + std::to_string(copy) + "." + tensor.name];
          for (std::int64_t row = 0; row < tensor.rows; ++row) {
            auto& numbers = rows.emplace_back();
            for (std::int64_t i = 0; i < tensor.columns; ++i) numbers.push_back(constant(tape, parameters[next++]));
          }
        }
  }

  /// The sum of the cross-entropies of one sequence's tokens.
  Number loss(std::vector<std::int64_t> const& ids, std::vector<std::int64_t> const& targets) {
    auto rows = std::vector<Row>{};
    unit_ = "embedding0.";
    for (std::size_t t = 0; t < ids.size(); ++t) {
      rows.push_back(matrix(token_matrix())[static_cast<std::size_t>(ids[t])]);
      if (model_.positions > 0) rows.back() = rows.back() + matrix("wpe.weight")[t];
    }
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
      unit_ = "layer" + std::to_string(layer) + ".";
      block(rows);
    }
    auto losses = Row{};
    for (std::size_t t = 0; t < ids.size(); ++t) {
      unit_ = "head0.";
      auto const normed = norm(final_norm(), rows[t]);
      if (model_.tied_embeddings) unit_ = "embedding0.";
      auto const& output = matrix(model_.tied_embeddings ? token_matrix() : "lm_head.weight");
      auto exponentials = Row{};
      auto logits = Row{};
      for (auto const& weights : output) {
        logits.push_back(dot(weights, normed));
        exponentials.push_back(exponential(logits.back()));
      }
      losses.push_back(logarithm(sum(exponentials)) - logits[static_cast<std::size_t>(targets[t])]);
    }
    return sum(losses);
  }

 private:
  // Llama's names, or GPT-2's with a fused projection.
  [[nodiscard]] bool is_gpt() const { return model_.fused_qkv; }
  [[nodiscard]] std::string token_matrix() const { return is_gpt() ? "wte.weight" : "embed_tokens.weight"; }
  [[nodiscard]] std::string final_norm() const { return is_gpt() ? "ln_f" : "norm"; }
  std::vector<Row> const& matrix(std::string const& tensor) { return tensors_.at(unit_ + tensor); }
  Row vector(std::string const& tensor) {
    auto out = Row{};
    for (auto const& row : matrix(tensor)) out.push_back(row.front());
    return out;
  }
  bool has(std::string const& tensor) { return tensors_.contains(unit_ + tensor); }

  Row linear(std::string const& module, Row const& in) {
    auto out = Row{};
    for (auto const& weights : matrix(module + ".weight")) out.push_back(dot(weights, in));
    return has(module + ".bias") ? out + vector(module + ".bias") : out;
  }

  Row norm(std::string const& module, Row const& in) {
    auto const weight = vector(module + ".weight");
    auto centred = in;
    if (model_.norm == strategies::Norm::kLayer && in.size() == static_cast<std::size_t>(model_.hidden))
      for (auto& x : centred) x = x - mean(in);
    auto const factor = power(plus(mean_square(centred), 1e-5), -0.5);
    auto out = Row{};
    for (std::size_t i = 0; i < in.size(); ++i) out.push_back(centred[i] * factor * weight[i]);
    return has(module + ".bias") ? out + vector(module + ".bias") : out;
  }
  static Number mean_square(Row const& row) { return 1 / static_cast<double>(row.size()) * dot(row, row); }

  /// By complex multiplication of (x_i, x_{i + half}) among the numbers that turn.
  Row rotated(Row const& head, std::size_t position) const {
    auto const turning = model_.rotary_size > 0 ? static_cast<std::size_t>(model_.rotary_size) : head.size();
    auto const half = turning / 2;
    auto out = head;
    for (std::size_t i = 0; i < half; ++i) {
      auto const angle =
          static_cast<double>(position) / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(half));
      out[i] = std::cos(angle) * head[i] - std::sin(angle) * head[i + half];
      out[i + half] = std::sin(angle) * head[i] + std::cos(angle) * head[i + half];
    }
    return out;
  }

  void block(std::vector<Row>& rows) {
    auto const attended = attention(rows);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      auto const middle = rows[t] + attended[t];
      rows[t] = middle + mlp(model_.parallel_branches ? rows[t] : middle);
    }
  }

  std::vector<Row> attention(std::vector<Row> const& rows) {
    auto const size = static_cast<std::size_t>(model_.head_size);
    auto const [heads, kv_heads] =
        std::pair{static_cast<std::size_t>(model_.heads), static_cast<std::size_t>(model_.kv_heads)};
    auto projected = std::vector<Row>{};  // queries, keys, values side by side
    for (auto const& row : rows) {
      auto const normed = norm(is_gpt() ? "ln_1" : "input_layernorm", row);
      projected.push_back(is_gpt() ? linear("attn.c_attn", normed)
                                   : joined({linear("self_attn.q_proj", normed), linear("self_attn.k_proj", normed),
                                             linear("self_attn.v_proj", normed)}));
    }
    auto const head_at = [&](std::size_t t, std::size_t index, bool is_value) {
      auto const head = part(projected[t], index * size, size);
      if (is_value) return head;
      auto const name = index < heads ? "self_attn.q_norm" : "self_attn.k_norm";
      auto const normed = model_.query_key_norm ? norm(name, head) : head;
      return model_.has_rotary_embedding() ? rotated(normed, t) : normed;
    };
    auto out = std::vector<Row>{};
    for (std::size_t t = 0; t < rows.size(); ++t) {
      auto contexts = std::vector<Row>{};
      for (std::size_t head = 0; head < heads; ++head) {
        auto const shared = head / (heads / kv_heads);
        auto exponentials = Row{};
        for (std::size_t s = 0; s <= t; ++s)
          exponentials.push_back(exponential(1 / std::sqrt(static_cast<double>(size)) *
                                             dot(head_at(t, head, false), head_at(s, heads + shared, false))));
        auto const share = power(sum(exponentials), -1);
        auto context = Row{};
        for (std::size_t i = 0; i < size; ++i) {
          auto values = Row{};
          for (std::size_t s = 0; s <= t; ++s)
            values.push_back(exponentials[s] * share * head_at(s, heads + kv_heads + shared, true)[i]);
          context.push_back(sum(values));
        }
        contexts.push_back(context);
      }
      out.push_back(linear(is_gpt() ? "attn.c_proj" : "self_attn.o_proj", joined(contexts)));
    }
    return out;
  }

  Row mlp(Row const& row) {
    auto const normed = norm(is_gpt() ? "ln_2" : "post_attention_layernorm", row);
    auto inner = linear(is_gpt() ? "mlp.c_fc" : "mlp.up_proj", normed);
    auto const gates = model_.gated_mlp ? linear("mlp.gate_proj", normed) : Row{};
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (model_.gated_mlp)
        inner[i] = silu(gates[i]) * inner[i];
      else
        inner[i] = model_.relu ? relu(inner[i]) : gelu(inner[i]);
    }
    return linear(is_gpt() ? "mlp.c_proj" : "mlp.down_proj", inner);
  }

  Transformer const& model_;
  Tape& tape_;
  std::map<std::string, std::vector<Row>> tensors_;
  std::string unit_;
};

std::vector<double> initial_parameters(Transformer const& model) {
  auto out = std::vector<double>{};
  auto tensor_number = std::size_t{0};
  for (auto const& unit : parameters_of(model))
    for (std::int64_t copy = 0; copy < unit.count; ++copy)
      for (auto const& tensor : unit.tensors) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(initial_parameter(tensor_number, i));
        ++tensor_number;
      }
  return out;
}

/// Of the mean cross-entropy.
std::vector<double> gradients(Transformer const& model, std::vector<double> const& parameters, std::int64_t batch,
                              std::int64_t length) {
  auto tape = Tape{};
  auto network = Network{model, tape, parameters};
  auto losses = Row{};
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    auto ids = std::vector<std::int64_t>{};
    auto targets = std::vector<std::int64_t>{};
    for (std::int64_t t = 0; t < length; ++t) {
      auto const place = static_cast<std::size_t>(sample * length + t);
      ids.push_back(token("token_ids", place, model.vocabulary));
      targets.push_back(token("targets", place, model.vocabulary));
    }
    losses.push_back(network.loss(ids, targets));
  }
  static_cast<void>(1 / static_cast<double>(batch * length) * sum(losses));
  auto all = tape.gradients();
  all.resize(parameters.size());
  return all;
}

}  // namespace

std::vector<double> reference_training(Transformer const& model, std::int64_t batch, std::int64_t length) {
  auto const settings = program::AdamWSettings{};
  auto parameters = initial_parameters(model);
  auto first = std::vector<double>(parameters.size());
  auto second = std::vector<double>(parameters.size());
  for (int step = 1; step <= kTrainingSteps; ++step) {
    auto const gradient = gradients(model, parameters, batch, length);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      first[i] = settings.beta1 * first[i] + (1 - settings.beta1) * gradient[i];
      second[i] = settings.beta2 * second[i] + (1 - settings.beta2) * gradient[i] * gradient[i];
      auto const mean = first[i] / (1 - std::pow(settings.beta1, step));
      auto const variance = second[i] / (1 - std::pow(settings.beta2, step));
      parameters[i] -= settings.learning_rate *
                       (mean / (std::sqrt(variance) + settings.epsilon) + settings.weight_decay * parameters[i]);
    }
  }
  return parameters;
}

}  // namespace twinstep::tests
