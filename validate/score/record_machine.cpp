#include <fmt/format.h>

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/reader.hpp"
#include "hw_profiles/tuning_reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/tuner/environment.hpp"
#include "sim/io/document.hpp"
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

/// Whether NCCL would understand it. Notes that stand where variables do are none.
bool is_variable(std::string const& name, std::string const& value) {
  return name.starts_with("NCCL_") && value.find(' ') == std::string::npos;
}
bool can_read(std::string const& name, std::string const& value) {
  try {
    static_cast<void>(collectives::tuner::read_environment({{name, value}}));
    return true;
  } catch (InputError const&) {
    return false;
  }
}

std::string_view stand_in_gpu(CollectiveRecord const& record) {
  return record.library == "rccl" ? "mi300x" : "h100-80g";
}

}  // namespace

bool has_known_gpu(CollectiveRecord const& record) {
  if (!record.cluster) return true;
  auto const gpu = record.cluster->find("gpu");
  return gpu && gpu->is(io::Node::Type::kString) && hw_profiles::find_name(hw_profiles::Kind::kGpu, gpu->string());
}

std::vector<std::string> stand_ins_of(CollectiveRecord const& record, bool has_named_machine) {
  auto sentences = std::vector<std::string>{};
  if (!has_named_machine && !has_known_gpu(record))
    sentences.push_back(
        fmt::format("{}: no profile fits its GPU; {} is taken for it", record.id, stand_in_gpu(record)));
  for (auto const& [name, value] : record.environment)
    if (is_variable(name, value) && !can_read(name, value))
      sentences.push_back(fmt::format("{}: {}={} says nothing to NCCL; it is left out", record.id, name, value));
  return sentences;
}

hardware::Cluster machine_of(CollectiveRecord const& record) {
  if (record.library != "nccl" && record.library != "rccl")
    throw InputError{fmt::format("{}: found a record of another library, expected NCCL or RCCL", record.id)};
  if (!record.cluster)
    throw InputError{
        fmt::format("{}: found no \"cluster\", which says what machine it is; name the machine", record.id)};
  auto const facts = has_known_gpu(record) ? *record.cluster
                                           : io::with_member(*record.cluster, "gpu",
                                                             io::string_node(std::string{stand_in_gpu(record)}, "gpu"));
  auto cluster = hw_profiles::read_cluster(facts);
  auto& library = cluster.library;
  library.choice = hardware::Choice::kFastest;
  if (record.library == "nccl" && record.version.empty()) library.tuning = *hw_profiles::tuning_of("");
  return machine_of(record, std::move(cluster));
}

hardware::Cluster machine_of(CollectiveRecord const& record, hardware::Cluster named) {
  auto& library = named.library;
  set_by_cloud(record, library);
  for (auto const& [name, value] : record.environment)
    if (is_variable(name, value) && can_read(name, value)) library.environment[name] = value;
  if (record.library != "nccl" || record.version.empty()) return named;
  if (auto const tuning = hw_profiles::tuning_of(record.version)) {
    library.version = record.version;
    library.tuning = *tuning;
    library.choice = hardware::Choice::kTuner;
  }
  return named;
}

}  // namespace twinstep::validate
