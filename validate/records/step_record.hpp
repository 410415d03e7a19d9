#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/io/document.hpp"

namespace twinstep::validate {

/// What a step record measured.
enum class StepQuantity : std::uint8_t {
  kStepTime,         ///< of one optimizer step
  kMicroStepTime,    ///< of one micro-batch, forward and backward ("iter_time_s")
  kTokenRate,        ///< tokens a second and GPU
  kPeakMemory,       ///< of one GPU
  kModelStateMemory  ///< parameters, gradients and optimizer states of one GPU
};

/// Times and rates; the others are memory.
[[nodiscard]] constexpr bool is_speed(StepQuantity quantity) {
  return quantity <= StepQuantity::kTokenRate;
}

/// One number of a record, in the unit that its source printed.
struct StepMeasurement {
  StepQuantity quantity{};
  double value = 0;
  std::string unit;      ///< "s", "tokens/s/GPU", "GB", "GiB", "MiB"
  double unit_size = 1;  ///< in seconds, tokens per second and GPU, or bytes
  std::string note;      ///< how it was derived, if it was
};

/// The model as a source states it; what it leaves out is empty.
struct StepModel {
  std::string name;
  std::optional<double> parameters;
  std::optional<std::int64_t> layers, hidden, heads, kv_heads, head_size, ffn, vocabulary, sequence_length;
  std::optional<bool> tied_embeddings;
  std::string positions;  ///< "learned …", "rotary …"
  std::string kind;       ///< "CNN"; "" for a transformer
  bool has_experts = false;
};

/// How its ranks share the work. A degree that is not stated is 1.
struct StepParallelism {
  std::optional<std::int64_t> data;  ///< replicas including shards
  std::optional<std::int64_t> zero_stage;
  std::optional<std::int64_t> zero1_group;  ///< ranks that the optimizer state is sharded over
  std::string fsdp_mode;
  std::string ddp;                      ///< "torch DDP"
  std::optional<double> bucket_cap_mb;  ///< its cap, MiB; absent on one rank: not wrapped
  std::int64_t tensor = 1, pipeline = 1, context = 1, expert = 1;
  std::optional<bool> sequence;            ///< parallelism within the tensor ranks
  std::optional<std::int64_t> chunks;      ///< of each stage: virtual stages
  std::string schedule;                    ///< of the pipeline: "interleaved 1F1B"
  std::string layout;                      ///< of its layers, in Megatron's notation
  bool counts_embedding_and_head = false;  ///< as layers, where these are shared out
};

/// One published or measured training step.
struct StepRecord {
  std::string id;
  std::string family;  ///< records of one source and software
  std::string kind;    ///< "measured", "analytic" (a formula's value) or "estimator"
  std::string stack;
  bool is_our_program = false;  ///< run by `twinstep measure step`: its kernels are a step program's own
  StepModel model;
  StepParallelism parallelism;
  std::string precision;
  std::optional<std::int64_t> micro_batch, global_batch, accumulation;
  std::string recompute;
  std::optional<bool> flash_attention;
  bool is_compiled = false;                                 ///< by torch.compile
  std::optional<bool> overlaps_reduction, overlaps_gather;  ///< of gradients and parameters, by backward and forward
  std::string optimizer;
  std::string offload;
  std::string confidence;          ///< "high", "medium", "low"
  std::vector<std::string> flags;  ///< consistency checks that it failed
  std::vector<StepMeasurement> measurements;
  std::optional<io::Node> cluster;  ///< the physical facts of the machine
  std::string problem;              ///< why it could not be read; then only `id` and `family` are sure

  /// Whether its numbers may count: a record that its collector doubts is shown and not scored.
  [[nodiscard]] bool is_trusted() const { return flags.empty() && confidence != "low"; }
  /// Whether it has a number for this.
  [[nodiscard]] bool measures(StepQuantity quantity) const;
  /// Its step time, if it has one that may count.
  [[nodiscard]] std::optional<Seconds> trusted_step_time() const;
};

/// Reads a JSON array of records: "id", "family", "model", "parallelism", "measured", … as published collections have
/// them, or the same with "measurement": "step", as `twinstep measure step --json` writes. A record that cannot be read
/// is kept with its problem. Throws InputError where the document is not an array of such records.
[[nodiscard]] std::vector<StepRecord> read_step_records(io::Node const& document);

}  // namespace twinstep::validate

namespace twinstep {
template <>
struct EnumNames<validate::StepQuantity> {
  static constexpr std::array<std::string_view, 5> values{"step time", "micro-step time", "tokens/s/GPU", "peak memory",
                                                          "model states"};
};
}  // namespace twinstep
