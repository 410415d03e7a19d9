#include "hw_profiles/catalog.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw_profiles/embedded.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::hw_profiles {
namespace {

/// Clusters first: they are what users ask for.
constexpr auto kKinds = std::to_array({Kind::kCluster, Kind::kNode, Kind::kGpu, Kind::kFabric, Kind::kLink,
                                       Kind::kTransport, Kind::kLibrary, Kind::kStack});

std::string folder(Kind kind) {
  return kind == Kind::kLibrary ? "libraries" : fmt::format("{}s", name_of(kind));
}

std::optional<std::string_view> find_file(std::string_view folder, std::string_view name) {
  for (auto const& file : embedded_files())
    if (file.folder == folder && file.name == name) return file.text;
  return std::nullopt;
}

/// Another name that a GPU goes by.
struct Alias {
  std::string text;
  std::string_view name;
};

std::vector<Alias> read_aliases() {
  auto found = std::vector<Alias>{};
  for (auto const name : profile_names(Kind::kGpu)) {
    auto const document =
        io::parse({profile_file(Kind::kGpu, name), std::string{*find_file(folder(Kind::kGpu), name)}});
    if (auto const aliases = document.find("aliases"))
      for (auto const& alias : aliases->elements()) found.push_back({std::string{alias.string()}, name});
  }
  return found;
}

/// Those of all GPUs, read once.
std::vector<Alias> const& aliases_of_gpus() {
  static auto const aliases = read_aliases();
  return aliases;
}

[[noreturn]] void fail_name(std::string_view what, std::string_view name, std::string_view way_out) {
  throw InputError{fmt::format("found no {} profile called {}; {}", what, quoted(name), way_out)};
}

}  // namespace

std::optional<std::string_view> find_name(Kind kind, std::string_view name) {
  for (auto const& file : embedded_files())
    if (file.folder == folder(kind) && file.name == name) return file.name;
  if (kind != Kind::kGpu) return std::nullopt;
  auto const& aliases = aliases_of_gpus();
  auto const alias = std::ranges::find(aliases, name, &Alias::text);
  return alias == aliases.end() ? std::nullopt : std::optional{alias->name};
}

std::optional<std::string_view> find_profile(Kind kind, std::string_view name) {
  auto const known = find_name(kind, name);
  return known ? find_file(folder(kind), *known) : std::nullopt;
}

std::vector<std::string_view> profile_names(Kind kind) {
  auto names = std::vector<std::string_view>{};
  for (auto const& file : embedded_files())
    if (file.folder == folder(kind)) names.push_back(file.name);
  return names;
}

std::string suggest_profile(Kind kind, std::string_view name) {
  auto known = profile_names(kind);
  if (kind == Kind::kGpu)
    for (auto const& alias : aliases_of_gpus())
      if (std::ranges::find(known, alias.text) == known.end()) known.emplace_back(alias.text);
  return suggest_name(name, known);
}

std::vector<ProfileSummary> list_profiles() {
  auto summaries = std::vector<ProfileSummary>{};
  for (auto const kind : kKinds) {
    for (auto const name : profile_names(kind)) {
      auto const document = io::parse({profile_file(kind, name), profile_text(kind, name)});
      summaries.push_back({kind, std::string{name}, std::string{document.at("description").string()}});
    }
  }
  return summaries;
}

std::string profile_text(Kind kind, std::string_view name) {
  if (auto const text = find_profile(kind, name)) return std::string{*text};
  fail_name(name_of(kind), name, suggest_profile(kind, name));
}

std::string profile_text(std::string_view name) {
  auto known = std::vector<std::string_view>{};
  for (auto const kind : kKinds) {
    if (auto const prefix = fmt::format("{}/", name_of(kind)); name.starts_with(prefix))
      return profile_text(kind, name.substr(prefix.size()));
    if (auto const text = find_profile(kind, name)) return std::string{*text};
    for (auto const other : profile_names(kind)) known.push_back(other);
  }
  fail_name("hardware", name, suggest_name(name, known));
}

std::string_view schema_text(Kind kind) {
  auto const text = find_file("schema", name_of(kind));
  TWINSTEP_CHECK(text.has_value(), "every kind of profile ships its schema");
  return *text;
}

std::string_view tuning_text(io::Node const& name) {
  if (auto const text = find_file("tuning", name.string())) return *text;
  auto known = std::vector<std::string_view>{"none"};
  for (auto const& file : embedded_files())
    if (file.folder == "tuning") known.push_back(file.name);
  name.fail(fmt::format("found {}, expected the name of a table of tuning constants", quoted(name.string())),
            suggest_name(name.string(), known));
}

std::string tuning_file(std::string_view name) {
  return fmt::format("hw_profiles/tuning/{}.json", name);
}

std::string profile_file(Kind kind, std::string_view name) {
  return fmt::format("hw_profiles/{}/{}.json", folder(kind), name);
}

}  // namespace twinstep::hw_profiles
