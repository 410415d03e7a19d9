#include "validate/cpu/gloo/word_store.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::cpu {
namespace {

/// A file for each word.
class FolderStore final : public WordStore {
 public:
  explicit FolderStore(std::string const& folder) : folder_{folder} {
    auto error = std::error_code{};
    if (!std::filesystem::is_directory(folder_, error))
      throw InputError{fmt::format("{}: there is no such folder, expected one that all processes see; make it first",
                                   one_line(folder))};
  }

  void leave(std::string const& key, std::string const& word) override {
    // Under another name first: who sees the file sees all of it.
    auto const hidden = folder_ / ("." + key);
    auto out = std::ofstream{hidden, std::ios::binary};
    out.write(word.data(), static_cast<std::streamsize>(word.size()));
    out.close();
    auto error = std::error_code{};
    std::filesystem::rename(hidden, folder_ / key, error);
    if (!out || error)
      throw InputError{fmt::format("{}: cannot be written; take a folder that all processes may write to",
                                   one_line((folder_ / key).string()))};
  }

 private:
  std::optional<std::string> find(std::string const& key) override {
    auto in = std::ifstream{folder_ / key, std::ios::binary};
    if (!in) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  }

  std::filesystem::path folder_;
};

}  // namespace

std::optional<std::string> WordStore::look_up(std::string const& key, std::chrono::milliseconds patience) {
  constexpr auto kPause = std::chrono::milliseconds{2};
  auto const give_up = std::chrono::steady_clock::now() + patience;
  while (true) {
    if (auto word = find(key)) return word;
    if (std::chrono::steady_clock::now() >= give_up) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
}

std::unique_ptr<WordStore> open_store(launch::Launch const& launch, std::chrono::milliseconds patience) {
  auto const& place = launch.meeting_place;
  if (place.empty())
    throw InputError{
        "MASTER_ADDR is not set, expected the address of process 0's host, by which processes on several hosts find "
        "each other; export MASTER_ADDR and MASTER_PORT, or TWINSTEP_STORE with a folder that all of them see"};
  auto const colon = place.rfind(':');
  if (place.find('/') != std::string::npos || colon == std::string::npos) return std::make_unique<FolderStore>(place);
  return open_tcp_store(place.substr(0, colon), place.substr(colon + 1), launch.process == 0, patience);
}

}  // namespace twinstep::cpu
