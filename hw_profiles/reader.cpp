#include "hw_profiles/reader.hpp"

#include <fmt/format.h>

#include "hw_profiles/fields.hpp"
#include "hw_profiles/resolve.hpp"
#include "hw_profiles/tuning_reader.hpp"

namespace twinstep::hw_profiles {
namespace {

using io::Node;

/// The keys of a struct's fields.
struct Keys {
  std::vector<std::string_view> all;
  void operator()(std::string_view key, auto const&, auto...) { all.push_back(key); }
  void unread(std::string_view key, std::string_view) { all.push_back(key); }
};

template <class T>
void read_fields(Resolved const& resolved, Node const& object, T& out);

// Members that may always be left out.
template <class T>
constexpr bool kMayBeAbsent = false;
template <class T>
constexpr bool kMayBeAbsent<std::optional<T>> = true;
template <class Count, class From>
constexpr bool kMayBeAbsent<Counted<std::optional<Count>, From>> = true;
template <class Tile>
constexpr bool kMayBeAbsent<TileSide<Tile>> = true;

/// Reads the fields of one object into a struct.
class FieldReader {
 public:
  FieldReader(Resolved const& resolved, Node const& object) : resolved_{resolved}, object_{object} {}

  template <class Member>
  void operator()(std::string_view key, Member&& member, Presence presence = Presence::kRequired) {
    if (auto const found = find<Member>(key, presence)) read(*found, member);
  }
  template <class Member, class Number>
  void operator()(std::string_view key, Member&& member, Number (*must_be)(Node const&),
                  Presence presence = Presence::kRequired) {
    if (auto const found = find<Member>(key, presence)) read(*found, member, must_be);
  }
  void unread(std::string_view, std::string_view) {}

 private:
  template <class Member>
  std::optional<Node> find(std::string_view key, Presence presence) const {
    auto constexpr may_be_absent = kMayBeAbsent<std::remove_cvref_t<Member>>;
    return presence == Presence::kRequired && !may_be_absent ? object_.at(key) : object_.find(key);
  }

  // Texts, facts, words, structs.

  static void read(Node const& node, std::string& out) { out = node.string(); }
  static void read(Node const& node, bool& out) { out = node.boolean(); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  static void read(Node const& node, Enum& out) { out = node.word<Enum>(); }
  void read(Node const& node, HasFields auto& out) { read_fields(resolved_, node, out); }
  template <class T>
  void read(Node const& node, std::optional<T>& out) {
    read(node, out.emplace());
  }

  // Several of them.

  template <class T>
  void read(Node const& node, std::vector<T>& out) {
    for (auto const& each : node.elements()) read(each, out.emplace_back());
  }
  void read(Node const& node, std::vector<hardware::AttentionKernel>& out) {
    for (auto const& [name, each] : node.members()) {
      read(each, out.emplace_back());
      out.back().name = name;
    }
  }
  void read(Node const& node, std::map<CollectiveKind, hardware::FixedAlgorithm>& out) {
    node.allow_only(EnumNames<CollectiveKind>::values);
    for (auto const& [name, each] : node.members())
      if (auto const kind = find_enum<CollectiveKind>(name)) read(each, out[*kind]);
  }
  template <class Enum, class Array>
  void read(Node const& node, ByWord<Enum, Array>& out) {
    auto const words = all_names<Enum>();
    node.allow_only(words);
    for (std::size_t i = 0; i < out.array.size(); ++i) read(node.at(words[i]), out.array[i]);
  }
  /// Environment variables; a bare number, as --set reads it, is its digits.
  static void read(Node const& node, std::map<std::string, std::string>& out) {
    for (auto const& [name, value] : node.members())
      out[std::string{name}] = value.is(Node::Type::kNumber) ? std::to_string(value.integer()) : value.string();
  }
  void read(Node const& node, hardware::Tuning& out) {
    auto const version = object_.find("version");
    out = read_named_tuning(node, version ? version->string() : "");
  }

  // Numbers.

  template <class T>
  void read(Node const& node, T& out, T (*must_be)(Node const&)) {
    out = must_be(node);
  }
  template <class T>
  void read(Node const& node, hardware::Sourced<T>& out, T (*must_be)(Node const&)) {
    out = read_sourced(resolved_, node, must_be);
  }
  template <class T, class Number>
  void read(Node const& node, std::optional<T>& out, Number (*must_be)(Node const&)) {
    read(node, out.emplace(), must_be);
  }
  template <class T>
  void read(Node const& node, std::vector<T>& out, T (*must_be)(Node const&)) {
    for (auto const& each : node.elements()) out.push_back(must_be(each));
  }
  template <class Count>
  void read(Node const& node, Counted<Count, hardware::Provenance>& out, std::int64_t (*must_be)(Node const&)) {
    auto number = read_sourced(resolved_, node, must_be);
    out.count = number.value;
    out.from = {number.basis, std::move(number.source)};
  }
  void read(Node const& node, TileSide<std::optional<hardware::GemmTile>>& out, std::int64_t (*must_be)(Node const&)) {
    if (!out.tile) out.tile.emplace();
    (*out.tile).*out.side = read_sourced(resolved_, node, must_be);
  }
  void read(Node const& node, std::vector<hardware::Peak>& out, FlopsPerSecond (*must_be)(Node const&)) {
    for (auto const& [name, rate] : node.members()) {
      auto const type = find_enum<DataType>(name);
      if (!type)
        rate.fail(fmt::format("found a peak for {}, expected an element type", quoted(name)),
                  suggest_name(name, all_names<DataType>()));
      out.push_back({*type, read_sourced(resolved_, rate, must_be)});
    }
  }

  Resolved const& resolved_;
  Node const& object_;
};

// What fields must be beside each other. Before they are read, and after.

void check_before(Node const&, auto const&) {}

void check_before(Node const& document, hardware::Library const&) {
  if (auto const version = document.find("version"); version && version->is(Node::Type::kNumber))
    version->fail("found a number, expected a version in quotes: 2.30 is not 2.3", "write all of it, such as 2.30.0");
}

void check(Node const&, auto const&) {}

/// Both sides of a tile or neither.
void check(Node const& document, hardware::KernelEfficiency const& efficiency) {
  auto const expect = [&](std::string_view tile, bool is_there) {
    if (!is_there) return;
    for (auto const* const side : {"rows", "columns"}) static_cast<void>(document.at(fmt::format("{}_{}", tile, side)));
  };
  expect("gemm_tile", efficiency.gemm_tile.has_value());
  expect("convolution_tile", efficiency.convolution_tile.has_value());
}

void check(Node const& document, hardware::Gpu const& gpu) {
  if (!gpu.link_class.empty()) static_cast<void>(document.at("link"));
  // Texts that others read.
  if (auto const aliases = document.find("aliases"))
    for (auto const& alias : aliases->elements()) static_cast<void>(alias.string());
  for (auto const* const name : {"reference_node", "library"})
    if (auto const named = document.find(name)) static_cast<void>(named->string());
  if (gpu.peaks.empty()) document.at("peaks").fail("found no peak, expected one at least", "add one, such as \"bf16\"");
}

void check(Node const& document, hardware::Node const& node) {
  if (node.gpus > 1 && node.intra == hardware::IntraNode::kNone)
    document.at("intra").fail(fmt::format("found \"none\" for {} GPUs, expected a kind of link", node.gpus),
                              "\"none\" is for one GPU, and the others connect several");
  constexpr auto kLargestMesh = std::int64_t{64};
  constexpr auto kCubeMesh = std::int64_t{8};
  auto const most = node.intra == hardware::IntraNode::kCubeMesh ? kCubeMesh : kLargestMesh;
  auto const is_mesh = node.intra == hardware::IntraNode::kCubeMesh || node.intra == hardware::IntraNode::kMesh;
  if (is_mesh && node.gpus > most)
    document.at("gpus").fail(
        fmt::format("found {} GPUs in a {}, expected at most {}", node.gpus, name_of(node.intra), most),
        "larger nodes have switches: \"nvswitch\"");
  auto const at_host = node.gpus_on_host();
  if (node.gpus % at_host != 0 || node.nics % (node.gpus / at_host) != 0)
    document.at("gpus_per_host")
        .fail(fmt::format("found {} GPUs at a host, expected hosts with equal shares of {} GPUs and {} NICs", at_host,
                          node.gpus, node.nics),
              "give every host as many of both");
  if (node.gpus_per_host && node.intra != hardware::IntraNode::kNvSwitch && node.intra != hardware::IntraNode::kMesh)
    document.at("gpus_per_host")
        .fail("found several hosts whose GPUs NVLink does not join, expected \"nvswitch\" or \"mesh\"",
              "leave gpus_per_host out");
}

void check(Node const& document, hardware::Fabric const& fabric) {
  auto const levels = document.at("levels").elements();
  if (levels.empty()) document.at("levels").fail("found no tier, expected one at least", "one switch is one tier");
  auto below = std::int64_t{1};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    auto const above = fabric.levels[i].nodes;
    if (above % below != 0)
      levels[i].at("nodes").fail(
          fmt::format("found {} nodes below a switch, expected a multiple of the {} below the tier under it", above,
                      below),
          "switches of one tier connect as many nodes each");
    below = above;
  }
}

void check(Node const& document, hardware::SizeCorrection const& correction) {
  auto const sizes = document.at("sizes").elements();
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (correction.sizes[i] <= correction.sizes[i - 1])
      sizes[i].fail("found a size that is not above the one before it, expected rising sizes", "sort them");
  if (sizes.empty() || sizes.size() != correction.factors.size())
    document.at("factors").fail(
        fmt::format("found {} factors for {} sizes, expected one for each size, of which there is one at least",
                    correction.factors.size(), sizes.size()),
        "calibrate again");
}

/// Where a change lets something choose, fixed algorithms are kept and not used.
void check(Node const& document, hardware::Library const& library) {
  if (library.choice == hardware::Choice::kFixed && !document.find("algorithms"))
    document.fail("found the choice \"fixed\" without \"algorithms\", expected one for each collective",
                  R"(write {"all_reduce": {"algorithm": "ring", …}, …}, or choose "fastest")");
}

/// PYTORCH_CUDA_ALLOC_CONF of the job.
void check(Node const& document, hardware::Allocator const& allocator) {
  constexpr auto kLeastSplit = Bytes{(20 << 20) + 1};  // PyTorch: max_split_size_mb must be above its 20 MiB segments
  if (!allocator.max_split) return;
  auto const limit = document.at("max_split");
  if (*allocator.max_split < kLeastSplit)
    limit.fail(fmt::format("found {}, expected more than \"20 MiB\", the size of a segment", quoted(limit.string())),
               "raise it, or leave it out: then any block may be split");
  if (allocator.expandable_segments)
    limit.fail("found a limit to what is split beside expandable segments, whose blocks are always split",
               "leave one of them out");
}

void check(Node const& document, hardware::Cluster const& cluster) {
  auto const& fabric = cluster.fabric;
  if (cluster.nodes() > fabric.capacity())
    document.at("nodes").fail(fmt::format("found {} nodes, but fabric {} connects {}", cluster.nodes(),
                                          quoted(fabric.name), fabric.capacity()),
                              "use fewer nodes, or a fabric with another tier in its \"levels\"");
  if (fabric.ports_per_node && *fabric.ports_per_node > cluster.node().nics)
    document.at("fabric")
        .at("ports_per_node")
        .fail(fmt::format("found {} ports for each node, but node {} has {} NICs", *fabric.ports_per_node,
                          quoted(cluster.node().name), cluster.node().nics),
              "lower it, or leave it out to plug in all of them");
}

template <class T>
void read_fields(Resolved const& resolved, Node const& object, T& out) {
  auto keys = Keys{};
  fields(out, keys);
  object.allow_only(std::span<std::string_view const>{keys.all});
  check_before(object, out);
  auto reader = FieldReader{resolved, object};
  fields(out, reader);
  if constexpr (std::same_as<T, hardware::Node>)
    if (out.gpus == 1) out.intra = hardware::IntraNode::kNone;  // whatever would join it to others
  check(object, out);
}

template <class T>
T read_profile(Resolved const& resolved) {
  auto out = T{};
  read_fields(resolved, resolved.document, out);
  return out;
}

}  // namespace

hardware::Cluster read_cluster(Node const& reference, std::vector<std::string>& warnings, io::ReadText const& read) {
  auto const resolved = resolve(Kind::kCluster, reference, read);
  warnings.insert(warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
  auto cluster = read_profile<hardware::Cluster>(resolved);
  if (cluster.calibration.empty()) cluster.calibration = "uncalibrated: its profile does not say what was measured";
  return cluster;
}

hardware::Cluster read_cluster(Node const& reference) {
  auto warnings = std::vector<std::string>{};
  return read_cluster(reference, warnings);
}

hardware::Cluster read_cluster(std::string const& argument, std::vector<std::string>& warnings) {
  if (argument.starts_with('{')) return read_cluster(io::parse({"cluster", argument, false}), warnings);
  return read_cluster(io::string_node(argument, "cluster"), warnings);
}

hardware::Cluster read_cluster(std::string const& argument) {
  auto warnings = std::vector<std::string>{};
  return read_cluster(argument, warnings);
}

hardware::Gpu read_gpu(Node const& reference) {
  return read_profile<hardware::Gpu>(resolve(Kind::kGpu, reference));
}

hardware::Node read_node(Node const& reference) {
  return read_profile<hardware::Node>(resolve(Kind::kNode, reference));
}

hardware::Fabric read_fabric(Node const& reference) {
  return read_profile<hardware::Fabric>(resolve(Kind::kFabric, reference));
}

hardware::Link read_link(Node const& reference) {
  return read_profile<hardware::Link>(resolve(Kind::kLink, reference));
}

hardware::Transport read_transport(Node const& reference) {
  return read_profile<hardware::Transport>(resolve(Kind::kTransport, reference));
}

hardware::Stack read_stack(Node const& reference) {
  return read_profile<hardware::Stack>(resolve(Kind::kStack, reference));
}

hardware::Library read_library(Node const& reference) {
  return read_profile<hardware::Library>(resolve(Kind::kLibrary, reference));
}

void read_as_profile(Kind kind, Node const& document) {
  auto resolved = resolve(kind, document);
  resolved.profiles.push_back(&document.source());
  auto const read = [&]<class T>(T machine) {
    read_fields(resolved, resolved.document, machine);
    if (machine.name.empty()) resolved.document.at("name").fail("found an empty name, expected one", "give it a name");
  };
  switch (kind) {
    case Kind::kGpu: return read(hardware::Gpu{});
    case Kind::kNode: return read(hardware::Node{});
    case Kind::kFabric: return read(hardware::Fabric{});
    case Kind::kLink: return read(hardware::Link{});
    case Kind::kTransport: return read(hardware::Transport{});
    case Kind::kLibrary: return read(hardware::Library{});
    case Kind::kStack: return read(hardware::Stack{});
    case Kind::kCluster: return read(hardware::Cluster{});
  }
}

}  // namespace twinstep::hw_profiles
