#pragma once

#include <string>
#include <vector>

#include "hw_profiles/reader.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "validate/records/node_profile.hpp"

namespace twinstep::tests {

/// The profile of the facts, which `profiles check` must accept.
inline io::Node profile_of(records::NodeFacts& facts, std::string const& gpu = {}) {
  auto const text = records::node_profile(facts, gpu);
  INFO(text);
  auto const findings = hw_profiles::check_profile(hw_profiles::Kind::kNode, "node.json", text);
  CHECK(findings == std::vector<std::string>{});
  return io::parse({"node.json", text});
}

}  // namespace twinstep::tests
