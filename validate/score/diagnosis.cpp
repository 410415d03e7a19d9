#include "validate/score/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "validate/records/bandwidth_checks.hpp"
#include "validate/score/averages.hpp"

namespace twinstep::validate {
namespace {

auto const kFar = std::log(1.25);             ///< apart enough to be reported
auto const kExplained = std::log(1.30);       ///< near enough to be an explanation
auto const kExplainedByTwo = std::log(1.15);  ///< … by two faults, of which there are many to choose from
auto const kTie = std::log(1.10);             ///< our own error at large sizes: no nearer is any better
constexpr double kMostLeft = 0.5;             ///< of the distance, by an explanation

using Logs = std::vector<double>;  ///< log(measured / predicted) of each point

double distance(std::span<double const> logs) {
  auto sum = 0.0;
  for (auto const log : logs) sum += std::abs(log);
  return sum / static_cast<double>(logs.size());
}

std::vector<MeasuredPoint> believed_by_size(CollectiveRecord const& record) {
  auto points = believed(record);
  std::ranges::sort(points, {}, &MeasuredPoint::size);
  return points;
}

Logs compare(std::vector<MeasuredPoint> const& points, CollectiveCase const& one) {
  auto logs = Logs{};
  for (auto const& point : points) logs.push_back(std::log(point.time / one.predict(point.size).time));
  return logs;
}

/// Where sizes begin that lie apart: of each range that does, the first point that does, if so do all from it on.
std::vector<std::size_t> far_starts(std::vector<MeasuredPoint> const& points, Logs const& logs) {
  auto starts = std::vector<std::size_t>{};
  auto const all = std::span{logs};
  for (std::size_t first = 0; first < points.size();) {
    auto last = first;
    while (last < points.size() && hardware::range_of(points[last].size) == hardware::range_of(points[first].size))
      ++last;
    auto const sign = mean(all.subspan(first, last - first)) < 0 ? -1.0 : 1.0;
    auto start = first;
    while (start < last && sign * logs[start] <= kFar) ++start;
    if (sign * mean(all.subspan(first, last - first)) > kFar && sign * mean(all.subspan(start)) > kFar)
      starts.push_back(start);
    first = last;
  }
  return starts;
}

/// Whether all of these lie where nine measurements of ten do.
bool is_expected(CollectiveCase const& one, std::span<MeasuredPoint const> points) {
  return std::ranges::all_of(points, [&](MeasuredPoint const& point) {
    auto const interval = one.interval(point.size, one.predict(point.size).time);
    return interval && interval->low <= point.time && point.time <= interval->high;
  });
}

/// Suspects that act together, and what the sweep looks like with them.
struct Trial {
  std::vector<Suspect const*> suspects;
  Logs logs;
};

/// Nothing if the changed machine cannot run the record, whatever the reason: one trial says nothing of the others.
std::optional<Trial> try_out(CollectiveCase const& one, std::vector<MeasuredPoint> const& points,
                             std::vector<Suspect const*> suspects) {
  auto cluster = one.cluster();
  for (auto const* const suspect : suspects) suspect->change(cluster);
  try {
    return Trial{std::move(suspects), compare(points, CollectiveCase{one.record(), std::move(cluster)})};
  } catch (std::exception const&) {
    return std::nullopt;
  }
}

std::vector<Trial> try_singles(CollectiveCase const& one, std::vector<MeasuredPoint> const& points,
                               std::vector<Suspect> const& suspects) {
  auto trials = std::vector<Trial>{};
  for (auto const& suspect : suspects)
    if (auto trial = try_out(one, points, {&suspect})) trials.push_back(*std::move(trial));
  return trials;
}

std::vector<Trial> try_pairs(CollectiveCase const& one, std::vector<MeasuredPoint> const& points,
                             std::vector<Suspect> const& suspects) {
  auto trials = std::vector<Trial>{};
  for (auto const& first : suspects)
    for (auto const& second : suspects) {
      if (&second <= &first || second.kind == first.kind) continue;
      if (auto trial = try_out(one, points, {&first, &second})) trials.push_back(*std::move(trial));
    }
  return trials;
}

/// The trials that explain what is apart from `start` on about as well as the one that comes closest; in their order.
std::vector<Trial const*> explanations(std::vector<Trial> const& trials, Logs const& logs, std::size_t start) {
  auto const left = [&](Logs const& each) { return distance(std::span{each}.subspan(start)); };
  auto nearest = std::numeric_limits<double>::infinity();
  for (auto const& trial : trials) nearest = std::min(nearest, left(trial.logs));
  auto found = std::vector<Trial const*>{};
  for (auto const& trial : trials) {
    auto const most = trial.suspects.size() == 1 ? kExplained : kExplainedByTwo;
    auto const distance = left(trial.logs);
    if (distance <= most && distance <= kMostLeft * left(logs) && distance <= nearest + kTie) found.push_back(&trial);
  }
  return found;
}

std::vector<std::string> sentences_of(Trial const& trial) {
  auto sentences = std::vector<std::string>{};
  for (auto const* const suspect : trial.suspects) sentences.push_back(suspect->sentence);
  return sentences;
}

/// Single suspects of other kinds than the first.
std::vector<std::string> other_kinds(std::vector<Trial const*> const& trials) {
  auto sentences = std::vector<std::string>{};
  auto kinds = std::vector<std::string_view>{trials.front()->suspects.front()->kind};
  for (auto const* const trial : trials) {
    auto const& suspect = *trial->suspects.front();
    if (trial->suspects.size() > 1 || std::ranges::find(kinds, suspect.kind) != kinds.end()) continue;
    kinds.push_back(suspect.kind);
    sentences.push_back(suspect.sentence);
  }
  return sentences;
}

Diagnosis diagnosis_of(std::vector<MeasuredPoint> const& points, Logs const& logs, std::size_t start) {
  auto result = Diagnosis{};
  result.from = points[start].size;
  result.factor = std::exp(mean(std::span{logs}.subspan(start)));
  result.remaining = std::exp(distance(std::span{logs}.subspan(start)));
  return result;
}

std::vector<std::string> kinds_of(std::vector<Suspect> const& suspects) {
  auto kinds = std::vector<std::string>{};
  for (auto const& suspect : suspects)
    if (kinds.empty() || kinds.back() != suspect.kind) kinds.emplace_back(suspect.kind);
  return kinds;
}

/// Two digits, without an exponent.
std::string factor_text(double factor) {
  return factor < 10 ? fmt::format("{:.2g}", factor) : fmt::format("{:.0f}", factor);
}

}  // namespace

std::string Diagnosis::text() const {
  auto const apart =
      fmt::format("takes {} times as long as predicted from {} on", factor_text(factor), size_text(from));
  if (factor < 1)
    return fmt::format("{}: it is faster than the machine that was described, which may have more or faster links",
                       apart);
  if (causes.empty() && tried.empty()) return fmt::format("{}. There is nothing to try on such a machine", apart);
  if (causes.empty())
    return fmt::format("{}. Nothing that was tried explains it, alone or two together: {}", apart,
                       fmt::join(tried, ", "));
  auto const others =
      alternatives.empty() ? "" : fmt::format("; or about as well: {}", fmt::join(alternatives, ", or "));
  return fmt::format("{}. What would explain it, to within {:.0f} %: {}{}", apart, (remaining - 1) * 100,
                     fmt::join(causes, ", and "), others);
}

std::optional<Diagnosis> diagnose(CollectiveCase const& one) {
  auto const points = believed_by_size(one.record());
  auto const logs = compare(points, one);
  auto const starts = far_starts(points, logs);
  if (starts.empty()) return std::nullopt;
  auto result = diagnosis_of(points, logs, starts.front());
  auto const is_alarm = !is_expected(one, std::span{points}.subspan(starts.front()));
  auto const is_slower = [&](std::size_t start) { return diagnosis_of(points, logs, start).factor > 1; };
  if (std::ranges::none_of(starts, is_slower)) return is_alarm ? std::optional{result} : std::nullopt;
  auto const suspects = suspects_of(one);
  auto const singles = try_singles(one, points, suspects);
  auto const pairs = try_pairs(one, points, suspects);
  for (auto const start : starts) {
    if (!is_slower(start)) continue;
    for (auto const* const trials : {&singles, &pairs})
      if (auto const best = explanations(*trials, logs, start); !best.empty()) {
        auto found = diagnosis_of(points, logs, start);
        found.causes = sentences_of(*best.front());
        found.alternatives = other_kinds(best);
        found.remaining = std::exp(distance(std::span{best.front()->logs}.subspan(start)));
        return found;
      }
  }
  if (!is_alarm) return std::nullopt;
  if (result.factor > 1) result.tried = kinds_of(suspects);
  return result;
}

}  // namespace twinstep::validate
