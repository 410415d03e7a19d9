#include "app/findings.hpp"

#include <fmt/core.h>

#include "validate/score/diagnosis.hpp"

namespace twinstep::app {

void add_findings(reports::Accuracy& accuracy, std::vector<validate::CollectiveCase> const& cases) {
  for (auto const& one : cases) {
    auto const diagnosis = validate::diagnose(one);
    if (!diagnosis) continue;
    auto const text = diagnosis->text();
    accuracy.findings.push_back(fmt::format("{} {}.", one.record().id, text));
    for (auto& record : accuracy.records)
      if (record.id == one.record().id) record.note += (record.note.empty() ? "" : "; ") + text;
  }
}

}  // namespace twinstep::app
