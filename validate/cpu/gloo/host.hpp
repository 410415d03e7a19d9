#pragma once

#include <string>

#include "validate/launch/launch.hpp"

namespace twinstep::cpu {

/// What a process says of itself before any of them is connected.
struct Host {
  std::string name;
  std::string address;  ///< at which it is reached
  std::string clock;    ///< two of the same have one monotonic clock: the same boot, and the same time namespace
  std::string node;     ///< two of the same are one node: the same boot, and the same network namespace
};

/// This process's. Its address is that of `interface`; if that is empty, of GLOO_SOCKET_IFNAME's first; if that is not
/// set, the one that reaches the meeting place; on one host, loopback. Throws InputError for an interface that is not
/// there or has no address.
[[nodiscard]] Host this_host(launch::Launch const& launch, std::string const& interface);

/// The processor, as the machine names it; "" if it does not.
[[nodiscard]] std::string processor_name();

/// As one word of a store, and back.
[[nodiscard]] std::string to_word(Host const& host);
[[nodiscard]] Host from_word(std::string const& word);

}  // namespace twinstep::cpu
