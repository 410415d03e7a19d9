#include "validate/study/findings.hpp"

#include <fmt/core.h>

#include "validate/records/self_checks.hpp"
#include "validate/score/diagnosis.hpp"

namespace twinstep::study {

std::vector<std::string> oddities_of(Study const& study) {
  auto const machine_of = [&](validate::CollectiveRecord const& record) {
    auto const place = static_cast<std::size_t>(&record - study.records.data());
    return std::optional{study.cases[place].cluster()};
  };
  return validate::check_records(study.records, machine_of);
}

void add_findings(reports::Accuracy& accuracy, Study const& study) {
  for (auto const& sentence : oddities_of(study)) accuracy.findings.push_back(sentence + ".");
  for (auto const& one : study.cases) {
    auto const diagnosis = validate::diagnose(one);
    if (!diagnosis) continue;
    auto const text = diagnosis->text();
    accuracy.findings.push_back(fmt::format("{} {}.", one.record().id, text));
    for (auto& record : accuracy.records)
      if (record.id == one.record().id) record.note += (record.note.empty() ? "" : "; ") + text;
  }
}

}  // namespace twinstep::study
