#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/memory.hpp"
#include "sim/timeline/timeline.hpp"

/// Two timelines side by side, whoever made them: predicted beside measured, or one plan beside another. Times are
/// those that every clock sees: from `arrive` to `end`.
namespace twinstep::reports {

/// One value in both timelines.
template <class Quantity>
struct Pair {
  Quantity a{};
  Quantity b{};
  bool operator==(Pair const&) const = default;

  [[nodiscard]] Quantity difference() const { return b - a; }
  /// b / a; none where a is zero.
  [[nodiscard]] std::optional<double> ratio() const {
    if (a == Quantity{}) return {};
    return static_cast<double>(b.count()) / static_cast<double>(a.count());
  }
};

/// Time of all spans of one kind of work, summed over the compared tracks.
struct KindDifference {
  program::WorkKind kind{};
  Pair<Duration> time;
  Pair<std::int64_t> spans;  ///< how many there are; use a and b only
};

/// One operation in both timelines.
struct SpanDifference {
  std::string role;
  std::string what;             ///< "layer.17.backward/mlp.up"
  std::int64_t occurrence = 0;  ///< counted from 0 among operations of that name
  program::WorkKind kind{};
  Pair<Duration> time;
};

/// An operation that only one of the timelines has.
struct LoneSpan {
  std::string role;
  std::string what;
  std::int64_t occurrence = 0;
  program::WorkKind kind{};
  Duration time;
};

/// Time of the step that goes into one thing: see `break_down`. A faster step shows here what it does not wait for.
struct ShareDifference {
  std::string name;  ///< "gemm", "exposed_all_gather"
  Pair<Duration> time;
};

struct CategoryDifference {
  program::MemoryCategory category{};
  Pair<Bytes> bytes;
};

struct Comparison {
  timeline::Manifest manifest_a;
  timeline::Manifest manifest_b;
  Pair<Duration> step_time;
  std::vector<ShareDifference> shares;  ///< of the tracks that end last; they add up to the steps; largest change first
  std::vector<KindDifference> kinds;    ///< in the order of the enumeration
  std::vector<SpanDifference> spans;    ///< the largest difference first; ties in the order of the program
  std::vector<LoneSpan> only_a;         ///< in the order of the program
  std::vector<LoneSpan> only_b;
  std::vector<std::string> roles_only_a;
  std::vector<std::string> roles_only_b;
  Pair<Bytes> peak;                        ///< of device memory, each on the track that holds most
  std::vector<CategoryDifference> memory;  ///< at those peaks, in the order of the enumeration
};

/// Compares the tracks of equal role, each timeline's by the one that ends last. If both have a single role, these are
/// compared whatever their names. Operations are matched by scope, name and occurrence. Cost O(spans log spans).
[[nodiscard]] Comparison compare(timeline::Timeline const& a, timeline::Timeline const& b);

/// One JSON document with everything in `comparison`: every matched operation, the largest difference first. Times are
/// in seconds; a ratio is b / a, null where a is zero.
[[nodiscard]] std::string compare_json(Comparison const& comparison);

}  // namespace twinstep::reports
