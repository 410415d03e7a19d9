#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/io/document.hpp"
#include "sim/io/document_value.hpp"

/// Documents out of files and texts.
namespace twinstep::io {
namespace {

using Value = Node::Value;

[[noreturn]] void fail_file(std::string const& path, std::string_view found, std::string_view way_out) {
  throw InputError{
      fmt::format("{}: found {}, expected a JSON file; {}", path.empty() ? "\"\"" : one_line(path), found, way_out)};
}

/// The whole text. Throws InputError beyond a size that no file of ours has: /dev/zero never ends.
std::string read_all(std::istream& file, std::string const& path) {
  constexpr auto kLargest = std::size_t{1} << 30;
  constexpr auto kBlock = std::size_t{1} << 20;
  auto text = std::string{};
  while (file) {
    auto const size = text.size();
    if (size > kLargest) fail_file(path, "more than 1 GiB of text", "check the path");
    text.resize(size + kBlock);
    file.read(text.data() + size, static_cast<std::streamsize>(kBlock));
    text.resize(size + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) fail_file(path, "an unreadable file", "check the disk");
  return text;
}

/// Paths, of all threads.
class Remembered {
 public:
  void add(std::string const& path) {
    auto const lock = std::lock_guard{mutex_};
    paths_.insert(path);
  }
  [[nodiscard]] std::vector<std::string> all() {
    auto const lock = std::lock_guard{mutex_};
    return {paths_.begin(), paths_.end()};
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

Remembered& remembered() {
  static auto paths = Remembered{};
  return paths;
}

}  // namespace

std::vector<std::string> files_read() {
  return remembered().all();
}

std::string read_text(std::string const& path) {
  auto error = std::error_code{};
  if (std::filesystem::is_directory(path, error)) fail_file(path, "a directory", "name a file in it");
  errno = 0;
  auto file = std::ifstream{path, std::ios::binary};
  if (!file) fail_file(path, errno == ENOENT ? "no such file" : std::strerror(errno), "check the path");
  remembered().add(path);
  return read_all(file, path);
}

Node parse_file(std::string const& path, Dialect dialect, ReadText const& read) {
  constexpr auto kLargest = std::size_t{16} << 20;
  auto text = read(path);
  if (text.size() > kLargest)
    fail_file(path, fmt::format("{} bytes", text.size()), fmt::format("those that ask have at most {}", kLargest));
  return parse({path, std::move(text)}, dialect);
}

Node string_node(std::string text, std::string source_name) {
  auto value = std::make_shared<Value>();
  value->source = std::make_shared<Source const>(Source{std::move(source_name), text, false});
  value->content = std::move(text);
  return Node{std::move(value)};
}

}  // namespace twinstep::io
