#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "explore/ask/question.hpp"
#include "explore/sweep/workers.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"

namespace twinstep::explore::sweep {

namespace {

/// A setting as a row shows it.
Cell cell_of(io::Node const& value) {
  switch (value.type()) {
    case io::Node::Type::kNull: return {};
    case io::Node::Type::kString: return std::string{value.string()};
    case io::Node::Type::kNumber:
      return std::get<io::Node::Value::Number>(value.value().content).is_integer ? Cell{value.integer()}
                                                                                 : Cell{value.number()};
    default: return io::document_line(value);
  }
}

void answer(Outcome const& outcome, Row& row) {
  if (auto const* obstacle = std::get_if<reports::Infeasible>(&outcome)) {
    row.status = Status::kInfeasible;
    row.reason = obstacle->way_out.empty() ? obstacle->reason : obstacle->reason + "; " + obstacle->way_out;
    return;
  }
  auto const& summary = std::get<Run>(outcome).summary;
  row.status = summary.fits ? Status::kOk : Status::kDoesNotFit;
  if (!summary.fits) row.reason = reports::why_it_does_not_fit(summary);
  row.figures = figures_of(summary);
}

}  // namespace

Evaluator::Evaluator(Sweep const& sweep, engine::RunOptions options)
    : sweep_{&sweep}, options_{options}, parts_{std::make_shared<Parts>()} {}

/// The programs of a strategy are checked at the first of its points: at all of them it would be most of the work.
Checks Evaluator::checks(std::int64_t point) const {
  auto const lock = std::lock_guard{mutex_};
  return checked_.insert(sweep_->part_key("strategy", point)).second ? Checks::kAll : Checks::kNone;
}

Scenario Evaluator::scenario(io::Node const& document) const {
  auto scenarios = read_scenarios(document, sweep_->directory(), parts_);
  if (scenarios.size() > 1)
    document.at("strategy")
        .fail("found a list in a list of strategies, expected one strategy", "take its brackets away");
  return std::move(scenarios.front());
}

std::optional<Row> Evaluator::operator()(std::int64_t point) const {
  auto const settings = sweep_->settings(point);
  auto row = Row{.point = point, .settings = std::vector<Cell>(sweep_->paths().size())};
  for (auto const& setting : settings) row.settings[setting.path] = cell_of(setting.value);
  try {
    auto const document = sweep_->scenario(settings);
    if (!sweep_->is_asked(document)) return std::nullopt;
    answer(run_step(scenario(document), options_, checks(point)), row);
  } catch (InputError const& error) {
    row.status = Status::kWrongInput;
    row.reason = error.what();
  } catch (std::exception const& error) {
    throw std::runtime_error{fmt::format("at point {}: {}", point, error.what())};
  }
  return row;
}

std::vector<std::string> Evaluator::check() const {
  sweep_->check_constraints();
  auto warnings = std::optional<std::vector<std::string>>{};
  for (auto const point : sweep_->probes(1)) {
    try {
      auto read = scenario(sweep_->scenario(sweep_->settings(point)));
      if (!warnings) warnings = std::move(read.warnings);
    } catch (io::UnknownKey const&) {
      throw;
    } catch (InputError const&) {  // of this point alone: its row says it
    }
  }
  return warnings.value_or(std::vector<std::string>{});
}

}  // namespace twinstep::explore::sweep
