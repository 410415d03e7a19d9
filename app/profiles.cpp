#include <filesystem>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

using namespace hw_profiles;

bool is_file(std::string const& name) {
  auto error = std::error_code{};  // of a name too long for a file, which then is none
  return std::filesystem::is_regular_file(name, error) || name.ends_with(".json");
}

void list() {
  auto widest = std::size_t{0};
  for (auto const& profile : list_profiles()) widest = std::max(widest, profile.name.size());
  auto text = std::string{};
  for (auto const& profile : list_profiles())
    text += fmt::format("{:<8} {:<{}}  {}\n", name_of(profile.kind), profile.name, widest, profile.description);
  print(text);
}

/// Prints what is wrong with one profile; true if nothing is.
bool is_sound(std::string const& name, std::vector<std::string> const& findings) {
  for (auto const& finding : findings) complain(finding);
  if (findings.empty()) print(fmt::format("{}: no findings\n", name));
  return findings.empty();
}

bool check_shipped(Kind kind, std::string_view name) {
  auto const file = profile_file(kind, name);
  return is_sound(file, check_profile(kind, file, profile_text(kind, name)));
}

bool check_named(std::string const& name) {
  if (is_file(name)) return is_sound(name, check_profile(io::Source{name, io::read_text(name)}));
  for (auto const kind : {Kind::kCluster, Kind::kNode, Kind::kGpu, Kind::kFabric, Kind::kLink, Kind::kTransport,
                          Kind::kLibrary, Kind::kStack}) {
    auto const prefix = fmt::format("{}/", name_of(kind));
    auto const bare = name.starts_with(prefix) ? std::string_view{name}.substr(prefix.size()) : std::string_view{name};
    if (find_profile(kind, bare)) return check_shipped(kind, bare);
  }
  static_cast<void>(profile_text(name));  // throws, with the nearest name
  return false;
}

/// All or none: the names are looked up before anything is printed.
std::vector<std::string> texts(std::vector<std::string> const& names) {
  auto all = std::vector<std::string>{};
  for (auto const& name : names) all.push_back(profile_text(name));
  return all;
}

}  // namespace

int profiles(ProfilesOptions const& options) {
  auto all_sound = true;
  switch (options.action) {
    case ProfilesOptions::Action::kList: list(); break;
    case ProfilesOptions::Action::kShow:
      for (auto const& text : texts(options.names)) print(text);
      break;
    case ProfilesOptions::Action::kCheck:
      for (auto const& name : options.names) all_sound = check_named(name) && all_sound;
      if (options.names.empty())
        for (auto const& profile : list_profiles()) all_sound = check_shipped(profile.kind, profile.name) && all_sound;
      break;
  }
  return all_sound ? kDone : kInputWrong;
}

}  // namespace twinstep::app
