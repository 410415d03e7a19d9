#include "validate/cuda/supported.hpp"

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/cuda/elements.hpp"

namespace twinstep::cuda {
namespace {

using program::Role;
using program::StepProgram;

/// Checks one operation; every call stands for one kind of work.
class Support {
 public:
  Support(StepProgram const& program, Role const& role, program::Operation const& op)
      : program_{program}, role_{role}, op_{op} {}

  void operator()(program::Gemm const& gemm) const {
    for (auto const& access : role_.accesses_of(op_)) {
      auto const type = role_.buffers[access.region.buffer.index()].type;
      if (size_of(type) != size_of(gemm.type))
        refuse(fmt::format("multiplies in {}, but an operand holds {}", name_of(gemm.type), name_of(type)),
               "give all three operands the type of the product");
    }
    require_number(gemm.type);
    if (gemm.windows != program::Windows::kNone)
      refuse("is a convolution, which cuBLAS does not have", "simulate this one");
  }
  void operator()(program::Attention const&) const {
    refuse("is fused attention, which cuBLAS does not have",
           "measure it as separate kernels with training.flash_attention = false, or simulate this one");
  }
  void operator()(program::Elementwise const& kernel) const {
    if (only_costs(kernel.function)) return;
    require_number(kernel.type);
    for (auto const& access : role_.accesses_of(op_)) require_number(role_.buffers[access.region.buffer.index()].type);
  }
  void operator()(program::Communication const& communication) const {
    for (auto const& part : role_.parts_of(communication)) {
      auto const type = std::visit([](auto const& p) { return p.type; }, part);
      auto const* collective = std::get_if<program::Collective>(&part);
      if (type == DataType::kFp8 && collective != nullptr && reduces(collective->kind)) require_number(type);
    }
  }
  void operator()(program::Copy const& copy) const {
    if (copy.direction == program::CopyDirection::kHostToNvme || copy.direction == program::CopyDirection::kNvmeToHost)
      refuse("moves data from or to NVMe, which this executor does not",
             "simulate it, or keep the data in host memory");
  }
  void operator()(program::Delay const&) const {}

  void check_stream() const {
    if (op_.is_on_host() || !role_.streams[op_.stream.index()].is_on_host) return;
    refuse("runs on the CPU, and this executor has kernels for GPUs only", "simulate this one");
  }

 private:
  void require_number(DataType type) const {
    if (!is_convertible(type))
      refuse(fmt::format("computes in {}", name_of(type)), "use fp64, fp32, tf32, bf16 or fp16");
  }
  [[noreturn]] void refuse(std::string const& what, std::string_view way_out) const {
    throw InputError{fmt::format("role {}: operation {} {}; {}", twinstep::quoted(program_.text(role_.name)),
                                 twinstep::quoted(program_.describe(op_)), what, way_out)};
  }

  StepProgram const& program_;
  Role const& role_;
  program::Operation const& op_;
};

}  // namespace

void require_supported(StepProgram const& program) {
  for (auto const& role : program.roles) {
    for (auto const& op : role.operations) {
      auto const support = Support{program, role, op};
      support.check_stream();
      std::visit(support, op.work);
    }
    for (auto const& buffer : role.buffers)
      if (buffer.space == program::MemorySpace::kNvme)
        throw InputError{fmt::format("role {}: buffer {} lies on NVMe, which this executor does not use; simulate it",
                                     twinstep::quoted(program.text(role.name)),
                                     twinstep::quoted(program.text(buffer.name)))};
  }
}

}  // namespace twinstep::cuda
