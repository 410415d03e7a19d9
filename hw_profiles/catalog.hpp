#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/io/document.hpp"

/// The profiles that ship with the program, by kind and name.
namespace twinstep::hw_profiles {

enum class Kind : std::uint8_t { kGpu, kLink, kNode, kTransport, kFabric, kLibrary, kStack, kCluster };

/// The shipped profile that a name names, itself or by one of the "aliases" of a GPU ("h100-80g" is "h100-sxm5-80"), or
/// nothing.
[[nodiscard]] std::optional<std::string_view> find_name(Kind kind, std::string_view name);

/// Its text, or nothing.
[[nodiscard]] std::optional<std::string_view> find_profile(Kind kind, std::string_view name);

/// The names of the shipped profiles of one kind, sorted.
[[nodiscard]] std::vector<std::string_view> profile_names(Kind kind);

struct ProfileSummary {
  Kind kind{};
  std::string name;
  std::string description;
};

/// `suggest_name` among the shipped profiles of one kind and their aliases.
[[nodiscard]] std::string suggest_profile(Kind kind, std::string_view name);

/// Every shipped profile: clusters first, then what they are made of.
[[nodiscard]] std::vector<ProfileSummary> list_profiles();

/// The JSON text of a shipped profile. Throws InputError for an unknown name, with the nearest known one.
[[nodiscard]] std::string profile_text(Kind kind, std::string_view name);
/// The same for a name of any kind, clusters first; "gpu/h100-sxm5-80" names the kind too.
[[nodiscard]] std::string profile_text(std::string_view name);

/// The JSON Schema that profiles of a kind keep.
[[nodiscard]] std::string_view schema_text(Kind kind);

/// The tables of a library's tuner, by name; and what they are called in messages. Throws InputError at `name` if there
/// is none.
[[nodiscard]] std::string_view tuning_text(io::Node const& name);
[[nodiscard]] std::string tuning_file(std::string_view name);

/// "hw_profiles/gpus/h100-sxm5-80.json": what a shipped profile is called in messages.
[[nodiscard]] std::string profile_file(Kind kind, std::string_view name);

}  // namespace twinstep::hw_profiles

namespace twinstep {
template <>
struct EnumNames<hw_profiles::Kind> {
  static constexpr std::array<std::string_view, 8> values{"gpu",    "link",    "node",  "transport",
                                                          "fabric", "library", "stack", "cluster"};
};
}  // namespace twinstep
