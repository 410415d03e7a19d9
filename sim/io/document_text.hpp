#pragma once

#include <string>

#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::io {

/// A document as JSON text with a line end, members in their order. What holds no more than a line is on one line.
/// Reading it gives the same document.
[[nodiscard]] std::string document_text(Node const& document);

/// The same with every member and element on a line of its own, but for numbers with their source. Brackets of what is
/// empty stand on two lines. Hashes of machines are of this text, so that it must not change.
[[nodiscard]] std::string document_lines(Node const& document);

/// The same on one line, however long, without a line end.
[[nodiscard]] std::string document_line(Node const& document);

/// A document as a value of another.
void write(JsonWriter& json, Node const& document);

/// That line cut to a hundred bytes: it leaves room for the rest of a message.
[[nodiscard]] std::string short_line(Node const& document);

}  // namespace twinstep::io
