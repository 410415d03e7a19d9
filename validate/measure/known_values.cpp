#include "validate/measure/known_values.hpp"

#include <algorithm>

#include "validate/measure/executor.hpp"

namespace twinstep::measure {

using program::MemoryCategory;

void KnownValues::operator()(RankId rank, std::string_view name, std::string_view scope,
                             std::span<double> values) const {
  auto const& buffers = program_->roles[program_->role_of(rank).index()].buffers;
  auto const found = std::ranges::find_if(buffers, [&](program::Buffer const& buffer) {
    return program_->text(buffer.name) == name && program_->text(buffer.scope) == scope;
  });
  auto const category = found == buffers.end() ? MemoryCategory::kWorkspace : found->category;
  auto const is_known = category == MemoryCategory::kInputs || category == MemoryCategory::kParameters;
  auto const source = category == MemoryCategory::kParameters ? RankId{0} : rank;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = is_known ? initial_value(source, i) : 0;
}

}  // namespace twinstep::measure
