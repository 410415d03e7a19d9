#include <filesystem>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "hw_profiles/catalog.hpp"
#include "hw_profiles/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

using namespace hw_profiles;

bool is_file(std::string const& name) {
  return std::filesystem::is_regular_file(name) || name.ends_with(".json");
}

void list() {
  auto widest = std::size_t{0};
  for (auto const& profile : list_profiles()) widest = std::max(widest, profile.name.size());
  for (auto const& profile : list_profiles())
    fmt::print("{:<8} {:<{}}  {}\n", name_of(profile.kind), profile.name, widest, profile.description);
}

/// Prints what is wrong with one profile; true if nothing is.
bool is_sound(std::string const& name, std::vector<std::string> const& findings) {
  for (auto const& finding : findings) fmt::print(stderr, "twinstep: {}\n", finding);
  if (findings.empty()) fmt::print("{}: no findings\n", name);
  return findings.empty();
}

bool check_shipped(Kind kind, std::string_view name) {
  auto const file = profile_file(kind, name);
  return is_sound(file, check_profile(kind, file, profile_text(kind, name)));
}

bool check_named(std::string const& name) {
  if (is_file(name)) return is_sound(name, check_profile(name));
  for (auto const kind : {Kind::kCluster, Kind::kNode, Kind::kGpu, Kind::kFabric})
    if (find_profile(kind, name)) return check_shipped(kind, name);
  static_cast<void>(profile_text(name));  // throws, with the nearest name
  return false;
}

}  // namespace

int profiles(ProfilesOptions const& options) {
  auto all_sound = true;
  switch (options.action) {
    case ProfilesOptions::Action::kList: list(); break;
    case ProfilesOptions::Action::kShow:
      for (auto const& name : options.names) fmt::print("{}", profile_text(name));
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
