#include "validate/cpu/gloo/socket.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::cpu {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// The addresses of `host`; none if nobody knows that name.
Addresses resolve(std::string const& host, std::string const& port) {
  auto hints = addrinfo{};
  hints.ai_socktype = SOCK_STREAM;
  auto* found = static_cast<addrinfo*>(nullptr);
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

/// A socket bound to `port` of all addresses of one family; none if that cannot be had.
template <class Address>
Socket bound(Address any) {
  auto socket = Socket{::socket(reinterpret_cast<sockaddr*>(&any)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto const on = 1;
  auto const off = 0;
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // IPv4 comes here too
  if (!socket.exists() || ::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) return {};
  return socket;
}

Socket bound(std::uint16_t port) {
  auto six = sockaddr_in6{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (auto socket = bound(six); socket.exists()) return socket;
  auto four = sockaddr_in{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return bound(four);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Socket::set_patience(std::chrono::milliseconds patience) {
  auto const limit = timeval{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool Socket::send(std::string const& bytes) const {
  for (auto sent = std::size_t{0}; sent < bytes.size();) {
    auto const count = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<std::string> Socket::receive(std::size_t count) const {
  auto bytes = std::string(count, '\0');
  for (auto received = std::size_t{0}; received < count;) {
    auto const part = ::recv(descriptor_, bytes.data() + received, count - received, 0);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return std::nullopt;
    received += static_cast<std::size_t>(part);
  }
  return bytes;
}

Socket Socket::accept() const {
  return Socket{::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC)};
}

std::string Socket::own_address() const {
  auto address = sockaddr_storage{};
  auto size = socklen_t{sizeof address};
  auto text = std::array<char, NI_MAXHOST>{};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(descriptor_, generic, &size) != 0 ||
      ::getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

Socket listen_at(std::string const& port) {
  auto number = std::uint16_t{0};
  std::from_chars(port.data(), port.data() + port.size(), number);
  auto socket = bound(number);
  constexpr auto kBacklog = 1024;
  if (socket.exists() && ::listen(socket.descriptor(), kBacklog) == 0) return socket;
  throw InputError{fmt::format("port {}: process 0 cannot listen there: {}; set MASTER_PORT to a free one", port,
                               std::strerror(errno))};
}

Socket connect_to(std::string const& address, std::string const& port, std::chrono::milliseconds patience) {
  constexpr auto kPause = std::chrono::milliseconds{20};
  auto const give_up = std::chrono::steady_clock::now() + patience;
  do {
    auto const found = resolve(address, port);
    for (auto const* at = found.get(); at != nullptr; at = at->ai_next) {
      auto socket = Socket{::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
      if (!socket.exists()) continue;
      socket.set_patience(patience);  // which also bounds the connecting
      auto const on = 1;
      ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (::connect(socket.descriptor(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    }
    std::this_thread::sleep_for(kPause);
  } while (std::chrono::steady_clock::now() < give_up);
  return {};
}

}  // namespace twinstep::cpu
