#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/program/lifetimes.hpp"
#include "sim/program/step_program.hpp"
#include "strategies/model/read_model.hpp"
#include "tests/support/catch.hpp"

/// Questions that tests ask of a step that a strategy has written.
namespace twinstep::tests {

/// The operations of that name, in the order in which the host issues them.
inline std::vector<OpId> operations_called(program::StepProgram const& step, std::string_view name) {
  auto found = std::vector<OpId>{};
  auto const& operations = step.roles.front().operations;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (step.text(operations[i].name) == name) found.emplace_back(i);
  return found;
}

/// Elements of all collectives of one kind, on their large side.
inline std::int64_t wire_elements(program::StepProgram const& step, CollectiveKind kind) {
  auto elements = std::int64_t{0};
  for (auto const& part : step.roles.front().parts) {
    auto const& collective = std::get<program::Collective>(part);
    if (collective.kind == kind) elements += collective.elements.base;
  }
  return elements;
}

/// Device memory of one category that a rank holds while the optimizer's first kernel runs.
inline std::int64_t bytes_at_update(program::StepProgram const& step, program::MemoryCategory category) {
  auto const& role = step.roles.front();
  auto update = OpId{};
  for (std::size_t i = 0; i < role.operations.size() && !update.exists(); ++i) {
    auto const* kernel = std::get_if<program::Elementwise>(&role.operations[i].work);
    if (kernel != nullptr && is_optimizer(kernel->function)) update = OpId{i};
  }
  REQUIRE(update.exists());
  auto const lifetimes = program::lifetimes_of(role);
  auto bytes = std::int64_t{0};
  for (std::size_t i = 0; i < role.buffers.size(); ++i) {
    auto const& buffer = role.buffers[i];
    auto const is_live =
        buffer.is_persistent ||
        (lifetimes[i].first_use.exists() && !(update < lifetimes[i].first_use) && !(lifetimes[i].last_use < update));
    if (is_live && buffer.category == category && buffer.space == program::MemorySpace::kDevice)
      bytes += (size_of(buffer.type) * buffer.elements.base).count();
  }
  return bytes;
}

/// One of torchvision's residual networks.
inline strategies::ModelSpec published_cnn(std::string const& name) {
  auto warnings = std::vector<std::string>{};
  return strategies::read_model(io::parse({"scenario.json", R"({"family": "cnn", "name": ")" + name + R"("})"}), ".",
                                warnings);
}

}  // namespace twinstep::tests
