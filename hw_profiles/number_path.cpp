#include "hw_profiles/number_path.hpp"

#include <cmath>

#include <fmt/format.h>

#include "hw_profiles/fields.hpp"

namespace twinstep::hw_profiles {
namespace {

using hardware::Sourced;

template <class T>
concept IsOptional = requires(T& member) {
  member.has_value();
};
template <class T>
concept IsSourced = requires(T& member) {
  member.value;
  member.basis;
};
template <class T, class Element>
concept IsListOf = std::same_as<std::remove_const_t<T>, std::vector<Element>>;
template <class T>
concept IsListOfFields = requires(T& list) {
  requires HasFields<std::remove_reference_t<decltype(list[0])>>;
};
template <class T>
concept IsByWord = requires(T& words) {
  words.array;
  typename T::Word;
};
template <class T>
concept IsMapOfFields = requires(T& map) {
  requires HasFields<typename T::mapped_type>;
};

/// Calls `act(number, must_be)` for the numbers at a path.
template <class Act>
class NumberFinder {
 public:
  NumberFinder(std::string_view path, Act const& act)
      : key_{path.substr(0, path.find('.'))}, rest_{path.substr(std::min(path.size(), key_.size() + 1))}, act_{act} {}

  void operator()(std::string_view key, auto&& member, Presence = Presence::kRequired) {
    if (leads_to(key)) descend(member);
  }
  template <class Number>
  void operator()(std::string_view key, auto&& member, Number (*must_be)(io::Node const&),
                  Presence = Presence::kRequired) {
    if (leads_to(key)) find(member, must_be);
  }
  void unread(std::string_view, std::string_view) {}

 private:
  [[nodiscard]] bool leads_to(std::string_view key) const { return key_.empty() || key_ == "*" || key_ == key; }

  /// Into what has no value of its own; texts, facts and words have no numbers.
  template <class T>
  void descend(T& member) {
    auto below = NumberFinder{rest_, act_};
    if constexpr (HasFields<T>)
      fields(member, below);
    else if constexpr (IsOptional<T>) {
      if (member) descend(*member);
    } else if constexpr (IsByWord<T>) {
      for (std::size_t i = 0; i < member.array.size(); ++i) below(all_names<typename T::Word>()[i], member.array[i]);
    } else if constexpr (IsMapOfFields<T>) {
      for (auto& [key, each] : member) below(name_of(key), each);
    } else if constexpr (IsListOf<T, hardware::AttentionKernel>) {
      for (auto& each : member) below(each.name, each);
    } else if constexpr (IsListOfFields<T>) {
      for (std::size_t i = 0; i < member.size(); ++i) below(fmt::format_int{i}.c_str(), member[i]);
    }
  }

  template <class T, class Number>
  void find(T& member, Number (*must_be)(io::Node const&)) {
    if constexpr (IsSourced<T>) {
      if (rest_.empty()) act_(member, must_be);
    } else if constexpr (IsOptional<T>) {
      if (member) find(*member, must_be);
    } else if constexpr (IsListOf<T, hardware::Peak>) {
      auto below = NumberFinder{rest_, act_};
      for (auto& each : member) below(name_of(each.type), each.rate, must_be);
    }
  }

  std::string_view key_;   ///< "" for all
  std::string_view rest_;  ///< below it
  Act const& act_;
};

void for_numbers(auto& machine, std::string_view path, auto const& act) {
  auto finder = NumberFinder{path, act};
  fields(machine, finder);
}

/// Calls `act` for the numbers of a cluster, or of the node of one, at a path in the cluster's profile.
void for_numbers_at(Of<hardware::Cluster> auto& cluster, std::string_view path, auto const& act) {
  if (constexpr auto kGpu = std::string_view{"gpu."}; path.starts_with(kGpu))
    for_numbers(cluster.node().gpu, path.substr(kGpu.size()), act);
  else
    for_numbers(cluster, path, act);
}
void for_numbers_at(Of<hardware::Node> auto& node, std::string_view path, auto const& act) {
  if (constexpr auto kNode = std::string_view{"node."}; path.starts_with(kNode))
    for_numbers(node, path.substr(kNode.size()), act);
}

/// What numbers of each type are fitted in.
struct PlainUnit {
  static constexpr std::string_view kName = "";
  static double in_unit(double value) { return value; }
  static double in_unit(std::int64_t value) { return static_cast<double>(value); }
  static void set(double& to, double value) { to = value; }
  static void set(std::int64_t& to, double value) { to = std::llround(value); }
};
template <class Number>
struct Unit : PlainUnit {};
template <>
struct Unit<Duration> {
  static constexpr std::string_view kName = "us";
  static double in_unit(Duration value) { return to_seconds(value).count() * 1e6; }
  static void set(Duration& to, double value) { to = to_duration(Seconds{value * 1e-6}); }
};
template <>
struct Unit<BytesPerSecond> {
  static constexpr std::string_view kName = "GB/s";
  static double in_unit(BytesPerSecond value) { return value.count() / 1e9; }
  static void set(BytesPerSecond& to, double value) { to = BytesPerSecond{value * 1e9}; }
};
template <>
struct Unit<FlopsPerSecond> {
  static constexpr std::string_view kName = "FLOP/s";
  static double in_unit(FlopsPerSecond value) { return value.count(); }
  static void set(FlopsPerSecond& to, double value) { to = FlopsPerSecond{value}; }
};
template <>
struct Unit<Bytes> {
  static constexpr std::string_view kName = "KiB";
  static double in_unit(Bytes value) { return static_cast<double>(value.count()) / 1024; }
  static void set(Bytes& to, double value) { to = to_bytes(value * 1024); }
};

/// More of a fraction that is reached helps; other plain numbers are factors on costs.
bool more_helps(double (*must_be)(io::Node const&)) {
  return must_be == fraction || must_be == fraction_from_zero;
}
template <class Number>
bool more_helps(Number (*)(io::Node const&)) {
  return !std::same_as<Number, Duration>;
}

std::optional<NumberAt> first_number(auto const& machine, std::string_view path) {
  auto found = std::optional<NumberAt>{};
  for_numbers_at(machine, path, [&]<class T>(Sourced<T> const& number, T (*must_be)(io::Node const&)) {
    if (!found) found = {Unit<T>::in_unit(number.value), Unit<T>::kName, more_helps(must_be)};
  });
  return found;
}

void set_all(auto& machine, std::string_view path, double value) {
  for_numbers_at(machine, path,
                 [&]<class T>(Sourced<T>& number, T (*)(io::Node const&)) { Unit<T>::set(number.value, value); });
}

void scale(double& value, double factor) {
  value *= factor;
}
void scale(std::int64_t& value, double factor) {
  value = std::llround(static_cast<double>(value) * factor);
}
template <class Tag>
void scale(Quantity<Tag, double>& value, double factor) {
  value *= factor;
}
template <class Tag>
void scale(Quantity<Tag, std::int64_t>& value, double factor) {
  value = Quantity<Tag, std::int64_t>{std::llround(static_cast<double>(value.count()) * factor)};
}

}  // namespace

std::optional<NumberAt> number_at(hardware::Cluster const& cluster, std::string_view path) {
  return first_number(cluster, path);
}

std::optional<NumberAt> number_at(hardware::Node const& node, std::string_view path) {
  return first_number(node, path);
}

void set_numbers(hardware::Cluster& cluster, std::string_view path, double value) {
  set_all(cluster, path, value);
}

void set_numbers(hardware::Node& node, std::string_view path, double value) {
  set_all(node, path, value);
}

void scale_numbers(hardware::Cluster& cluster, std::string_view path, double factor) {
  for_numbers_at(cluster, path,
                 [&]<class T>(Sourced<T>& number, T (*)(io::Node const&)) { scale(number.value, factor); });
}

}  // namespace twinstep::hw_profiles
