#pragma once

#include <string>
#include <vector>

#include "explore/ask/scenario.hpp"
#include "explore/plan/search.hpp"

namespace twinstep::tests {

/// LLaMA-2-7B's layers, but eight of them: the same kernels and messages in a quarter of the operations.
inline constexpr auto kEightLayers =
    R"(model={"family": "llama", "layers": 8, "hidden": 4096, "heads": 32, "ffn": 11008, "vocabulary": 32000})";

/// What a plan is searched for, of an example with `settings`.
inline explore::plan::Question plan_question(std::string const& example, std::vector<std::string> settings) {
  auto const path = std::string{TWINSTEP_SOURCE_FOLDER} + "/examples/" + example;
  settings.insert(settings.end(), {"training.micro_batch=1", R"(strategy={"name": "fsdp2"})"});
  auto document = io::parse_file(path);
  for (auto const& setting : settings) document = io::with_setting(document, setting);
  return {explore::read_scenarios(path, settings).front(), document.at("training"), {}};
}

}  // namespace twinstep::tests
