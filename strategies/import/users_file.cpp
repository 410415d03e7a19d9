#include "strategies/import/users_file.hpp"

#include <filesystem>

#include "sim/base/check.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/other_formats.hpp"
#include "strategies/import/readers.hpp"

namespace twinstep::strategies {

Part::Part(std::string name) : name_{std::move(name)}, node_{io::parse({name_, "{}", false})} {}

void Part::put(std::string_view key, io::Node const& value) {
  node_ = io::with_member(node_, key, value);
}

void Part::put(std::string_view key, io::Node const& from, std::string const& json) {
  auto place = io::place_of(from.source(), from.value().offset);
  place.erase(place.size() - 2);  // ": ", which messages add again
  put(key, io::parse({std::move(place), json, false}));
}

UsersFile read_users_text(UsersFormat format, io::Source source) {
  auto const directory = std::filesystem::path{source.name}.parent_path().string();
  switch (format) {
    case UsersFormat::kDeepSpeed: return read_deepspeed(io::parse(std::move(source), io::Dialect::kForeign));
    case UsersFormat::kAccelerate: return read_accelerate(io::parse_yaml(std::move(source)), directory);
    case UsersFormat::kTorchtitan: return read_torchtitan(io::parse_toml(std::move(source)));
  }
  TWINSTEP_UNREACHABLE("every format has its reader");
}

UsersFile read_users_file(UsersFormat format, std::string const& path) {
  return read_users_text(format, {path, io::read_text(path)});
}

std::string_view scenario_key(UsersFormat format) {
  switch (format) {
    case UsersFormat::kDeepSpeed: return "deepspeed_config";
    case UsersFormat::kAccelerate: return "accelerate_config";
    case UsersFormat::kTorchtitan: return "torchtitan_config";
  }
  TWINSTEP_UNREACHABLE("every format has its key");
}

}  // namespace twinstep::strategies
