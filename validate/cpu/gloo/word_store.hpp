#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "validate/launch/launch.hpp"

namespace twinstep::cpu {

/// Where the processes of a job leave words for each other, by key, before they are connected and when they no longer
/// are. A word is left once.
class WordStore {
 public:
  WordStore() = default;
  WordStore(WordStore const&) = delete;
  WordStore& operator=(WordStore const&) = delete;
  virtual ~WordStore() = default;

  /// Throws InputError if the store has gone.
  virtual void leave(std::string const& key, std::string const& word) = 0;
  /// The word at `key`, once it is there; nothing if it does not come within `patience`, or the store has gone.
  [[nodiscard]] std::optional<std::string> look_up(std::string const& key, std::chrono::milliseconds patience = {});

 private:
  [[nodiscard]] virtual std::optional<std::string> find(std::string const& key) = 0;
};

/// Opens the store of a job: a folder, or a small server in process 0.
/// Throws InputError if it cannot be had within `patience`, or is something else.
[[nodiscard]] std::unique_ptr<WordStore> open_store(launch::Launch const& launch, std::chrono::milliseconds patience);

/// A store at `address`:`port` for processes on several hosts: words by key, kept by process 0, which serves them from
/// a thread until the store is closed. Small and slow; it is used only while processes find each other. Throws
/// InputError if process 0 cannot listen there, or the others do not reach it within `patience`.
[[nodiscard]] std::unique_ptr<WordStore> open_tcp_store(std::string const& address, std::string const& port,
                                                        bool serves, std::chrono::milliseconds patience);

}  // namespace twinstep::cpu
