#include "hw_profiles/check.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <ranges>

#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "hw_profiles/resolve.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/schema.hpp"

namespace twinstep::hw_profiles {
namespace {

std::size_t index_of(std::string_view key) {
  auto index = std::size_t{0};
  auto const [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  return error == std::errc{} && end == key.data() + key.size() ? index : std::numeric_limits<std::size_t>::max();
}

void read_as(Kind kind, io::Node const& document) {
  switch (kind) {
    case Kind::kGpu: static_cast<void>(read_gpu(document)); break;
    case Kind::kNode: static_cast<void>(read_node(document)); break;
    case Kind::kFabric: static_cast<void>(read_fabric(document)); break;
    case Kind::kLink: static_cast<void>(read_link(document)); break;
    case Kind::kTransport: static_cast<void>(read_transport(document)); break;
    case Kind::kLibrary: static_cast<void>(read_library(document)); break;
    case Kind::kStack: static_cast<void>(read_stack(document)); break;
    case Kind::kCluster: static_cast<void>(read_cluster(document)); break;
  }
}

Kind kind_of(io::Node const& document) {
  auto constexpr way_out =
      "name KIND.schema.json, KIND being cluster, node, gpu, fabric, link, transport, library or stack";
  if (!document.has("$schema")) document.fail("found no \"$schema\", which says what kind of profile this is", way_out);
  auto const schema = document.at("$schema");
  for (auto const kind : {Kind::kGpu, Kind::kLink, Kind::kNode, Kind::kTransport, Kind::kFabric, Kind::kLibrary,
                          Kind::kStack, Kind::kCluster})
    if (schema.string().ends_with(fmt::format("{}.schema.json", name_of(kind)))) return kind;
  schema.fail(fmt::format("found {}, expected the schema of a profile", quoted(schema.string())), way_out);
}

/// The part of a document that a path of its schema's violation names: "/nodes/0"; the document where there is none.
io::Node part_at(io::Node const& document, std::string_view path) {
  auto part = document;
  for (auto const step : std::views::split(path.substr(1), '/')) {
    auto const key = std::string_view{step.begin(), step.end()};
    if (part.is(io::Node::Type::kObject) && part.has(key))
      part = part.at(key);
    else if (auto const i = index_of(key); part.is(io::Node::Type::kArray) && i < part.elements().size())
      part = part.elements()[i];
    else
      return document;
  }
  return part;
}

/// Throws what a schema that is stricter than the readers says: of the innermost part, since those around it fail too.
void check_schema(Kind kind, io::Node const& document) {
  auto const violations = io::schema_violations(document.source().text, std::string{schema_text(kind)});
  if (violations.empty()) return;
  auto const depth = [](std::string const& violation) {
    return std::ranges::count(violation.substr(0, violation.find(": ")), '/');
  };
  auto const innermost = *std::ranges::max_element(violations, {}, depth);
  auto const path = innermost.substr(0, innermost.find(": "));
  auto const what = innermost.substr(std::min(innermost.size(), path.size() + 2));
  part_at(document, path)
      .fail(
          fmt::format("found what {}.schema.json does not allow ({})", name_of(kind), what.substr(0, what.rfind('.'))),
          "write what the schema describes");
}

std::vector<std::string> check(Kind kind, io::Node const& document) {
  try {
    read_as(kind, document);
    check_schema(kind, document);
  } catch (InputError const& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace

std::vector<std::string> check_profile(Kind kind, std::string const& name, std::string const& text) {
  return check(kind, io::parse({name, text}));
}

std::vector<std::string> check_profile(std::string const& path) {
  auto const document = io::parse_file(path);
  return check(kind_of(document), document);
}

}  // namespace twinstep::hw_profiles
