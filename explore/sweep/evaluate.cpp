#include "explore/sweep/evaluate.hpp"

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/scenario.hpp"
#include "explore/sweep/figures.hpp"
#include "explore/sweep/memoised.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/unknown_key.hpp"

namespace twinstep::explore::sweep {

/// What points have in common, made once.
class Evaluator::Memory {
 public:
  explicit Memory(Sweep const& sweep) : sweep_{&sweep} {}

  Scenario scenario(std::int64_t point, io::Node const& document) {
    check_scenario_keys(document);
    auto common = Scenario{};
    common.cluster = *clusters_.get(sweep_->part_key("cluster", point),
                                    [&] { return read_scenario_cluster(document, common.warnings); });
    common.model = *models_.get(sweep_->part_key("model", point),
                                [&] { return read_scenario_model(document, sweep_->directory(), common.warnings); });
    auto scenarios = read_scenarios(document, sweep_->directory(), std::move(common));
    if (scenarios.size() > 1)
      document.at("strategy")
          .fail("found a list in a list of strategies, expected one strategy", "take its brackets away");
    return std::move(scenarios.front());
  }

  /// The machine of a point's scenario: the cluster with the software and the ranks of the strategy.
  std::shared_ptr<engine::Machine const> machine(std::int64_t point, Scenario const& scenario) {
    auto const key = sweep_->part_key("cluster", point) * sweep_->points() + sweep_->part_key("strategy", point);
    return machines_.get(key, [&scenario] { return engine::Machine{machine_of(scenario), scenario.plan.ranks}; });
  }

  /// The programs of a strategy are checked at the first of its points: at all of them it would be most of the work.
  Checks checks(std::int64_t point) {
    auto const lock = std::lock_guard{mutex_};
    return checked_.insert(sweep_->part_key("strategy", point)).second ? Checks::kAll : Checks::kNone;
  }

 private:
  Sweep const* sweep_;
  Memoised<hardware::Cluster> clusters_;
  Memoised<strategies::ModelSpec> models_;
  Memoised<engine::Machine> machines_;
  std::mutex mutex_;
  std::set<std::int64_t> checked_;
};

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
    : sweep_{&sweep}, options_{options}, memory_{std::make_unique<Memory>(sweep)} {}

Evaluator::~Evaluator() = default;

std::optional<Row> Evaluator::operator()(std::int64_t point) const {
  auto const settings = sweep_->settings(point);
  auto row = Row{.point = point, .settings = std::vector<Cell>(sweep_->paths().size())};
  for (auto const& setting : settings) row.settings[setting.path] = cell_of(setting.value);
  try {
    auto const document = sweep_->scenario(settings);
    if (!sweep_->is_asked(document)) return std::nullopt;
    auto const scenario = memory_->scenario(point, document);
    answer(run_step(scenario, *memory_->machine(point, scenario), options_, memory_->checks(point)), row);
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
      auto scenario = memory_->scenario(point, sweep_->scenario(sweep_->settings(point)));
      if (!warnings) warnings = std::move(scenario.warnings);
    } catch (io::UnknownKey const&) {
      throw;
    } catch (InputError const&) {  // of this point alone: its row says it
    }
  }
  return warnings.value_or(std::vector<std::string>{});
}

}  // namespace twinstep::explore::sweep
