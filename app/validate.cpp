#include <algorithm>
#include <iterator>

#include "app/arguments.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "reports/accuracy.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "validate/records/gzip.hpp"
#include "validate/study/accuracy.hpp"

namespace twinstep::app {
namespace {

std::optional<hardware::Cluster> named_machine(std::optional<std::string> const& cluster) {
  return cluster ? std::optional{read_machine(*cluster, {})} : std::nullopt;
}

/// Prints how far predictions lie from measurements, and says whether that is too far: `max_mape`, in per cent.
int answer(reports::Accuracy const& accuracy, bool as_json, std::optional<double> max_mape) {
  print(as_json ? reports::accuracy_json(accuracy)
                : page_text(pages::validation_page(accuracy), standard_output_style(), reports::Charts::kLeftOut));
  auto const error = accuracy.predictors.front().by_size.front().mean;
  return max_mape && (!error || *error * 100 > *max_mape) ? kGateMissed : kDone;
}

}  // namespace

int validate_collectives(ValidateOptions const& options) {
  auto const named = named_machine(options.cluster);
  auto const measured = study::study_of(records::read_files(options.files), named, options.ranks);
  for (auto const& warning : measured.warnings) warn(warning);
  if (options.shows_constants) {
    print(study::fitted_constants_text(measured, named, standard_output_style()));
    return kDone;
  }
  auto const accuracy = [&] {
    auto progress = Progress{"validate", "systems left out"};
    return study::compare_collectives(measured, named,
                                      {.leaves_out = options.leaves_out,
                                       .cross_validates = options.cross_validates,
                                       .tell = [&](auto done, auto total) {
                                         progress.at(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
                                       }});
  }();
  return answer(accuracy, options.as_json, options.max_mape);
}

int validate_steps(ValidateStepsOptions const& options) {
  auto const named = named_machine(options.cluster);
  auto records = std::vector<validate::StepRecord>{};
  for (auto const& file : options.files)
    std::ranges::move(validate::read_step_records(io::parse(records::read_file(file))), std::back_inserter(records));
  return answer(study::compare_steps(records, named), options.as_json, options.max_mape);
}

}  // namespace twinstep::app
