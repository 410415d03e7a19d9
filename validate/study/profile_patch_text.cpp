#include "validate/study/profile_patch_text.hpp"

#include <cmath>

#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/writer.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::study {
namespace {

using io::json_string;

/// The document that the overrides are put into.
io::Node base_document(CalibratedProfile const& profile, std::string const& out) {
  if (profile.base.starts_with('{')) return io::parse({"profile", hw_profiles::cluster_text(profile.before)});
  auto named = profile.base;
  if (!hw_profiles::find_name(hw_profiles::Kind::kCluster, named)) named = io::named_from(out, named);
  return io::parse(
      {"profile", fmt::format("{{\"$schema\": \"cluster.schema.json\", \"profile\": {}}}", json_string(named))});
}

/// A value in its unit, as profiles spell it: four digits, and sizes in whole bytes.
std::string value_text(double value, std::string const& unit) {
  if (unit.empty()) return fmt::format("{:.4g}", value);
  if (unit == "KiB") return json_string(fmt::format("{} B", std::llround(value * 1024)));
  return json_string(fmt::format("{:.4g} {}", value, unit));
}

std::string number_text(validate::FittedNumber const& number, validate::ProfilePatch const& patch) {
  return fmt::format(R"({{"value": {}, "basis": "fitted", "source": {}, "spread": {}}})",
                     value_text(number.value, number.unit),
                     json_string(fmt::format("twinstep calibrate, {}: {} measured points decide it (data SHA-256 {})",
                                             patch.date, number.points, patch.data_hash.substr(0, 16))),
                     value_text((number.high - number.low) / 2, number.unit));
}

std::string band_text(hardware::ErrorBand const& band) {
  auto const factor = [](hardware::Sourced<double> const& number) {
    return fmt::format(R"({{"value": {:.4g}, "basis": "fitted", "source": {}}})", number.value,
                       json_string(number.source));
  };
  return fmt::format(R"({{"low": {}, "high": {}}})", factor(band.low), factor(band.high));
}

std::string systems_text(CalibratedProfile const& profile) {
  auto text = std::string{};
  for (auto const& system : profile.systems) text += (text.empty() ? "" : ", ") + json_string(system);
  return "[" + text + "]";
}

}  // namespace

std::string profile_patch_text(CalibratedProfile const& profile, std::string const& out) {
  auto document = base_document(profile, out);
  auto const set = [&](std::string_view path, std::string const& json) {
    document = io::with_setting(document, fmt::format("{}={}", path, json));
  };
  constexpr auto kAttention = std::string_view{"node.gpu.efficiency.attention_"};
  auto const& name = profile.before.name;
  constexpr auto kSuffix = std::string_view{"-calibrated"};
  set("name", json_string(name.ends_with(kSuffix) ? name : name + std::string{kSuffix}));
  for (auto const& number : profile.patch.numbers) {
    if (!number.left_out.empty()) continue;
    set(number.path, number_text(number, profile.patch));
    // What was fitted is the attention of this machine's software, whatever its name.
    if (number.path.starts_with(kAttention)) set("node.gpu.efficiency.attention_kernels", "null");
  }
  if (!profile.sweeps.empty()) set("library.calibrations", hw_profiles::calibrations_text(profile.sweeps));
  if (!profile.systems.empty()) set("library.fitted_on", systems_text(profile));
  if (profile.step_error) set("step_error", band_text(*profile.step_error));
  set("calibration", json_string(profile.calibration));
  return io::document_text(document);
}

}  // namespace twinstep::study
