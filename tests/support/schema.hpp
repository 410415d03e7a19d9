#pragma once

#include <string>
#include <vector>

namespace twinstep::tests {

/// Where `document_text` breaks the JSON Schema (draft 7) `schema_text`: one line each, "/path: what is wrong", in the
/// order of the document; empty if nowhere. Throws InputError if one of the two is not JSON.
[[nodiscard]] std::vector<std::string> schema_violations(std::string const& document_text,
                                                         std::string const& schema_text);

}  // namespace twinstep::tests
