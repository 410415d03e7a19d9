#include "hw_profiles/cluster_document.hpp"

#include "hw_profiles/fields.hpp"
#include "sim/io/maker.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::hw_profiles {
namespace {

using hardware::Sourced;
using io::Maker;
using io::Node;

/// Whether a member has what it has without being stated.
template <class T>
bool says_nothing(T const& member) {
  if constexpr (std::equality_comparable<T>)
    return member == T{};
  else
    return false;
}
template <class T>
bool says_nothing(Sourced<T> const& number) {
  return number.source.empty();
}
template <class Count, class From>
bool says_nothing(Counted<Count, From> const& counted) {
  return counted.count == 1;
}

/// Makes an object of the fields of a struct.
class FieldWriter {
 public:
  explicit FieldWriter(Maker const& make) : make_{make} {}

  template <class Member>
  void operator()(std::string_view key, Member const& member, Presence presence = Presence::kRequired) {
    if (presence != Presence::kOptional || !says_nothing(member)) put(key, member);
  }
  template <class Member, class Number>
  void operator()(std::string_view key, Member const& member, Number (*)(Node const&),
                  Presence presence = Presence::kRequired) {
    if (presence != Presence::kOptional || !says_nothing(member)) put(key, member);
  }
  void unread(std::string_view key, std::string_view text) {
    if (!text.empty()) put(key, text);
  }
  [[nodiscard]] Node object() const { return make_.object(members_); }

 private:
  void put(std::string_view key, auto const& member) { members_.emplace_back(key, value(member)); }
  template <class T>
  void put(std::string_view key, std::optional<T> const& member) {
    if (member) put(key, *member);
  }
  template <class Count, class From>
  requires requires(Count count) { count.has_value(); }
  void put(std::string_view key, Counted<Count, From> const& member) {
    if (member.count) put(key, counted(*member.count, member.from));
  }
  template <class Tile>
  void put(std::string_view key, TileSide<Tile> const& member) {
    if (member.tile) put(key, (*member.tile).*member.side);
  }

  [[nodiscard]] Node value(std::string_view text) const { return make_.text(text); }
  [[nodiscard]] Node value(std::string const& text) const { return make_.text(text); }
  [[nodiscard]] Node value(std::same_as<bool> auto fact) const { return make_.fact(fact); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  [[nodiscard]] Node value(Enum word) const { return make_.text(name_of(word)); }
  template <class Number>
  requires requires(Maker const& make, Number const& number) { to_document(make, number); }
  [[nodiscard]] Node value(Number const& number) const { return to_document(make_, number); }
  /// A cluster that was built in memory has no source for its counts; a profile must have one.
  template <class Count, class From>
  [[nodiscard]] Node value(Counted<Count, From> const& its) const {
    return with_source(make_, make_.number(its.count), its.from.basis,
                       its.from.source.empty() ? "not stated" : its.from.source);
  }

  [[nodiscard]] Node value(HasFields auto const& machine) const {
    auto writer = FieldWriter{make_};
    fields(machine, writer);
    return writer.object();
  }
  template <class T>
  [[nodiscard]] Node value(std::vector<T> const& list) const {
    auto elements = std::vector<Node>{};
    for (auto const& each : list) elements.push_back(value(each));
    return make_.array(elements);
  }

  // Lists whose elements have names.

  [[nodiscard]] Node value(std::vector<hardware::AttentionKernel> const& kernels) const {
    auto members = std::vector<Maker::Member>{};
    for (auto const& each : kernels) members.emplace_back(each.name, value(each));
    return make_.object(members);
  }
  [[nodiscard]] Node value(std::vector<hardware::Peak> const& peaks) const {
    auto members = std::vector<Maker::Member>{};
    for (auto const& each : peaks) members.emplace_back(name_of(each.type), value(each.rate));
    return make_.object(members);
  }
  template <class Key, class T>
  [[nodiscard]] Node value(std::map<Key, T> const& map) const {
    auto members = std::vector<Maker::Member>{};
    for (auto const& [key, each] : map) members.emplace_back(word_of(key), value(each));
    return make_.object(members);
  }
  template <class Enum, class Array>
  [[nodiscard]] Node value(ByWord<Enum, Array> const& by_word) const {
    auto members = std::vector<Maker::Member>{};
    for (std::size_t i = 0; i < by_word.array.size(); ++i)
      members.emplace_back(all_names<Enum>()[i], value(by_word.array[i]));
    return make_.object(members);
  }
  static std::string_view word_of(std::string const& key) { return key; }
  static std::string_view word_of(CollectiveKind key) { return name_of(key); }

  /// The name of the table, out of which the version chooses.
  [[nodiscard]] Node value(hardware::Tuning const& tuning) const {
    return make_.text(tuning.from_version.empty() ? "none" : "nccl");
  }

  Maker const& make_;
  std::vector<Maker::Member> members_;
};

}  // namespace

Node cluster_document(hardware::Cluster const& cluster) {
  auto const make = Maker{"cluster"};
  auto writer = FieldWriter{make};
  writer.unread("$schema", "../schema/cluster.schema.json");
  fields(cluster, writer);
  return writer.object();
}

Node calibrations_document(std::vector<hardware::CollectiveCalibration> const& calibrations) {
  auto const make = Maker{"calibrations"};
  auto elements = std::vector<Node>{};
  for (auto const& each : calibrations) {
    auto writer = FieldWriter{make};
    fields(each, writer);
    elements.push_back(writer.object());
  }
  return make.array(elements);
}

}  // namespace twinstep::hw_profiles
