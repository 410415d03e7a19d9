#include "app/arguments.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "sim/io/outputs.hpp"
#include "validate/records/gzip.hpp"
#include "validate/study/calibration.hpp"

namespace twinstep::app {
namespace {

/// The page, with what a step needs besides where only collectives were measured.
std::string text_of(reports::CalibrationReport const& report) {
  auto page = pages::calibration_page(report);
  if (report.kernels.empty() && !report.sweeps.empty())
    page.sections.push_back({.title = "Kernels are not calibrated. For steps, calibrate with this file too:",
                             .code = {"twinstep measure compute --like SCENARIO.json --out kernels.json"}});
  return reports::page_text(page, standard_output_style());
}

}  // namespace

int calibrate(CalibrateOptions const& options) {
  auto inputs = options.files;
  inputs.push_back(options.cluster);  // or else the profile would name itself
  auto outputs = io::Outputs{std::move(inputs)};
  outputs.expect("--out", options.out);
  auto const cluster = read_machine(options.cluster, {});
  auto const outcome = [&] {
    auto const progress = Progress{"calibrate", {}};
    return study::calibrate(options.cluster, cluster, records::read_files(options.files), today(), options.ranks);
  }();
  for (auto const& warning : outcome.study.warnings) warn(warning);
  for (auto const& oddity : study::oddities_of(outcome.study)) warn(oddity);
  auto const report = study::report_of(outcome, options.out);
  outputs.write(options.out, study::profile_patch_text(outcome.profile, options.out));
  print(options.as_json ? reports::calibration_json(report) : text_of(report));
  outputs.commit();
  return kDone;
}

}  // namespace twinstep::app
