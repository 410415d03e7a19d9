#pragma once

#include <string>
#include <vector>

#include "strategies/model/model_spec.hpp"

namespace twinstep::strategies {

/// Names of the modules of a transformer that hold parameters, those of a block as they are called within it.
struct TransformerModules {
  std::string token_embedding, position_embedding;
  std::string first_norm, second_norm;
  std::string qkv, query, key, value;  ///< one fused projection, or three
  std::string query_norm, key_norm;
  std::string attention_output;
  std::string gate, up, down;
  std::string final_norm, output;
};

/// The names that `model` has, absent modules included.
[[nodiscard]] TransformerModules modules_of(Transformer const& model);

/// What one block registers, in order.
[[nodiscard]] std::vector<Tensor> block_tensors(Transformer const& model);
[[nodiscard]] std::vector<Tensor> embedding_tensors(Transformer const& model);
/// The final norm and, unless it is tied, the output matrix.
[[nodiscard]] std::vector<Tensor> head_tensors(Transformer const& model);

}  // namespace twinstep::strategies
