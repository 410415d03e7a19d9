#include "validate/study/study.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

#include "hw_profiles/tuning_reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "validate/records/log_words.hpp"
#include "validate/records/nccl_tests.hpp"
#include "validate/records/self_checks.hpp"

namespace twinstep::study {
namespace {

using validate::CollectiveCase;
using validate::CollectiveRecord;

/// What `twinstep collective --json` prints looks like measurements and is none.
void refuse_predictions(io::Source const& file) {
  if (!records::begins_object(file.text)) return;
  auto const document = io::parse(file);
  if (document.has("fidelity") && document.has("rows"))
    document.fail("found predictions of collectives, expected measurements",
                  "give a log of nccl-tests, or what `twinstep measure` wrote");
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
          fmt::format("{}: found {} ranks on {}, but a node of {} has {} GPUs; name a cluster of such nodes: "
                      "\"gpus_per_node\": {}",
                      file, count, host, cluster.name, in_host, count)};
}

/// The records of a file: JSON, or a text log of nccl-tests, whose oddities are added to `warnings`. A log does not say
/// what machine it is of: that is `named`, with as many GPUs a node as the log has ranks on a host.
std::vector<CollectiveRecord> read_measured_records(io::Source const& file,
                                                    std::optional<hardware::Cluster> const& named,
                                                    std::optional<std::int64_t> told_ranks,
                                                    std::vector<std::string>& warnings) {
  if (records::begins_array(file.text)) return validate::read_collective_records(io::parse(file));
  refuse_predictions(file);
  auto const logs = records::read_nccl_tests(file.name, file.text, told_ranks);
  if (!named)
    throw InputError{fmt::format(
        "{}: found a log of nccl-tests, which does not say what machine it is of; name the cluster", file.name)};
  auto measured = records::records_of(file.name, logs);
  for (auto const& log : logs) {
    warnings.insert(warnings.end(), log.warnings.begin(), log.warnings.end());
    check_hosts(file.name, log, *named);
  }
  return measured;
}

/// Says once of each version of NCCL that is older than every table of its choices that the profile's are taken.
void tell_old_libraries(Study& study) {
  auto told = std::set<std::string>{};
  for (auto const& record : study.records)
    if (record.library == "nccl" && !record.version.empty() && !hw_profiles::tuning_of(record.version) &&
        told.insert(record.version).second)
      study.warnings.push_back(
          fmt::format("NCCL {} is older than all whose choices are known: those of the profile's library are taken",
                      record.version));
}

}  // namespace

validate::MakeCase case_maker(std::optional<hardware::Cluster> named) {
  return [named = std::move(named)](CollectiveRecord const& record) {
    if (record.ranks < 2)
      throw InputError{fmt::format("{}: found one rank, which communicates with nobody, expected several", record.id)};
    return CollectiveCase{record, named ? validate::machine_of(record, *named) : validate::machine_of(record)};
  };
}

Study study_of(std::vector<io::Source> const& files, std::optional<hardware::Cluster> const& named,
               std::optional<std::int64_t> told_ranks) {
  auto study = Study{};
  auto const make = case_maker(named);
  for (auto const& file : files) {
    for (auto& record : read_measured_records(file, named, told_ranks, study.warnings)) {
      try {
        static_cast<void>(make(record));
        for (auto& sentence : validate::stand_ins_of(record, named.has_value()))
          study.warnings.push_back(std::move(sentence));
        study.records.push_back(std::move(record));
      } catch (InputError const& error) {
        study.skipped.push_back({std::move(record), error.what()});
      }
    }
  }
  for (auto const& record : study.records) study.cases.push_back(make(record));
  tell_old_libraries(study);
  return study;
}

Predictor predict_as_is(std::string name, Study const& study) {
  auto predictor = Predictor{std::move(name), {}, {}};
  for (auto const& one : study.cases) {
    auto& predicted = predictor.predictions.emplace_back();
    auto& intervals = predictor.intervals.emplace_back();
    for (auto const& point : one.record().points) {
      auto const time = one.predict(point.size).time;
      predicted.emplace_back(time);
      intervals.push_back(one.interval(point.size, time));
    }
  }
  return predictor;
}

reports::PredictorAccuracy accuracy_of(Predictor const& predictor, Study const& study,
                                       std::vector<bool> const& counted) {
  auto errors = std::vector<validate::SystemErrors>{};
  auto counts = std::vector<bool>{};
  for (std::size_t i = 0; i < study.cases.size(); ++i) {
    counts.push_back(counted.empty() || counted[i]);
    if (counts.back())
      errors.push_back({study.records[i].system, validate::errors_of(study.records[i], predictor.predictions[i])});
  }
  auto result = reports::PredictorAccuracy{predictor.name, {}};
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c) {
    auto const summary = validate::summarize(errors, static_cast<validate::SizeClass>(c));
    result.by_size.push_back({summary.median, summary.mean});
  }
  auto const all = validate::summarize(errors, validate::SizeClass::kAll);
  result.systems = all.systems;
  result.worst = all.worst;
  if (predictor.intervals.empty()) return result;
  if (auto const coverage = validate::coverage_of(study.records, predictor.predictions, predictor.intervals, counts))
    result.intervals = {coverage->points, coverage->inside, coverage->median_half_width};
  return result;
}

std::vector<std::string> oddities_of(Study const& study) {
  auto const machine_of = [&](validate::CollectiveRecord const& record) {
    auto const place = static_cast<std::size_t>(&record - study.records.data());
    return std::optional{study.cases[place].cluster()};
  };
  return validate::check_records(study.records, machine_of);
}

std::vector<std::string> names_of_sizes() {
  auto names = std::vector<std::string>{};
  for (std::size_t c = 0; c < validate::kSizeClasses; ++c)
    names.emplace_back(name_of(static_cast<validate::SizeClass>(c)));
  return names;
}

}  // namespace twinstep::study
