#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"

/// Compressed files: the only place that knows zlib.
namespace twinstep::records {

/// `text` itself, or what it was before gzip compressed it. `name` is what messages call it. Throws InputError where a
/// text that begins like gzip's is damaged, cut off, or larger than 2 GiB.
[[nodiscard]] std::string unzipped(std::string const& name, std::string text);

/// A file, or files, unzipped. Throw InputError where one cannot be read.
[[nodiscard]] io::Source read_file(std::string const& path);
[[nodiscard]] std::vector<io::Source> read_files(std::vector<std::string> const& paths);

}  // namespace twinstep::records
