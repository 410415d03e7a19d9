#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "validate/records/known_devices.hpp"
#include "validate/records/node_profile.hpp"

namespace twinstep::records {
namespace {

using hw_profiles::Kind;

bool ships(std::string const& gpu) {
  return hw_profiles::find_profile(Kind::kGpu, gpu).has_value();
}

/// The first that ships; "" if none does.
std::string first_that_ships(std::vector<std::string> const& gpus) {
  auto const found = std::ranges::find_if(gpus, ships);
  return found == gpus.end() ? std::string{} : *found;
}

/// A GPU, and what it was chosen by.
struct Choice {
  std::string gpu;
  std::string reason;
};

Choice by_pci_device(GpuFacts const& gpu) {
  auto const& known = known_devices().by_pci_device;
  auto const device = known.find(gpu.pci_device);
  if (device == known.end()) return {};
  auto const chosen = first_that_ships(device->second);
  if (chosen.empty() || chosen == device->second.front()) return {chosen, {}};
  return {chosen,
          fmt::format("the GPUs are {}, which does not ship: {} stands in for it", device->second.front(), chosen)};
}

/// AMD's accelerators by architecture, as RCCL and HIP name it ("942", "gfx942"). Source: LLVM, AMDGPU usage,
/// processors.
Choice by_architecture_of_amd(GpuFacts const& gpu) {
  constexpr auto kProfiles = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"940", "mi300x-192"}, {"941", "mi300x-192"}, {"942", "mi300x-192"}, {"950", "mi355x-288"}});
  if (gpu.vendor != GpuVendor::kAmd) return {};
  for (auto const& [architecture, profile] : kProfiles)
    if (gpu.gcn.find(architecture) != std::string::npos)
      return {std::string{profile}, fmt::format("only the GPUs' architecture (gfx{}) is known: {} is taken; name its "
                                                "profile to take another",
                                                architecture, profile)};
  return {};
}

/// Makers whose GPUs cannot be told by NVIDIA's marks.
void refuse_unknown_makers(NodeFacts const& facts) {
  auto const& gpu = facts.gpus.front();
  if (gpu.vendor != GpuVendor::kAmd && gpu.vendor != GpuVendor::kOther) return;
  auto const what = gpu.vendor == GpuVendor::kOther
                        ? fmt::format("GPUs of the PCI vendor {}, which is neither NVIDIA nor AMD", gpu.vendor_id)
                    : gpu.gcn.empty() ? std::string{"GPUs of AMD"}
                                      : fmt::format("GPUs of AMD (gcn {})", gpu.gcn);
  throw InputError{fmt::format("{}: found {}, for which no profile ships; name the one that is nearest",
                               one_line(facts.file), what)};
}

Choice by_compute_capability(GpuFacts const& gpu) {
  auto const* const found = gpu.compute_capability ? known_devices().find(*gpu.compute_capability) : nullptr;
  if (found == nullptr) return {};
  auto const chosen = first_that_ships(found->profiles);
  return {
      chosen,
      fmt::format("only the GPUs' compute capability ({}.{}) is known: {} is taken; name its profile to take another",
                  *gpu.compute_capability / 10, *gpu.compute_capability % 10, chosen)};
}

void refuse_hidden_links(NodeFacts const& facts) {
  if (!may_hide_links(facts)) return;
  throw InputError{
      fmt::format("{}: found {} GPUs with NICs of their own and no link among them, which is seldom: a "
                  "container or virtual machine may hide NVLinks; name the GPU's profile",
                  one_line(facts.file), facts.gpus.size())};
}

/// The first architecture whose GPUs have as many NVLinks; the next one with NVLinks stands in for one that does not
/// ship.
Choice by_links(NodeFacts const& facts) {
  if (!facts.has_gpu_links) return {};
  auto const links = std::ranges::max(facts.gpus, {}, &GpuFacts::links).links();
  auto likeliest = std::string{};
  for (auto const& architecture : known_devices().architectures) {
    auto const chosen = first_that_ships(architecture.profiles);
    if (likeliest.empty() && architecture.links == links) likeliest = architecture.profiles.front();
    if (likeliest.empty() || (architecture.links > 0) != (links > 0) || chosen.empty()) continue;
    auto const stands_in = chosen == likeliest ? "" : fmt::format(" for {}, which does not ship", likeliest);
    return {chosen, fmt::format("the GPUs' model is not named, only their NVLinks ({}): {} is taken{}; name its "
                                "profile to take another",
                                links, chosen, stands_in)};
  }
  return {};
}

/// The first architecture whose slot is as fast.
Choice by_pcie(NodeFacts const& facts) {
  constexpr double kTolerance = 0.02;  // profiles round
  auto const& pcie = facts.gpus.front().pcie;
  if (!pcie) return {};
  for (auto const& architecture : known_devices().architectures) {
    auto const chosen = first_that_ships(architecture.profiles);
    if (chosen.empty()) continue;
    auto const slot = hw_profiles::read_gpu(io::string_node(chosen, "gpu")).pcie;
    if (!slot || std::abs(slot->value.count() / pcie->bandwidth().count() - 1) > kTolerance) continue;
    return {chosen,
            fmt::format("the GPUs' model is not named, only their PCIe links ({:g} GT/s): {} is taken; name its "
                        "profile to take another",
                        pcie->transfers, chosen)};
  }
  return {};
}

void check_alike(NodeFacts& facts) {
  auto const& first = facts.gpus.front();
  for (auto const& gpu : facts.gpus)
    if (gpu.pci_device != first.pci_device || gpu.compute_capability != first.compute_capability) {
      facts.warn(
          fmt::format("GPU {} is of another kind than {}: the first one's is taken for all", gpu.name, first.name));
      return;
    }
}

}  // namespace

std::string choose_gpu(NodeFacts& facts, std::string const& asked) {
  if (!asked.empty()) {
    if (!ships(asked))
      throw InputError{fmt::format("{}: found no such GPU profile; {}", one_line(asked),
                                   suggest_name(asked, hw_profiles::profile_names(Kind::kGpu)))};
    return asked;
  }
  check_alike(facts);
  using Rule = Choice (*)(NodeFacts const&);
  constexpr auto kRules =
      std::to_array<Rule>({[](NodeFacts const& all) { return by_pci_device(all.gpus.front()); },
                           [](NodeFacts const& all) { return by_architecture_of_amd(all.gpus.front()); },
                           [](NodeFacts const& all) {
                             refuse_unknown_makers(all);
                             return by_compute_capability(all.gpus.front());
                           },
                           [](NodeFacts const& all) {
                             refuse_hidden_links(all);
                             return by_links(all);
                           },
                           by_pcie});
  for (auto const rule : kRules) {
    auto const choice = rule(facts);
    if (choice.gpu.empty()) continue;
    if (!choice.reason.empty()) facts.warn(choice.reason);
    return choice.gpu;
  }
  throw InputError{fmt::format("{}: found nothing that tells the GPUs' model; name its profile ({})",
                               one_line(facts.file), suggest_name("", hw_profiles::profile_names(Kind::kGpu)))};
}

}  // namespace twinstep::records
