#include "hw_profiles/facts.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/numbers.hpp"
#include "hw_profiles/reader.hpp"

namespace twinstep::hw_profiles {
namespace {

using hardware::Basis;
using hardware::IntraNode;
using hardware::Sourced;
using io::Maker;
using io::Node;

constexpr auto kFacts = std::to_array<std::string_view>(
    {"gpu", "gpus_per_node", "nodes", "intra", "fabric", "nics_per_node", "nic_gbps", "fabric_assumed"});

/// What a word for the inside of a node means. Without a link of its own it is the GPU's.
struct Inside {
  std::string_view word;
  IntraNode intra;
  std::string_view link;
  bool is_rack = false;
};
constexpr auto kInsides = std::to_array<Inside>({{"nvswitch", IntraNode::kNvSwitch, ""},
                                                 {"nvl72", IntraNode::kNvSwitch, "", true},
                                                 {"cube-mesh", IntraNode::kCubeMesh, ""},
                                                 {"nvlink-all-to-all", IntraNode::kMesh, ""},
                                                 {"nvlink-pair", IntraNode::kPairs, ""},
                                                 {"xgmi-mesh", IntraNode::kMesh, ""},
                                                 {"pcie", IntraNode::kPcieP2p, "pcie"},
                                                 {"pcie-no-p2p", IntraNode::kPcieStaged, "pcie-staged"},
                                                 {"none", IntraNode::kNone, ""}});

/// A word for the network, and the transport profile that carries it.
struct Outside {
  std::string_view word;
  std::string_view transport;
};
constexpr auto kOutsides = std::to_array<Outside>({{"infiniband", "infiniband"},
                                                   {"roce", "roce"},
                                                   {"roce-no-gdr", "roce-host"},
                                                   {"efa", "efa"},
                                                   {"tcpx", "tcpx"},
                                                   {"tcpxo", "tcpxo"},
                                                   {"slingshot", "slingshot"},
                                                   {"omnipath", "omnipath"},
                                                   {"tcp", "tcp"},
                                                   {"unknown", "infiniband"}});
constexpr auto kDefaultTransport = std::string_view{"infiniband"};
constexpr double kFirstEfaGbps = 400;  ///< a node's, up to which EFA is of the first generation

template <class Entry, std::size_t N>
Entry const& find_word(Node const& node, std::string_view what, std::array<Entry, N> const& entries) {
  for (auto const& entry : entries)
    if (entry.word == node.string()) return entry;
  auto known = std::vector<std::string_view>{};
  for (auto const& entry : entries) known.push_back(entry.word);
  node.fail(fmt::format("found {}, expected {}", quoted(node.string()), what), suggest_name(node.string(), known));
}

/// Reads the facts of one cluster, and writes what they change in its reference node.
class FactReader {
 public:
  explicit FactReader(Node const& facts) : facts_{facts}, make_{fmt::format("the cluster of {}", facts.source().name)} {
    facts.allow_only(
        {"gpu", "gpus_per_node", "nodes", "intra", "fabric", "nics_per_node", "nic_gbps", "fabric_assumed"});
    if (!facts.find("gpu"))
      facts.fail("found facts of a cluster without the model of its GPUs",
                 "name it, such as \"gpu\": \"h100-80g\" (twinstep profiles list)");
    if (!facts.find("gpus_per_node") && !facts.find("nodes"))
      facts.fail("found facts of a cluster that say neither how many GPUs a node has nor how many nodes there are",
                 "add \"gpus_per_node\", such as 8, and \"nodes\" unless it is one");
    auto const name = facts.at("gpu");
    auto const shipped = find_name(Kind::kGpu, name.string());
    if (!shipped)
      name.fail(fmt::format("found {}, expected the name of a GPU profile", quoted(name.string())),
                suggest_profile(Kind::kGpu, name.string()));
    profile_ = io::parse({profile_file(Kind::kGpu, *shipped), profile_text(Kind::kGpu, *shipped)});
    gpu_ = read_gpu(name);
    reference_ = read_node(profile_->at("reference_node"));
    auto const gpus = facts.find("gpus_per_node");
    gpus_ = gpus ? count_in_node(*gpus) : reference_.gpus_on_host();
    auto const nodes = facts.find("nodes");
    trays_ = nodes ? count(*nodes) : 1;
    read_inside();
  }

  [[nodiscard]] Node cluster() const {
    auto const library = profile_->find("library");
    auto const what = fmt::format("{}x{} {}", trays_, gpus_, facts_.at("gpu").string());
    return make_.object(
        {{"name", make_.text(what)},
         {"description", make_.text(fmt::format("{} node{} of {} {}, from their physical facts", trays_,
                                                trays_ == 1 ? "" : "s", gpus_, facts_.at("gpu").string()))},
         {"node", node()},
         {"nodes", make_.number(domains_)},
         {"fabric", fabric()},
         {"library", library ? *library : make_.text("nccl")},
         {"calibration",
          make_.text("uncalibrated: built from physical facts, datasheet rates and global efficiencies")}});
  }

  [[nodiscard]] std::vector<std::string> missing() const {
    auto out = std::vector<std::string>{};
    auto const say = [&](std::string_view fact, std::string const& instead) {
      out.push_back(fmt::format("{} {}: \"{}\" is not stated, {} is taken", trays_, gpu_.name, fact, instead));
    };
    auto const as_reference = fmt::format("the reference design ({})", reference_.name);
    if (!facts_.find("gpus_per_node")) say("gpus_per_node", fmt::format("{}, as in {}", gpus_, as_reference));
    if (!facts_.find("nodes")) say("nodes", "1");
    if (gpus_ > 1 && !facts_.find("intra")) say("intra", std::string{name_of(intra_)});
    if (domains_ == 1) return out;
    auto const fabric = facts_.find("fabric");
    if (!fabric || fabric->string() == "unknown") say("fabric", std::string{kDefaultTransport});
    if (!facts_.find("nics_per_node")) say("nics_per_node", fmt::format("{}, as in {}", nics(), as_reference));
    if (!facts_.find("nic_gbps"))
      say("nic_gbps", fmt::format("{:g}, as in {}", reference_.nic.value.count() * 8e-9, as_reference));
    return out;
  }

 private:
  void read_inside() {
    auto const word = facts_.find("intra");
    auto inside =
        Inside{"", gpus_ == 1 ? IntraNode::kNone : reference_.intra, "", gpus_ > 1 && reference_.gpus_per_host};
    if (word) inside = find_word(*word, "how GPUs of a node are linked", kInsides);
    intra_ = inside.intra;
    if (inside.is_rack) read_rack();
    domains_ = trays_ / trays_per_domain_;
    if (domain_gpus() == 1) intra_ = IntraNode::kNone;
    if (domain_gpus() > 1 && intra_ == IntraNode::kNone)
      word->fail(fmt::format("found \"none\" for {} GPUs, expected a kind of link", gpus_), "\"none\" is for one GPU");
    link_ = !inside.link.empty() ? std::string{inside.link} : gpu_.link_class;
    if (!word && link_.empty()) link_ = reference_.link.name;
    if (intra_ != IntraNode::kNone && link_.empty())
      word->fail(fmt::format("found {}, but GPU {} has no link of its own", quoted(word->string()), quoted(gpu_.name)),
                 "it is joined by \"pcie\" or \"pcie-no-p2p\"");
  }

  /// As few NVLink domains as hold the trays evenly. A domain holds as many GPUs as the reference rack.
  void read_rack() {
    if (reference_.gpus < gpus_)
      facts_.at("gpus_per_node")
          .fail(fmt::format("found {} GPUs in a tray, but an NVLink domain ({}) has {}", gpus_, reference_.name,
                            reference_.gpus),
                "state the GPUs of one tray");
    auto domains = divide_up(trays_, reference_.gpus / gpus_);
    while (trays_ % domains != 0) ++domains;
    trays_per_domain_ = trays_ / domains;
  }

  [[nodiscard]] std::int64_t domain_gpus() const { return gpus_ * trays_per_domain_; }

  /// Of one node; of all trays of a domain.
  [[nodiscard]] std::int64_t nics() const {
    if (auto const stated = stated_nics()) return *stated * trays_per_domain_;
    return std::max<std::int64_t>(1, domain_gpus() * reference_.nics / reference_.gpus);
  }

  /// A node by itself may say that it has none.
  [[nodiscard]] std::optional<std::int64_t> stated_nics() const {
    auto const stated = facts_.find("nics_per_node");
    auto const is_none = stated && domains_ == 1 && stated->is(Node::Type::kNumber) && stated->number() == 0;
    if (!stated || is_none) return std::nullopt;
    return count_in_node(*stated);
  }

  template <class T>
  [[nodiscard]] Node sourced(T value, Basis basis, std::string const& source) const {
    return to_document(make_, Sourced<T>{value, basis, source});
  }
  template <class T>
  [[nodiscard]] Node stated(T value) const {
    return sourced(value, Basis::kScenario, "the facts of this cluster");
  }
  template <class T>
  [[nodiscard]] Node as_in_reference(T value) const {
    return sourced(value, Basis::kAssumed, fmt::format("as in {}", reference_.name));
  }
  /// Another value of a number of the reference node, whose source stays.
  [[nodiscard]] Node another(auto value) const { return make_.object({{"value", to_document(make_, value)}}); }

  /// The reference node with what the facts say instead.
  [[nodiscard]] Node node() const {
    auto const gpus = domain_gpus();
    auto members = std::vector<Maker::Member>{
        {"profile", profile_->at("reference_node")},
        {"name", make_.text(fmt::format("{}x{}", gpus, facts_.at("gpu").string()))},
        {"description", make_.text(fmt::format("{} {}, the rest as in {}", gpus, gpu_.name, reference_.name))},
        {"gpu", facts_.at("gpu")},
        {"gpus", stated(gpus)},
        {"intra", make_.text(name_of(intra_))},
        {"gpu_link", gpu_link()},
        {"link", intra_ == IntraNode::kNone ? make_.null() : make_.text(link_)},
        // Of smaller nodes it is not known that they share a switch.
        {"gpus_per_pcie_switch", another(gpus < reference_.gpus ? 1 : std::gcd(reference_.gpus_per_pcie_switch, gpus))},
        {"gpus_per_host", trays_per_domain_ > 1 ? stated(gpus_) : make_.null()},
        {"nics", stated_nics() ? stated(nics()) : as_in_reference(nics())},
        {"nic", nic()}};
    // The same fraction of its slot as the GPU of the reference node reaches.
    if (gpu_.name != reference_.gpu.name && gpu_.pcie && reference_.gpu.pcie)
      members.emplace_back(
          "pcie",
          sourced(
              reference_.pcie.value * (gpu_.pcie->value.count() / reference_.gpu.pcie->value.count()), Basis::kDerived,
              fmt::format("the fraction of its slot that is reached in {}; {}", reference_.name, gpu_.pcie->source)));
    if (auto const hosts = divide_up(gpus, reference_.gpus); hosts > 1 && trays_per_domain_ == 1)
      members.emplace_back("host", host(hosts));
    return make_.object(members);
  }

  [[nodiscard]] Node gpu_link() const {
    if (intra_ == IntraNode::kNone) return make_.null();
    auto const is_pcie = intra_ == IntraNode::kPcieP2p || intra_ == IntraNode::kPcieStaged;
    auto const& link = is_pcie ? gpu_.pcie : gpu_.link;
    if (!link)
      facts_.at("gpu").fail(
          fmt::format("found GPU {}, whose profile has no {}, but the GPUs of a node are joined by it",
                      quoted(gpu_.name), is_pcie ? "\"pcie\"" : "\"link\""),
          "add it to the profile");
    return to_document(make_, *link);
  }

  /// As many hosts as in the reference node would have so many GPUs.
  [[nodiscard]] Node host(std::int64_t hosts) const {
    auto const& one = reference_.host;
    auto members = std::vector<Maker::Member>{
        {"memory_bandwidth", another(one.memory_bandwidth.value * static_cast<double>(hosts))}};
    if (one.memory_capacity) members.emplace_back("memory_capacity", another(one.memory_capacity->value * hosts));
    return make_.object(members);
  }

  [[nodiscard]] BytesPerSecond nic_rate() const {
    auto const rate = facts_.find("nic_gbps");
    return rate ? read_rate(*rate) : reference_.nic.value;
  }

  [[nodiscard]] Node nic() const { return facts_.find("nic_gbps") ? stated(nic_rate()) : as_in_reference(nic_rate()); }

  static BytesPerSecond read_rate(Node const& gigabits) {
    constexpr double kFastest = 1e6;
    auto const value = gigabits.number();
    if (!(value >= 1e-6 && value <= kFastest))
      gigabits.fail(fmt::format("found {}, expected the gigabits a second of one NIC", value), "400 is NDR");
    return BytesPerSecond{value * 1e9 / 8};
  }

  [[nodiscard]] Node fabric() const {
    auto const word = facts_.find("fabric");
    auto transport = word ? find_word(*word, "a kind of network", kOutsides).transport : kDefaultTransport;
    auto const gigabits = static_cast<double>(nics()) * nic_rate().count() * 8e-9;
    if (transport == "efa" && gigabits <= kFirstEfaGbps) transport = "efa-v1";
    return make_.object({{"profile", make_.text("unstated")}, {"transport", make_.text(transport)}, {"port", nic()}});
  }

  Node facts_;
  Maker make_;
  std::optional<Node> profile_;  ///< of the GPU
  hardware::Gpu gpu_;
  hardware::Node reference_;
  std::int64_t gpus_ = 1;   ///< of a node as the facts count it
  std::int64_t trays_ = 1;  ///< nodes as the facts count them
  std::int64_t trays_per_domain_ = 1;
  std::int64_t domains_ = 1;
  IntraNode intra_ = IntraNode::kNone;
  std::string link_;
};

}  // namespace

bool are_facts(Node const& object) {
  if (!object.is(Node::Type::kObject) || object.has("profile")) return false;
  if (object.has("gpus_per_node") || object.has("nics_per_node") || object.has("nic_gbps")) return true;
  auto const gpu = object.find("gpu");
  return gpu && gpu->is(Node::Type::kString) && !object.has("node");
}

FactsAndChanges split_facts(Node const& object) {
  auto out = FactsAndChanges{object, object};
  for (auto const& [key, member] : object.members()) {
    auto const is_fact = std::ranges::find(kFacts, key) != kFacts.end();
    if (!is_fact)
      out.facts = io::without_member(out.facts, key);
    else if (key == "gpu" && member.is(Node::Type::kObject) && member.has("profile")) {
      out.facts = io::with_member(out.facts, key, member.at("profile"));
      out.changes = io::with_member(out.changes, key, io::without_member(member, "profile"));
    } else
      out.changes = io::without_member(out.changes, key);
  }
  // A change of "fabric" that is an object changes the network that is built, and says nothing of its kind.
  if (auto const fabric = object.find("fabric"); fabric && fabric->is(Node::Type::kObject)) {
    out.facts = io::without_member(out.facts, "fabric");
    out.changes = io::with_member(out.changes, "fabric", io::without_member(*fabric, "profile"));
    if (auto const word = fabric->find("profile")) out.facts = io::with_member(out.facts, "fabric", *word);
  }
  return out;
}

FactsCluster read_facts(Node const& facts) {
  auto const reader = FactReader{facts};
  return {reader.cluster(), reader.missing()};
}

}  // namespace twinstep::hw_profiles
