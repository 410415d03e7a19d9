#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace twinstep::cpu {

/// A TCP socket, closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_{descriptor} {}
  Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  [[nodiscard]] bool exists() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Bounds each wait of the following.
  void set_patience(std::chrono::milliseconds patience);
  /// Whether all of it went.
  [[nodiscard]] bool send(std::string const& bytes) const;
  /// Exactly `count` bytes, or nothing.
  [[nodiscard]] std::optional<std::string> receive(std::size_t count) const;
  /// The next that connects to this listening socket.
  [[nodiscard]] Socket accept() const;
  /// The numeric address of this end.
  [[nodiscard]] std::string own_address() const;

 private:
  int descriptor_ = -1;
};

/// Listens at `port` of all interfaces. Throws InputError if it cannot.
[[nodiscard]] Socket listen_at(std::string const& port);
/// Connects; tries again until `patience` is over, because who listens there may come later. No socket if nobody does.
[[nodiscard]] Socket connect_to(std::string const& address, std::string const& port,
                                std::chrono::milliseconds patience);

}  // namespace twinstep::cpu
