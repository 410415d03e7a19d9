
#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::hw_profiles {
namespace {

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
  try {
    read_as_profile(kind, document);
  } catch (InputError const& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace

std::vector<std::string> check_profile(Kind kind, std::string const& name, std::string const& text) {
  return check(kind, io::parse({name, text}));
}

std::vector<std::string> check_profile(io::Source source) {
  auto const document = io::parse(std::move(source));
  return check(kind_of(document), document);
}

}  // namespace twinstep::hw_profiles
