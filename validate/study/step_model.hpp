#pragma once

#include <variant>

#include "strategies/model/model_spec.hpp"
#include "validate/records/step_record.hpp"

namespace twinstep::study {

/// Why something cannot be replayed: "tensor parallelism: 8". What stands before a colon is the kind of reason.
struct NotReplayed {
  std::string reason;
};

/// The model that a step record describes. A CNN is a published one, by its name. Of a transformer a record does not
/// say everything: gated or plain MLP, tied or separate embeddings and learned or rotary positions are taken as the
/// record states them, else so that the number of parameters comes nearest to the record's. Says why where it is
/// neither, or lacks a size.
[[nodiscard]] std::variant<strategies::ModelSpec, NotReplayed> model_of(validate::StepModel const& model);

}  // namespace twinstep::study
