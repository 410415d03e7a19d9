// The memory of one rank, and what its operations compute on it.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/program/model_operands.hpp"
#include "sim/program/tensor_lists.hpp"
#include "validate/cpu/kernels.hpp"
#include "validate/cpu/rank_run.hpp"

namespace twinstep::cpu {

void RankRun::make_memory() {
  storage_.resize(role_.buffers.size());
  numbers_.resize(role_.buffers.size());
  users_left_.resize(role_.buffers.size());
  for (auto const& op : role_.operations) {
    auto& buffers = buffers_of_op_.emplace_back();
    for (auto const& access : role_.accesses_of(op))
      if (std::ranges::find(buffers, access.region.buffer) == buffers.end()) buffers.push_back(access.region.buffer);
    for (auto const buffer : buffers) ++users_left_[buffer.index()];
  }
  for (std::size_t i = 0; i < role_.buffers.size(); ++i) {
    auto const& buffer = role_.buffers[i];
    if (buffer.is_persistent) {
      numbers_[i] = step_.environment.persistent(step_.program, buffer, rank_);
      record_memory(BufferId{i}, true, Time{});
    } else if (buffer.category == program::MemoryCategory::kInputs && buffer.first_use.exists()) {
      make(BufferId{i});
      step_.environment.fill(step_.program, buffer, rank_, numbers_[i]);
    }
  }
}

void RankRun::make(BufferId id) {
  auto const& buffer = role_.buffers[id.index()];
  auto const elements = step_.program.evaluate(buffer.elements, rank_);
  auto& storage = storage_[id.index()].emplace(pool_.take(buffer.type, elements, step_.environment.fresh()));
  numbers_[id.index()] = storage.numbers();
}

std::span<BufferId const> RankRun::buffers_of(OpId op) const {
  return buffers_of_op_[op.index()];
}

void RankRun::allocate(OpId op) {
  for (auto const id : buffers_of(op)) {
    auto const& buffer = role_.buffers[id.index()];
    if (buffer.is_persistent || buffer.first_use != op) continue;
    if (!storage_[id.index()]) make(id);  // inputs are there already
    record_memory(id, true, record_.spans[op.index()].issue);
  }
}

void RankRun::release(OpId op) {
  auto const now = step_.clock.now();
  for (auto const id : buffers_of(op)) {
    auto const& buffer = role_.buffers[id.index()];
    if (!buffer.is_persistent && buffer.last_use == op) record_memory(id, false, now);
  }
}

void RankRun::record_memory(BufferId id, bool is_taken, Time time) {
  auto const& buffer = role_.buffers[id.index()];
  auto const bytes = size_of(buffer.type) * step_.program.evaluate(buffer.elements, rank_);
  if (bytes == Bytes{}) return;
  record_.memory.push_back(
      {.time = time, .category = buffer.category, .space = buffer.space, .change = is_taken ? bytes : -bytes});
}

Numbers RankRun::operand(program::Region const& region) const {
  auto const offset = step_.program.evaluate(region.offset, rank_);
  auto const elements = step_.program.evaluate(region.elements, rank_);
  TWINSTEP_CHECK(offset >= 0 && elements >= 0, "a region begins inside its buffer and has no negative size");
  return numbers_[region.buffer.index()].part(static_cast<std::size_t>(offset), static_cast<std::size_t>(elements));
}

std::vector<Numbers> RankRun::operands(program::Operation const& op) const {
  auto out = std::vector<Numbers>{};
  for (auto const& access : role_.accesses_of(op)) out.push_back(operand(access.region));
  return out;
}

std::vector<Member> RankRun::members(program::Operation const& op) const {
  auto out = std::vector<Member>{};
  auto accesses = role_.accesses_of(op);
  for (auto const& part : role_.parts_of(std::get<program::Communication>(op.work))) {
    auto member = Member{.rank = rank_,
                         .operation = step_.program.describe(op),
                         .part = &part,
                         .elements = 0,
                         .root = 0,
                         .sent = {},
                         .received = {}};
    member.elements = std::visit([&](auto const& p) { return step_.program.evaluate(p.elements, rank_); }, part);
    if (auto const* collective = std::get_if<program::Collective>(&part)) {
      member.root = step_.program.evaluate(collective->root, rank_);
      member.sent = operand(accesses[0].region);
      member.received = operand(accesses[1].region);
      accesses = accesses.subspan(2);
    } else {
      auto const sends = std::get<program::PointToPoint>(part).sends;
      (sends ? member.sent : member.received) = operand(accesses[0].region);
      accesses = accesses.subspan(1);
    }
    out.push_back(std::move(member));
  }
  return out;
}

namespace {

/// Refuses an operand of another size or type than its operation computes on.
void require_operand(program::StepProgram const& program, program::Operation const& op, std::span<Numbers const> all,
                     std::size_t which, std::int64_t elements, DataType type) {
  auto const& operand = all[which];
  if (operand.size() == static_cast<std::size_t>(elements) && operand.type() == type) return;
  throw InputError{fmt::format("operation {}: operand {} has {} elements of {}, but {} of {} are needed",
                               quoted(program.describe(op)), which + 1, operand.size(), name_of(operand.type()),
                               elements, name_of(type))};
}

/// Refuses operands whose sizes do not fit what a transformer computes.
void require_fit(program::StepProgram const& program, program::Operation const& op, std::span<Numbers const> all,
                 auto const& do_fit) {
  auto sizes = std::vector<std::int64_t>{};
  for (auto const& operand : all) sizes.push_back(static_cast<std::int64_t>(operand.size()));
  if (do_fit(sizes)) return;
  throw InputError{fmt::format("operation {}: operands of {} elements do not fit it", quoted(program.describe(op)),
                               fmt::join(sizes, ", "))};
}

/// … of a memory-bound kernel on `elements` elements: a list of tensors has as many altogether, a norm one.
void require_operands(program::StepProgram const& program, program::Operation const& op, std::span<Numbers const> all,
                      program::Function function, std::int64_t elements) {
  auto const size = [&](std::size_t i) { return static_cast<std::int64_t>(all[i].size()); };
  auto const list = program::tensor_list(function, all.size(), size).value_or(program::OperandRange{});
  auto const is_alone = list.count == 0 || program::is_optimizer(function);
  auto covered = std::int64_t{0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= list.first && i < list.first + list.count)
      covered += size(i);
    else
      require_operand(program, op, all, i, is_alone ? elements : 1, all[i].type());
  }
  if (list.count > 0 && covered != elements)
    throw InputError{fmt::format("operation {}: a list of tensors has {} elements, but {} are needed",
                                 quoted(program.describe(op)), covered, elements)};
}

}  // namespace

void RankRun::compute(program::Operation const& op) {
  auto const all = operands(op);
  auto const& program = step_.program;
  if (auto const* gemm = std::get_if<program::Gemm>(&op.work)) {
    require_operand(program, op, all, 0, gemm->batch * gemm->m * gemm->k, gemm->type);
    require_operand(program, op, all, 1, gemm->batch * gemm->k * gemm->n, gemm->type);
    require_operand(program, op, all, 2, gemm->batch * gemm->m * gemm->n, gemm->type);
    if (all.size() == 4) require_operand(program, op, all, 3, gemm->n, gemm->type);
    multiply(*gemm, all[0], all[1], all[2]);
    if (all.size() == 4) add_bias(all[3], all[2]);
  } else if (auto const* attention = std::get_if<program::Attention>(&op.work)) {
    require_fit(program, op, all, [&](auto const& sizes) { return fits(*attention, sizes); });
    attend(*attention, all);
  } else if (auto const* kernel = std::get_if<program::Elementwise>(&op.work)) {
    auto work = *kernel;
    work.elements = program.evaluate(kernel->elements, rank_);
    if (program::is_of_transformer(work.function))
      require_fit(program, op, all, [&](auto const& sizes) { return fits(work, work.elements.base, sizes); });
    else
      require_operands(program, op, all, work.function, work.elements.base);
    cpu::compute(work, all, {program.adamw, step_.environment.steps() + 1});
  } else if (auto const* copy = std::get_if<program::Copy>(&op.work)) {
    auto const elements = program.evaluate(copy->bytes, rank_) / size_of(all[0].type()).count();
    require_operand(program, op, all, 0, elements, all[0].type());
    require_operand(program, op, all, 1, elements, all[0].type());
    if (elements > 0) std::memmove(all[1].memory(), all[0].memory(), all[0].bytes());
  } else if (auto const* delay = std::get_if<program::Delay>(&op.work)) {
    sleep(delay->duration);
  } else {
    TWINSTEP_CHECK(std::holds_alternative<program::Communication>(op.work), "an operation is one that computes");
  }
}

void RankRun::sleep(Duration duration) {
  if (duration <= Duration{}) return;
  auto const nanoseconds = divide_up(duration.count(), 1000);
  step_.board.sleep_until(rank_.index(), std::chrono::steady_clock::now() + std::chrono::nanoseconds{nanoseconds});
}

}  // namespace twinstep::cpu
