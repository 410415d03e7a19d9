#pragma once

#include <string>

#include "sim/io/document.hpp"
#include "sim/timeline/timeline.hpp"

/// Timelines as files. A timeline file is a Chrome trace (the Trace Event Format, JSON object form), so Perfetto and
/// chrome://tracing open it:
///   - every span is a complete event, "ph": "X": "ts" is its start and "dur" its length, microseconds with three
///     decimals, a nanosecond short so that spans which touch do not overlap in a viewer; "pid" is its track and "tid"
///     its stream, both counted from 1 because viewers treat 0 apart; thread 1 is the host, stream s is thread s + 2.
///     "cat" is the kind of work; "args" has the four times in picoseconds, the op, the scope, the bytes, and, for a
///     collective, "Collective name", as PyTorch's profiler writes it;
///   - metadata events, "ph": "M", name and sort tracks and streams;
///   - counter events, "ph": "C", show the memory held, by category;
///   - the key "twinstep", which viewers skip, holds the rest of the timeline.
namespace twinstep::io {

/// The same timeline always gives the same text. Cost: linear.
[[nodiscard]] std::string to_json(timeline::Timeline const& timeline);

/// Reads what `to_json` writes; the result equals the timeline that was written. Events of other kinds are skipped.
/// Throws InputError with the place for anything else, and for spans whose times are out of order.
[[nodiscard]] timeline::Timeline read_timeline(Node const& document);

}  // namespace twinstep::io
