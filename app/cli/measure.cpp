#include "app/measure/measure.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kMostCount = 1'000'000;

void add_common(CLI::App& command, MeasureOptions& options) {
  command.add_option("--backend", options.backend, "What runs it: gloo (CPUs) or nccl (NVIDIA GPUs)")->required();
  command.add_option("--ranks", options.ranks, "gloo: processes to start on this host, unless a\nlauncher did")
      ->check(between(1, 4096));
  command.add_option("-g", options.gpus, "nccl: GPUs of this process")->check(between(1, kMostCount));
  command.add_flag("--json", options.as_json, "Print one JSON document, an array of records");
  command.add_option("--out", options.out, "File for the records, there after every point")->type_name("FILE");
  command.add_option("--system", options.system, "What the records call this machine")->type_name("NAME");
  command.add_option("--cluster", options.cluster, "Its physical facts, a JSON object for the records");
}

void add_sampling(CLI::App& command, MeasureOptions& options) {
  command.add_option("-n", options.iterations, "Repetitions of a batch, at most (20)")->check(between(1, kMostCount));
  command.add_option("-w", options.warm_up, "Repetitions before them (5)")->check(between(0, kMostCount));
  command
      .add_option("--precision", options.precision,
                  "Batches go on until the median is known to so many\nper cent (2): its 95 % confidence interval")
      ->check(between(0.01, 100));
  command.add_option("--max-time", options.max_time, "… or so many seconds have gone into the point (2)")
      ->check(between(0.001, 1e6));
}

void add_measure_collective(CLI::App& measure, int& exit_code) {
  auto* const command = measure.add_subcommand("collective", "A sweep of one collective, as nccl-tests makes it");
  auto const options = std::make_shared<MeasureCollectiveOptions>();
  add_common(*command, options->common);
  add_sampling(*command, options->common);
  command->add_option("--op", options->op, "all_reduce (default), all_gather, …, send_recv");
  command->add_option("--beside", options->beside, "Another one, alone and at the same time");
  command->add_option("-b", options->smallest, "Smallest size, such as 8, 64K, 1M (8)")->type_name("SIZE");
  command->add_option("-e", options->largest, "Largest size, such as 128M, 8G (128M)")->type_name("SIZE");
  command->add_option("-f", options->factor, "Factor from one size to the next (2)")->check(between(2, kMostCount));
  command->add_option("--dtype", options->type, "fp32 (default), fp64, …");
  command->add_option("--redop", options->reduction, "sum (default), average, max, min");
  command->callback([options, &exit_code] { exit_code = measure_collective(*options); });
}

void add_measure_compute(CLI::App& measure, int& exit_code) {
  auto* const command = measure.add_subcommand("compute", "GEMMs, attention, memory bandwidth, launches");
  auto const options = std::make_shared<MeasureComputeOptions>();
  add_common(*command, options->common);
  add_sampling(*command, options->common);
  auto* const shapes = command->add_option("--shapes", options->shapes, "GEMMs only: \"m,n,k;m,n,k;…\"");
  command->add_option("--like", options->like, "The GEMMs and attention of a scenario's step")
      ->type_name("SCENARIO.json")
      ->excludes(shapes);
  command->add_option("--dtype", options->type, "fp32 (gloo), bf16 (nccl), …");
  command->add_option("--beside", options->beside, "A collective that runs at the same time");
  command->add_option("--beside-size", options->beside_size, "… of this size (16M)")->type_name("SIZE");
  command->callback([options, &exit_code] { exit_code = measure_compute(*options); });
}

void add_measure_copy(CLI::App& measure, int& exit_code) {
  auto* const command = measure.add_subcommand("copy", "Copies inside a device and between it and its host");
  auto const options = std::make_shared<MeasureCopyOptions>();
  add_common(*command, options->common);
  add_sampling(*command, options->common);
  command->add_option("-b", options->smallest, "Smallest size (4K)")->type_name("SIZE");
  command->add_option("-e", options->largest, "Largest size (256M); each is four times the last")->type_name("SIZE");
  command->callback([options, &exit_code] { exit_code = measure_copy(*options); });
}

constexpr auto kQuickStep = R"(Two ranks of this machine, in two seconds:
  twinstep measure step examples/mlp-10gbe.json --backend gloo --ranks 2 \
    --set strategy='{"name": "ddp"}' --set model.widths='[256, 1024, 256]' \
    --set training.micro_batch=16 --set training.global_batch=32)";

void add_measure_step(CLI::App& measure, int& exit_code) {
  auto* const command = measure.add_subcommand("step", "A training step of a scenario, for real");
  auto const options = std::make_shared<MeasureStepOptions>();
  add_common(*command, options->common);
  command->add_option("scenario", options->scenario, "The scenario")->required()->type_name("SCENARIO.json");
  command->add_option("--set", options->settings, "path=value, in place of the scenario's")->allow_extra_args(false);
  command->add_option("--steps", options->steps, "Steps that count (5)")->check(between(1, kMostCount));
  command->add_option("--warm-up", options->warm_up, "Steps before them (1)")->check(between(0, kMostCount));
  command
      ->add_option("--compute", options->compute,
                   "real (default), or delays: of the time that the\nscenario's GPU is predicted to take")
      ->check(CLI::IsMember({"real", "delays"}));
  command->add_option("--trace", options->trace, "File for the timeline of the median step")->type_name("FILE");
  command->footer(kQuickStep);
  command->callback([options, &exit_code] { exit_code = measure_step(*options); });
}

}  // namespace

void add_measure(CLI::App& command, int& exit_code) {
  command.require_subcommand(1);
  add_measure_collective(command, exit_code);
  add_measure_compute(command, exit_code);
  add_measure_copy(command, exit_code);
  add_measure_step(command, exit_code);
}

}  // namespace twinstep::app
