#include <algorithm>
#include <iterator>

#include "app/commands.hpp"
#include "app/machine.hpp"
#include "app/output.hpp"
#include "reports/accuracy_json.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "sim/io/document.hpp"
#include "validate/study/step_accuracy.hpp"

namespace twinstep::app {

int validate_steps(ValidateStepsOptions const& options) {
  auto const named = options.cluster ? std::optional{read_machine(*options.cluster, {})} : std::nullopt;
  auto records = std::vector<validate::StepRecord>{};
  for (auto const& file : options.files)
    std::ranges::move(validate::read_step_records(io::parse_file(file)), std::back_inserter(records));
  auto const accuracy = study::compare_steps(records, named);
  print(options.as_json
            ? reports::accuracy_json(accuracy)
            : page_text(pages::validation_page(accuracy), standard_output_style(), reports::Charts::kLeftOut));
  auto const error = accuracy.predictors.front().by_size.front().mean;
  return options.max_mape && (!error || *error * 100 > *options.max_mape) ? kGateMissed : kDone;
}

}  // namespace twinstep::app
