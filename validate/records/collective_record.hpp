#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/library.hpp"
#include "sim/io/document.hpp"
#include "validate/records/measured_kind.hpp"

namespace twinstep::validate {

struct MeasuredPoint {
  Bytes size;  ///< the large side, as nccl-tests prints it
  Seconds time;
  bool is_outlier = false;  ///< the record says that it is not to be believed
  /// What else the record says of this size: its own two bandwidths, and the time with one buffer for both sides.
  std::optional<BytesPerSecond> algorithm_bandwidth = std::nullopt;
  std::optional<BytesPerSecond> bus_bandwidth = std::nullopt;
  std::optional<Seconds> in_place = std::nullopt;
  bool operator==(MeasuredPoint const&) const = default;
};

/// One sweep of one collective on one machine.
struct CollectiveRecord {
  std::string id;
  std::string system;  ///< whose machine: records of one system share it
  MeasuredKind kind = CollectiveKind::kAllReduce;
  std::int64_t ranks = 1;
  std::string device;   ///< of a rank, as its source names it: "NVIDIA H100 80GB HBM3"; "" if the record does not say
  std::string library;  ///< "nccl", "rccl", or what else the tool says
  std::string version;  ///< of the library; "" if the record does not say
  std::map<std::string, std::string> environment;
  hardware::Launcher launcher = hardware::Launcher::kProcessPerGpu;
  DataType type = DataType::kFp32;
  std::string health;
  std::vector<MeasuredPoint> points;
  std::optional<io::Node> cluster;  ///< the physical facts of the machine

  [[nodiscard]] bool is_healthy() const { return health.starts_with("healthy"); }
};

/// The points that its record does not call outliers.
[[nodiscard]] std::vector<MeasuredPoint> believed(CollectiveRecord const& record);

/// "2.19.3" of "NCCL 2.19.3+cuda12.2"; "" where the text begins with no version of NCCL.
[[nodiscard]] std::string nccl_version_in(std::string const& text);

/// Reads a JSON array of records, as `twinstep import nccl-tests` writes one: "id", "system", "collective", "ranks",
/// "rows" of [size_bytes, time_us, …], and where known "gpu" or "device", "nccl_version", "env", "tool", "notes",
/// "health", "dtype", "outlier_sizes", "cluster". Throws InputError where a record is incomplete or contradicts itself.
///
/// A record does not name its launcher. A Python tool is one; "1 process x 8 GPUs" in its notes is one process; so is,
/// for want of better, a single node that is not a full NVSwitch server, since nccl-tests is run without MPI there.
[[nodiscard]] std::vector<CollectiveRecord> read_collective_records(io::Node const& document);

}  // namespace twinstep::validate
