#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/io/document.hpp"
#include "sim/program/operation.hpp"

namespace twinstep::validate {

/// One kernel or copy as it was measured on one device, many times.
///
/// In JSON, as `twinstep measure compute|copy --json` writes an array of them:
///   {"measurement": "gemm", "device": "NVIDIA H200", "dtype": "bf16", "m": 4096, "n": 4096, "k": 4096,
///    "time_us": 190.1, "low_us": 189.2, "high_us": 193.0, "repetitions": 50, "backend": "nccl", "date": "2026-11-30"}
///   {"measurement": "attention", …, "batch", "heads", "kv_heads", "query_length", "key_length", "head_size", "causal",
///    "backward"}
///   {"measurement": "elementwise", …, "elements", "bytes_per_element"}            memory bandwidth
///   {"measurement": "copy", …, "direction": "host_to_device", "bytes"}
///   {"measurement": "launch", …, "launches"}                                       host time of that many empty
///   kernels
/// `beside` names the collective that ran at the same time, for the slowdown that it causes: "all_reduce".
struct KernelRecord {
  std::string device;
  std::string backend;
  std::optional<program::Work> work;  ///< nothing for launches
  std::int64_t launches = 0;
  Seconds time;  ///< the median
  Seconds low;   ///< a tenth of the repetitions took less
  Seconds high;  ///< … and a tenth more
  std::int64_t repetitions = 1;
  std::string beside;
};

/// Reads a JSON array of them. Throws InputError where one is incomplete or has a time that is none.
[[nodiscard]] std::vector<KernelRecord> read_kernel_records(io::Node const& document);

}  // namespace twinstep::validate
