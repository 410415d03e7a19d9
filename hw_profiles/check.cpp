#include "hw_profiles/check.hpp"

#include <optional>

#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "hw_profiles/resolve.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/schema.hpp"

namespace twinstep::hw_profiles {
namespace {

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

std::vector<std::string> check(Kind kind, io::Node const& document) {
  auto const& source = document.source();
  auto findings = std::vector<std::string>{};
  for (auto const& violation : io::schema_violations(source.text, std::string{schema_text(kind)}))
    findings.push_back(fmt::format("{}: {}", source.name, violation));
  try {
    read_as(kind, document);
  } catch (InputError const& error) {
    findings.emplace_back(error.what());
  }
  return findings;
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
