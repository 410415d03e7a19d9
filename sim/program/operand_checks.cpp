#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/program/model_operands.hpp"
#include "sim/program/role_ranks.hpp"
#include "sim/program/telling_ranks.hpp"
#include "sim/program/tensor_lists.hpp"
#include "sim/program/well_formed.hpp"

namespace twinstep::program {
namespace {

/// A RankValue as something that orders.
using ValueKey = std::pair<std::int64_t, VariationId>;
ValueKey key(RankValue value) {
  return {value.base, value.variation};
}

bool does_read(Access const& access) {
  return access.mode != AccessMode::kWrite;
}
bool does_write(Access const& access) {
  return access.mode != AccessMode::kRead;
}

std::size_t operands_of(CommunicationPart const& part) {
  return std::holds_alternative<Collective>(part) ? 2U : 1U;
}

/// The sizes that the two sides of a collective have on one rank.
struct Sides {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  bool sent_may_be_nothing = false;  ///< this rank does not send in a rooted collective
  bool received_may_be_nothing = false;
};

Sides sides_of(CollectiveKind kind, std::int64_t whole, std::int64_t chunk, bool is_root) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllToAll: return {whole, whole};
    case CollectiveKind::kAllGather: return {chunk, whole};
    case CollectiveKind::kReduceScatter: return {whole, chunk};
    case CollectiveKind::kBroadcast: return {whole, whole, !is_root, false};
    case CollectiveKind::kReduce: return {whole, whole, false, !is_root};
    case CollectiveKind::kGather: return {chunk, whole, false, !is_root};
    case CollectiveKind::kScatter: return {whole, chunk, !is_root, false};
  }
  return {};
}

bool is_side(std::int64_t elements, std::int64_t expected, bool may_be_nothing) {
  return elements == expected || (may_be_nothing && elements == 0);
}

/// Whether a rank's own chunk is one of the collective's sides.
bool is_cut(CollectiveKind kind) {
  return kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kBroadcast && kind != CollectiveKind::kReduce;
}

class OperandCheck {
 public:
  OperandCheck(StepProgram const& program, Role const& role, std::vector<std::string>& defects)
      : program_{program}, role_{role}, defects_{defects}, ranks_{program, role} {}

  void run();

 private:
  using Operands = std::span<Access const>;
  void say(std::string const& text) { defects_.push_back(place_of(program_, role_, op_) + text); }
  Buffer const& buffer(Access const& access) const { return role_.buffers[access.region.buffer.index()]; }
  std::string_view buffer_name(Access const& access) const { return program_.text(buffer(access).name); }
  AxisSet axes(RankValue value) const { return axes_of(program_, value); }
  std::int64_t on(RankId rank, RankValue value) const { return program_.evaluate(value, rank); }

  void check_buffers();
  void check_region(Access const& access);
  bool has_operands(Operands operands, std::size_t count);
  void expect_elements(Access const& access, char const* what, RankValue expected);
  void check(Gemm const& gemm, Operands operands);
  void check(Attention const& attention, Operands operands);
  void check(Elementwise const& elementwise, Operands operands);
  void check_list(Elementwise const& elementwise, Operands operands, std::size_t expected);
  void check_fit(Elementwise const& elementwise, Operands operands);
  void say_misfit(Elementwise const& elementwise, Operands operands, RankId rank);
  std::vector<RankValue> elements_of(Operands operands) const;
  std::vector<std::int64_t> sizes(Operands operands, RankId rank) const;
  void check(Communication const& communication, Operands operands);
  void check(Copy const& copy, Operands operands);
  void check(Delay const& delay, Operands operands);
  void check_part(Collective const& collective, Operands operands);
  void check_part(PointToPoint const& message, Operands operands);
  [[nodiscard]] Sides expected_sides(Collective const& collective, RankId rank) const;
  void check_sizes(Collective const& collective, Region const& sent, Region const& received);
  void check_place(RankValue place, CommunicatorId communicator, char const* what);
  void check_element_size(DataType type, Access const& access);
  std::int64_t chunk(std::int64_t elements, std::int64_t count, std::int64_t place) const {
    return chunk_begin(elements, count, place + 1) - chunk_begin(elements, count, place);
  }

  StepProgram const& program_;
  Role const& role_;
  std::vector<std::string>& defects_;
  OpId op_;
  TellingRanks ranks_;
  // Layers repeat: what was checked once for the same numbers holds again.
  std::set<std::array<ValueKey, 3>> regions_inside_;
  std::set<std::tuple<CollectiveKind, CommunicatorId, ValueKey, ValueKey, ValueKey, ValueKey>> collectives_right_;
};

void OperandCheck::run() {
  check_buffers();
  for (std::size_t i = 0; i < role_.operations.size(); ++i) {
    op_ = OpId{i};
    auto const& op = role_.operations[i];
    auto const operands = role_.accesses_of(op);
    for (auto const& access : operands) check_region(access);
    std::visit([&](auto const& work) { check(work, operands); }, op.work);
  }
}

void OperandCheck::check_buffers() {
  for (auto const& buffer : role_.buffers) {
    auto const wrong =
        ranks_.first_wrong({{buffer.elements}}, [&](RankId rank) { return on(rank, buffer.elements) >= 0; });
    if (wrong)
      defects_.push_back(fmt::format("role \"{}\": buffer \"{}\" has {} elements on rank {}", program_.text(role_.name),
                                     program_.text(buffer.name), on(*wrong, buffer.elements), wrong->index()));
  }
}

void OperandCheck::check_region(Access const& access) {
  auto const& [id, offset, elements] = access.region;
  auto const size = buffer(access).elements;
  auto const is_constant = !offset.varies() && !elements.varies() && !size.varies();
  if (is_constant && offset.base >= 0 && elements.base >= 0 && offset.base + elements.base <= size.base) return;
  if (!regions_inside_.insert({key(offset), key(elements), key(size)}).second) return;
  auto const wrong = ranks_.first_wrong(std::array{offset, elements, size}, [&](RankId rank) {
    auto const first = on(rank, offset);
    auto const count = on(rank, elements);
    return first >= 0 && count >= 0 && first + count <= on(rank, size);
  });
  if (wrong)
    say(fmt::format("touches [{}, {}) of buffer \"{}\", which has {} elements on rank {}", on(*wrong, offset),
                    on(*wrong, offset) + on(*wrong, elements), buffer_name(access), on(*wrong, size), wrong->index()));
}

bool OperandCheck::has_operands(Operands operands, std::size_t count) {
  if (operands.size() == count) return true;
  say(fmt::format("has {} operands, expected {}", operands.size(), count));
  return false;
}

/// The region has `expected` elements on every rank.
void OperandCheck::expect_elements(Access const& access, char const* what, RankValue expected) {
  auto const elements = access.region.elements;
  if (elements == expected) return;
  auto const wrong = ranks_.first_wrong(std::array{elements, expected},
                                        [&](RankId rank) { return on(rank, elements) == on(rank, expected); });
  if (wrong)
    say(fmt::format("{} \"{}\" has {} elements on rank {}, expected {}", what, buffer_name(access),
                    on(*wrong, elements), wrong->index(), on(*wrong, expected)));
}

void OperandCheck::check(Gemm const& gemm, Operands operands) {
  if (gemm.m < 1 || gemm.n < 1 || gemm.k < 1 || gemm.batch < 1)
    return say(fmt::format("is a product of size {} x {} x {}, batch {}", gemm.m, gemm.n, gemm.k, gemm.batch));
  auto const volume = flops_of(gemm).count();
  if (constexpr double kMost = 0x1p62; volume > kMost)
    return say(fmt::format("is a product of {} operations, which is more than one kernel can do", volume));
  if (operands.size() != 4 && !has_operands(operands, 3)) return;
  auto const [a, b, c] = operand_elements(gemm);
  expect_elements(operands[0], "A", a);
  expect_elements(operands[1], "B", b);
  expect_elements(operands[2], "C", c);
  if (operands.size() == 4) expect_elements(operands[3], "bias", gemm.n);
  if (!does_read(operands[0]) || !does_read(operands[1]) || !does_write(operands[2]))
    say("reads A and B and writes C, but its operands say otherwise");
  if (gemm.accumulate && !does_read(operands[2])) say("adds to C, but its operand only writes it");
}

void OperandCheck::check(Attention const& attention, Operands operands) {
  auto const wrong =
      ranks_.first_wrong(elements_of(operands), [&](RankId rank) { return fits(attention, sizes(operands, rank)); });
  if (wrong)
    say(fmt::format("has operands of {} elements on rank {}, which do not fit attention",
                    fmt::join(sizes(operands, *wrong), ", "), wrong->index()));
  if (operands.empty() || !does_write(operands.back())) say("does not write its result");
}

void OperandCheck::check(Elementwise const& elementwise, Operands operands) {
  auto const function = elementwise.function;
  if (only_costs(function)) return;
  if (is_of_transformer(function)) return check_fit(elementwise, operands);
  static constexpr std::array<std::size_t, kEnumSize<Function>> kOperands{1, 2, 3, 2, 3, 3, 4, 3, 2, 2, 2};
  auto const expected = kOperands[static_cast<std::size_t>(function)];
  auto const is_on_list = function >= Function::kAdamW;
  if (is_on_list ? operands.size() < expected && !has_operands(operands, expected) : !has_operands(operands, expected))
    return;
  if (is_on_list) return check_list(elementwise, operands, expected);
  for (auto const& access : operands) expect_elements(access, "operand", elementwise.elements);
  if (!does_write(operands.back())) say("does not write its result");
}

void OperandCheck::check_fit(Elementwise const& elementwise, Operands operands) {
  auto values = elements_of(operands);
  values.push_back(elementwise.elements);
  auto const wrong = ranks_.first_wrong(
      values, [&](RankId rank) { return fits(elementwise, on(rank, elementwise.elements), sizes(operands, rank)); });
  if (wrong) say_misfit(elementwise, operands, *wrong);
  if (operands.empty() || !does_write(operands.back())) say("does not write its result");
}

void OperandCheck::say_misfit(Elementwise const& elementwise, Operands operands, RankId rank) {
  say(fmt::format("has operands of {} elements on rank {}, which do not fit {} on {} elements",
                  fmt::join(sizes(operands, rank), ", "), rank.index(), name_of(elementwise.function),
                  on(rank, elementwise.elements)));
}

/// The list is as long as the operation; an optimizer's states are too, and a norm is one number. A list counts as one
/// of the `expected` operands; a model copy beside the master comes on top.
void OperandCheck::check_list(Elementwise const& elementwise, Operands operands, std::size_t expected) {
  auto const function = elementwise.function;
  auto values = elements_of(operands);
  values.push_back(elementwise.elements);
  auto const wrong = ranks_.first_wrong(values, [&](RankId rank) {
    auto const size = [&](std::size_t i) { return on(rank, operands[i].region.elements); };
    auto const whole = on(rank, elementwise.elements);
    auto const [first, count] = tensor_list(function, operands.size(), size).value();
    auto const other = is_optimizer(function) ? whole : 1;
    auto sum = std::int64_t{0};
    auto const roles = operands.size() - count + 1;
    auto are_right = roles == expected || (is_optimizer(function) && roles == expected + 1);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      auto const is_in_list = i >= first && i < first + count;
      if (is_in_list) sum += size(i);
      are_right = are_right && (is_in_list || size(i) == other);
    }
    return are_right && sum == whole;
  });
  if (wrong) say_misfit(elementwise, operands, *wrong);
  auto const result = function == Function::kSquaredNorm ? operands.size() - 1 : function == Function::kClip ? 1U : 0U;
  if (!does_write(operands[result])) say("does not write its result");
}

std::vector<RankValue> OperandCheck::elements_of(Operands operands) const {
  auto all = std::vector<RankValue>{};
  for (auto const& access : operands) all.push_back(access.region.elements);
  return all;
}

std::vector<std::int64_t> OperandCheck::sizes(Operands operands, RankId rank) const {
  auto all = std::vector<std::int64_t>{};
  for (auto const& access : operands) all.push_back(on(rank, access.region.elements));
  return all;
}

void OperandCheck::check(Copy const& copy, Operands operands) {
  if (!has_operands(operands, 2)) return;
  using enum MemorySpace;
  static constexpr std::array<std::pair<MemorySpace, MemorySpace>, kEnumSize<CopyDirection>> kSpaces{
      {{kDevice, kDevice}, {kHost, kDevice}, {kDevice, kHost}, {kHost, kNvme}, {kNvme, kHost}}};
  auto const [from, to] = kSpaces[static_cast<std::size_t>(copy.direction)];
  if (buffer(operands[0]).space != from || buffer(operands[1]).space != to)
    say(fmt::format("copies {}, but from buffer \"{}\" in {} memory to buffer \"{}\" in {} memory",
                    name_of(copy.direction), buffer_name(operands[0]), name_of(buffer(operands[0]).space),
                    buffer_name(operands[1]), name_of(buffer(operands[1]).space)));
  if (!does_read(operands[0]) || !does_write(operands[1])) say("reads its first operand and writes its second");
  for (auto const& access : operands) {
    auto const elements = access.region.elements;
    auto const bytes = [&](RankId rank) { return (size_of(buffer(access).type) * on(rank, elements)).count(); };
    auto const wrong = ranks_.first_wrong(std::array{copy.bytes, elements},
                                          [&](RankId rank) { return bytes(rank) == on(rank, copy.bytes); });
    if (wrong)
      say(fmt::format("copies {} bytes, but \"{}\" has {} on rank {}", on(*wrong, copy.bytes), buffer_name(access),
                      bytes(*wrong), wrong->index()));
  }
}

void OperandCheck::check(Delay const& delay, Operands) {
  if (delay.duration < Duration{}) say(fmt::format("lasts {} ps", delay.duration.count()));
}

void OperandCheck::check(Communication const& communication, Operands operands) {
  auto const parts = role_.parts_of(communication);
  auto expected = std::size_t{0};
  for (auto const& part : parts) expected += operands_of(part);
  if (!has_operands(operands, expected)) return;
  for (auto const& part : parts) {
    auto const count = operands_of(part);
    std::visit([&](auto const& p) { check_part(p, operands.first(count)); }, part);
    operands = operands.subspan(count);
  }
}

void OperandCheck::check_element_size(DataType type, Access const& access) {
  if (size_of(type) != size_of(buffer(access).type))
    say(fmt::format("moves {}, but buffer \"{}\" holds {}", name_of(type), buffer_name(access),
                    name_of(buffer(access).type)));
}

void OperandCheck::check_place(RankValue place, CommunicatorId communicator, char const* what) {
  auto const& group = program_.communicators[communicator.index()];
  auto const size = program_.grids.size(group.along);
  auto const wrong = ranks_.first_wrong({{place}}, [&](RankId rank) {
    auto const value = on(rank, place);
    return value >= 0 && value < size;
  });
  if (wrong)
    say(fmt::format("{} {} on rank {} lies outside communicator \"{}\" of {} ranks", what, on(*wrong, place),
                    wrong->index(), program_.text(group.name), size));
}

void OperandCheck::check_part(PointToPoint const& message, Operands operands) {
  check_place(message.peer, message.communicator, "peer");
  check_element_size(message.type, operands[0]);
  expect_elements(operands[0], message.sends ? "sent region" : "received region", message.elements);
  if (message.sends ? !does_read(operands[0]) : !does_write(operands[0]))
    say(message.sends ? "sends a region that it does not read" : "receives a region that it does not write");
}

void OperandCheck::check_part(Collective const& collective, Operands operands) {
  check_place(collective.root, collective.communicator, "root");
  for (auto const& access : operands) check_element_size(collective.type, access);
  if (!does_read(operands[0]) || !does_write(operands[1])) say("reads what it sends and writes what it receives");
  check_sizes(collective, operands[0].region, operands[1].region);
}

/// What the two sides of a collective must have on `rank`.
Sides OperandCheck::expected_sides(Collective const& collective, RankId rank) const {
  auto const& [kind, reduction, type, communicator, elements, root] = collective;
  auto const along = program_.communicators[communicator.index()].along;
  auto const count = program_.grids.size(along);
  auto const whole = on(rank, elements);
  auto const place = program_.grids.index_in_group(rank, along);
  auto sides = sides_of(kind, whole, chunk(whole, count, place), place == on(rank, root));
  if (kind == CollectiveKind::kAllToAll && !elements.varies()) {
    sides.received = count * chunk(whole, count, place);
  } else if (kind == CollectiveKind::kAllToAll) {
    sides.received = 0;  // one chunk from every rank, each cut from what that rank sends
    for (std::int64_t from = 0; from < count; ++from)
      sides.received += chunk(on(program_.grids.rank_in_group(rank, along, from), elements), count, place);
  }
  return sides;
}

void OperandCheck::check_sizes(Collective const& collective, Region const& sent, Region const& received) {
  auto const& [kind, reduction, type, communicator, elements, root] = collective;
  if (!collectives_right_
           .insert({kind, communicator, key(elements), key(root), key(sent.elements), key(received.elements)})
           .second)
    return;
  auto const is_right = [&](RankId rank) {
    auto const sides = expected_sides(collective, rank);
    return is_side(on(rank, sent.elements), sides.sent, sides.sent_may_be_nothing) &&
           is_side(on(rank, received.elements), sides.received, sides.received_may_be_nothing);
  };
  auto const along = program_.communicators[communicator.index()].along;
  auto const count = program_.grids.size(along);
  auto const values = std::array{elements, root, sent.elements, received.elements};
  auto const has_even_chunks = !is_cut(kind) || (!elements.varies() && elements.base % count == 0);
  auto const has_one_root = !has_root(kind) || !root.varies();
  auto wrong = std::optional<RankId>{};
  if (has_even_chunks && has_one_root) {
    auto const is_there = has_root(kind) && root.base >= 0 && root.base < count;
    auto const odd = is_there ? std::optional{OddPlace{along, root.base}} : std::nullopt;
    wrong = ranks_.first_wrong(values, is_right, odd);
  } else {
    auto all_axes = program_.grids.common_axes(along);
    for (auto const value : values) all_axes = all_axes.united_with(axes(value));
    wrong = ranks_.first_wrong_of_all(all_axes, is_right);
  }
  if (!wrong) return;
  auto const sides = expected_sides(collective, *wrong);
  auto const sends = on(*wrong, sent.elements);
  auto const is_sent_right = is_side(sends, sides.sent, sides.sent_may_be_nothing);
  say(fmt::format("{} of {} elements over {} ranks {} {} elements on rank {} (place {}), expected {}", name_of(kind),
                  on(*wrong, elements), count, is_sent_right ? "receives" : "sends",
                  is_sent_right ? on(*wrong, received.elements) : sends, wrong->index(),
                  program_.grids.index_in_group(*wrong, along), is_sent_right ? sides.received : sides.sent));
}

}  // namespace

void find_operand_defects(StepProgram const& program, Role const& role, std::vector<std::string>& defects) {
  OperandCheck{program, role, defects}.run();
}

}  // namespace twinstep::program
