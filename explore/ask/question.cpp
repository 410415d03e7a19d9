#include "explore/ask/question.hpp"

#include <filesystem>
#include <utility>

namespace twinstep::explore {

Question Question::with(std::string path, io::Node const& value) const {
  return with({io::change_to(std::move(path), value)});
}

Question Question::with(std::vector<io::Change> const& more) const {
  auto variation = *this;
  variation.changes.insert(variation.changes.end(), more.begin(), more.end());
  return variation;
}

io::Node Question::changed() const {
  auto out = document;
  for (auto const& change : changes) out = io::with_change(out, change);
  return out;
}

Question question_of(io::Node document, std::vector<io::Change> changes) {
  auto const& name = document.source().name;
  auto folder = name == "/dev/stdin" ? std::string{} : std::filesystem::path{name}.parent_path().string();
  return {std::move(document), std::move(folder), std::move(changes)};
}

std::vector<Scenario> read_scenarios(Question const& question) {
  return read_scenarios(question.changed(), question.folder, question.parts);
}

}  // namespace twinstep::explore
