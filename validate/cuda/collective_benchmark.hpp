#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "validate/cuda/connection.hpp"
#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// A sweep as nccl-tests makes it: sizes from `smallest` to `largest`, each `factor` times the one before.
struct BenchmarkOptions {
  CollectiveKind kind{};
  Bytes smallest{8};
  Bytes largest{128 << 20};
  std::int64_t factor = 2;  ///< at least 2
  int iterations = 20;      ///< above zero
  int warm_up = 5;
};

struct BenchmarkTiming {
  Duration time;           ///< of one call: the mean of all iterations on the slowest local rank
  std::int64_t wrong = 0;  ///< elements of local ranks that differ from what the collective means
};

struct BenchmarkRow {
  Bytes size;  ///< the large side, cut to what the ranks can share
  std::int64_t count = 0;
  BenchmarkTiming out_of_place;
  std::optional<BenchmarkTiming> in_place;  ///< nothing for all_to_all, which cannot be in place
};

/// Runs the sweep on connected ranks and hands over each row as it is done. Sizes too small to be shared are left out.
///
/// Each half of a row: warm up, time `iterations` launches between two events, then fill the buffers with known values,
/// run once more and compare every element. Conventions of sizes and counts: nccl-tests, doc/PERFORMANCE.md and
/// src/*.cu. Throws DeviceError.
void run_benchmark(DeviceApi& device, Connection const& connection, BenchmarkOptions const& options,
                   std::function<void(BenchmarkRow const&)> const& take);

}  // namespace twinstep::cuda
