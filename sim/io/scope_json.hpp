#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/io/document.hpp"
#include "sim/program/scope.hpp"

/// The unit, pass and micro-batch of what programs and timelines list, as members of its JSON object.
namespace twinstep::io {

/// `"unit": "layer.17", "pass": "backward", "micro_batch": 0`: those that the scope has.
[[nodiscard]] std::string scope_members(program::Scope const& scope, std::span<std::string const> names);

/// A scope before its unit has an id.
struct ReadScope {
  std::string unit;
  program::Pass pass = program::Pass::kNone;
  std::int32_t micro_batch = program::Scope::kNoMicroBatch;

  bool operator==(ReadScope const&) const = default;
};

/// What the members of `owner` say; empty where it has none. Files that were written before these members have "scope",
/// the text, instead.
[[nodiscard]] ReadScope read_scope(Node const& owner);

/// What the text of a scope says: "layer.17.backward".
[[nodiscard]] ReadScope scope_named(std::string_view text);

}  // namespace twinstep::io
