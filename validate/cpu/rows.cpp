#include <array>
#include <vector>

#include "sim/base/check.hpp"
#include "validate/cpu/model_kernels.hpp"

namespace twinstep::cpu {
namespace {

/// Calls `visit(id's row of the table, number in the rows)` for the numbers of all rows that the table has.
template <class Visit>
void for_each_in_table(Numbers ids, std::size_t elements, std::size_t table, Visit const& visit) {
  auto const width = elements / ids.size();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    auto const id = ids[row];
    TWINSTEP_CHECK(id != kNoInteger, "ids come with the batch");
    if (id < 0 || id >= static_cast<double>(table / width)) continue;
    for (std::size_t i = 0; i < width; ++i) visit(static_cast<std::size_t>(id) * width + i, row * width + i);
  }
}

}  // namespace

void gather_rows(Operands operands) {
  auto const [ids, table, out] = std::array{operands[0], operands[1], operands[2]};
  for (std::size_t i = 0; i < out.size(); ++i) out.set(i, 0);
  for_each_in_table(ids, out.size(), table.size(), [&](std::size_t at, std::size_t i) { out.set(i, table[at]); });
}

void scatter_rows(Operands operands) {
  auto const [in, ids, table] = std::array{operands[0], operands[1], operands[2]};
  for_each_in_table(ids, in.size(), table.size(),
                    [&](std::size_t at, std::size_t i) { table.set(at, table[at] + in[i]); });
}

void add_repeated(std::size_t period, Operands operands) {
  auto const inputs = operands.first(operands.size() - 2);
  auto const repeated = operands[inputs.size()];
  for (std::size_t i = 0; i < operands.back().size(); ++i) {
    auto sum = repeated[i % period];
    for (auto const& in : inputs) sum += in[i];
    operands.back().set(i, sum);
  }
}

void sum_repeated(std::size_t period, bool accumulate, Operands operands) {
  auto sums = std::vector<double>(period);
  for (std::size_t i = 0; i < operands[0].size(); ++i) sums[i % period] += operands[0][i];
  for (std::size_t i = 0; i < operands[1].size(); ++i) {
    auto const sum = i < period ? sums[i] : 0.0;
    operands[1].set(i, accumulate ? operands[1][i] + sum : sum);
  }
}

void join_columns(std::size_t width, Operands operands) {
  auto const rows = operands.back().size() / width;
  auto first = std::size_t{0};
  for (auto const& part : operands.first(operands.size() - 1)) {
    auto const own = part.size() / rows;
    for (std::size_t i = 0; i < part.size(); ++i) operands.back().set(i / own * width + first + i % own, part[i]);
    first += own;
  }
}

}  // namespace twinstep::cpu
