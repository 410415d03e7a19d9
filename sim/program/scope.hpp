#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/kinds.hpp"

namespace twinstep::program {

using ScopeId = Id<struct ScopeTag>;

/// Which part of a step something belongs to: work of a unit of the model in one pass over one micro-batch.
struct Scope {
  static constexpr std::int32_t kNoMicroBatch = -1;

  NameId unit;  ///< "layer.17", "embedding"; none for what belongs to no unit
  Pass pass = Pass::kNone;
  std::int32_t micro_batch = kNoMicroBatch;  ///< counted from 0; none for the update, say
  auto operator<=>(Scope const&) const = default;
};

/// What people call a scope: "layer.17.backward", "optimizer"; "micro_batch.3" for what belongs to no unit and no pass.
/// @param names  of units, by NameId
[[nodiscard]] std::string scope_text(Scope const& scope, std::span<std::string const> names);
/// The same of all scopes, by ScopeId.
[[nodiscard]] std::vector<std::string> scope_texts(std::span<Scope const> scopes, std::span<std::string const> names);

/// Gives each scope one id, in the order in which they come: its place in a table. None for a scope that says nothing.
class ScopeIds {
 public:
  ScopeId id_of(Scope const& scope, std::vector<Scope>& table) {
    if (scope == Scope{}) return {};
    auto const [entry, is_new] = ids_.try_emplace(scope, table.size());
    if (is_new) table.push_back(scope);
    return entry->second;
  }

 private:
  std::map<Scope, ScopeId> ids_;
};

}  // namespace twinstep::program
