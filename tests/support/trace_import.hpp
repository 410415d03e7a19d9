#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::tests {

/// An arrow as a viewer draws it: between the slices that its ends bind to.
struct Arrow {
  std::string from;  ///< names
  std::string to;
  bool operator==(Arrow const&) const = default;
};

/// What a viewer makes of a trace.
struct ImportedTrace {
  std::vector<std::string> complaints;  ///< what it drops or cannot show, with why
  std::vector<Arrow> arrows;
};

/// Reads a Chrome trace by Perfetto's rules (google/perfetto, src/trace_processor/importers: json/
/// json_trace_parser_impl.cc, common/slice_tracker.cc and flow_tracker.cc): events count in the order of their times,
/// those of one moment in the order of the file; slices of a thread nest or are apart, in whole nanoseconds; an arrow's
/// ends bind to the slice that is open on their thread, and its begin comes before its end; a counter's values are
/// numbers. Beyond what Perfetto asks: a counter's events stand in the order of their times, and rows have names.
[[nodiscard]] ImportedTrace import_trace(io::Node const& document);

}  // namespace twinstep::tests
