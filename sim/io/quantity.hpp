#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.hpp"

/// Quantities as text: a number and a unit. Case matters: "b" is a bit and "B" is a byte, "KB" is 1000 bytes and
/// "KiB" is 1024.
///
///     sizes       B, KB, MB, GB, TB, PB, KiB, MiB, GiB, TiB
///     times       ps, ns, us (µs), ms, s, min, h
///     bandwidths  B/s … TB/s, KiB/s … TiB/s, b/s … Tb/s (Gbit/s, Gbps)
///     peaks       FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s (TFLOPS)
///
/// The readers throw InputError without a place: what was found, and what was expected. `io::Node` adds the place.
namespace twinstep::io {

enum class Dimension { kSize, kTime, kBandwidth, kFlopRate };

/// `a memory size such as "80 GB" or "80 GiB"`
[[nodiscard]] std::string_view expectation(Dimension dimension);

/// Refuses negative sizes, parts of a byte, and more than 2^63 bytes.
[[nodiscard]] Bytes read_bytes(std::string_view text);
/// Rounds up to whole picoseconds. Refuses negative times and more than 106 days.
[[nodiscard]] Duration read_duration(std::string_view text);
/// Refuses zero and negative rates.
[[nodiscard]] BytesPerSecond read_bandwidth(std::string_view text);
[[nodiscard]] FlopsPerSecond read_flop_rate(std::string_view text);

/// The shortest text that reads back as exactly this value: "80 GB", "3.35 TB/s".
[[nodiscard]] std::string quantity_text(Bytes size);
[[nodiscard]] std::string quantity_text(Duration time);
[[nodiscard]] std::string quantity_text(BytesPerSecond rate);
[[nodiscard]] std::string quantity_text(FlopsPerSecond rate);

}  // namespace twinstep::io
