#include "sim/collectives/schedule.hpp"

#include <string>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/dispatch.hpp"

namespace twinstep::collectives {

bool is_available(CollectiveKind kind, Algorithm algorithm) {
  return algorithm_of(algorithm).does(kind);
}

void require_available(CollectiveKind kind, Algorithm algorithm) {
  if (is_available(kind, algorithm)) return;
  auto known = std::string{};
  for (auto const& entry : all_algorithms())
    if (entry.does(kind)) known += (known.empty() ? "" : ", ") + std::string{name_of(entry.algorithm)};
  throw InputError{
      fmt::format("algorithm: \"{}\" cannot do {}; these can: {}", name_of(algorithm), name_of(kind), known)};
}

std::int64_t elements_of(Schedule const& schedule, std::int64_t from, Message const& message, std::int64_t size) {
  if (!schedule.splits.is_even()) return schedule.splits.count(from, message.to);
  return chunk_begin(size, schedule.chunks, message.first_chunk + message.chunk_count) -
         chunk_begin(size, schedule.chunks, message.first_chunk);
}

Schedule schedule_of(CollectiveKind kind, Algorithm algorithm, std::int64_t ranks, std::int64_t root,
                     std::int64_t ranks_per_node) {
  TWINSTEP_CHECK(ranks >= 1 && root >= 0 && root < ranks && ranks_per_node >= 1,
                 "a collective has ranks, and its root is one of them");
  require_available(kind, algorithm);
  return algorithm_of(algorithm).schedule(kind, ranks, root, ranks_per_node);
}

}  // namespace twinstep::collectives
