#pragma once

#include <string_view>

#include "sim/io/change.hpp"

namespace twinstep::tests {

/// `base` as --set with this text would change it: "cluster.nodes=16".
inline io::Node with_setting(io::Node const& base, std::string_view setting) {
  return io::with_change(base, io::read_change("--set", setting));
}

}  // namespace twinstep::tests
