#pragma once

#include "sim/io/document.hpp"

/// YAML and TOML as the same documents as JSON, so that what reads them points at files and lines too.
namespace twinstep::io {

/// Parses one YAML document. Plain scalars have the types that PyYAML gives them (`yes` is true, `null` is null), and
/// numbers in scientific notation are numbers. Anchors are followed; merge keys ("<<") are not.
/// Throws InputError for what is not one YAML document, for keys that are no text or stand twice, for nesting deeper
/// than 128, and for more than 64 KiB: configurations are smaller.
[[nodiscard]] Node parse_yaml(Source source);

/// Parses a TOML document; dates and times become text. Throws InputError likewise.
[[nodiscard]] Node parse_toml(Source source);

}  // namespace twinstep::io
