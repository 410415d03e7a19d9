#include "reports/compare.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "reports/breakdown.hpp"
#include "reports/intervals.hpp"

namespace twinstep::reports {

using program::MemoryCategory;
using program::MemorySpace;
using program::WorkKind;
using timeline::Span;
using timeline::Timeline;
using timeline::TrackId;

namespace {

Duration visible_time(Span const& span) {
  return span.end - span.arrive;
}

Time last_end(Timeline const& timeline, TrackId track) {
  auto last = Time{};
  for (auto const& span : spans_of(timeline, track)) last = std::max(last, span.end);
  return last;
}

/// The track of every role that ends last; the first of them if several do.
std::map<std::string_view, TrackId> representatives(Timeline const& timeline) {
  auto tracks = std::map<std::string_view, TrackId>{};
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    auto const [entry, is_new] = tracks.try_emplace(timeline.tracks[i].role, TrackId{i});
    if (!is_new && last_end(timeline, TrackId{i}) > last_end(timeline, entry->second)) entry->second = TrackId{i};
  }
  return tracks;
}

/// A span that knows how many of its name came before it on its track.
struct Occurrence {
  std::tuple<std::string_view, std::string_view, std::int64_t> key;  // scope, name, how many before
  Span const* span = nullptr;
};

/// @param scopes  their texts, by ScopeId
std::vector<Occurrence> occurrences(Timeline const& timeline, std::vector<std::string> const& scopes, TrackId track) {
  auto counts = std::map<std::pair<std::string_view, std::string_view>, std::int64_t>{};
  auto result = std::vector<Occurrence>{};
  for (auto const& span : spans_of(timeline, track)) {
    auto const scope = span.scope.exists() ? std::string_view{scopes[span.scope.index()]} : std::string_view{};
    auto const name = timeline.text(span.name);
    result.push_back({{scope, name, counts[{scope, name}]++}, &span});
  }
  return result;
}

class Comparer {
 public:
  Comparer(Timeline const& a, Timeline const& b)
      : a_{a},
        b_{b},
        scopes_a_{program::scope_texts(a.scopes, a.names)},
        scopes_b_{program::scope_texts(b.scopes, b.names)} {}

  Comparison compare() {
    compare_roles();
    compare_memory();
    return std::move(out_);
  }

 private:
  void compare_roles();
  void compare_tracks(std::string_view role, TrackId track_a, TrackId track_b);
  void compare_memory();
  void add_kinds();

  using Kinds = std::array<KindDifference, kEnumSize<WorkKind>>;

  Timeline const& a_;
  Timeline const& b_;
  std::vector<std::string> scopes_a_;
  std::vector<std::string> scopes_b_;
  Kinds kinds_{};
  Comparison out_;
};

void Comparer::compare_roles() {
  auto const roles_a = representatives(a_);
  auto const roles_b = representatives(b_);
  if (roles_a.size() == 1 && roles_b.size() == 1) {
    compare_tracks(roles_a.begin()->first, roles_a.begin()->second, roles_b.begin()->second);
  } else {
    for (auto const& [role, track] : roles_a) {
      if (auto const other = roles_b.find(role); other != roles_b.end())
        compare_tracks(role, track, other->second);
      else
        out_.roles_only_a.emplace_back(role);
    }
    for (auto const& [role, track] : roles_b)
      if (!roles_a.contains(role)) out_.roles_only_b.emplace_back(role);
  }
  std::ranges::stable_sort(out_.spans, std::greater{}, [](SpanDifference const& span) {
    return std::max(span.time.difference(), -span.time.difference());
  });
  add_kinds();
}

void Comparer::compare_tracks(std::string_view role, TrackId track_a, TrackId track_b) {
  auto const in_a = occurrences(a_, scopes_a_, track_a);
  auto const in_b = occurrences(b_, scopes_b_, track_b);
  auto unmatched = std::map<decltype(Occurrence::key), Span const*>{};
  for (auto const& [key, span] : in_b) {
    unmatched.emplace(key, span);
    auto& kind = kinds_[static_cast<std::size_t>(span->kind)];
    kind.time.b += visible_time(*span);
    ++kind.spans.b;
  }
  for (auto const& [key, span] : in_a) {
    auto& kind = kinds_[static_cast<std::size_t>(span->kind)];
    kind.time.a += visible_time(*span);
    ++kind.spans.a;
    auto const what = describe(a_, *span);
    auto const match = unmatched.find(key);
    if (match == unmatched.end()) {
      out_.only_a.push_back({std::string{role}, what, std::get<2>(key), span->kind, visible_time(*span)});
      continue;
    }
    out_.spans.push_back(
        {std::string{role}, what, std::get<2>(key), span->kind, {visible_time(*span), visible_time(*match->second)}});
    unmatched.erase(match);
  }
  for (auto const& [key, span] : in_b)
    if (unmatched.contains(key))
      out_.only_b.push_back(
          {std::string{role}, describe(b_, *span), std::get<2>(key), span->kind, visible_time(*span)});
}

void Comparer::add_kinds() {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].spans == Pair<std::int64_t>{}) continue;
    kinds_[i].kind = static_cast<WorkKind>(i);
    out_.kinds.push_back(kinds_[i]);
  }
}

void Comparer::compare_memory() {
  auto const peak_a = find_worst_peak(a_, MemorySpace::kDevice);
  auto const peak_b = find_worst_peak(b_, MemorySpace::kDevice);
  out_.peak = {peak_a.total(), peak_b.total()};
  for (std::size_t i = 0; i < peak_a.held.size(); ++i)
    if (auto const bytes = Pair<Bytes>{peak_a.held[i], peak_b.held[i]}; bytes != Pair<Bytes>{})
      out_.memory.push_back({static_cast<MemoryCategory>(i), bytes});
}

std::vector<ShareDifference> compare_shares(Timeline const& a, Timeline const& b) {
  auto shares = std::vector<ShareDifference>{};
  auto const add = [&shares](Timeline const& timeline, Duration Pair<Duration>::*side) {
    if (timeline.tracks.empty()) return;
    for (auto const& entry : break_down(timeline, slowest_track(timeline))) {
      auto const name = breakdown_name(entry);
      auto share = std::ranges::find(shares, name, &ShareDifference::name);
      if (share == shares.end()) share = shares.insert(shares.end(), {name, {}});
      share->time.*side += entry.time;
    }
  };
  add(a, &Pair<Duration>::a);
  add(b, &Pair<Duration>::b);
  std::ranges::stable_sort(shares, std::greater{}, [](ShareDifference const& share) {
    return std::max(share.time.difference(), -share.time.difference());
  });
  return shares;
}

}  // namespace

Comparison compare(Timeline const& a, Timeline const& b) {
  auto comparison = Comparer{a, b}.compare();
  comparison.shares = compare_shares(a, b);
  comparison.manifest_a = a.manifest;
  comparison.manifest_b = b.manifest;
  comparison.step_time = {a.step_time, b.step_time};
  return comparison;
}

}  // namespace twinstep::reports
