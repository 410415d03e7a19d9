#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "validate/cpu/gloo/word_store.hpp"

namespace twinstep::cpu {

/// A store at `address`:`port` for processes on several hosts: words by key, kept by process 0, which serves them from
/// a thread until the store is closed. Small and slow; it is used only while processes find each other. Throws
/// InputError if process 0 cannot listen there, or the others do not reach it within `patience`.
[[nodiscard]] std::unique_ptr<WordStore> open_tcp_store(std::string const& address, std::string const& port,
                                                        bool serves, std::chrono::milliseconds patience);

}  // namespace twinstep::cpu
