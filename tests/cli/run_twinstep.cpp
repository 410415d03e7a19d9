#include "tests/cli/run_twinstep.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace twinstep::tests {
namespace {

/// In the child: standard streams, folder, program. Only calls that are safe after fork.
[[noreturn]] void become_twinstep(char* const* arguments, char const* directory, char const* out, char const* err) {
  auto const redirect = [](int descriptor, char const* path, int flags) {
    auto const file = open(path, flags, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  };
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC);
  if (chdir(directory) != 0) _exit(126);
  execv(TWINSTEP_BINARY, arguments);
  _exit(127);
}

}  // namespace

Scratch::Scratch() {
  auto name = (std::filesystem::temp_directory_path() / "twinstep-cli-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no scratch folder can be made: " + name};
  folder_ = name;
}

Scratch::~Scratch() {
  auto ignored = std::error_code{};
  std::filesystem::remove_all(folder_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return (folder_ / name).string();
}

std::string Scratch::write(std::string_view name, std::string_view text) const {
  auto file = std::ofstream{path(name), std::ios::binary};
  file << text;
  return path(name);
}

std::vector<std::string> Scratch::files() const {
  auto names = std::vector<std::string>{};
  for (auto const& entry : std::filesystem::directory_iterator{folder_})
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Outcome run_twinstep(std::vector<std::string> const& arguments, std::string const& directory,
                     Streams const& elsewhere) {
  auto const streams = Scratch{};
  auto const out = elsewhere.out.empty() ? streams.path("out") : elsewhere.out;
  auto const err = elsewhere.err.empty() ? streams.path("err") : elsewhere.err;
  auto const folder = directory.empty() ? std::string{TWINSTEP_SOURCE_FOLDER} : directory;
  auto words = arguments;
  words.insert(words.begin(), "twinstep");
  auto pointers = std::vector<char*>{};
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  auto const child = fork();
  if (child < 0) throw std::runtime_error{"no process can be made"};
  if (child == 0) become_twinstep(pointers.data(), folder.c_str(), out.c_str(), err.c_str());
  auto status = 0;
  waitpid(child, &status, 0);
  return {exit_code_of(status), elsewhere.out.empty() ? read_file(out) : "",
          elsewhere.err.empty() ? read_file(err) : ""};
}

Outcome run_shell(std::string const& command, std::string const& directory) {
  auto const streams = Scratch{};
  auto const line = fmt::format("cd '{}' && {{ {}; }} </dev/null >'{}' 2>'{}'",
                                directory.empty() ? std::string{TWINSTEP_SOURCE_FOLDER} : directory,
                                with(command, "TWINSTEP", TWINSTEP_BINARY), streams.path("out"), streams.path("err"));
  auto const status = std::system(line.c_str());
  return {exit_code_of(status), read_file(streams.path("out")), read_file(streams.path("err"))};
}

std::string read_file(std::string const& path) {
  auto file = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string in_repository(std::string_view path) {
  return (std::filesystem::path{TWINSTEP_SOURCE_FOLDER} / path).string();
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  auto const at = text.find(from);
  if (at == std::string::npos) throw std::logic_error{"nothing to replace: " + std::string{from}};
  return text.replace(at, from.size(), to);
}

std::string small_scenario() {
  return R"({
  "cluster": {"profile": "dgx-h100-ndr", "nodes": 2},
  "model": {"family": "llama", "layers": 2, "hidden": 1024, "heads": 8},
  "training": {"sequence_length": 512, "micro_batch": 1, "global_batch": 16, "precision": "bf16"},
  "strategy": {"name": "zero-3"}
}
)";
}

}  // namespace twinstep::tests
