#include "hw_profiles/collective_reader.hpp"

#include "hw_profiles/catalog.hpp"
#include "hw_profiles/tuning_reader.hpp"

namespace twinstep::hw_profiles {

using io::Node;

hardware::Link read_link(NumberReader const& numbers, Node const& node) {
  node.allow_only({"name", "description", "is_nvlink", "ring_efficiency", "pair_efficiency", "peer_efficiency",
                   "multicast_efficiency", "rack_multicast_efficiency", "multicast_latency", "ll_limit"});
  return {.name = text(node, "name"),
          .description = optional_text(node, "description"),
          .is_nvlink = node.at("is_nvlink").boolean(),
          .ring_efficiency = numbers.sourced(node, "ring_efficiency", fraction),
          .pair_efficiency = numbers.sourced(node, "pair_efficiency", fraction),
          .peer_efficiency = numbers.sourced(node, "peer_efficiency", fraction),
          .multicast_efficiency = numbers.sourced(node, "multicast_efficiency", fraction_from_zero),
          .rack_multicast_efficiency = numbers.sourced(node, "rack_multicast_efficiency", fraction_from_zero),
          .multicast_latency = numbers.sourced(node, "multicast_latency", duration),
          .ll_limit = numbers.optional(node, "ll_limit", bandwidth)};
}

hardware::Transport read_transport(NumberReader const& numbers, Node const& node) {
  node.allow_only({"name", "description", "is_rdma", "has_gpu_direct", "efficiency", "lone_gpu_efficiency",
                   "step_latency", "is_token_bucket"});
  auto const bucket = node.find("is_token_bucket");
  return {.name = text(node, "name"),
          .description = optional_text(node, "description"),
          .is_rdma = node.at("is_rdma").boolean(),
          .has_gpu_direct = node.at("has_gpu_direct").boolean(),
          .efficiency = numbers.sourced(node, "efficiency", fraction),
          .lone_gpu_efficiency = numbers.sourced(node, "lone_gpu_efficiency", fraction),
          .step_latency = numbers.sourced(node, "step_latency", duration),
          .is_token_bucket = bucket && bucket->boolean()};
}

namespace {

hardware::ProtocolCost read_protocol(NumberReader const& numbers, Node const& node) {
  node.allow_only({"latency_factor", "wire_efficiency", "copy_efficiency"});
  return {.latency_factor = numbers.sourced(node, "latency_factor", positive_number),
          .wire_efficiency = numbers.sourced(node, "wire_efficiency", fraction),
          .copy_efficiency = numbers.sourced(node, "copy_efficiency", fraction)};
}

hardware::ErrorBand read_band(NumberReader const& numbers, Node const& node) {
  node.allow_only({"low", "high"});
  return {.low = numbers.sourced(node, "low", positive_number), .high = numbers.sourced(node, "high", positive_number)};
}

hardware::LauncherCost read_launcher(NumberReader const& numbers, Node const& node) {
  node.allow_only({"fixed", "per_gpu", "per_peer"});
  return {.fixed = numbers.sourced(node, "fixed", duration),
          .per_gpu = numbers.sourced(node, "per_gpu", duration),
          .per_peer = numbers.sourced(node, "per_peer", duration)};
}

/// An object with one member for each word of the enumeration.
template <class Enum, class Read, class Out>
void read_each(Node const& node, Read read, Out& out) {
  auto const names = all_names<Enum>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = read(node.at(names[i]));
}

hardware::ErrorBands read_bands(NumberReader const& numbers, Node const& node) {
  auto bands = hardware::ErrorBands{};
  read_each<hardware::SizeRange>(
      node, [&](Node const& each) { return read_band(numbers, each); }, bands);
  return bands;
}

hardware::SizeCorrection read_correction(Node const& node) {
  node.allow_only({"algorithm", "protocol", "sizes", "factors"});
  auto correction = hardware::SizeCorrection{
      node.at("algorithm").word<hardware::Algorithm>(), node.at("protocol").word<hardware::Protocol>(), {}, {}};
  for (auto const& each : node.at("sizes").elements()) {
    correction.sizes.push_back(size(each));
    if (correction.sizes.size() > 1 && correction.sizes.back() <= correction.sizes[correction.sizes.size() - 2])
      each.fail("found a size that is not above the one before it, expected rising sizes", "sort them");
  }
  for (auto const& each : node.at("factors").elements()) correction.factors.push_back(positive_number(each));
  if (correction.sizes.empty() || correction.sizes.size() != correction.factors.size())
    node.at("factors").fail(fmt::format("found {} factors for {} sizes, expected one for each size, of which there is "
                                        "one at least",
                                        correction.factors.size(), correction.sizes.size()),
                            "calibrate again");
  return correction;
}

hardware::CollectiveCalibration read_calibration(NumberReader const& numbers, Node const& node) {
  node.allow_only({"collective", "ranks", "nodes", "smallest", "largest", "basis", "source", "corrections", "errors"});
  auto calibration = hardware::CollectiveCalibration{.collective = node.at("collective").word<CollectiveKind>(),
                                                     .ranks = count(node.at("ranks")),
                                                     .nodes = count(node.at("nodes")),
                                                     .smallest = size(node.at("smallest")),
                                                     .largest = size(node.at("largest")),
                                                     .corrections = {},
                                                     .errors = read_bands(numbers, node.at("errors")),
                                                     .source = text(node, "source")};
  for (auto const& each : node.at("corrections").elements()) calibration.corrections.push_back(read_correction(each));
  return calibration;
}

/// What a library without a choice does. Where a change lets something choose, it is kept and not used.
std::map<CollectiveKind, hardware::FixedAlgorithm> read_algorithms(NumberReader const& numbers, Node const& library) {
  auto const found = library.find("algorithms");
  auto const is_fixed = library.at("choice").word<hardware::Choice>() == hardware::Choice::kFixed;
  if (is_fixed && !found)
    library.fail("found the choice \"fixed\" without \"algorithms\", expected one for each collective",
                 R"(write {"all_reduce": {"algorithm": "ring", …}, …}, or choose "fastest")");
  auto algorithms = std::map<CollectiveKind, hardware::FixedAlgorithm>{};
  if (!found) return algorithms;
  found->allow_only(EnumNames<CollectiveKind>::values);
  for (auto const& [collective, each] : found->members()) {
    each.allow_only({"algorithm", "messages_per_step", "half_duplex_beyond"});
    auto const kind = find_enum<CollectiveKind>(collective);
    if (!kind) continue;  // "comment"
    auto& fixed = algorithms[*kind];
    fixed.algorithm = each.at("algorithm").word<hardware::Algorithm>();
    fixed.messages_per_step = numbers.sourced(each, "messages_per_step", count);
    if (each.find("half_duplex_beyond")) fixed.half_duplex_beyond = numbers.sourced(each, "half_duplex_beyond", size);
  }
  return algorithms;
}

/// The value of an environment variable; a bare number, as --set reads it, is its digits.
std::string variable_text(Node const& value) {
  return value.is(Node::Type::kNumber) ? std::to_string(value.integer()) : std::string{value.string()};
}

/// The constants of the library's version, out of the shipped table that it names. "none" has none.
hardware::Tuning read_named_tuning(Node const& name, std::string const& version) {
  if (name.string() == "none") return {};
  auto const document = io::parse({tuning_file(name.string()), std::string{tuning_text(name)}});
  return read_tuning(document.at("versions"), version);
}

}  // namespace

hardware::Library read_library(NumberReader const& numbers, Node const& node) {
  node.allow_only({"name", "description", "version", "environment", "choice", "algorithms", "tuning", "protocols",
                   "kernel_start", "tree_efficiency", "multicast_tree_efficiency", "multicast_chunk_overhead",
                   "ll_limit_per_channel", "memory_bytes_per_wire_byte", "buffers", "fitted_on", "errors", "launchers",
                   "calibrations"});
  if (auto const version = node.find("version"); version && version->is(Node::Type::kNumber))
    version->fail("found a number, expected a version in quotes: 2.30 is not 2.3", "write all of it, such as 2.30.0");
  auto library = hardware::Library{
      .name = text(node, "name"),
      .description = optional_text(node, "description"),
      .version = optional_text(node, "version"),
      .choice = node.at("choice").word<hardware::Choice>(),
      .algorithms = read_algorithms(numbers, node),
      .kernel_start = numbers.sourced(node, "kernel_start", duration),
      .tree_efficiency = numbers.sourced(node, "tree_efficiency", fraction),
      .multicast_tree_efficiency = numbers.sourced(node, "multicast_tree_efficiency", fraction),
      .multicast_chunk_overhead = numbers.sourced(node, "multicast_chunk_overhead", size),
      .ll_limit_per_channel = numbers.optional(node, "ll_limit_per_channel", bandwidth),
      .memory_bytes_per_wire_byte = numbers.sourced(node, "memory_bytes_per_wire_byte", number_from_zero),
      .buffers = numbers.sourced(node, "buffers", size)};
  if (auto const environment = node.find("environment"))
    for (auto const& [name, value] : environment->members())
      library.environment[std::string{name}] = variable_text(value);
  library.tuning = read_named_tuning(node.at("tuning"), library.version);
  if (auto const systems = node.find("fitted_on"))
    for (auto const& system : systems->elements()) library.fitted_on.emplace_back(system.string());
  read_each<hardware::Protocol>(
      node.at("protocols"), [&](Node const& each) { return read_protocol(numbers, each); }, library.protocols);
  library.errors = read_bands(numbers, node.at("errors"));
  read_each<hardware::Launcher>(
      node.at("launchers"), [&](Node const& each) { return read_launcher(numbers, each); }, library.launchers);
  if (auto const calibrations = node.find("calibrations"))
    for (auto const& each : calibrations->elements()) library.calibrations.push_back(read_calibration(numbers, each));
  return library;
}

std::optional<hardware::Tuning> tuning_of(std::string const& version) {
  try {
    return read_named_tuning(io::string_node("nccl", "library"), version);
  } catch (InputError const&) {
    return std::nullopt;  // older than the table
  }
}

}  // namespace twinstep::hw_profiles
