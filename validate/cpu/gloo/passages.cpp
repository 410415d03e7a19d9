#include "validate/cpu/gloo/passages.hpp"

namespace twinstep::cpu {

void Passages::send(void const* memory, std::size_t bytes, std::size_t to, std::uint64_t slot) {
  auto& passage = under_way_.emplace_back();
  passage.sends = true;
  if (bytes == 0) return;
  passage.buffer = context_.createUnboundBuffer(const_cast<void*>(memory), bytes);  // it is only read
  passage.buffer->send(static_cast<int>(to), slot);
}

void Passages::receive(void* memory, std::size_t bytes, std::size_t from, std::uint64_t slot) {
  auto& passage = under_way_.emplace_back();
  if (bytes == 0) return;
  passage.buffer = context_.createUnboundBuffer(memory, bytes);
  passage.buffer->recv(static_cast<int>(from), slot);
}

void Passages::wait(std::size_t index) {
  auto& passage = under_way_[index];
  if (!passage.buffer) return;
  if (passage.sends)
    passage.buffer->waitSend(patience_);
  else
    passage.buffer->waitRecv(patience_);
  passage.buffer.reset();
}

void Passages::wait() {
  for (std::size_t i = 0; i < under_way_.size(); ++i) wait(i);
}

}  // namespace twinstep::cpu
