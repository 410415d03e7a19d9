#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "sim/io/document.hpp"
#include "validate/records/nccl_tests.hpp"
#include "validate/records/nccl_topology.hpp"
#include "validate/records/node_profile.hpp"
#include "validate/records/nvidia_smi.hpp"

namespace twinstep::app {
namespace {

void put(ImportOptions const& options, std::string_view text) {
  if (options.out)
    write_file(*options.out, text);
  else
    print(text);
}

/// The profile on standard output or in a file, what is odd about the dump on standard error.
void import_node(ImportOptions const& options, records::NodeFacts facts) {
  auto const profile = records::node_profile(facts, options.gpu);
  for (auto const& warning : facts.warnings) warn(fmt::format("{}: {}", facts.file, warning));
  for (auto const& unknown : facts.unknowns) warn(fmt::format("{}: cannot know {}", facts.file, unknown));
  put(options, profile);
}

void import_logs(ImportOptions const& options, std::string const& text) {
  auto const logs = records::read_nccl_tests(options.file, text);
  for (auto const& log : logs)
    for (auto const& warning : log.warnings) warn(warning);
  put(options, records::records_json(options.file, logs));
}

}  // namespace

int import_file(ImportOptions const& options) {
  auto const text = io::read_text(options.file);
  switch (options.source) {
    case ImportOptions::Source::kNcclTopology: {
      auto const self_links = options.repairs ? records::SelfLinks::kLeaveOut : records::SelfLinks::kRefuse;
      import_node(options, records::read_nccl_topology(options.file, text, self_links));
      break;
    }
    case ImportOptions::Source::kNvidiaSmi: import_node(options, records::read_nvidia_smi(options.file, text)); break;
    case ImportOptions::Source::kNcclTests: import_logs(options, text); break;
  }
  return kDone;
}

}  // namespace twinstep::app
