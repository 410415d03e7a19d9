#include "validate/records/node_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"
#include "validate/records/known_devices.hpp"

namespace twinstep::records {
namespace {

using hardware::Basis;
using hardware::IntraNode;

bool is_nvlink(IntraNode intra) {
  return intra <= IntraNode::kPairs;
}

/// The largest count up to `most` that divides `gpus`.
std::int64_t divisor_up_to(std::int64_t most, std::int64_t gpus) {
  auto count = std::min(most, gpus);
  while (gpus % count != 0) --count;
  return count;
}

/// The most common rate of the NICs; nothing if none is known.
std::optional<BytesPerSecond> common_speed(std::vector<NicFacts> const& nics) {
  auto counts = std::map<double, int>{};
  for (auto const& nic : nics)
    if (nic.speed) ++counts[nic.speed->count()];
  if (counts.empty()) return std::nullopt;
  return BytesPerSecond{std::ranges::max_element(counts, {}, [](auto const& entry) { return entry.second; })->first};
}

/// To a multiple of 10 MB/s.
BytesPerSecond rounded(BytesPerSecond rate) {
  constexpr double kStep = 1e7;
  return BytesPerSecond{std::round(rate.count() / kStep) * kStep};
}

std::string gigabits(BytesPerSecond rate) {
  return fmt::format("{:g} Gb/s", rate.count() * 8 / 1e9);
}

/// Rates at which ports of Ethernet and InfiniBand run, in Gb/s.
bool is_port_rate(BytesPerSecond rate) {
  constexpr auto kRates = std::to_array<double>({1, 2.5, 5, 10, 20, 25, 32, 40, 50, 56, 100, 200, 400, 800});
  auto const gigabits_per_second = rate.count() * 8 / 1e9;
  return std::ranges::any_of(kRates, [&](double known) { return std::abs(gigabits_per_second / known - 1) < 1e-3; });
}

/// What a dump says of a node, as far as it tells shipped nodes apart.
struct Likeness {
  std::string gpu;
  std::int64_t gpus = 0;
  std::optional<IntraNode> intra;
  std::int64_t nics = 0;
  std::optional<BytesPerSecond> nic;
  std::optional<hardware::CpuVendor> cpu;

  /// The GPU counts more than how many there are, that more than how they are joined, that more than all the rest.
  [[nodiscard]] int score(hardware::Node const& node) const {
    constexpr double kTolerance = 0.02;
    auto const has_nic = nic && std::abs(node.nic.value.count() / nic->count() - 1) < kTolerance;
    return (node.gpu.name == gpu ? 16 : 0) + (node.gpus == gpus ? 8 : 0) + (intra && node.intra == *intra ? 4 : 0) +
           (node.nics == nics ? 1 : 0) + (has_nic ? 1 : 0) + (cpu && node.host.cpu == *cpu ? 1 : 0);
  }
};

/// The shipped node that has the most in common, the first by name of several.
hardware::Node nearest_node(Likeness const& likeness) {
  auto best = hardware::Node{};
  auto best_score = -1;
  for (auto const name : hw_profiles::profile_names(hw_profiles::Kind::kNode)) {
    auto node = hw_profiles::read_node(io::string_node(std::string{name}, "node"));
    auto const score = likeness.score(node);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(node);
  }
  return best;
}

/// Nothing where the dump does not say.
std::optional<hardware::CpuVendor> cpu_vendor(NodeFacts const& facts) {
  for (auto const& cpu : facts.cpus) {
    if (cpu.vendor.empty()) continue;
    if (cpu.vendor == "GenuineIntel") return hardware::CpuVendor::kIntel;
    return cpu.vendor == "AuthenticAMD" ? hardware::CpuVendor::kAmd : hardware::CpuVendor::kOther;
  }
  return std::nullopt;
}

class ProfileWriter {
 public:
  ProfileWriter(NodeFacts& facts, std::string const& asked_gpu)
      : facts_{facts},
        gpus_{static_cast<std::int64_t>(facts.gpus.size())},
        gpu_{hw_profiles::read_gpu(io::string_node(choose_gpu(facts, asked_gpu), "gpu"))},
        intra_{find_intra(facts)},
        nics_{find_fabric_nics(facts)},
        cpu_{cpu_vendor(facts)},
        base_{nearest_node({gpu_.name, gpus_, intra_, std::ssize(nics_), common_speed(nics_), cpu_})},
        source_{fmt::format("{} {}", facts.description, std::filesystem::path{facts.file}.filename().string())} {}

  std::string write() && {
    auto const stem = std::filesystem::path{facts_.file}.stem().string();
    json_.begin_object();
    text("$schema", "node.schema.json");
    text("profile", base_.name);
    text("name", stem.empty() ? "imported" : stem);
    text("description", fmt::format("{} {} as in {}; the rest as {}", gpus_, gpu_.name, source_, base_.name));
    if (gpu_.name != base_.gpu.name) {
      text("gpu", gpu_.name);
      facts_.warn(fmt::format("no shipped node has {} {}: what the dump does not say is that of {}, whose GPUs are {}",
                              gpus_, gpu_.name, base_.name, base_.gpu.name));
    }
    count("gpus", gpus_, Basis::kMeasured, source_);
    write_gpu_links();
    write_pcie();
    write_nics();
    write_host();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  // JSON.

  void text(std::string_view key, std::string_view value) { json_.member(key, value); }
  template <class Value>
  void number(std::string_view key, Value const& value, Basis basis, std::string const& source) {
    json_.key(key);
    json_.begin_object();
    json_.member("value", value);
    json_.member("basis", name_of(basis));
    json_.member("source", source);
    json_.end_object();
  }
  void count(std::string_view key, std::int64_t value, Basis basis, std::string const& source) {
    number(key, value, basis, source);
  }
  void rate(std::string_view key, BytesPerSecond value, Basis basis, std::string const& source) {
    number(key, io::quantity_text(value), basis, source);
  }

  // Parts.

  void write_gpu_links() {
    if (!intra_) return keep_shape();
    doubt_hidden_links();
    text("intra", name_of(*intra_));
    if (*intra_ == IntraNode::kNone) return;
    if (is_nvlink(*intra_)) return write_nvlinks();
    auto const link = known_devices().links_without_nvlink.find(*intra_);
    if (link != known_devices().links_without_nvlink.end()) text("link", link->second);
    if (auto const& pcie = facts_.gpus.front().pcie)
      rate("gpu_link", rounded(pcie->bandwidth()), Basis::kDerived,
           fmt::format("{}: PCIe {:g} GT/s x {} lanes", source_, pcie->transfers, pcie->lanes));
    else
      rate("gpu_link", slot_of(gpu_).value, slot_of(gpu_).basis, slot_of(gpu_).source);
  }

  void doubt_hidden_links() {
    auto const* const architecture =
        gpu_.compute_capability ? known_devices().find(gpu_.compute_capability->value) : nullptr;
    if (architecture == nullptr || architecture->links == 0 || is_nvlink(*intra_) || facts_.gpus.size() < 2) return;
    auto const is_linked_elsewhere = is_nvlink(base_.intra) && base_.gpu.name == gpu_.name;
    if (!is_linked_elsewhere && !may_hide_links(facts_)) return;
    facts_.warn(fmt::format(
        "shows no NVLink, though {} can have {} and {}: a container or virtual machine may hide them; set \"intra\": "
        "\"nvswitch\" if they are there",
        gpu_.name, architecture->links,
        is_linked_elsewhere ? fmt::format("has them in {}", base_.name) : "each GPU has NICs of its own"));
  }

  /// The dump has no place for links. One GPU has none, several need some.
  void keep_shape() {
    if (base_.intra == IntraNode::kNone) text("intra", name_of(IntraNode::kPcieStaged));
  }

  void write_nvlinks() {
    if (!gpu_.link_class.empty() && gpu_.link_class != base_.link.name) text("link", gpu_.link_class);
    auto const [fewest, most] = std::ranges::minmax(facts_.gpus, {}, &GpuFacts::links);
    if (fewest.links() != most.links())
      facts_.warn(fmt::format("GPU {} has {} NVLinks and {} has {}: the larger number is taken for all", fewest.name,
                              fewest.links(), most.name, most.links()));
    auto const* const architecture =
        gpu_.compute_capability ? known_devices().find(gpu_.compute_capability->value) : nullptr;
    if (architecture == nullptr || architecture->links == 0) {
      facts_.warn(
          fmt::format("the rate of one link of {} is not known: the rate of {} is kept", gpu_.name, base_.name));
      return;
    }
    if (most.links() < architecture->links)
      facts_.warn(fmt::format("GPU {} has {} NVLinks of the {} that such GPUs can have", most.name, most.links(),
                              architecture->links));
    rate("gpu_link", architecture->link.value * static_cast<double>(most.links()), Basis::kDerived,
         fmt::format("{}: {} NVLinks a GPU; {}", source_, most.links(), architecture->link.source));
  }

  /// What a GPU's slot carries; what copies reach, where its profile does not say.
  [[nodiscard]] hardware::Sourced<BytesPerSecond> slot_of(hardware::Gpu const& gpu) const {
    return gpu.pcie.value_or(base_.pcie);
  }

  void write_pcie() {
    constexpr double kTolerance = 0.02;  // profiles round
    auto const& first = facts_.gpus.front();
    auto const slot = slot_of(gpu_).value;
    if (first.chip_link) {
      rate("pcie", *first.chip_link, Basis::kMeasured, fmt::format("{}: NVLink-C2C", source_));
    } else if (first.pcie && std::abs(first.pcie->bandwidth().count() / slot.count() - 1) > kTolerance) {
      write_other_pcie(first.pcie->bandwidth(),
                       fmt::format("PCIe {:g} GT/s x {} lanes", first.pcie->transfers, first.pcie->lanes));
      facts_.warn(fmt::format(
          "the PCIe links of {:g} GT/s x {} carry {:.4g} GB/s, the slot of {} {:.4g}: taken as stated; set \"pcie\" if "
          "the file holds placeholders",
          first.pcie->transfers, first.pcie->lanes, first.pcie->bandwidth().count() / 1e9, gpu_.name,
          slot.count() / 1e9));
    } else if (gpu_.name != base_.gpu.name &&
               std::abs(slot.count() / slot_of(base_.gpu).value.count() - 1) > kTolerance) {
      rate("pcie", slot, Basis::kDerived, slot_of(gpu_).source);
    }
    auto const found = find_gpus_per_pcie_switch(facts_);
    auto const sharing = found.value_or(base_.gpus_per_pcie_switch);
    auto const possible = divisor_up_to(sharing, gpus_);
    if (found && possible != sharing)
      facts_.warn(
          fmt::format("{} GPUs share a PCIe switch, which does not divide {}: {} is taken", sharing, gpus_, possible));
    if (found || possible != sharing)
      count("gpus_per_pcie_switch", possible, found ? Basis::kMeasured : Basis::kAssumed,
            found ? source_ : fmt::format("as {}, as far as it divides the GPUs", base_.name));
    write_hosts();
  }

  /// Copies reach a part of what links carry: of other links than the profile's GPU has, the same part. The profile may
  /// know such links already.
  void write_other_pcie(BytesPerSecond carried, std::string const& links) {
    constexpr double kLeastPart = 0.6;
    auto const copied = base_.pcie.value;
    if (copied <= carried && copied.count() > kLeastPart * carried.count()) return;
    auto const part = std::min(copied.count() / slot_of(base_.gpu).value.count(), 1.0);
    rate("pcie", rounded(carried * part), Basis::kDerived,
         fmt::format("{}: {}, of which a copy reaches the part that it reaches on {}", source_, links, base_.name));
  }

  /// Several hosts in one NVLink domain.
  void write_hosts() {
    auto hosts = std::set<std::string>{};
    for (auto const& cpu : facts_.cpus) hosts.insert(cpu.host);
    auto const number_of_hosts = static_cast<std::int64_t>(hosts.size());
    if (number_of_hosts < 2 || gpus_ % number_of_hosts != 0) return;
    count("gpus_per_host", gpus_ / number_of_hosts, Basis::kMeasured, source_);
  }

  void write_nics() {
    auto const found = nics_.empty() ? base_.nics : std::ssize(nics_);
    auto const fits = found % gpus_ == 0 || gpus_ % found == 0;
    auto const possible = fits ? found : found > gpus_ ? found / gpus_ * gpus_ : divisor_up_to(found, gpus_);
    if (!fits)
      facts_.warn(fmt::format("{} NICs for {} GPUs: neither divides the other; {} are taken", found, gpus_, possible));
    if (!nics_.empty() || !fits)
      count("nics", possible, nics_.empty() ? Basis::kAssumed : Basis::kMeasured,
            nics_.empty() ? fmt::format("as {}, as far as they divide the GPUs", base_.name) : source_);
    auto const speed = common_speed(nics_);
    if (!speed) {
      if (!nics_.empty())
        facts_.warn(fmt::format("the rate of the NICs is not known: that of {} is kept ({})", base_.name,
                                gigabits(base_.nic.value)));
      return;
    }
    if (std::ranges::any_of(nics_, [&](NicFacts const& nic) { return nic.speed != speed; }))
      facts_.warn(fmt::format("NICs have different rates: the most common, {}, is taken for all", gigabits(*speed)));
    if (!is_port_rate(*speed))
      facts_.warn(fmt::format("{} is no rate of an Ethernet or InfiniBand port: taken as stated", gigabits(*speed)));
    number("nic", gigabits(*speed), Basis::kMeasured, source_);
  }

  void write_host() {
    if (!cpu_) return;
    json_.key("host");
    json_.begin_object();
    json_.member("cpu", name_of(*cpu_));
    json_.end_object();
  }

  NodeFacts& facts_;
  std::int64_t gpus_;
  hardware::Gpu gpu_;
  std::optional<IntraNode> intra_;
  std::vector<NicFacts> nics_;
  std::optional<hardware::CpuVendor> cpu_;
  hardware::Node base_;
  std::string source_;
  io::JsonWriter json_{1};
};

}  // namespace

std::string node_profile(NodeFacts& facts, std::string const& gpu) {
  return ProfileWriter{facts, gpu}.write();
}

}  // namespace twinstep::records
