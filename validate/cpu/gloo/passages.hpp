#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <memory>
#include <vector>

namespace twinstep::cpu {

/// Stretches of memory on their way to and from the other places of a context. All are posted before any is waited for,
/// so that no order of theirs can make places wait for each other.
class Passages {
 public:
  Passages(gloo::Context& context, std::chrono::milliseconds patience) : context_{context}, patience_{patience} {}

  /// `slot` tells apart what is under way between two places at one time; both sides give the same. Memory must stay
  /// until `wait`. Both sides know the size: what is empty is not sent.
  void send(void const* memory, std::size_t bytes, std::size_t to, std::uint64_t slot);
  void receive(void* memory, std::size_t bytes, std::size_t from, std::uint64_t slot);

  /// How many were posted.
  [[nodiscard]] std::size_t count() const { return under_way_.size(); }
  /// Waits for number `index`. Throws gloo::IoException if its peer is lost or it takes longer than `patience`.
  void wait(std::size_t index);
  /// Waits for all that have not been waited for.
  void wait();

 private:
  struct Passage {
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;  // none if it is empty or over
    bool sends = false;
  };
  gloo::Context& context_;
  std::chrono::milliseconds patience_;
  std::vector<Passage> under_way_;
};

}  // namespace twinstep::cpu
