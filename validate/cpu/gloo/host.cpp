#include "validate/cpu/gloo/host.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/cpu/gloo/socket.hpp"

namespace twinstep::cpu {
namespace {

constexpr auto kLoopback = "127.0.0.1";

std::string first_line(char const* file) {
  auto in = std::ifstream{file};
  auto line = std::string{};
  std::getline(in, line);
  return line;
}

std::string target_of(char const* link) {
  auto error = std::error_code{};
  return std::filesystem::read_symlink(link, error).string();
}

std::string numeric(sockaddr const* address) {
  auto const size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto text = std::array<char, NI_MAXHOST>{};
  auto const failed =
      ::getnameinfo(address, static_cast<socklen_t>(size), text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : std::string{};
}

/// An IPv4 address of it, else one of IPv6.
std::string address_of(std::string const& interface) {
  auto* list = static_cast<ifaddrs*>(nullptr);
  if (::getifaddrs(&list) != 0) list = nullptr;
  auto const owner = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>{list, &::freeifaddrs};
  auto names = std::vector<std::string_view>{};
  auto found = std::string{};
  for (auto const* at = list; at != nullptr; at = at->ifa_next) {
    auto const has_address =
        at->ifa_addr != nullptr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (!has_address) continue;
    names.emplace_back(at->ifa_name);
    if (interface == at->ifa_name && (found.empty() || at->ifa_addr->sa_family == AF_INET))
      found = numeric(at->ifa_addr);
  }
  if (!found.empty()) return found;
  throw InputError{fmt::format("GLOO_SOCKET_IFNAME: found {}, expected a network interface that has an address; {}",
                               twinstep::quoted(interface), suggest_name(interface, names))};
}

/// The address from which this host reaches process 0; loopback if that needs none.
std::string address_towards(std::string const& meeting_place) {
  auto const colon = meeting_place.rfind(':');
  if (colon == std::string::npos || meeting_place.find('/') != std::string::npos) return kLoopback;
  constexpr auto kPatience = std::chrono::seconds{5};  // it has answered before
  auto const socket = connect_to(meeting_place.substr(0, colon), meeting_place.substr(colon + 1), kPatience);
  return socket.exists() ? socket.own_address() : kLoopback;
}

}  // namespace

Host this_host(launch::Launch const& launch, std::string const& interface) {
  auto host = Host{};
  auto name = std::array<char, 256>{};
  if (::gethostname(name.data(), name.size() - 1) == 0) host.name = name.data();
  auto wanted = interface.empty() ? launch::environment_variable("GLOO_SOCKET_IFNAME").value_or("") : interface;
  wanted = wanted.substr(0, wanted.find(','));
  host.address = wanted.empty() ? address_towards(launch.meeting_place) : address_of(wanted);
  auto const boot = first_line("/proc/sys/kernel/random/boot_id");
  host.clock = boot + target_of("/proc/self/ns/time");
  host.node = boot + target_of("/proc/self/ns/net");
  return host;
}

std::string processor_name() {
  auto in = std::ifstream{"/proc/cpuinfo"};
  for (auto line = std::string{}; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return {};
}

std::string to_word(Host const& host) {
  return fmt::format("{}\n{}\n{}\n{}\n", host.name, host.address, host.clock, host.node);
}

Host from_word(std::string const& word) {
  auto in = std::istringstream{word};
  auto host = Host{};
  for (auto* field : {&host.name, &host.address, &host.clock, &host.node}) std::getline(in, *field);
  return host;
}

}  // namespace twinstep::cpu
