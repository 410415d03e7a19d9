#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "explore/ask/users_file.hpp"
#include "sim/io/document.hpp"
#include "sim/io/other_formats.hpp"
#include "sim/io/outputs.hpp"
#include "sim/io/timeline_json.hpp"
#include "validate/records/ddp_times.hpp"
#include "validate/records/gzip.hpp"
#include "validate/records/nccl_tests.hpp"
#include "validate/records/nccl_topology.hpp"
#include "validate/records/node_profile.hpp"
#include "validate/records/nvidia_smi.hpp"
#include "validate/study/measured_step.hpp"

namespace twinstep::app {
namespace {

using namespace explore;
using namespace study;

using io::check_writable;
using io::named_from;
using io::write_file;

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

void import_logs(ImportOptions const& options, io::Source const& file) {
  auto const logs = records::read_nccl_tests(file.name, file.text, options.ranks);
  for (auto const& log : logs)
    for (auto const& warning : log.warnings) warn(warning);
  put(options, records::records_json(file.name, logs));
}

/// A scenario to fill in on standard output or in a file, what it leaves out on standard error.
void import_configuration(ImportOptions const& options, io::Source const& file) {
  using Source = ImportOptions::Source;
  auto warnings = std::vector<std::string>{};
  auto const text = [&] {
    switch (options.source) {
      case Source::kAccelerate: return scenario_of(strategies::UsersFormat::kAccelerate, file, warnings);
      case Source::kTorchtitan: return scenario_of(strategies::UsersFormat::kTorchtitan, file, warnings);
      case Source::kMegatron: return scenario_of(strategies::UsersFormat::kMegatron, file, warnings);
      case Source::kHfConfig:
        return scenario_of_model(file, options.out ? named_from(*options.out, file.name) : file.name, warnings);
      default: return scenario_of(strategies::UsersFormat::kDeepSpeed, file, warnings);
    }
  }();
  for (auto const& warning : warnings) warn(warning);
  put(options, text);
}

/// The timeline in a file and what it comes to on standard output; without a file, the timeline alone.
void import_traces(ImportOptions const& options, std::vector<io::Source> const& files) {
  auto documents = std::vector<io::Node>{};
  for (auto const& file : files) documents.push_back(io::parse(file, io::Dialect::kForeign));
  auto const measured = read_traces(documents, options.step);
  put(options, io::to_json(measured.timeline));
  if (options.out) print(measured_step_text(measured, standard_output_style()));
}

}  // namespace

int import_file(ImportOptions const& options) {
  if (options.out) check_writable("--out", *options.out, options.files);
  auto const files = records::read_files(options.files);
  auto const& [name, text, has_lines] = files.front();
  switch (options.source) {
    case ImportOptions::Source::kNcclTopology: {
      auto const self_links = options.repairs ? records::SelfLinks::kLeaveOut : records::SelfLinks::kRefuse;
      import_node(options, records::read_nccl_topology(name, io::no_larger(name, text, io::kLargestDump), self_links));
      break;
    }
    case ImportOptions::Source::kNvidiaSmi:
      import_node(options, records::read_nvidia_smi(name, io::no_larger(name, text, io::kLargestDump)));
      break;
    case ImportOptions::Source::kNcclTests: import_logs(options, files.front()); break;
    case ImportOptions::Source::kKineto: import_traces(options, files); break;
    case ImportOptions::Source::kStepTimes:
      put(options, records::step_records_json(records::read_step_times(files)));
      break;
    case ImportOptions::Source::kDeepSpeed:
    case ImportOptions::Source::kAccelerate:
    case ImportOptions::Source::kTorchtitan:
    case ImportOptions::Source::kMegatron:
    case ImportOptions::Source::kHfConfig: import_configuration(options, files.front()); break;
  }
  return kDone;
}

}  // namespace twinstep::app
