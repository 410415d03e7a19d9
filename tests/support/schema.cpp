#include "tests/support/schema.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/base/input_error.hpp"

namespace twinstep::tests {
namespace {

nlohmann::json parsed(std::string const& text, std::string_view what) {
  auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) throw InputError{fmt::format("{}: found a text that is not JSON", what)};
  return document;
}

/// "<root>[nodes][0]" as "/nodes/0".
std::string pointer(std::string context) {
  if (context.starts_with("<root>")) context.erase(0, 6);
  std::ranges::replace(context, '[', '/');
  std::erase(context, ']');
  return context.empty() ? "/" : context;
}

}  // namespace

std::vector<std::string> schema_violations(std::string const& document_text, std::string const& schema_text) {
  auto const document = parsed(document_text, "the document");
  auto const schema_document = parsed(schema_text, "the schema");
  auto schema = valijson::Schema{};
  valijson::SchemaParser{}.populateSchema(valijson::adapters::NlohmannJsonAdapter{schema_document}, schema);
  auto results = valijson::ValidationResults{};
  auto violations = std::vector<std::string>{};
  if (valijson::Validator{}.validate(schema, valijson::adapters::NlohmannJsonAdapter{document}, &results))
    return violations;
  auto error = valijson::ValidationResults::Error{};
  while (results.popError(error)) {
    auto path = std::string{};
    for (auto const& part : error.context) path += part;
    violations.push_back(fmt::format("{}: {}", pointer(path), error.description));
  }
  return violations;
}

}  // namespace twinstep::tests
