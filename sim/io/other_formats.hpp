#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/document.hpp"

/// YAML, TOML and command lines as the same documents as JSON, so that what reads them points at files and lines too.
namespace twinstep::io {

/// Parses one YAML document. Plain scalars have the types that PyYAML gives them (`yes` is true, `null` is null), and
/// numbers in scientific notation are numbers. Anchors are followed; merge keys ("<<") are not.
/// Throws InputError for what is not one YAML document, for keys that are no text or stand twice, for nesting deeper
/// than 128, and for more than 64 KiB: configurations are smaller.
[[nodiscard]] Node parse_yaml(Source source);

/// Parses a TOML document; dates and times become text. Throws InputError likewise.
[[nodiscard]] Node parse_toml(Source source);

/// The flags of a command line, of a file of arguments, or of a shell script that puts one together, as one object:
/// "--num-layers 8" is {"num-layers": 8}, a flag alone is true, several values are an array, and "_" is "-". Flags
/// count wherever they are written: in lists, in quoted texts and in every branch; of two the later one is taken, as
/// argparse does, and `warnings` say so. Variables that the text itself sets are replaced; others stay as "${NAME}".
/// Throws InputError for a text that no configuration is.
[[nodiscard]] Node parse_arguments(Source source, std::vector<std::string>& warnings);

/// The largest text of a configuration of another program, of a model's, and of a dump of one node.
inline constexpr auto kLargestConfiguration = std::size_t{64} << 10;
inline constexpr auto kLargestModel = std::size_t{1} << 20;
inline constexpr auto kLargestDump = std::size_t{4} << 20;

/// `text`, which is called `name`. Throws InputError for more than `most` bytes: what is larger is something else, and
/// reading it would take a multiple of that.
std::string_view no_larger(std::string const& name, std::string_view text, std::size_t most);

}  // namespace twinstep::io
