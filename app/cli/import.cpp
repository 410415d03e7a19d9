#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {

void add_import(CLI::App& program, int& exit_code) {
  auto* const command = program.add_subcommand("import", "Turn dumps and logs into profiles and records");
  command->require_subcommand(1);
  using Source = ImportOptions::Source;
  auto const add = [&](std::string const& name, std::string const& text, Source source) {
    auto* const subcommand = command->add_subcommand(name, text);
    auto const options = std::make_shared<ImportOptions>();
    options->source = source;
    subcommand->add_option("FILE", options->file, "The file to read")->required();
    subcommand->add_option("--out", options->out, "Write a file instead of printing")->type_name("FILE");
    if (source != Source::kNcclTests)
      subcommand->add_option("--gpu", options->gpu, "Profile of the GPUs, if the dump names none")
          ->type_name("PROFILE");
    if (source == Source::kNcclTopology)
      subcommand->add_flag("--repair", options->repairs, "Leave out impossible links instead of refusing");
    subcommand->callback([options, &exit_code] { exit_code = import_file(*options); });
  };
  add("nccl-topology", "A node profile from a file of NCCL_TOPO_DUMP_FILE", Source::kNcclTopology);
  add("nvidia-smi", "A node profile from `nvidia-smi topo -m`", Source::kNvidiaSmi);
  add("nccl-tests", "Records from a log of nccl-tests or rccl-tests", Source::kNcclTests);
}

}  // namespace twinstep::app
