#pragma once

#include <string>
#include <vector>

#include "sim/program/builder.hpp"

/// Small programs that the tests of sim/program and sim/io share.
namespace twinstep::tests {

/// Buffers of `elements` fp32 numbers in device memory.
inline program::Buffer fp32(NameId name, program::RankValue elements, bool is_persistent = false) {
  auto buffer = program::Buffer{};
  buffer.name = name;
  buffer.elements = elements;
  buffer.type = DataType::kFp32;
  buffer.is_persistent = is_persistent;
  return buffer;
}

inline program::Collective fp32_collective(CollectiveKind kind, CommunicatorId communicator,
                                           program::RankValue elements, program::RankValue root = 0) {
  return {kind, program::Reduction::kSum, DataType::kFp32, communicator, elements, root};
}

inline program::Elementwise fill(program::RankValue elements) {
  return {.function = program::Function::kFill,
          .elements = elements,
          .bytes_per_element = 4,
          .type = DataType::kFp32,
          .scalar = 0.5};
}

/// Four data-parallel ranks that multiply, scatter a gradient and gather the weight:
///   op 0 fills the input [2, 3]; op 1 multiplies it by the weight [3, 4]; op 2 fills the gradient (12 numbers);
///   op 3 reduces it, 3 numbers for each rank, on the stream "comm"; op 4 gathers 3 numbers of each rank into the
///   weight; op 5 is the host, which waits for op 4.
inline program::StepProgram four_ranks() {
  auto builder = program::ProgramBuilder{program::Grid{{{"data", 4}}}};
  auto const data = builder.communicator("data", {"data"});
  auto& role = builder.role("main");
  auto const compute = role.stream("compute");
  auto const comm = role.stream("comm");
  role.enter({.unit = builder.name("layer.0")});
  auto const input = role.buffer(fp32(builder.name("input"), 6));
  auto const weight = role.buffer(fp32(builder.name("weight"), 12, true));
  auto const output = role.buffer(fp32(builder.name("output"), 8));
  auto const gradient = role.buffer(fp32(builder.name("gradient"), 12));
  auto const shard = role.buffer(fp32(builder.name("shard"), 3));
  role.add(compute, builder.name("load"), fill(6), {program::writes(role.whole(input))});
  role.add(
      compute, builder.name("multiply"), program::Gemm{2, 4, 3, 1, DataType::kFp32},
      {program::reads(role.whole(input)), program::reads(role.whole(weight)), program::writes(role.whole(output))});
  auto const filled =
      role.add(compute, builder.name("differentiate"), fill(12), {program::writes(role.whole(gradient))});
  role.wait(comm, filled);
  role.add(comm, builder.name("scatter"), fp32_collective(CollectiveKind::kReduceScatter, data, 12),
           role.whole(gradient), role.whole(shard));
  auto const gathered = role.add(comm, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, data, 12),
                                 role.whole(shard), role.whole(weight));
  role.host(builder.name("synchronise"), std::vector{gathered});
  builder.facts() = {
      .tokens = 8, .model_flops = Flops{192}, .hardware_flops = Flops{256}, .compute_type = DataType::kFp32};
  return std::move(builder).finish();
}

}  // namespace twinstep::tests
