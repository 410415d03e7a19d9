#include "sim/io/payload_rates.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::io {
namespace {

using timeline::Span;

/// Begins and ends, each once.
std::vector<Time> moments_of(std::vector<Span const*> const& spans) {
  auto moments = std::vector<Time>{};
  for (auto const* const span : spans) {
    moments.push_back(span->start);
    moments.push_back(span->end);
  }
  std::ranges::sort(moments);
  auto const rest = std::ranges::unique(moments);
  moments.erase(rest.begin(), rest.end());
  return moments;
}

double payload_rate(Span const& span) {
  return static_cast<double>(span.bytes.count()) / to_seconds(span.end - span.start).count();
}

void add_track(std::vector<PayloadRates>& out, std::vector<Span const*> spans) {
  std::ranges::stable_sort(spans, {}, [](Span const* span) { return span->start; });
  auto next = spans.begin();
  auto in_flight = std::vector<Span const*>{};
  for (auto const time : moments_of(spans)) {
    std::erase_if(in_flight, [&](Span const* span) { return span->end <= time; });
    for (; next != spans.end() && (*next)->start <= time; ++next) in_flight.push_back(*next);
    auto rates = PayloadRates{.track = spans.front()->track, .time = time};
    for (auto const* const span : in_flight) rates.rates[static_cast<std::size_t>(span->kind)] += payload_rate(*span);
    out.push_back(rates);
  }
}

}  // namespace

std::vector<PayloadRates> payload_rates(timeline::Timeline const& timeline) {
  auto by_track = std::vector<std::vector<Span const*>>(timeline.tracks.size());
  for (auto const& span : timeline.spans)
    if (program::is_communication(span.kind) && span.bytes > Bytes{} && span.end > span.start)
      by_track[span.track.index()].push_back(&span);
  auto out = std::vector<PayloadRates>{};
  for (auto& spans : by_track)
    if (!spans.empty()) add_track(out, std::move(spans));
  return out;
}

}  // namespace twinstep::io
