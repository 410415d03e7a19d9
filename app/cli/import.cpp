#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/between.hpp"
#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_import(CLI::App& command, int& exit_code) {
  command.require_subcommand(1);
  using Source = ImportOptions::Source;
  auto const add = [&](std::string const& name, std::string const& text, Source source) {
    auto* const subcommand = command.add_subcommand(name, text);
    auto const options = std::make_shared<ImportOptions>();
    options->source = source;
    auto const has_ranks = source == Source::kKineto || source == Source::kStepTimes;
    auto* const files = subcommand->add_option("FILE", options->files,
                                               has_ranks ? "Files to read, one for each rank" : "The file to read");
    files->required();
    if (!has_ranks) files->expected(1);
    subcommand->add_option("--out", options->out, "Write a file instead of printing")->type_name("FILE");
    if (source == Source::kNcclTests)
      subcommand->add_option("--ranks", options->ranks, kRanksHelp)
          ->type_name("N")
          ->check(between(std::int64_t{1}, kMostRanksOfLog));
    if (source == Source::kKineto)
      subcommand->add_option("--step", options->step, "Which ProfilerStep# (the one of median\nlength)")
          ->type_name("N");
    if (source == Source::kNcclTopology || source == Source::kNvidiaSmi)
      subcommand->add_option("--gpu", options->gpu, "Profile of the GPUs, if the dump names none")
          ->type_name("PROFILE");
    if (source == Source::kNcclTopology)
      subcommand->add_flag("--repair", options->repairs, "Leave out impossible links instead of refusing");
    subcommand->callback([options, &exit_code] { exit_code = import_file(*options); });
  };
  add("nccl-topology", "A node profile from a file of NCCL_TOPO_DUMP_FILE", Source::kNcclTopology);
  add("nvidia-smi", "A node profile from `nvidia-smi topo -m`", Source::kNvidiaSmi);
  add("nccl-tests", "Records from logs of nccl-tests and rccl-tests", Source::kNcclTests);
  add("kineto", "A timeline from traces of the PyTorch profiler", Source::kKineto);
  add("step-times", "Step records from CSV or PyTorch's DDP benchmark", Source::kStepTimes);
  add("deepspeed", "A scenario from a DeepSpeed JSON", Source::kDeepSpeed);
  add("accelerate", "A scenario from an accelerate YAML", Source::kAccelerate);
  add("torchtitan", "A scenario from a torchtitan TOML", Source::kTorchtitan);
  add("megatron", "A scenario from Megatron-LM flags", Source::kMegatron);
  add("hf-config", "A scenario from a model's config.json", Source::kHfConfig);
}

}  // namespace twinstep::app
