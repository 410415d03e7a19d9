#include "validate/study/measured_records.hpp"

#include <map>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "validate/records/gzip.hpp"
#include "validate/records/nccl_tests.hpp"

namespace twinstep::study {
namespace {

/// A collection of records; a single object is what nccl-tests writes with -J.
bool begins_array(std::string const& text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '[';
}

/// What `twinstep collective --json` prints looks like measurements and is none.
void refuse_predictions(std::string const& file, std::string const& text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return;
  auto const document = io::parse({file, text});
  if (document.has("fidelity") && document.has("rows"))
    document.fail("found what `twinstep collective --json` predicts, expected measurements",
                  "give a log of nccl-tests or what `twinstep measure collective --json` prints");
}

/// The nodes of `cluster` are the hosts of the log, if it has several.
void check_hosts(std::string const& file, records::CollectiveLog const& log, hardware::Cluster const& cluster) {
  auto ranks = std::map<std::string, std::int64_t>{};
  for (auto const& rank : log.seen_ranks) ++ranks[rank.host];
  if (ranks.size() < 2) return;
  auto const in_host = cluster.node().gpus_on_host();
  for (auto const& [host, count] : ranks)
    if (count != in_host)
      throw InputError{
          fmt::format("{}: found {} ranks on {}, but a node of {} has {} GPUs; give --cluster the facts of such nodes: "
                      "\"gpus_per_node\": {}",
                      file, count, host, cluster.name, in_host, count)};
}

void check(std::string const& file, records::CollectiveLog const& log, hardware::Cluster const& cluster) {
  if (!log.collective)
    throw InputError{fmt::format(
        "{}: found a table that does not say which collective it is of, expected a line with the program's name, such "
        "as all_reduce_perf; add it",
        file)};
  if (!log.ranks)
    throw InputError{
        fmt::format("{}: found no number of ranks, expected \"#  Rank\" lines; keep the log's beginning", file)};
  check_hosts(file, log, cluster);
}

}  // namespace

std::vector<validate::CollectiveRecord> read_measured_records(std::string const& file,
                                                              std::optional<hardware::Cluster> const& named,
                                                              std::vector<std::string>& warnings) {
  auto const text = records::unzipped(file, io::read_text(file));
  if (begins_array(text)) return validate::read_collective_records(io::parse({file, text}));
  refuse_predictions(file, text);
  auto const logs = records::read_nccl_tests(file, text);
  if (!named)
    throw InputError{fmt::format(
        "{}: found a log of nccl-tests, which does not say what machine it is of; name it with --cluster", file)};
  for (auto const& log : logs) {
    warnings.insert(warnings.end(), log.warnings.begin(), log.warnings.end());
    check(file, log, *named);
  }
  return validate::read_collective_records(io::parse({file, records::records_json(file, logs)}));
}

}  // namespace twinstep::study
