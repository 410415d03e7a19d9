#include "sim/io/outputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <unistd.h>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::io {
namespace {

/// A pipe or a device, held open. Opening a pipe waits for its reader: this says so at once where there is none.
class HeldOpen {
 public:
  explicit HeldOpen(std::string const& path) : descriptor_{::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)} {
    if (descriptor_ < 0 && errno == ENXIO)
      throw InputError{
          fmt::format("{}: found a pipe that nobody reads; start its reader first, or name a file", one_line(path))};
  }
  HeldOpen(HeldOpen const&) = delete;
  HeldOpen& operator=(HeldOpen const&) = delete;
  ~HeldOpen() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

namespace fs = std::filesystem;

/// The file that a path names, links followed to their end, whether or not there is one.
fs::path place_of(std::string const& path) {
  constexpr auto kLongestChain = 40;  // as Linux follows them
  auto error = std::error_code{};
  auto place = fs::path{path};
  for (auto i = 0; i < kLongestChain && fs::is_symlink(place, error); ++i)
    place = place.parent_path() / fs::read_symlink(place, error);
  place = fs::absolute(place, error);
  auto const canonical = fs::weakly_canonical(place, error);
  return error ? place : canonical;  // a name that no file can have
}

bool is_same_file(std::string const& one, std::string const& other) {
  auto error = std::error_code{};
  return fs::equivalent(one, other, error) || place_of(one) == place_of(other);
}

[[noreturn]] void refuse(std::string_view option, std::string const& path, std::string_view found,
                         std::string_view way_out) {
  throw InputError{fmt::format("{} {}: {}; {}", option, path.empty() ? "\"\"" : one_line(path), found, way_out)};
}

/// Where the content of a file is until it takes its place.
std::string temporary_of(fs::path const& place) {
  return fmt::format("{}.{}.tmp", place.string(), getpid());
}

/// Why nothing can be written to an open device: an errno; 0 where it is not known beforehand. Of nothing that is
/// written to it only a full device complains.
int obstacle(int descriptor) {
  return ::write(descriptor, "", 0) < 0 ? errno : 0;
}

/// Throws InputError where a file cannot be made at `path`, or the device there is full. A pipe is not tried: its
/// reader would see an end.
void check_content(std::string const& path) {
  auto error = std::error_code{};
  auto const is_device = fs::is_character_file(path, error);
  if (is_special(path) && !is_device) return;
  auto const tried = is_device ? path : temporary_of(place_of(path));
  auto const descriptor = ::open(tried.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | (is_device ? 0 : O_CREAT), 0666);
  auto const reason = descriptor < 0 ? errno : is_device ? obstacle(descriptor) : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!is_device) std::remove(tried.c_str());
  if (reason != 0) fail_to_write(path, reason);
}

/// Throws InputError where no file can be made at `path`.
void check_place(std::string_view option, std::string const& path) {
  auto error = std::error_code{};
  if (path.empty()) refuse(option, path, "found an empty name, expected a file", "name one");
  if (fs::is_directory(path, error)) refuse(option, path, "found a directory, expected a file", "name a file in it");
  auto const folder = place_of(path).parent_path();
  if (!fs::is_directory(folder, error))
    refuse(option, path, fmt::format("found no directory {}", twinstep::quoted(fs::path{path}.parent_path().string())),
           "make it, or name another file");
  if (::access(is_special(path) ? path.c_str() : folder.c_str(), W_OK) != 0)
    refuse(option, path, fmt::format("{} cannot be written to", twinstep::quoted(folder.string())),
           "name another file");
  check_content(path);
}

void refuse_if_input(std::string_view option, std::string const& path, std::vector<std::string> const& inputs) {
  for (auto const& input : inputs)
    if (is_same_file(path, input))
      refuse(option, path, fmt::format("{} is an input and would be replaced", one_line(input)), "name another file");
}

}  // namespace

bool is_special(std::string const& path) {
  auto error = std::error_code{};
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

void fail_to_write(std::string const& path, int reason) {
  throw InputError{fmt::format("{}: cannot be written ({}); name a file in a folder that you may write to",
                               one_line(path), std::strerror(reason))};
}

Outputs::~Outputs() {
  for (auto const& one : written_) std::remove(one.temporary.c_str());
}

void Outputs::expect(std::string_view option, std::string const& path) {
  check_place(option, path);
  refuse_if_input(option, path, inputs_);
  for (auto const& other : expected_)
    if (!is_special(path) && is_same_file(path, other.path))
      refuse(option, path, fmt::format("{} {} is the same file", other.option, one_line(other.path)),
             "name another file");
  expected_.push_back({std::string{option}, path});
}

void Outputs::write(std::string const& path, std::string_view text) {
  write(path, [text](std::ostream& file) { file.write(text.data(), static_cast<std::streamsize>(text.size())); });
}

void Outputs::write(std::string const& path, std::function<void(std::ostream&)> const& write) {
  auto target = path;
  if (!is_special(path)) {
    refuse_if_input(option_of(path), path, files_read());
    auto const place = place_of(path).string();
    target = temporary_of(place);
    written_.push_back({path, target, place});
  }
  auto const held = target == path ? std::make_unique<HeldOpen>(path) : nullptr;
  errno = 0;
  auto file = std::ofstream{target, std::ios::binary};
  write(file);
  file.close();
  if (!file) fail_to_write(path, errno);
}

std::string_view Outputs::option_of(std::string const& path) const {
  auto const found = std::ranges::find(expected_, path, &Expected::path);
  return found == expected_.end() ? std::string_view{"output"} : std::string_view{found->option};
}

void Outputs::commit() {
  for (auto const& one : written_) {
    auto error = std::error_code{};
    fs::rename(one.temporary, one.place, error);
    if (error) fail_to_write(one.path, error.value());
  }
  written_.clear();
}

void write_file(std::string const& path, std::string_view text) {
  auto outputs = Outputs{};
  outputs.write(path, text);
  outputs.commit();
}

std::string named_from(std::string const& out, std::string const& path) {
  if (is_special(out)) return path;
  auto error = std::error_code{};
  auto const name = fs::proximate(path, place_of(out).parent_path(), error).string();
  return error || (fs::path{path}.is_absolute() && name.starts_with("..")) ? path : name;
}

void check_writable(std::string_view option, std::string const& path, std::vector<std::string> const& inputs) {
  Outputs{inputs}.expect(option, path);
}

}  // namespace twinstep::io
