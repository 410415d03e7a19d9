#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/fresh_buffer.hpp"
#include "sim/program/step_program.hpp"
#include "validate/cuda/connection.hpp"

namespace twinstep::cuda {

/// What the ranks of this process remember between steps: their persistent buffers, and how many steps they have made.
///
/// The initialiser fills each persistent buffer once, when a program first needs it, and every buffer of category
/// `inputs` before each step. Without one, optimizer states are zeros and all else is small noise: the power that a GPU
/// draws, and so its clock, depends on the numbers that it multiplies.
class Environment {
 public:
  /// Keeps references to both, and must not outlive them.
  explicit Environment(DeviceApi& device, Ranks const& ranks, program::Initialiser initialise = {})
      : device_{device}, ranks_{ranks}, initialise_{std::move(initialise)} {}

  /// Steps that ended well; AdamW's bias correction in the next one counts one more.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] bool holds(RankId rank, std::string_view name, std::string_view scope) const;
  /// The numbers of a persistent buffer of a rank of this process. Throws InputError if it holds none of that name.
  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope) const;
  /// `count` of them from `first` on. Requires that they lie inside the buffer.
  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                         std::size_t count) const;
  /// Overwrites it. Requires as many values as it has elements.
  void write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values);
  /// Gives all memory back, for a program of another shape.
  void clear();

  /// For the executor: where the persistent buffer lies, made and filled if it is new. Throws InputError if an earlier
  /// step knew it with another size, type or space.
  [[nodiscard]] void* persistent(program::StepProgram const& program, program::Buffer const& buffer, RankId rank);
  /// For the executor: fills the memory `to` of `buffer` by the initialiser.
  void fill(program::StepProgram const& program, program::Buffer const& buffer, RankId rank, void* to);
  /// For the executor: one more step ended well.
  void count_step() { ++steps_; }

 private:
  struct Held {
    std::unique_ptr<DeviceMemory> memory;
    std::int64_t elements = 0;
    DataType type{};
    program::MemorySpace space{};
  };
  using Key = std::tuple<RankId, std::string, std::string>;  // rank, scope, name
  [[nodiscard]] int device_of(RankId rank) const;
  [[nodiscard]] Held const& find(RankId rank, std::string_view name, std::string_view scope) const;
  void copy_and_wait(RankId rank, void* to, void const* from, Bytes size) const;
  void fill_with_noise(RankId rank, std::byte* to, std::int64_t elements, DataType type);

  DeviceApi& device_;
  Ranks ranks_;
  program::Initialiser initialise_;
  mutable std::mutex mutex_;  // ranks are threads
  std::map<Key, Held> held_;
  std::int64_t steps_ = 0;
};

}  // namespace twinstep::cuda
