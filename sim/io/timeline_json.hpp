#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "sim/timeline/timeline.hpp"

/// Timelines as files. A timeline file is a Chrome trace (the Trace Event Format, JSON object form) in the words of
/// PyTorch's profiler (pytorch/kineto, libkineto/src/output_json.cpp), so Perfetto, chrome://tracing and what is made
/// for such traces open it:
///   - every span is a complete event, "ph": "X": "ts" is its start and "dur" its length, microseconds with three
///     decimals, a nanosecond short so that spans which touch do not overlap in a viewer; "pid" is its track and "tid"
///     its stream, both counted from 1 because viewers treat 0 apart; thread 1 is the host, stream s is thread s + 2.
///     "cat" is "kernel", "gpu_memcpy" or "cpu_op"; "args" has the kind of work, "device" (the track) and "stream",
///     counted from 0, the op as "correlation", the scope as a text, its unit, pass and micro-batch, the four times in
///     picoseconds, a copy's "bytes", and a communication's "Collective name", "dtype" (always "Byte") and "In msg
///     nelems" or "Out msg nelems" or both;
///   - each track's step is the "user_annotation" ProfilerStep#0 on the host's thread;
///   - metadata events, "ph": "M", name tracks by rank, how many are alike, and role, and sort them and their streams;
///   - an arrow, "ph": "s" and "f" with one "id", goes from the moment at which the host issued a communication, an
///     event "issue" of "cuda_runtime" that takes no time, to its start;
///   - counter events, "ph": "C", show the memory that a rank holds, by category, and what it sends inside its node
///     and over NICs (`link_rates`);
///   - the key "twinstep", which viewers skip, holds the rest of the timeline.
namespace twinstep::io {

/// The same timeline always gives the same text. Cost: linear.
[[nodiscard]] std::string to_json(timeline::Timeline const& timeline);

/// Reads what `to_json` writes; the result equals the timeline that was written. Events of other kinds are skipped.
/// Throws InputError with the place for anything else, and for spans whose times are out of order.
[[nodiscard]] timeline::Timeline read_timeline(Node const& document);

/// How fast one rank of a track sends from a moment on, bytes a second.
struct LinkRates {
  timeline::TrackId track;
  Time time;
  double intra = 0;  ///< to other ranks of its node
  double inter = 0;  ///< to other nodes, over its NIC
};

/// Each moment at which the traffic of a track changes, with the rates after it, in the order of tracks and times.
/// Over time, and times the ranks that the track stands for, they sum up to the traffic's bytes. Payload: protocol
/// overhead left out. Nothing for a timeline without traffic. Cost: n log n in the traffic, times how much of it is in
/// flight at once.
[[nodiscard]] std::vector<LinkRates> link_rates(timeline::Timeline const& timeline);

}  // namespace twinstep::io
