#include "explore/sweep/identity.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "explore/ask/data_hash.hpp"
#include "sim/base/build.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {
namespace {

/// The files that a sweep names, as it names them, and the hashes of their contents.
class Files {
 public:
  explicit Files(std::filesystem::path folder) : folder_{std::move(folder)} {}

  /// Adds those among the texts of a document in a folder below: names with a folder or an ending. What they name in
  /// turn, as a cluster's file does, is added too.
  void add(io::Node const& node, std::filesystem::path const& below = {}) {
    using Type = io::Node::Type;
    if (node.is(Type::kObject))
      for (auto const& [key, value] : node.members()) add(value, below);
    if (node.is(Type::kArray))
      for (auto const& element : node.elements()) add(element, below);
    if (node.is(Type::kString)) add_file(below / node.string());
  }

  void write(io::JsonWriter& json) const {
    json.begin_object();
    for (auto const& [name, hash] : hashes_) json.member(name, hash);
    json.end_object();
  }

 private:
  void add_file(std::filesystem::path const& name) {
    if (name.string().find_first_of("./") == std::string::npos) return;
    auto error = std::error_code{};
    auto const path = folder_ / name;
    if (!std::filesystem::is_regular_file(path, error)) return;
    auto text = io::read_text(path.string());
    if (!hashes_.emplace(name.string(), data_hash(text)).second || path.extension() != ".json") return;
    try {
      add(io::parse({path.string(), std::move(text)}), name.parent_path());
    } catch (InputError const&) {  // whoever needs it says what is wrong
    }
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> hashes_;
};

}  // namespace

Manifest manifest_of(Sweep const& sweep, engine::RunOptions const& options) {
  auto const document = sweep.document();
  auto files = Files{sweep.directory()};
  files.add(document);
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_object();
  json.member("--fidelity", name_of(options.fidelity));
  json.member("--skip-allocator", !options.replays_allocator);
  json.key("sweep");
  io::write(json, document);
  json.key("files");
  files.write(json);
  json.end_object();
  return {.version = fmt::format("{} (model {})", build().version, build().model),
          .sweep = std::move(json).text(),
          .paths = sweep.paths(),
          .points = sweep.points()};
}

}  // namespace twinstep::explore::sweep
