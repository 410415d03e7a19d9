#include "app/commands.hpp"
#include "app/machine.hpp"
#include "app/output.hpp"
#include "reports/accuracy_json.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "validate/records/gzip.hpp"
#include "validate/study/collective_accuracy.hpp"

namespace twinstep::app {

int validate_collectives(ValidateOptions const& options) {
  auto const named = options.cluster ? std::optional{read_machine(*options.cluster, {})} : std::nullopt;
  auto const measured = study::study_of(records::read_files(options.files), named);
  for (auto const& warning : measured.warnings) warn(warning);
  if (options.shows_constants) {
    print(study::fitted_constants_text(measured, named, standard_output_style()));
    return kDone;
  }
  auto const accuracy = study::compare_collectives(
      measured, named, {.leaves_out = options.leaves_out, .cross_validates = options.cross_validates});
  print(options.as_json
            ? reports::accuracy_json(accuracy)
            : page_text(pages::validation_page(accuracy), standard_output_style(), reports::Charts::kLeftOut));
  auto const error = accuracy.predictors.front().by_size.front().mean;
  return options.max_mape && (!error || *error * 100 > *options.max_mape) ? kGateMissed : kDone;
}

}  // namespace twinstep::app
