#include "validate/records/machine_check.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::validate {
namespace {

/// The words by which vendors tell models apart: "H100", "MI300X", "4090"; not sizes ("80GB") or sockets ("SXM5").
std::set<std::string> models_in(std::string const& text) {
  static auto const model = std::regex{R"(\b(?:[A-Z]{1,2}\d{2,4}[A-Z]?|\d{4}[A-Z]?)\b)"};
  auto models = std::set<std::string>{};
  for (auto each = std::sregex_iterator{text.begin(), text.end(), model}; each != std::sregex_iterator{}; ++each)
    models.insert(each->str());
  return models;
}

bool are_of_one_model(std::string const& device, std::string const& description) {
  auto const said = models_in(device);
  auto const expected = models_in(description);
  return said.empty() || expected.empty() ||
         std::ranges::any_of(said, [&](auto const& model) { return expected.contains(model); });
}

}  // namespace

std::string other_library(std::string const& library, hardware::Cluster const& machine) {
  auto const& its = machine.library.name;
  if (library.empty() || its.empty() || library == its) return {};
  return fmt::format("was measured with {}, but {} runs {}: name a cluster that runs the same", one_line(library),
                     machine.name, its);
}

std::string other_device(std::string const& device, hardware::Cluster const& machine) {
  auto const& gpu = machine.node().gpu;
  if (are_of_one_model(device, gpu.description)) return {};
  return fmt::format("was measured on {}, but {} has {} ({}): name the cluster that was measured", one_line(device),
                     machine.name, gpu.name, gpu.description);
}

}  // namespace twinstep::validate
