#include "sim/collectives/tuner/tuner.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/tuner/model.hpp"

namespace twinstep::collectives::tuner {
namespace {

using hardware::Algorithm;
using hardware::Protocol;

struct Combination {
  Algorithm algorithm;
  Protocol protocol;
};

constexpr auto kAllReduces = std::to_array<Combination>({{Algorithm::kTree, Protocol::kLl},
                                                         {Algorithm::kTree, Protocol::kLl128},
                                                         {Algorithm::kTree, Protocol::kSimple},
                                                         {Algorithm::kRing, Protocol::kLl},
                                                         {Algorithm::kRing, Protocol::kLl128},
                                                         {Algorithm::kRing, Protocol::kSimple},
                                                         {Algorithm::kCollNetDirect, Protocol::kSimple},
                                                         {Algorithm::kCollNetChain, Protocol::kSimple},
                                                         {Algorithm::kNvls, Protocol::kSimple},
                                                         {Algorithm::kNvlsTree, Protocol::kSimple}});
constexpr auto kGathers = std::to_array<Combination>({{Algorithm::kRing, Protocol::kLl},
                                                      {Algorithm::kRing, Protocol::kLl128},
                                                      {Algorithm::kRing, Protocol::kSimple},
                                                      {Algorithm::kCollNetDirect, Protocol::kSimple},
                                                      {Algorithm::kNvls, Protocol::kSimple},
                                                      {Algorithm::kPat, Protocol::kSimple}});
constexpr auto kRooted = std::to_array<Combination>(
    {{Algorithm::kRing, Protocol::kLl}, {Algorithm::kRing, Protocol::kLl128}, {Algorithm::kRing, Protocol::kSimple}});

std::span<Combination const> combinations(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return kAllReduces;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return kGathers;
    default: return kRooted;
  }
}

/// NCCL avoids rings that add up fp8 over many ranks: each step rounds (src/enqueue.cc).
double reluctance(TunerRequest const& request, Algorithm algorithm) {
  auto const is_rough = reduces(request.kind) && request.type == DataType::kFp8 && request.graph.ranks > 8;
  return is_rough && algorithm == Algorithm::kRing ? 1024 : 1;
}

Tuned tune_one(TunerRequest const& request, Combination const& each) {
  auto tuned = Tuned{};
  tuned.algorithm = each.algorithm;
  tuned.protocol = each.protocol;
  tuned.off_because = why_off(request, each.algorithm, each.protocol);
  auto const [latency, bandwidth] = predict(request, each.algorithm, each.protocol);
  if (!(bandwidth > 0)) {
    if (tuned.is_on()) tuned.off_because = "the machine has no channels for it";
    return tuned;
  }
  auto const factor = reluctance(request, each.algorithm);
  tuned.latency = to_duration(Seconds{latency * factor});
  tuned.bandwidth = BytesPerSecond{bandwidth / factor};
  tuned.time = to_duration(Seconds{factor * (latency + static_cast<double>(request.size.count()) / bandwidth)});
  tuned.channels = channels_used(request, each.algorithm, each.protocol);
  return tuned;
}

/// The fastest one that is on and `wanted`, the first of equals; null if there is none.
template <class Wanted>
Tuned const* fastest(std::vector<Tuned> const& table, Wanted wanted) {
  auto const* result = static_cast<Tuned const*>(nullptr);
  for (auto const& each : table)
    if (each.is_on() && wanted(each) && (!result || each.time < result->time)) result = &each;
  return result;
}

std::vector<Tuned> table_of(TunerRequest const& request) {
  auto table = std::vector<Tuned>{};
  auto const rows = combinations(request.kind);
  table.reserve(rows.size());
  for (auto const& each : rows) table.push_back(tune_one(request, each));
  return table;
}

TunerRequest with(TunerRequest const& request, Bytes size, Environment const& environment) {
  return {request.kind, size, request.reduction, request.type, request.graph, environment, request.cluster};
}

std::string combination_text(Tuned const& each) {
  return fmt::format("{}/{}", name_of(each.algorithm), name_of(each.protocol));
}

[[noreturn]] void fail_nothing_left(TunerRequest const& request) {
  auto const unmasked = Environment{};
  auto names = std::vector<std::string>{};
  for (auto const& each : table_of(with(request, request.size, unmasked)))
    if (each.is_on()) names.push_back(combination_text(each));
  auto const& variables = request.cluster.library.environment;
  auto const name = request.environment.mask(request.kind).algorithms_are_set ? "NCCL_ALGO" : "NCCL_PROTO";
  auto const value = variables.find(name);
  throw InputError{fmt::format(
      "cluster.library.environment.{}: found {}, which leaves nothing to do {} with, expected to leave one of {}; "
      "write it for one collective, as in \"allreduce:tree\", or unset it",
      name, quoted(value == variables.end() ? "" : value->second), name_of(request.kind), fmt::join(names, ", "))};
}

std::string size_text(Bytes size) {
  constexpr auto kUnits = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  auto value = static_cast<double>(size.count());
  auto unit = std::size_t{0};
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

double microseconds(Duration duration) {
  return to_seconds(duration).count() * 1e6;
}

/// The smallest of the powers of two below, from which on this choice holds without a break.
Bytes holds_from(TunerRequest const& request, Tuned const& chosen) {
  auto from = request.size;
  auto power = std::int64_t{1};
  while (power * 2 <= request.size.count()) power *= 2;
  for (; power >= 1; power /= 2) {
    auto const smaller = with(request, Bytes{power}, request.environment);
    auto const table = tune(smaller);
    auto const* const there = fastest(table, [](Tuned const&) { return true; });
    if (!there || there->algorithm != chosen.algorithm || there->protocol != chosen.protocol) break;
    from = smaller.size;
  }
  return from;
}

/// What of latency and bandwidth decided.
std::string_view advantage(Tuned const& chosen, Tuned const& other) {
  if (chosen.latency > other.latency) return "its bandwidth outweighs its latency";
  return chosen.bandwidth > other.bandwidth ? "it is better in latency and bandwidth" : "latency decides at this size";
}

}  // namespace

std::vector<Tuned> tune(TunerRequest const& request) {
  TWINSTEP_CHECK(is_tuned(request.kind) && request.graph.ranks > 1, "NCCL tunes collectives of several ranks");
  auto table = table_of(request);
  auto const has_choice = std::any_of(table.begin(), table.end(), [](Tuned const& each) { return each.is_on(); });
  if (has_choice || request.cluster.library.tuning.has_strict_masks) return table;
  // Before 2.24 a ring ran where the user's variables left nothing.
  for (auto& each : table)
    if (each.algorithm == Algorithm::kRing && each.bandwidth.count() > 0) each.off_because = "";
  return table;
}

Tuned const& best(std::vector<Tuned> const& table, TunerRequest const& request) {
  auto const* const result = fastest(table, [](Tuned const&) { return true; });
  if (!result) fail_nothing_left(request);
  return *result;
}

std::string explain(std::vector<Tuned> const& table, TunerRequest const& request) {
  auto const& chosen = best(table, request);
  auto const* const other = fastest(table, [&](Tuned const& each) { return &each != &chosen; });
  auto const from = holds_from(request, chosen);
  auto const holds =
      from.count() <= 1 ? std::string{"at every size so far"} : fmt::format("from {} on", size_text(from));
  auto const costs =
      fmt::format("{:.1f} us and then {:.2f} GB/s", microseconds(chosen.latency), chosen.bandwidth.count() / 1e9);
  if (!other) return fmt::format("{} {}, because nothing else is left ({})", combination_text(chosen), holds, costs);
  return fmt::format("{} {}, because {} ({}): {:.1f} us, where {} would take {:.1f} us", combination_text(chosen),
                     holds, advantage(chosen, *other), costs, microseconds(chosen.time), combination_text(*other),
                     microseconds(other->time));
}

}  // namespace twinstep::collectives::tuner
