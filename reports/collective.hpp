#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/io/document.hpp"

namespace twinstep::reports {

/// What is predicted of one collective alone on a cluster, size by size.
struct CollectiveSweep {
  /// The busiest link of one kind.
  struct Link {
    std::string kind;
    Bytes bytes;
    double utilisation = 0;  ///< 0 to 1
  };
  struct Row {
    Bytes size;
    Seconds time;
    BytesPerSecond algorithm_bandwidth;  ///< size over time
    BytesPerSecond bus_bandwidth;        ///< that times the collective's factor
    std::string algorithm;
    std::string protocol;
    std::int64_t channels = 1;
    std::optional<Seconds> low;  ///< of the interval in which nine measurements of ten would lie, with `high`
    std::optional<Seconds> high;
    bool is_extrapolated = false;  ///< beyond what a calibrated cluster was measured on
    std::int64_t messages = 0;     ///< 0 unless each was simulated
    std::int64_t events = 0;       ///< likewise
    std::vector<Link> links;
  };
  /// One way of doing it at one size.
  struct Candidate {
    std::string way;  ///< "ring/ll"
    std::optional<std::int64_t> channels;
    std::optional<Duration> believed;   ///< by the library's tuner
    std::optional<Duration> simulated;  ///< by us
    std::string remark;                 ///< "chosen", or why it is off
  };
  /// What was chosen from at a size, and why.
  struct Choice {
    Bytes size;
    std::vector<Candidate> candidates;
    std::string reason;
  };
  std::string collective;
  std::string cluster;
  std::int64_t ranks = 1;
  std::string fidelity;
  std::string library;
  std::string library_version;
  std::string calibration;
  std::vector<Row> rows;
  std::vector<Choice> choices;  ///< where another way is taken than at the size before; only where it was asked
};

/// One JSON document: {"collective", "cluster", "ranks", "fidelity", "library", "library_version", "calibration",
/// "rows"
/// [{"size_bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm", "protocol", "channels", "low_us", "high_us",
/// "extrapolated", "messages", "events", "links"}]}, and the reason of the last choice as "explanation".
[[nodiscard]] std::string collective_json(CollectiveSweep const& sweep);

/// Reads it back, but for the choices. Throws InputError.
[[nodiscard]] CollectiveSweep read_collective(io::Node const& document);

}  // namespace twinstep::reports
