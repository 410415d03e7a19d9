#pragma once

#include <charconv>
#include <chrono>
#include <functional>
#include <gloo/rendezvous/store.h>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/cpu/gloo/word_store.hpp"

namespace twinstep::cpu {

/// The words by which Gloo connects one group of ranks: each place leaves its addresses at its number. Waits are as
/// long as `patience`, and say who is missing.
class GroupStore final : public gloo::rendezvous::Store {
 public:
  using Name = std::function<std::string(std::size_t place)>;

  GroupStore(WordStore& words, std::string group, std::chrono::milliseconds patience, Name name,
             std::function<void()> look_round)
      : words_{words},
        group_{std::move(group)},
        patience_{patience},
        name_{std::move(name)},
        look_round_{std::move(look_round)} {}

  void set(std::string const& key, std::vector<char> const& word) override {
    words_.leave(group_ + key, {word.begin(), word.end()});
  }
  std::vector<char> get(std::string const& key) override {
    constexpr auto kLooksRoundEvery = std::chrono::milliseconds{100};
    auto const give_up = std::chrono::steady_clock::now() + patience_;
    while (std::chrono::steady_clock::now() < give_up) {
      if (auto const word = words_.look_up(group_ + key, kLooksRoundEvery)) return {word->begin(), word->end()};
      look_round_();
    }
    auto place = std::size_t{0};
    std::from_chars(key.data(), key.data() + key.size(), place);
    throw InputError{
        fmt::format("{} did not connect within {} s", name_(place), std::chrono::duration<double>{patience_}.count())};
  }
  void wait(std::vector<std::string> const& keys) override {
    for (auto const& key : keys) get(key);
  }
  void wait(std::vector<std::string> const& keys, std::chrono::milliseconds const& /*gloos*/) override { wait(keys); }

 private:
  WordStore& words_;
  std::string group_;
  std::chrono::milliseconds patience_;
  Name name_;
  std::function<void()> look_round_;
};

}  // namespace twinstep::cpu
