#include <memory>

#include <CLI/CLI.hpp>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"

namespace twinstep::app {
namespace {

constexpr auto kResults = R"(A RESULT is known by what is in it:
  a scenario                   all of it: the answer, where the step goes,
                               timelines, memory, scaling, bus bandwidth,
                               sensitivity, bucket sizes
  results.sqlite of `sweep`    the best points, curves over each axis
  `plan --json`                ranked plans, time against cost
  `validate … --json`          predicted beside measured, errors by family
  `collective --json`          bus bandwidth against message size
  a timeline of `--trace`      streams and memory
Several become one page. --set changes scenarios, as in `simulate`.)";

}  // namespace

void add_report(CLI::App& command, int& exit_code) {
  auto const options = std::make_shared<ReportOptions>();
  command.add_option("RESULT", options->results, "Scenarios, or files that other subcommands wrote")->required();
  command.add_option("--set", options->settings, "Replace a value of scenarios: cluster.nodes=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--out", options->out, "Write the page: HTML, or .md, .csv, .json, .txt")->type_name("FILE");
  command.add_option("--markdown", options->markdown, "Write Markdown")->type_name("FILE");
  command.add_option("--csv", options->csv, "Write the numbers of tables and charts")->type_name("FILE");
  command.add_option("--json", options->json, "Write the page as data")->type_name("FILE");
  command.add_flag("--text", options->as_text, "Print it for a terminal, as without any file");
  command.footer(kResults);
  command.callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace twinstep::app
