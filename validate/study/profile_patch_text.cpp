#include <cmath>

#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/cluster_document.hpp"
#include "hw_profiles/numbers.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/outputs.hpp"
#include "validate/study/calibration.hpp"

namespace twinstep::study {
namespace {

using hardware::Basis;
using io::Maker;
using io::Node;

/// The document that the overrides are put into.
Node base_document(CalibratedProfile const& profile, std::string const& out, Maker const& make) {
  if (profile.base.starts_with('{')) return hw_profiles::cluster_document(profile.before);
  auto named = profile.base;
  if (!hw_profiles::find_name(hw_profiles::Kind::kCluster, named)) named = io::named_from(out, named);
  return make.object({{"$schema", make.text("cluster.schema.json")}, {"profile", make.text(named)}});
}

/// To four digits.
double rounded(double value) {
  if (value == 0) return 0;
  auto const digits = 3 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  auto const scale = std::pow(10.0, std::abs(digits));
  return digits >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

/// A value in its unit, as profiles spell it: four digits, and sizes in whole bytes.
Node value_in_unit(Maker const& make, double value, std::string const& unit) {
  if (unit.empty()) return make.number(rounded(value));
  if (unit == "KiB") return make.text(fmt::format("{} B", std::llround(value * 1024)));
  return make.text(fmt::format("{:.4g} {}", value, unit));
}

Node fitted(Maker const& make, validate::FittedNumber const& number, validate::ProfilePatch const& patch) {
  auto const source = fmt::format("twinstep calibrate, {}: {} measured points decide it (data SHA-256 {})", patch.date,
                                  number.points, patch.data_hash.substr(0, 16));
  return make.object({{"value", value_in_unit(make, number.value, number.unit)},
                      {"basis", make.text(name_of(Basis::kFitted))},
                      {"source", make.text(source)},
                      {"spread", value_in_unit(make, (number.high - number.low) / 2, number.unit)}});
}

Node band(Maker const& make, hardware::ErrorBand const& its) {
  auto const factor = [&](hardware::Sourced<double> const& number) {
    return hw_profiles::with_source(make, make.number(rounded(number.value)), Basis::kFitted, number.source);
  };
  return make.object({{"low", factor(its.low)}, {"high", factor(its.high)}});
}

Node list(Maker const& make, std::vector<std::string> const& texts) {
  auto elements = std::vector<Node>{};
  for (auto const& each : texts) elements.push_back(make.text(each));
  return make.array(elements);
}

}  // namespace

std::string profile_patch_text(CalibratedProfile const& profile, std::string const& out) {
  auto const make = Maker{"profile"};
  auto document = base_document(profile, out, make);
  auto const set = [&](std::string_view path, Node const& value) { document = io::with_value(document, path, value); };
  constexpr auto kAttention = std::string_view{"node.gpu.efficiency.attention_"};
  auto const& name = profile.before.name;
  constexpr auto kSuffix = std::string_view{"-calibrated"};
  set("name", make.text(name.ends_with(kSuffix) ? name : name + std::string{kSuffix}));
  for (auto const& number : profile.patch.numbers) {
    if (!number.left_out.empty()) continue;
    set(number.path, fitted(make, number, profile.patch));
    // What was fitted is the attention of this machine's software, whatever its name.
    if (number.path.starts_with(kAttention)) set("node.gpu.efficiency.attention_kernels", make.null());
  }
  if (!profile.sweeps.empty()) set("library.calibrations", hw_profiles::calibrations_document(profile.sweeps));
  if (!profile.systems.empty()) set("library.fitted_on", list(make, profile.systems));
  if (profile.step_error) set("step_error", band(make, *profile.step_error));
  set("calibration", make.text(profile.calibration));
  return io::document_text(document);
}

}  // namespace twinstep::study
