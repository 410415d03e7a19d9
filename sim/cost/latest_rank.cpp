#include "sim/cost/latest_rank.hpp"

#include <algorithm>
#include <numbers>

#include <boost/math/special_functions/erf.hpp>

namespace twinstep::cost {

double expected_latest(std::int64_t ranks) {
  auto const n = static_cast<double>(ranks);
  auto const share = (n - 0.375) / (n + 0.25);
  return std::numbers::sqrt2 * boost::math::erf_inv(2 * share - 1);
}

double wait_for_latest(hardware::Cluster const& cluster, std::int64_t ranks) {
  auto const behind = expected_latest(ranks) - expected_latest(std::min(ranks, cluster.node().gpus));
  return 1 + cluster.stack.rank_spread.value * behind;
}

}  // namespace twinstep::cost
