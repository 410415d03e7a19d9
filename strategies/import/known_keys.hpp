#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::strategies {

/// A key that changes a step's time or memory, and that no part of the simulation has.
struct NotModelled {
  std::string_view key;       ///< "zero_optimization.round_robin_gradients"
  std::string_view why;       ///< what is simulated instead, or the way out
  std::string_view harmless;  ///< the value that asks for nothing, beside null, false, 0, "none" and the like
};

/// Every key of a kind of file. Keys are dotted paths in lists with blanks between them; one that names an object
/// stands for all that it holds.
struct KnownKeys {
  std::string_view format;  ///< "a DeepSpeed configuration"
  std::string_view read;
  std::string_view no_matter;  ///< neither time nor memory of a step depends on them
  std::span<NotModelled const> not_modelled;
};

/// Appends a sentence to `warnings` for each key of `document` that matters and is not modelled, and for each that is
/// unknown, in their order. Throws InputError for what is no object, or has no known key at all: another kind of file.
void report_keys(io::Node const& document, KnownKeys const& known, std::vector<std::string>& warnings);

/// Throws InputError for a degree above 1 of a parallelism that is not modelled: "tensor".
void refuse_parallelism(std::optional<io::Node> const& degree, std::string_view kind);

/// "file:line:column: /path: <sentence>".
[[nodiscard]] std::string at_place_of(io::Node const& node, std::string_view sentence);

}  // namespace twinstep::strategies
