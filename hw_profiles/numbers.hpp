#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "hw_profiles/resolve.hpp"
#include "sim/hardware/sourced.hpp"
#include "sim/io/document.hpp"

/// The numbers of profiles: what each kind of number must be, and how one is read with its source.
namespace twinstep::hw_profiles {

// What a number must be; each returns it, or fails at its node. The bounds leave every machine room that is or could be
// built; between them no product of a few numbers leaves what doubles and the simulated clock hold.
[[nodiscard]] double positive_number(io::Node const& node);
[[nodiscard]] double number_from_zero(io::Node const& node);
[[nodiscard]] double fraction(io::Node const& node);            ///< above 0 and up to 1
[[nodiscard]] double fraction_from_zero(io::Node const& node);  ///< 0 for "does not have it"
[[nodiscard]] std::int64_t count(io::Node const& node);
[[nodiscard]] std::int64_t count_in_node(io::Node const& node);
[[nodiscard]] Bytes size(io::Node const& node);
[[nodiscard]] Bytes capacity(io::Node const& node);  ///< a size above zero
[[nodiscard]] Duration duration(io::Node const& node);
[[nodiscard]] BytesPerSecond bandwidth(io::Node const& node);
[[nodiscard]] FlopsPerSecond flop_rate(io::Node const& node);

[[nodiscard]] std::string text(io::Node const& parent, std::string_view key);
[[nodiscard]] std::string optional_text(io::Node const& parent, std::string_view key);

/// Reads numbers of a resolved document together with why to believe them.
class NumberReader {
 public:
  explicit NumberReader(Resolved const& resolved) : resolved_{resolved} {}

  /// The number under `key`, read by `read`, and its provenance: the profile's, or the scenario that changed it.
  template <class Read>
  auto sourced(io::Node const& parent, std::string_view key, Read read) const {
    auto result = hardware::Sourced<decltype(read(parent))>{};
    auto const node = parent.at(key);
    if (node.is(io::Node::Type::kObject)) {
      node.allow_only({"value", "basis", "source", "spread"});
      auto const value = node.at("value");
      result.value = read(value);
      if (is_change(node, value)) {
        result.basis = hardware::Basis::kScenario;
        result.source = "scenario";
      } else {
        result.basis = node.at("basis").word<hardware::Basis>();
        result.source = node.at("source").string();
        if (result.source.empty())
          node.at("source").fail("found an empty source, expected where the number comes from", "name the page or run");
      }
      return result;
    }
    result.value = read(node);
    if (resolved_.is_in_profile(node))
      node.fail("found a number without its source, expected {\"value\": …, \"basis\": …, \"source\": …}",
                "say where it comes from");
    result.basis = hardware::Basis::kScenario;
    result.source = "scenario";
    return result;
  }

  /// The same, or nothing without the key: what is not known, or not there.
  template <class Read>
  auto optional(io::Node const& parent, std::string_view key, Read read) const {
    return parent.find(key) ? std::optional{sourced(parent, key, read)} : std::nullopt;
  }

  std::int64_t counted(io::Node const& parent, std::string_view key, hardware::Provenance& from,
                       std::int64_t (*read)(io::Node const&) = count) const {
    auto number = sourced(parent, key, read);
    from = {number.basis, std::move(number.source)};
    return number.value;
  }

 protected:
  [[nodiscard]] Resolved const& resolved() const { return resolved_; }

 private:
  /// Whether a scenario set only the value, so that basis and source are still those of the old one, or none.
  bool is_change(io::Node const& number, io::Node const& value) const {
    if (resolved_.is_in_profile(value)) return false;
    auto const source = number.find("source");
    return !source || resolved_.is_in_profile(*source);
  }

  Resolved const& resolved_;
};

}  // namespace twinstep::hw_profiles
