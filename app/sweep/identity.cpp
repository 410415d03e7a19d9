#include "app/sweep/identity.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "app/data_hash.hpp"
#include "app/version.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::app::sweep {
namespace {

/// Adds the files among the texts of a document: names with a folder or an ending.
void add_files(io::Node const& node, std::string const& folder, std::vector<std::string>& files) {
  using Type = io::Node::Type;
  if (node.is(Type::kObject))
    for (auto const& [key, value] : node.members()) add_files(value, folder, files);
  if (node.is(Type::kArray))
    for (auto const& element : node.elements()) add_files(element, folder, files);
  if (!node.is(Type::kString)) return;
  auto const name = std::string{node.string()};
  if (name.find_first_of("./") == std::string::npos) return;
  auto error = std::error_code{};
  auto const path = std::filesystem::path{folder} / name;
  if (std::filesystem::is_regular_file(path, error)) files.push_back(path.string());
}

}  // namespace

Manifest manifest_of(Sweep const& sweep, engine::RunOptions const& options) {
  auto const document = sweep.document();
  auto files = std::vector<std::string>{};
  add_files(document, sweep.directory(), files);
  auto const text =
      fmt::format(R"({{"fidelity": "{}", "allocator": {}, "files": "{}", "sweep": {}}})", name_of(options.fidelity),
                  options.replays_allocator, data_hash(files), io::document_line(document));
  return {.version = std::string{kVersion}, .sweep = text, .paths = sweep.paths(), .points = sweep.points()};
}

}  // namespace twinstep::app::sweep
