#include <algorithm>
#include <span>

#include "sim/io/timeline_json.hpp"

namespace twinstep::io {
namespace {

using timeline::Traffic;

/// Begins and ends, each once.
std::vector<Time> moments_of(std::span<Traffic const> traffic) {
  auto moments = std::vector<Time>{};
  for (auto const& one : traffic) {
    moments.push_back(one.begin);
    moments.push_back(one.end);
  }
  std::ranges::sort(moments);
  auto const rest = std::ranges::unique(moments);
  moments.erase(rest.begin(), rest.end());
  return moments;
}

/// `traffic` is that of one track, in the order of begins.
void add_track(std::vector<LinkRates>& out, std::span<Traffic const> traffic, std::int64_t ranks) {
  auto next = traffic.begin();
  auto in_flight = std::vector<Traffic const*>{};
  for (auto const time : moments_of(traffic)) {
    std::erase_if(in_flight, [&](Traffic const* one) { return one->end <= time; });
    for (; next != traffic.end() && next->begin <= time; ++next) in_flight.push_back(&*next);
    auto& rates = out.emplace_back();
    rates.track = traffic.front().track;
    rates.time = time;
    for (auto const* const one : in_flight) {
      auto const rank_seconds = to_seconds(one->end - one->begin).count() * static_cast<double>(ranks);
      rates.intra += static_cast<double>(one->bytes.intra.count()) / rank_seconds;
      rates.inter += static_cast<double>(one->bytes.inter.count()) / rank_seconds;
    }
  }
}

}  // namespace

std::vector<LinkRates> link_rates(timeline::Timeline const& timeline) {
  auto out = std::vector<LinkRates>{};
  for (auto rest = std::span{timeline.traffic}; !rest.empty();) {
    auto const track = rest.front().track;
    auto const end = std::ranges::find_if(rest, [&](Traffic const& one) { return one.track != track; });
    auto const count = static_cast<std::size_t>(end - rest.begin());
    add_track(out, rest.first(count), timeline.tracks[track.index()].multiplicity);
    rest = rest.subspan(count);
  }
  return out;
}

}  // namespace twinstep::io
