#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "hw_profiles/resolve.hpp"
#include "sim/hardware/sourced.hpp"
#include "sim/io/document.hpp"
#include "sim/io/maker.hpp"
#include "sim/io/quantity.hpp"

/// The numbers of profiles: what each kind of number must be, and how one is read with its source.
namespace twinstep::hw_profiles {

// What a number must be; each returns it, or fails at its node. The bounds leave every machine room that is or could be
// built; between them no product of a few numbers leaves what doubles and the simulated clock hold.
[[nodiscard]] double positive_number(io::Node const& node);
[[nodiscard]] double number_from_zero(io::Node const& node);
[[nodiscard]] double oversubscription(io::Node const& node);    ///< 1 where nothing is
[[nodiscard]] double fraction(io::Node const& node);            ///< above 0 and up to 1
[[nodiscard]] double fraction_from_zero(io::Node const& node);  ///< 0 for "does not have it"
[[nodiscard]] std::int64_t count(io::Node const& node);
[[nodiscard]] std::int64_t count_in_node(io::Node const& node);
[[nodiscard]] Bytes size(io::Node const& node);
[[nodiscard]] Bytes capacity(io::Node const& node);  ///< a size above zero
[[nodiscard]] Duration duration(io::Node const& node);
[[nodiscard]] BytesPerSecond bandwidth(io::Node const& node);
[[nodiscard]] FlopsPerSecond flop_rate(io::Node const& node);
[[nodiscard]] std::int64_t index(io::Node const& node);  ///< 0 for the first

/// What stands at the place of a number: itself, or its "value".
[[nodiscard]] io::Node value_of(io::Node const& number);
/// Why to believe a number of a resolved document.
[[nodiscard]] hardware::Provenance read_provenance(Resolved const& resolved, io::Node const& number);

/// A number that is written {"value": …, "basis": …, "source": …}, or by itself in a scenario: read by `must_be`, with
/// its provenance, the profile's or the scenario's that changed it. Throws InputError for a profile's number without a
/// source.
template <class T>
hardware::Sourced<T> read_sourced(Resolved const& resolved, io::Node const& number, T (*must_be)(io::Node const&)) {
  auto const value = must_be(value_of(number));
  auto provenance = read_provenance(resolved, number);
  return {value, provenance.basis, std::move(provenance.source)};
}

// Numbers as documents have them.

[[nodiscard]] inline io::Node to_document(io::Maker const& make, double number) {
  return make.number(number);
}
[[nodiscard]] inline io::Node to_document(io::Maker const& make, std::int64_t number) {
  return make.number(number);
}
template <class Tag, class Rep>
io::Node to_document(io::Maker const& make, Quantity<Tag, Rep> quantity) {
  return make.text(io::quantity_text(quantity));
}
[[nodiscard]] io::Node with_source(io::Maker const& make, io::Node const& value, hardware::Basis basis,
                                   std::string_view source);
template <class T>
io::Node to_document(io::Maker const& make, hardware::Sourced<T> const& number) {
  return with_source(make, to_document(make, number.value), number.basis, number.source);
}

}  // namespace twinstep::hw_profiles
