#pragma once

#include "sim/base/input_error.hpp"

namespace twinstep::io {

/// A key is misspelt, or stands where it means nothing: `Node::allow_only` throws it, because no value could be right.
class UnknownKey : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace twinstep::io
