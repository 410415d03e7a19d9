#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/records/nccl_tests.hpp"

namespace twinstep::records {
namespace {

/// Different values, in order of appearance.
std::vector<std::string> different(std::vector<LoggedRank> const& ranks, std::string LoggedRank::*member) {
  auto values = std::vector<std::string>{};
  for (auto const& rank : ranks)
    if (std::ranges::find(values, rank.*member) == values.end()) values.push_back(rank.*member);
  return values;
}

}  // namespace

std::vector<std::string> CollectiveLog::hosts() const {
  return different(seen_ranks, &LoggedRank::host);
}

std::vector<std::string> CollectiveLog::device_names() const {
  return different(seen_ranks, &LoggedRank::device_name);
}

void complete(std::string const& name, CollectiveLog& log) {
  auto processes = std::set<std::pair<std::string, std::int64_t>>{};
  for (auto const& rank : log.seen_ranks) processes.emplace(rank.host, rank.process);
  if (!log.seen_ranks.empty()) log.ranks = static_cast<std::int64_t>(log.seen_ranks.size());
  if (log.seen_ranks.size() > 1)
    log.launcher = processes.size() == log.seen_ranks.size() ? hardware::Launcher::kProcessPerGpu
                                                             : hardware::Launcher::kOneProcess;
  auto const say = [&](std::string const& sentence) {
    log.warnings.push_back(fmt::format("{}: {}", one_line(name), sentence));
  };
  if (!log.collective) say("does not say which collective it measured");
  if (!log.ranks) say("does not say how many ranks took part");
  for (auto const& row : log.rows)
    for (auto const& timing : {row.out_of_place, row.in_place})
      if (timing && timing->wrong.value_or(0) > 0)
        say(fmt::format("{} elements were wrong at {} bytes: its times cannot be trusted", *timing->wrong,
                        row.size.count()));
}

}  // namespace twinstep::records
