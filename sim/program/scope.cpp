#include "sim/program/scope.hpp"

namespace twinstep::program {

std::string scope_text(Scope const& scope, std::span<std::string const> names) {
  auto text = scope.unit.exists() ? names[scope.unit.index()] : std::string{};
  if (scope.pass != Pass::kNone) {
    if (!text.empty()) text += '.';
    return text.append(name_of(scope.pass));
  }
  if (text.empty() && scope.micro_batch != Scope::kNoMicroBatch)
    return "micro_batch." + std::to_string(scope.micro_batch);
  return text;
}

std::vector<std::string> scope_texts(std::span<Scope const> scopes, std::span<std::string const> names) {
  auto texts = std::vector<std::string>{};
  texts.reserve(scopes.size());
  for (auto const& scope : scopes) texts.push_back(scope_text(scope, names));
  return texts;
}

}  // namespace twinstep::program
