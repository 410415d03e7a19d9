#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "strategies/model/read_model.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::strategies {
namespace {

/// Degrees of one file must leave a whole number of data-parallel ranks.
void share_out(io::Node const& parallel, std::int64_t ranks, Plan& plan) {
  auto const of_model = plan.parallel.model_ranks();
  if (ranks % of_model == 0) {
    plan.parallel.data = ranks / of_model;
    auto const data = parallel.find("data");
    if (!data || data->integer_from(1) == plan.parallel.data) return;
    data->fail(fmt::format("found {} data-parallel ranks, expected {}: {} ranks over {} of tensor × pipeline",
                           data->integer(), plan.parallel.data, ranks, of_model),
               fmt::format("leave it out, or use {} GPUs", data->integer() * of_model));
  }
  auto const below = ranks / of_model * of_model;
  parallel.fail(fmt::format("found tensor {} × pipeline {} = {} for {} ranks, which it does not divide",
                            plan.parallel.tensor, plan.parallel.pipeline.stages, of_model, ranks),
                below > 0 ? fmt::format("use {} or {} ranks, or other degrees", below, below + of_model)
                          : fmt::format("use {} ranks, or other degrees", of_model));
}

void read_layers(io::Node const& list, Pipeline& pipeline) {
  for (auto const& entry : list.elements()) pipeline.layers.push_back(entry.integer_from(0));
}

void read_schedule(io::Node const& parallel, Plan& plan) {
  using enum PipelineSchedule;
  auto& pipeline = plan.parallel.pipeline;
  pipeline.chunks = read_size(parallel, "chunks", 1);
  auto const schedule = parallel.find("schedule");
  if (schedule)
    pipeline.schedule = schedule->word<PipelineSchedule>();
  else if (pipeline.chunks > 1)
    pipeline.schedule = kInterleaved;
  auto const needs_two = is_v_shaped(pipeline.schedule);
  if (needs_two && !parallel.has("chunks")) pipeline.chunks = 2;
  auto const takes_one = pipeline.schedule == kGpipe || pipeline.schedule == kOneForwardOneBackward;
  if ((takes_one && pipeline.chunks > 1) || (needs_two && pipeline.chunks != 2))
    parallel.at("chunks").fail(fmt::format("found {} chunks on each stage for {}, expected {}", pipeline.chunks,
                                           name_of(pipeline.schedule), needs_two ? 2 : 1),
                               needs_two ? "leave it out" : "leave it out, or use \"schedule\": \"interleaved-1f1b\"");
  // Megatron-LM's --num-microbatches-in-group-per-virtual-pipeline-stage.
  if (plan.strategy.traits().family != Family::kTorch) pipeline.group = pipeline.stages;
  if (auto const group = parallel.find("micro_batch_group")) {
    pipeline.group = group->integer_from(1);
    if (pipeline.group < pipeline.stages)
      group->fail(fmt::format("found groups of {} micro-batches for {} stages", pipeline.group, pipeline.stages),
                  fmt::format("use {} or more", pipeline.stages));
  }
}

/// Messages that block meet in the order of 1F1B alone.
void check_exchange(io::Node const& parallel, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  auto const is_1f1b = pipeline.schedule == PipelineSchedule::kOneForwardOneBackward;
  if (pipeline.exchange != PipelineExchange::kBlocking || is_1f1b || pipeline.stages == 1) return;
  auto const& place = parallel.find("exchange").value_or(parallel.find("schedule").value_or(parallel));
  place.fail(fmt::format("found {} with blocking messages, which get stuck in it", name_of(pipeline.schedule)),
             "use \"schedule\": \"1f1b\", which DeepSpeed runs, or \"exchange\": \"overlapped\"");
}

/// Only what frameworks allow together.
void check_products(io::Node const& parallel, ModelSpec const& model, Plan const& plan) {
  if (plan.parallel.model_ranks() == 1) return;
  if (!std::holds_alternative<Transformer>(model))
    parallel.fail("found tensor or pipeline ranks for a model that is no transformer", "leave them out");
  auto const& traits = plan.strategy.traits();
  if (plan.parallel.pipeline.stages == 1 || traits.runs_pipelines) return;
  auto names = std::vector<std::string_view>{};
  for (auto const& each : kStrategies)
    if (each.runs_pipelines) names.push_back(each.name);
  parallel.at("pipeline")
      .fail(fmt::format("found a pipeline for {}: {}", traits.name,
                        traits.family == Family::kDeepSpeed
                            ? "\"ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism\" (DeepSpeed, "
                              "runtime/pipe/engine.py)"
                            : "it gathers or drops states after every micro-batch, of which several are in flight"),
            fmt::format("use one of {}", fmt::join(names, ", ")));
}

}  // namespace

void read_parallel(io::Node const& parallel, ModelSpec const& model, std::int64_t ranks, Plan& plan) {
  parallel.allow_only({"tensor", "sequence", "pipeline", "data", "chunks", "schedule", "micro_batch_group", "exchange",
                       "layers", "embedding_counts", "head_counts"});
  auto const is_torch = plan.strategy.traits().family == Family::kTorch;
  auto& pipeline = plan.parallel.pipeline;
  plan.parallel.tensor = read_size(parallel, "tensor", 1);
  plan.parallel.sequence = read_flag(parallel, "sequence", is_torch && plan.parallel.tensor > 1);
  pipeline.stages = read_size(parallel, "pipeline", 1);
  read_schedule(parallel, plan);
  pipeline.exchange = usual_exchange(plan.strategy.traits().family, pipeline);
  if (auto const node = parallel.find("exchange")) pipeline.exchange = node->word<PipelineExchange>();
  if (auto const node = parallel.find("layers")) read_layers(*node, pipeline);
  pipeline.counts_embedding = read_flag(parallel, "embedding_counts", is_torch && pipeline.stages > 1);
  pipeline.counts_head = read_flag(parallel, "head_counts", is_torch && pipeline.stages > 1);
  check_exchange(parallel, plan);
  check_products(parallel, model, plan);
  share_out(parallel, ranks, plan);
}

}  // namespace twinstep::strategies
