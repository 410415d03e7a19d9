#pragma once

#include <string>

/// Compressed files: the only place that knows zlib.
namespace twinstep::records {

/// `text` itself, or what it was before gzip compressed it. `name` is what messages call it. Throws InputError where a
/// text that begins like gzip's is damaged, cut off, or larger than 2 GiB.
[[nodiscard]] std::string unzipped(std::string const& name, std::string text);

}  // namespace twinstep::records
