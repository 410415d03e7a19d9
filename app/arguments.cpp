#include "app/arguments.hpp"

#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/change.hpp"
#include "sim/io/maker.hpp"

namespace twinstep::app {
namespace {

Bytes read_size(std::string_view option, std::string const& text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  auto number = std::int64_t{0};
  auto const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, number);
  auto unit = std::size_t{0};  // powers of 1024
  auto is_right = error == std::errc{} && number > 0 && number <= kMost;
  if (is_right && rest != end) {
    auto const found = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*rest))));
    is_right = rest + 1 == end && found != std::string_view::npos;
    unit = is_right ? found + 1 : 0;
  }
  if (is_right) is_right = number <= kMost >> (10 * unit);
  if (!is_right)
    throw InputError{
        fmt::format("{}: found {}, expected a size above zero and up to 1024T; write it as 8, 64K, 128M or 16G", option,
                    twinstep::quoted(text))};
  return Bytes{number << (10 * unit)};
}

}  // namespace

std::pair<Bytes, Bytes> read_sizes(std::string const& smallest, std::string const& largest) {
  auto const sizes = std::pair{read_size("-b", smallest), read_size("-e", largest)};
  if (sizes.first > sizes.second)
    throw InputError{
        fmt::format("-b {}: found more than -e {}, expected the smaller size first; exchange them", smallest, largest)};
  return sizes;
}

hardware::Cluster read_machine(std::string const& cluster, std::vector<std::string> const& settings) {
  constexpr auto kName = "CLUSTER";
  auto const named = cluster.starts_with('{') ? io::parse({kName, cluster, false}) : io::string_node(cluster, kName);
  auto document = io::Maker{kName}.object({{"cluster", named}});
  for (auto const& change : io::read_changes("--set", settings)) document = io::with_change(document, change);
  return hw_profiles::read_cluster(document.at("cluster"));
}

}  // namespace twinstep::app
