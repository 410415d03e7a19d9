#include "hw_profiles/resolve.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "hw_profiles/facts.hpp"

namespace twinstep::hw_profiles {
namespace {

using io::Node;

struct Part {
  std::string_view key;
  Kind kind;
};

/// The members of a profile that are profiles themselves.
std::span<Part const> parts_of(Kind kind) {
  static constexpr auto kNodeParts = std::to_array<Part>({{"gpu", Kind::kGpu}, {"link", Kind::kLink}});
  static constexpr auto kFabricParts = std::to_array<Part>({{"transport", Kind::kTransport}});
  static constexpr auto kClusterParts = std::to_array<Part>(
      {{"node", Kind::kNode}, {"fabric", Kind::kFabric}, {"library", Kind::kLibrary}, {"stack", Kind::kStack}});
  if (kind == Kind::kNode) return kNodeParts;
  if (kind == Kind::kFabric) return kFabricParts;
  if (kind == Kind::kCluster) return kClusterParts;
  return {};
}

bool names_profile(Node const& reference) {
  return reference.is(Node::Type::kString) || (reference.is(Node::Type::kObject) && reference.has("profile"));
}

/// A member that may be null or missing, in an object.
std::optional<Node> find(Node const& object, std::string_view key) {
  return object.find(key);
}

class Resolver {
 public:
  explicit Resolver(io::ReadText const& read) : read_{read} {}

  Node resolve(Kind kind, Node const& reference) {
    if (++depth_ > kDeepest)
      reference.fail("found profiles that name each other in a circle, expected a chain with an end",
                     "give one of them its own values instead of \"profile\"");
    auto document = resolve_reference(kind, reference);
    --depth_;
    return kind == Kind::kCluster ? with_cluster_changes(std::move(document)) : document;
  }

  [[nodiscard]] std::vector<io::Source const*> const& profiles() const { return profiles_; }
  [[nodiscard]] std::vector<std::string> const& warnings() const { return warnings_; }

 private:
  static constexpr int kDeepest = 16;

  Node resolve_reference(Kind kind, Node const& reference) {
    if (reference.is(Node::Type::kString)) return resolve(kind, load(kind, reference));
    if (auto const profile = find(reference, "profile"))
      return changed(kind, resolve(kind, load(kind, *profile)), io::without_member(reference, "profile"));
    if (kind == Kind::kCluster && are_facts(reference)) return from_facts(reference);
    auto document = reference;
    for (auto const& part : parts_of(kind))
      if (auto const value = find(document, part.key))
        document = io::with_member(document, part.key, resolve(part.kind, *value));
    return document;
  }

  /// The cluster that physical facts describe, changed by what stands beside them.
  Node from_facts(Node const& reference) {
    auto const [facts, changes] = split_facts(reference);
    auto [profile, missing] = read_facts(facts);
    warnings_ = std::move(missing);
    return changed(Kind::kCluster, resolve_reference(Kind::kCluster, remembered(profile)), changes);
  }

  /// `base`, whose parts are resolved, with the members of `patch` in place of its own.
  Node changed(Kind kind, Node base, Node patch) {
    for (auto const& part : parts_of(kind)) {
      auto const change = find(patch, part.key);
      if (!change) continue;
      base = io::with_member(base, part.key, changed_part(part.kind, find(base, part.key), *change));
      patch = io::without_member(patch, part.key);
    }
    return io::merge(base, patch);
  }

  Node changed_part(Kind kind, std::optional<Node> const& base, Node const& change) {
    return names_profile(change) || !base ? resolve(kind, change) : changed(kind, *base, change);
  }

  /// Moves the change of a cluster's GPU into its node, and names the library that most clusters run.
  Node with_cluster_changes(Node cluster) {
    auto node = find(cluster, "node");
    if (!node) return cluster;  // the reader says what is missing
    if (auto const gpu = find(cluster, "gpu"))
      node = io::with_member(*node, "gpu", changed_part(Kind::kGpu, find(*node, "gpu"), *gpu));
    cluster = io::with_member(io::without_member(cluster, "gpu"), "node", *node);
    if (find(cluster, "library")) return cluster;
    return io::with_member(cluster, "library", resolve(Kind::kLibrary, io::string_node("nccl", "library")));
  }

  /// The profile that a string names: a shipped one, or a file beside the one that the string stands in.
  Node load(Kind kind, Node const& reference) {
    auto const name = std::string{reference.string()};
    if (auto const shipped = find_name(kind, name))
      return remembered(io::parse({profile_file(kind, *shipped), profile_text(kind, *shipped)}));
    for (auto const other : {Kind::kGpu, Kind::kNode, Kind::kFabric, Kind::kCluster})
      if (other != kind && find_name(other, name)) refuse_other_kind(kind, other, reference);
    if (name.find('/') == std::string::npos && !name.ends_with(".json"))
      reference.fail(fmt::format("found {}, expected the name of a {} profile or the path of a .json file",
                                 twinstep::quoted(name), name_of(kind)),
                     suggest_profile(kind, name));
    auto path = std::filesystem::path{name};
    if (path.is_relative() && reference.source().has_lines)
      path = std::filesystem::path{reference.source().name}.parent_path() / path;
    return remembered(io::parse_file(path.string(), io::Dialect::kJson, read_));
  }

  [[noreturn]] static void refuse_other_kind(Kind wanted, Kind found, Node const& reference) {
    auto const sentence = fmt::format("found the {} profile {}, expected that of a {}", name_of(found),
                                      twinstep::quoted(reference.string()), name_of(wanted));
    reference.fail(sentence, wanted == Kind::kCluster && found != Kind::kGpu
                                 ? fmt::format("set cluster.{} to it, or give a cluster that names it", name_of(found))
                                 : fmt::format("name a {}", name_of(wanted)));
  }

  Node remembered(Node document) {
    profiles_.push_back(&document.source());
    return document;
  }

  io::ReadText const& read_;
  std::vector<io::Source const*> profiles_;
  std::vector<std::string> warnings_;
  int depth_ = 0;
};

}  // namespace

bool Resolved::is_in_profile(Node const& value) const {
  return std::ranges::find(profiles, &value.source()) != profiles.end();
}

Resolved resolve(Kind kind, Node const& reference, io::ReadText const& read) {
  auto resolver = Resolver{read};
  auto const document = resolver.resolve(kind, reference);
  // Paths begin where the reference stands, so that they are what a --set would name.
  return {Node{document.shared_value(), reference.step()}, resolver.profiles(), resolver.warnings()};
}

}  // namespace twinstep::hw_profiles
