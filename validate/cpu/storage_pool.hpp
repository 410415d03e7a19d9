#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "validate/cpu/numbers.hpp"

namespace twinstep::cpu {

/// What a buffer holds before anything is written to it.
enum class Fresh : std::uint8_t {
  kPoisoned,  ///< NaN, so that a result that used what was never written shows it
  kAsLeft     ///< whatever an earlier buffer left, which costs no time
};

/// Memory that the buffers of a rank leave to later ones of the same size, as a caching allocator does.
class StoragePool {
 public:
  /// Requires fp32 or fp64, and elements >= 0.
  [[nodiscard]] Storage take(DataType type, std::int64_t elements, Fresh fresh);
  void give_back(Storage storage);
  /// Frees the memory of sizes that nobody has taken since the last call.
  void end_step();

 private:
  struct Shelf {
    std::vector<Storage> idle;
    bool is_used = false;
  };
  std::mutex mutex_;
  std::map<std::pair<DataType, std::size_t>, Shelf> shelves_;
};

}  // namespace twinstep::cpu
