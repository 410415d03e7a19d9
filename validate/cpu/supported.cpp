#include "validate/cpu/supported.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/cpu/kernels.hpp"

namespace twinstep::cpu {
namespace {

using program::Role;
using program::StepProgram;

bool is_computed(DataType type) {
  return type == DataType::kFp32 || type == DataType::kFp64;
}

constexpr auto kTypesAdvice =
    "the CPU executor computes in fp32 and fp64 only; compile the plan with precision fp32 or fp64";

void require_supported_buffers(StepProgram const& program, Role const& role) {
  auto seen = std::set<std::pair<std::string, NameId>>{};
  for (auto const& buffer : role.buffers) {
    auto const name = quoted(program.text(buffer.name));
    auto const place = program.text(buffer.scope);
    auto const scope = twinstep::quoted(place);
    if (!is_computed(buffer.type) && buffer.type != DataType::kInt32)
      throw InputError{fmt::format("role {}: buffer {} in scope {} holds {}: {}", quoted(program.text(role.name)), name,
                                   scope, name_of(buffer.type), kTypesAdvice)};
    if (buffer.is_persistent && !seen.emplace(place, buffer.name).second)
      throw InputError{fmt::format("role {}: two persistent buffers are called {} in scope {}; give them two names",
                                   quoted(program.text(role.name)), name, scope)};
  }
}

/// Checks one operation; every call stands for one kind of work.
class Support {
 public:
  Support(StepProgram const& program, Role const& role, program::Operation const& op)
      : program_{program}, role_{role}, op_{op} {}

  void operator()(program::Gemm const& gemm) const {
    if (gemm.windows != program::Windows::kNone) refuse_cost_only("a convolution");
    require_type(gemm.type);
    require_operands(3, 4);
  }
  void operator()(program::Attention const& attention) const {
    if (attention.alibi) refuse_cost_only("ALiBi");
    require_type(attention.type);
    require_operands(attention.backward ? 7 : 3, attention.backward ? 9 : 5);
  }
  void operator()(program::Elementwise const& kernel) const {
    if (program::only_costs(kernel.function)) refuse_cost_only(name_of(kernel.function));
    require_type(kernel.type);
    auto const [least, most] = operands_of(kernel.function);
    require_operands(least, most);
  }
  void operator()(program::Communication const& communication) const {
    auto operands = std::size_t{0};
    for (auto const& part : role_.parts_of(communication)) {
      require_type(std::visit([](auto const& p) { return p.type; }, part));
      operands += std::holds_alternative<program::Collective>(part) ? 2U : 1U;
    }
    require_operands(operands, operands);
  }
  void operator()(program::Copy const&) const { require_operands(2, 2); }
  void operator()(program::Delay const&) const {}

 private:
  [[nodiscard]] std::string place() const {
    return fmt::format("role {}: operation {}", quoted(program_.text(role_.name)), quoted(program_.describe(op_)));
  }
  void require_type(DataType type) const {
    if (!is_computed(type)) throw InputError{fmt::format("{} is in {}: {}", place(), name_of(type), kTypesAdvice)};
  }
  void require_operands(std::size_t least, std::size_t most) const {
    if (op_.accesses.count < least || op_.accesses.count > most)
      throw InputError{fmt::format("{} takes {} operands, but has {}", place(), least, op_.accesses.count)};
  }
  [[noreturn]] void refuse_cost_only(std::string_view what) const {
    throw InputError{
        fmt::format("{} ({}) only has a cost: the CPU executor cannot compute it; run a model without it "
                    "(dropout, ALiBi, convolutions, …), or simulate this one",
                    place(), what)};
  }

  StepProgram const& program_;
  Role const& role_;
  program::Operation const& op_;
};

}  // namespace

void require_supported(StepProgram const& program) {
  for (auto const& role : program.roles) {
    // Operations first: what has no data path at all is a better answer than the type of its buffers.
    for (auto const& op : role.operations) std::visit(Support{program, role, op}, op.work);
    require_supported_buffers(program, role);
  }
}

}  // namespace twinstep::cpu
