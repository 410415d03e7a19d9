#include "validate/records/step_record.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::validate {
namespace {

using io::Node;

constexpr auto kMostInteger = 1e15;
constexpr std::int64_t kMostCount = 1'000'000'000'000;
constexpr std::int64_t kMostWidth = 100'000'000;  // of a model, in any direction
constexpr std::int64_t kMostLayers = 10'000;      // a program grows with them

/// Text, or what else stands in its place: sources write `true` and "eager" under one key.
std::string word_at(Node const& node, std::string_view key) {
  auto const value = node.find(key);
  if (!value) return {};
  if (value->is(Node::Type::kBoolean)) return value->boolean() ? "true" : "false";
  return std::string{value->string()};
}

std::optional<std::int64_t> count_at(Node const& node, std::string_view key, std::int64_t most = kMostCount) {
  auto const value = node.find(key);
  if (!value) return std::nullopt;
  auto const count = value->integer_from(1);
  if (count > most) value->fail(fmt::format("found {}, expected at most {}", count, most), "");
  return count;
}

std::optional<bool> optional_flag_at(Node const& node, std::string_view key) {
  auto const value = node.find(key);
  return value ? std::optional{value->boolean()} : std::nullopt;
}

double positive(Node const& value) {
  auto const number = value.number();
  if (number <= 0 || number > kMostInteger) value.fail(fmt::format("found {}, expected a number above 0", number), "");
  return number;
}

/// A key under "measured", and what stands there.
struct Key {
  std::string_view name;
  StepQuantity quantity;
  std::string_view unit;
  double unit_size;
};
constexpr auto kKeys = std::to_array<Key>({
    {"step_time_s", StepQuantity::kStepTime, "s", 1},
    {"iter_time_s", StepQuantity::kMicroStepTime, "s", 1},
    {"tokens_per_s_per_gpu", StepQuantity::kTokenRate, "tokens/s/GPU", 1},
    {"peak_memory_GB", StepQuantity::kPeakMemory, "GB", 1e9},
    {"peak_memory_GiB", StepQuantity::kPeakMemory, "GiB", 1024.0 * 1024 * 1024},
    {"model_state_memory_GB", StepQuantity::kModelStateMemory, "GB", 1e9},
    {"estimator_gpu_GB", StepQuantity::kModelStateMemory, "GiB", 1024.0 * 1024 * 1024},  // DeepSpeed's "GB"
    {"estimator_gpu_MiB", StepQuantity::kModelStateMemory, "MiB", 1024.0 * 1024},
});

/// One measurement of speed, and all of memory. A speed that was printed as FLOP/s counts by the time that the
/// collection derived from it by the source's own convention.
std::vector<StepMeasurement> measurements_of(Node const& record) {
  auto out = std::vector<StepMeasurement>{};
  auto const measured = record.at("measured");
  auto has_speed = false;
  for (auto const& key : kKeys) {
    auto const value = measured.find(key.name);
    if (!value || (is_speed(key.quantity) && has_speed)) continue;
    has_speed = has_speed || is_speed(key.quantity);
    out.push_back({key.quantity, positive(*value), std::string{key.unit}, key.unit_size, ""});
  }
  auto const derived = record.find("derived");
  auto const time = derived ? derived->find("step_time_s") : std::nullopt;
  if (!has_speed && time)
    out.push_back({StepQuantity::kStepTime, positive(*time), "s", 1, "time derived from the printed FLOP/s"});
  return out;
}

StepModel model_of(Node const& node) {
  auto const parameters = node.find("params");
  return {.name = word_at(node, "name"),
          .parameters = parameters ? std::optional{positive(*parameters)} : std::nullopt,
          .layers = count_at(node, "layers", kMostLayers),
          .hidden = count_at(node, "hidden", kMostWidth),
          .heads = count_at(node, "heads", kMostWidth),
          .kv_heads = count_at(node, "kv_heads", kMostWidth),
          .head_size = count_at(node, "head_dim", kMostWidth),
          .ffn = count_at(node, "ffn", kMostWidth),
          .vocabulary = count_at(node, "vocab", kMostWidth),
          .sequence_length = count_at(node, "seq_len", kMostWidth),
          .tied_embeddings = optional_flag_at(node, "tied_embeddings"),
          .positions = word_at(node, "pos_emb"),
          .kind = word_at(node, "kind"),
          .has_experts = node.find("moe").has_value()};
}

StepParallelism parallelism_of(Node const& node) {
  auto const stage = node.find("zero_stage");
  auto const cap = node.find("bucket_cap_mb");
  return {.data = count_at(node, "dp"),
          .zero_stage = stage ? std::optional{stage->integer_from(0)} : std::nullopt,
          .zero1_group = count_at(node, "zero1_group"),
          .fsdp_mode = word_at(node, "fsdp_mode"),
          .ddp = word_at(node, "ddp"),
          .bucket_cap_mb = cap ? std::optional{positive(*cap)} : std::nullopt,
          .tensor = count_at(node, "tp").value_or(1),
          .pipeline = count_at(node, "pp").value_or(1),
          .context = count_at(node, "cp").value_or(1),
          .expert = count_at(node, "ep").value_or(1),
          .sequence = optional_flag_at(node, "sp"),
          .chunks = count_at(node, "vpp"),
          .schedule = word_at(node, "schedule"),
          .layout = word_at(node, "pp_layout"),
          .counts_embedding_and_head = optional_flag_at(node, "embedding_loss_as_layers").value_or(false)};
}

void read(Node const& node, StepRecord& record) {
  record.kind = word_at(node, "kind");
  record.stack = word_at(node, "stack");
  record.is_our_program = node.has("measurement");
  record.model = model_of(node.at("model"));
  record.parallelism = parallelism_of(node.at("parallelism"));
  record.precision = word_at(node, "precision");
  record.micro_batch = count_at(node, "micro_batch");
  record.global_batch = count_at(node, "global_batch");
  record.accumulation = count_at(node, "grad_accum");
  record.recompute = word_at(node, "activation_recompute");
  record.flash_attention = optional_flag_at(node, "flash_attention");
  auto const compiled = word_at(node, "torch_compile");
  record.is_compiled = !compiled.empty() && compiled != "false" && compiled != "eager";
  if (auto const overlap = node.find("overlap")) {
    record.overlaps_reduction = optional_flag_at(*overlap, "grad_reduce");
    record.overlaps_gather = optional_flag_at(*overlap, "param_gather");
  }
  record.optimizer = word_at(node, "optimizer");
  record.offload = word_at(node, "offload");
  record.confidence = word_at(node, "confidence");
  if (auto const flags = node.find("flags"))
    for (auto const& flag : flags->elements()) record.flags.emplace_back(flag.string());
  record.cluster = node.find("cluster");
  record.measurements = measurements_of(node);
}

StepRecord record_of(Node const& node, std::size_t place) {
  auto record = StepRecord{.id = fmt::format("record {}", place), .family = "not named"};
  try {
    if (auto id = word_at(node, "id"); !id.empty()) record.id = std::move(id);
    if (auto family = word_at(node, "family"); !family.empty()) record.family = std::move(family);
    read(node, record);
  } catch (InputError const& error) {
    record.problem = error.what();
  }
  return record;
}

/// Whether an element of the array is a step at all: a file of something else is refused as a whole.
bool is_step(Node const& node) {
  if (!node.is(Node::Type::kObject)) return false;
  if (auto const measurement = node.find("measurement"))
    return measurement->is(Node::Type::kString) && measurement->string() == "step";
  return node.has("parallelism") || node.has("measured");
}

}  // namespace

bool StepRecord::measures(StepQuantity quantity) const {
  return std::ranges::find(measurements, quantity, &StepMeasurement::quantity) != measurements.end();
}

std::optional<Seconds> StepRecord::trusted_step_time() const {
  auto const found = std::ranges::find(measurements, StepQuantity::kStepTime, &StepMeasurement::quantity);
  if (found == measurements.end() || !is_trusted()) return std::nullopt;
  return Seconds{found->value * found->unit_size};
}

std::vector<StepRecord> read_step_records(Node const& document) {
  constexpr auto kWayOut = "logs and sweeps of collectives are for twinstep validate collectives";
  if (!document.is(Node::Type::kArray)) document.fail("found no array, expected records of training steps", kWayOut);
  auto records = std::vector<StepRecord>{};
  for (auto const& node : document.elements()) {
    if (!is_step(node))
      node.fail("found no record of a training step (\"model\", \"parallelism\", \"measured\")", kWayOut);
    records.push_back(record_of(node, records.size()));
  }
  if (records.empty()) document.fail("found no record, expected one at least", "name a file that has some");
  return records;
}

}  // namespace twinstep::validate
