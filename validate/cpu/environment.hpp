#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/fresh_buffer.hpp"
#include "sim/program/step_program.hpp"
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
  /// Requires fp32, fp64 or int32, and elements >= 0.
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

/// What the ranks remember between steps: their persistent buffers, and how many steps they have made.
///
/// The initialiser fills each persistent buffer once, when a program first needs it, and every other buffer of
/// category `inputs` before each step, because inputs come from outside the step. What it leaves NaN counts as never
/// written. It is never called twice at once.
/// All other buffers begin as `fresh` says; NaN shows what was never written, and takes a measurement's time.
class Environment {
 public:
  explicit Environment(program::Initialiser initialise = {}, Fresh fresh = Fresh::kPoisoned)
      : initialise_{std::move(initialise)}, fresh_{fresh} {}

  /// Steps that ended well; AdamW's bias correction in the next one counts one more.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Whether `rank` holds a persistent buffer of that name and scope.
  [[nodiscard]] bool holds(RankId rank, std::string_view name, std::string_view scope) const;
  /// The numbers of a persistent buffer. This and the next two throw InputError if `rank` holds none of that name and
  /// scope.
  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope) const;
  /// `count` of them from `first` on. Requires that they lie inside the buffer.
  [[nodiscard]] std::vector<double> read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                         std::size_t count) const;
  /// Overwrites a persistent buffer that exists. Requires as many values as it has elements.
  void write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values);

  /// For the executor: the persistent buffer, made and filled if it is new. Throws InputError if an earlier step knew
  /// it with another size or type.
  [[nodiscard]] Numbers persistent(program::StepProgram const& program, program::Buffer const& buffer, RankId rank);
  /// For the executor: fills `numbers`, which stand for `buffer`, by the initialiser.
  void fill(program::StepProgram const& program, program::Buffer const& buffer, RankId rank, Numbers numbers);
  /// For the executor: where buffers of `rank` that live inside a step have their memory from, and what is in it.
  [[nodiscard]] StoragePool& pool(RankId rank) { return pools_[rank]; }
  [[nodiscard]] Fresh fresh() const { return fresh_; }
  /// For the executor: one more step ended well.
  void count_step();

 private:
  using Key = std::pair<std::string, std::string>;  // scope, name
  [[nodiscard]] Numbers find(RankId rank, std::string_view name, std::string_view scope) const;

  program::Initialiser initialise_;
  Fresh fresh_;
  std::map<RankId, StoragePool> pools_;
  std::mutex initialising_;
  mutable std::map<RankId, std::map<Key, Storage>> memories_;  // Numbers, like pointers, do not carry const
  std::int64_t steps_ = 0;
};

}  // namespace twinstep::cpu
