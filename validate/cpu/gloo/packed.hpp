#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/base/check.hpp"

namespace twinstep::cpu {

/// Plain values as bytes, for another process of the same program, and back.
template <class T>
requires std::is_trivially_copyable_v<T> std::string packed(T const& value) {
  auto bytes = std::string(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
requires std::is_trivially_copyable_v<T> std::string packed(std::vector<T> const& values) {
  auto bytes = std::string(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Requires bytes of so many whole values.
template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> unpacked_all(std::string const& bytes) {
  TWINSTEP_CHECK(bytes.size() % sizeof(T) == 0, "all processes of a job run one program");
  auto values = std::vector<T>(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
T unpacked(std::string const& bytes) {
  TWINSTEP_CHECK(bytes.size() == sizeof(T), "all processes of a job run one program");
  return unpacked_all<T>(bytes).front();
}

}  // namespace twinstep::cpu
