#include "validate/records/nccl_topology.hpp"

#include <algorithm>
#include <pugixml.hpp>
#include <set>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using Element = pugi::xml_node;

std::string text_of(Element element, char const* attribute) {
  return element.attribute(attribute).as_string();
}

/// "0x030200" is a 3D controller, "0x060400" a bridge: the first byte is the kind.
bool is_class(Element element, std::string_view kind) {
  return text_of(element, "class").starts_with(kind);
}
bool is_gpu_class(Element element) {
  return is_class(element, "0x03");
}
bool is_nic_class(Element element) {
  return is_class(element, "0x02");
}

/// NVSwitches are bridges (0x0680…), as are CPUs with NVLink (0x068001).
bool is_switch_class(std::string_view link_class) {
  return link_class.starts_with("0x0680") && link_class != "0x068001";
}

std::optional<PcieLink> link_of(Element pci) {
  auto const transfers = leading_number<double>(pci.attribute("link_speed").as_string());
  auto const lanes = pci.attribute("link_width").as_llong();
  if (!transfers || !(*transfers > 0) || lanes <= 0) return std::nullopt;
  return PcieLink{*transfers, lanes};
}

/// The devices from the CPU's root down to one of them.
using Way = std::vector<Element>;

/// A GPU or NIC and where it hangs.
struct Device {
  Element element;  ///< its <pci>; of a NIC without one, its <nic>
  Element cpu;
  Way way;  ///< ends with the device's own <pci>, if it has one

  [[nodiscard]] std::string bus_id() const { return text_of(element, "busid"); }
};

/// Bridges that two devices share.
std::size_t shared_bridges(Way const& a, Way const& b) {
  auto const shorter = std::min(a.size(), b.size());
  auto shared = std::size_t{0};
  while (shared < shorter && a[shared] == b[shared]) ++shared;
  return shared;
}

Distance distance_between(Device const& gpu, Device const& nic) {
  if (gpu.cpu != nic.cpu) return Distance::kSys;
  auto const shared = shared_bridges(gpu.way, nic.way);
  if (shared == 0) return Distance::kPhb;
  auto const is_directly_below = shared + 1 >= gpu.way.size() && shared + 1 >= nic.way.size();
  return is_directly_below ? Distance::kPix : Distance::kPxb;
}

class TopologyReader {
 public:
  TopologyReader(std::string const& name, SelfLinks self_links) : self_links_{self_links} {
    facts_.file = name;
    facts_.description = "NCCL topology file";
  }

  NodeFacts read(std::string_view text) && {
    auto document = pugi::xml_document{};
    auto const parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
      auto const before = text.substr(0, std::min(static_cast<std::size_t>(parsed.offset), text.size()));
      fail(fmt::format("found no XML ({}, line {}), expected what NCCL writes to NCCL_TOPO_DUMP_FILE",
                       parsed.description(), 1 + std::ranges::count(before, '\n')),
           "give that file; for a matrix of nvidia-smi use `import nvidia-smi`");
    }
    auto const system = document.child("system");
    if (!system)
      fail(fmt::format("found the element {}, expected <system>", twinstep::quoted(document.document_element().name())),
           "NCCL_TOPO_DUMP_FILE writes it; NCCL_GRAPH_DUMP_FILE writes something else");
    read_system(system);
    read_gpus();
    read_links();
    read_nics();
    say_what_is_unknown();
    return std::move(facts_);
  }

 private:
  [[noreturn]] void fail(std::string_view found, std::string_view way_out) const {
    throw InputError{fmt::format("{}: {}; {}", one_line(facts_.file), found, way_out)};
  }

  // The tree.

  void read_system(Element system) {
    for (auto const cpu : system.children("cpu")) {
      facts_.cpus.push_back({text_of(cpu, "numaid"), text_of(cpu, "vendor"), text_of(cpu, "host_hash")});
      collect(cpu, cpu, {});
    }
    for (auto const* const orphan : {"pci", "nic", "gpu"})
      if (auto const element = system.child(orphan))
        fail(fmt::format("found <{}> {} below no <cpu>, expected every device below one: it is connected to nothing",
                         orphan, twinstep::quoted(text_of(element, "busid"))),
             "put it into the <cpu> of its NUMA node");
    keep_ranked_gpus();
    if (gpus_.empty())
      fail("found no GPU, expected <gpu> elements or <pci> with class 0x03…",
           "dump the topology on a machine with GPUs");
  }

  void collect(Element parent, Element cpu, Way const& above) {
    constexpr std::size_t kDeepest = 64;
    if (above.size() > kDeepest)
      fail(fmt::format("found devices nested more than {} deep, expected a machine", kDeepest), "correct the nesting");
    for (auto const pci : parent.children("pci")) {
      auto const id = text_of(pci, "busid");
      auto const is_ancestor = [&](Element other) { return text_of(other, "busid") == id; };
      if (std::ranges::any_of(above, is_ancestor))
        fail(fmt::format("found device {} below itself, expected a tree", twinstep::quoted(id)), "correct its busid");
      if (!bus_ids_.insert(id).second)
        fail(fmt::format("found device {} twice, expected every busid once", twinstep::quoted(id)),
             "correct one of them");
      auto way = above;
      way.push_back(pci);
      if (pci.child("gpu") || is_gpu_class(pci)) gpus_.push_back({pci, cpu, way});
      if (pci.child("nic") || is_nic_class(pci)) nics_.push_back({pci, cpu, way});
      collect(pci, cpu, way);
    }
    if (parent == cpu)
      for (auto const nic : cpu.children("nic")) nics_.push_back({nic, cpu, {}});
  }

  /// NCCL ignores GPUs without a rank. A file that has no <gpu> at all is one that NCCL was given: all GPUs count.
  void keep_ranked_gpus() {
    auto const is_ranked = [](Device const& gpu) { return static_cast<bool>(gpu.element.child("gpu")); };
    auto const ranked = std::ranges::count_if(gpus_, is_ranked);
    facts_.has_gpu_links = ranked > 0;
    if (ranked == 0 || ranked == std::ssize(gpus_)) return;
    facts_.warn(fmt::format("{} of {} GPUs took no part in the communicator: left out", std::ssize(gpus_) - ranked,
                            gpus_.size()));
    std::erase_if(gpus_, [&](Device const& gpu) { return !is_ranked(gpu); });
  }

  // GPUs.

  void read_gpus() {
    auto unknown = std::vector<std::string>{};
    auto idle = std::set<std::string>{};
    for (auto const& gpu : gpus_) {
      auto const inner = gpu.element.child("gpu");
      auto gpu_facts = GpuFacts{.name = gpu.bus_id(), .pci_device = text_of(gpu.element, "device")};
      read_vendor(gpu.element, inner, gpu_facts);
      gpu_facts.pcie = narrowest(gpu.way, idle);
      if (!gpu_facts.pcie) unknown.push_back(gpu_facts.name);
      if (gpu.way.size() > 1) gpu_facts.pcie_switch = text_of(gpu.way.front(), "busid");
      if (auto const chip = inner.child("c2c"))  // MB/s of each link
        gpu_facts.chip_link =
            BytesPerSecond{chip.attribute("bw").as_double() * 1e6 * chip.attribute("count").as_double()};
      facts_.gpus.push_back(std::move(gpu_facts));
    }
    if (!unknown.empty())
      facts_.warn(fmt::format("found no PCIe speed for GPU {} (NCCL then assumes Gen3 x16)", list_text(unknown)));
    if (!idle.empty())
      facts_.warn(
          fmt::format("{} bridge{} report Gen1 or Gen2 above faster links (first {}), as idle and virtual ports do: "
                      "not taken for the bottleneck",
                      idle.size(), idle.size() == 1 ? "" : "s", *idle.begin()));
    auto const& first = facts_.gpus.front();
    facts_.peers_by_pcie = std::ranges::all_of(facts_.gpus, [&](GpuFacts const& gpu) {
      return !gpu.pcie_switch.empty() && gpu.pcie_switch == first.pcie_switch;
    });
  }

  /// RCCL writes "gcn", and "sm" then counts compute units (rccl, src/graph/xml.cc, ncclTopoGetXmlFromGpu).
  static void read_vendor(Element pci, Element gpu, GpuFacts& facts) {
    auto const id = text_of(pci, "vendor");
    facts.gcn = text_of(gpu, "gcn");
    if (id == "0x10de")
      facts.vendor = GpuVendor::kNvidia;
    else if (id == "0x1002" || (id.empty() && (!facts.gcn.empty() || gpu.child("xgmi"))))
      facts.vendor = GpuVendor::kAmd;
    else if (!id.empty() && leading_number<std::int64_t>(id.substr(std::min<std::size_t>(2, id.size()))) != 0)
      facts.vendor = GpuVendor::kOther;
    if (facts.vendor == GpuVendor::kOther) facts.vendor_id = id;
    auto const sm = gpu.attribute("sm").as_llong();
    auto const may_be_nvidia = facts.vendor == GpuVendor::kNvidia || facts.vendor == GpuVendor::kUnknown;
    if (sm > 0 && facts.gcn.empty() && may_be_nvidia) facts.compute_capability = sm;
  }

  /// The narrowest link on the way that can be believed; names bridges that cannot in `idle`.
  static std::optional<PcieLink> narrowest(Way const& way, std::set<std::string>& idle) {
    constexpr double kIdleTransfers = 5;
    auto narrowest = link_of(way.back());
    for (auto bridge = way.rbegin(); bridge != way.rend(); ++bridge) {
      auto const link = link_of(*bridge);
      if (!link || !narrowest || link->bandwidth() >= narrowest->bandwidth()) continue;
      if (link->transfers <= kIdleTransfers)
        idle.insert(text_of(*bridge, "busid"));
      else
        narrowest = link;
    }
    return narrowest;
  }

  [[nodiscard]] std::optional<std::size_t> find_gpu(std::string_view bus_id) const {
    for (std::size_t i = 0; i < facts_.gpus.size(); ++i)
      if (facts_.gpus[i].name == bus_id) return i;
    return std::nullopt;
  }

  void read_links() {
    auto looped = std::vector<std::string>{};
    auto dangling = std::set<std::string>{};
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      for (auto const link : gpus_[i].element.child("gpu").children()) {
        auto const name = std::string_view{link.name()};
        if (name != "nvlink" && name != "xgmi") continue;
        auto const target = text_of(link, "target");
        auto const count = link.attribute("count").as_llong();
        auto& gpu = facts_.gpus[i];
        if (is_switch_class(text_of(link, "tclass"))) {
          gpu.switch_links += count;
        } else if (target == gpu.name) {
          looped.push_back(gpu.name);
        } else if (auto const peer = find_gpu(target)) {
          gpu.peer_links[*peer] += count;
        } else {
          dangling.insert(target);
        }
      }
    if (!looped.empty()) handle_self_links(looped);
    if (!dangling.empty())
      facts_.warn(fmt::format("links lead to {}, which the file does not have: left out",
                              list_text({dangling.begin(), dangling.end()})));
    check_symmetry();
    if (!facts_.has_gpu_links)
      facts_.warn(
          "has no <gpu> elements: it is a file for NCCL_TOPO_FILE, into which NCCL itself fills the GPUs' NVLinks; "
          "the profile's are kept. A dump of NCCL_TOPO_DUMP_FILE has them");
  }

  void handle_self_links(std::vector<std::string> const& gpus) {
    if (self_links_ == SelfLinks::kRefuse)
      fail(fmt::format("found links of GPU {} that lead to the GPU itself, expected another GPU or a switch",
                       list_text(gpus)),
           "correct their targets, or import it repaired, without these links");
    facts_.warn(
        fmt::format("links of GPU {} lead to the GPU itself: left out, so that GPUs reach each other by PCIe; set "
                    "\"intra\" to \"pairs\" if bridges join them",
                    list_text(gpus)));
  }

  void check_symmetry() {
    for (std::size_t i = 0; i < facts_.gpus.size(); ++i)
      for (auto& [peer, links] : facts_.gpus[i].peer_links) {
        auto& back = facts_.gpus[peer].peer_links[i];
        if (back == links) continue;
        facts_.warn(fmt::format("{} links lead from GPU {} to {} and {} back: the larger number is taken", links,
                                facts_.gpus[i].name, facts_.gpus[peer].name, back));
        back = links = std::max(back, links);
      }
  }

  // NICs.

  void read_nics() {
    auto without_speed = std::vector<std::string>{};
    for (auto const& nic : nics_) {
      auto const inner = std::string_view{nic.element.name()} == "nic" ? nic.element : nic.element.child("nic");
      auto const ports = inner.children("net");
      if (ports.begin() == ports.end()) add_nic(nic, nic.bus_id(), {}, without_speed);
      for (auto const port : ports) add_nic(nic, text_of(port, "name"), port, without_speed);
    }
    if (!without_speed.empty())
      facts_.warn(fmt::format("found no speed for NIC {} (NCCL then assumes 10 Gb/s)", list_text(without_speed)));
    if (facts_.nics.empty()) facts_.warn("found no NIC: the profile's are kept");
    auto const is_far = [](NicFacts const& nic) { return nic.distance >= Distance::kPhb; };
    if (!facts_.nics.empty() && std::ranges::all_of(facts_.nics, is_far))
      facts_.warn(
          "GPUs and NICs meet only at the CPU's host bridge, as in virtual machines: NCCL leaves GPUDirect RDMA off "
          "there, and all traffic goes through host memory, several times slower than this profile; set "
          "\"has_gpu_direct\": false of the fabric's transport unless NCCL_NET_GDR_LEVEL or a topology file turns it "
          "on");
  }

  void add_nic(Device const& nic, std::string name, Element port, std::vector<std::string>& without_speed) {
    constexpr double kMegabit = 1e6 / 8;
    auto nic_facts = NicFacts{.name = std::move(name)};
    auto const speed = port.attribute("speed").as_double(-1);
    if (speed > 0)
      nic_facts.speed = BytesPerSecond{speed * kMegabit};
    else
      without_speed.push_back(nic_facts.name);
    for (auto const& gpu : gpus_) nic_facts.distance = std::min(nic_facts.distance, distance_between(gpu, nic));
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (distance_between(gpus_[i], nic) == nic_facts.distance) nic_facts.nearest.push_back(i);
    facts_.nics.push_back(std::move(nic_facts));
  }

  void say_what_is_unknown() {
    facts_.unknowns = {"the fabric beyond the NICs: switches, rails, oversubscription",
                       "the GPUs' memory, its bandwidth, and their peak rates", "the rate of one NVLink",
                       "what launches cost the host, its memory, and whether GPUs may copy to each other by PCIe"};
  }

  NodeFacts facts_;
  SelfLinks self_links_;
  std::set<std::string> bus_ids_;
  std::vector<Device> gpus_;
  std::vector<Device> nics_;
};

}  // namespace

NodeFacts read_nccl_topology(std::string const& name, std::string_view text, SelfLinks self_links) {
  return TopologyReader{name, self_links}.read(text);
}

}  // namespace twinstep::records
