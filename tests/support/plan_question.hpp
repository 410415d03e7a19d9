#pragma once

#include <string>
#include <vector>

#include "explore/ask/question.hpp"
#include "explore/plan/search.hpp"

namespace twinstep::tests {

/// LLaMA-2-7B's layers, but eight of them: the same kernels and messages in a quarter of the operations.
inline constexpr auto kEightLayers =
    R"(model={"family": "llama", "layers": 8, "hidden": 4096, "heads": 32, "ffn": 11008, "vocabulary": 32000})";

/// What is asked of an example with `settings`.
inline explore::Question question_about(std::string const& example, std::vector<std::string> const& settings) {
  return explore::question_of(io::parse_file(std::string{TWINSTEP_SOURCE_FOLDER} + "/examples/" + example),
                              io::read_changes("--set", settings));
}

/// What a plan is searched for, of an example with `settings`.
inline explore::plan::Setup plan_question(std::string const& example, std::vector<std::string> settings) {
  settings.insert(settings.end(), {"training.micro_batch=1", R"(strategy={"name": "fsdp2"})"});
  auto const question = question_about(example, settings);
  return {read_scenarios(question).front(), question.changed().at("training"), {}};
}

}  // namespace twinstep::tests
