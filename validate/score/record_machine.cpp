#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "hw_profiles/tuning_reader.hpp"
#include "sim/base/input_error.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::validate {
namespace {

/// Images of two clouds set NCCL's chunks themselves (aws/aws-ofi-nccl src/platform-aws.cpp; GCP's gIB settings).
void set_by_cloud(CollectiveRecord const& record, hardware::Library& library) {
  constexpr auto kChunk = "524288";
  auto const is_aws = record.system.starts_with("AWS");
  if (!is_aws && !record.system.starts_with("GCP")) return;
  library.environment["NCCL_NVLS_CHUNKSIZE"] = kChunk;
  if (is_aws) library.environment["NCCL_NVLSTREE_MAX_CHUNKSIZE"] = kChunk;
}

}  // namespace

hardware::Cluster machine_of(CollectiveRecord const& record) {
  if (record.library != "nccl" && record.library != "rccl")
    throw InputError{fmt::format("{}: found a record of another library, expected NCCL or RCCL", record.id)};
  if (!record.cluster)
    throw InputError{
        fmt::format("{}: found no \"cluster\", which says what machine it is; name the machine", record.id)};
  auto cluster = hw_profiles::read_cluster(*record.cluster);
  auto& library = cluster.library;
  library.choice = hardware::Choice::kFastest;
  if (record.library == "nccl" && record.version.empty()) library.tuning = *hw_profiles::tuning_of("");
  return machine_of(record, std::move(cluster));
}

hardware::Cluster machine_of(CollectiveRecord const& record, hardware::Cluster named) {
  auto& library = named.library;
  set_by_cloud(record, library);
  for (auto const& [name, value] : record.environment)
    if (name.starts_with("NCCL_") && value.find(' ') == std::string::npos) library.environment[name] = value;
  if (record.library != "nccl" || record.version.empty()) return named;
  if (auto const tuning = hw_profiles::tuning_of(record.version)) {
    library.version = record.version;
    library.tuning = *tuning;
    library.choice = hardware::Choice::kTuner;
  }
  return named;
}

}  // namespace twinstep::validate
