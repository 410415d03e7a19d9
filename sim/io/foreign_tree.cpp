#include "sim/io/foreign_tree.hpp"

#include <fmt/core.h>

#include "sim/base/input_error.hpp"
#include "sim/io/other_formats.hpp"

namespace twinstep::io {
namespace {

constexpr std::size_t kMostValues = 100'000;  ///< aliases of aliases multiply

}  // namespace

std::string_view no_larger(std::string const& name, std::string_view text, std::size_t most) {
  if (text.size() > most)
    throw InputError{fmt::format("{}: found {} bytes, expected at most {} of such a file; check the path",
                                 one_line(name), text.size(), most)};
  return text;
}

ForeignTree::ForeignTree(Source source, std::string_view format)
    : source_{std::make_shared<Source const>(std::move(source))}, format_{format} {
  if (auto const zero = text().find('\0'); zero != std::string::npos)
    refuse(zero, "found a zero byte, expected text", "save the file as UTF-8 text");
  if (text().size() > kLargestConfiguration)
    refuse(0,
           fmt::format("found {} bytes of {}, expected a configuration of at most {}", text().size(), format,
                       kLargestConfiguration),
           "check the path");
}

ForeignTree::ValuePtr ForeignTree::make_number(std::size_t offset, double number) {
  return make(offset, Value::Number{number, 0, false});
}

ForeignTree::ValuePtr ForeignTree::make_number(std::size_t offset, std::int64_t number) {
  return make(offset, Value::Number{static_cast<double>(number), number, true});
}

void ForeignTree::check_depth(std::size_t depth, std::size_t offset) const {
  if (depth > kDeepest)
    refuse(offset, fmt::format("found values nested more than {} deep, expected fewer", kDeepest),
           "no configuration nests so deep");
}

void ForeignTree::count(std::size_t offset) {
  if (++values_ > kMostValues)
    refuse(offset, fmt::format("found more than {} values, expected fewer", kMostValues),
           "no configuration has so many");
}

void ForeignTree::refuse(std::size_t offset, std::string_view found, std::string_view way_out) const {
  throw InputError{fmt::format("{}{}; {}", place_of(*source_, std::min(offset, text().size())), found, way_out)};
}

void ForeignTree::refuse_syntax(std::size_t offset, std::string_view complaint) const {
  constexpr std::size_t kLongest = 120;
  refuse(offset, fmt::format("found what is no {} ({})", format_, one_line(complaint.substr(0, kLongest))),
         "mend it, or check the path");
}

}  // namespace twinstep::io
