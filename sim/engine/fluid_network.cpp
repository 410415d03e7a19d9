#include "sim/engine/fluid_network.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"

namespace twinstep::engine {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

}  // namespace

std::uint32_t FluidNetwork::add_resource(BytesPerSecond rate) {
  TWINSTEP_CHECK(rate.count() > 0, "a resource has a positive rate");
  resources_.push_back({.capacity = rate.count()});
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

std::uint32_t FluidNetwork::start(Time now, Time begins, std::span<Use const> uses, Duration least) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(activities_.size()));
    activities_.emplace_back();
  }
  auto const index = free_.back();
  free_.pop_back();
  auto& activity = activities_[index];

  auto slowest = 0.0;  // seconds on the tightest resource
  activity.work = 0;
  activity.uses.clear();
  for (auto const& use : uses) {
    if (use.bytes <= 0) continue;
    activity.uses.push_back(use);
    if (auto const seconds = use.bytes / resources_[use.resource].capacity; seconds > slowest) {
      slowest = seconds;
      activity.work = use.bytes;
    }
  }
  auto const least_seconds = to_seconds(least).count();
  if (activity.uses.empty()) activity.work = least_seconds;  // its own speed then is 1: "bytes" are seconds
  for (auto& use : activity.uses) {
    use.bytes /= activity.work;
    resources_[use.resource].users.push_back(index);
  }
  TWINSTEP_CHECK(activity.work > 0, "an activity has something to do");
  activity.own_limit = least_seconds > 0 ? activity.work / least_seconds : kUnlimited;
  activity.remaining = activity.work;
  activity.rate = 0;
  activity.since = std::max(now, begins);
  activity.is_active = true;
  activity.is_disturbed = false;
  if (auto const limit = find_limit(activity); has_room_for(activity, limit)) {
    set_rate(activity, limit);
    fresh_.push_back(index);
  } else {
    disturb(index);
  }
  return index;
}

/// The rate of `activity` if it were alone.
double FluidNetwork::find_limit(Activity const& activity) const {
  auto limit = activity.own_limit;
  for (auto const& use : activity.uses) limit = std::min(limit, resources_[use.resource].capacity / use.bytes);
  return limit;
}

bool FluidNetwork::has_room_for(Activity const& activity, double rate) const {
  return std::ranges::all_of(activity.uses, [&](Use const& use) {
    auto const& resource = resources_[use.resource];
    return resource.users.size() == 1 || resource.taken + rate * use.bytes <= resource.capacity;
  });
}

void FluidNetwork::set_rate(Activity& activity, double rate) {
  for (auto const& use : activity.uses) resources_[use.resource].taken += (rate - activity.rate) * use.bytes;
  activity.rate = rate;
}

Time FluidNetwork::end_of(Activity const& activity) {
  return activity.since + to_duration(Seconds{activity.remaining / activity.rate});
}

void FluidNetwork::stop(std::uint32_t index) {
  auto& activity = activities_[index];
  TWINSTEP_CHECK(activity.is_active, "only a running activity stops");
  activity.is_active = false;
  free_.push_back(index);
  for (auto const& use : activity.uses) {
    auto& resource = resources_[use.resource];
    resource.users.erase(std::find(resource.users.begin(), resource.users.end(), index));
    if (resource.is_full())
      for (auto const user : resource.users) disturb(user);
    resource.taken = resource.users.empty() ? 0 : resource.taken - activity.rate * use.bytes;
  }
}

void FluidNetwork::disturb(std::uint32_t index) {
  if (activities_[index].is_disturbed) return;
  activities_[index].is_disturbed = true;
  disturbed_.push_back(index);
}

void FluidNetwork::solve_component_of(std::uint32_t seed) {
  gather_component(seed);
  if (component_.size() == 1)
    activities_[seed].new_rate = activities_[seed].limit;  // it shares nothing
  else
    fill();
}

/// Finds the activities that share resources with `seed`, directly or through others. A resource that one activity has
/// for itself only limits that activity; those with several users come into `shared_`.
void FluidNetwork::gather_component(std::uint32_t seed) {
  ++stamp_;
  component_.clear();
  shared_.clear();
  component_.push_back(seed);
  activities_[seed].stamp = stamp_;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    auto const index = component_[i];
    auto& activity = activities_[index];
    activity.is_disturbed = false;
    activity.is_fixed = false;
    activity.limit = activity.own_limit;
    for (auto const& use : activity.uses) {
      auto& resource = resources_[use.resource];
      if (resource.users.size() == 1) {
        activity.limit = std::min(activity.limit, resource.capacity / use.bytes);
        continue;
      }
      if (resource.stamp != stamp_) {
        resource.stamp = stamp_;
        resource.left = resource.capacity;
        resource.weight = 0;
        resource.growing = 0;
        shared_.push_back(use.resource);
        for (auto const user : resource.users) {
          if (activities_[user].stamp == stamp_) continue;
          activities_[user].stamp = stamp_;
          component_.push_back(user);
        }
      }
      resource.weight += use.bytes;
      ++resource.growing;
    }
  }
}

/// Progressive filling: all rates grow together; the lowest ceiling (a full resource, an activity's own limit) fixes
/// the rates that it holds back; repeat with the rest.
void FluidNetwork::fill() {
  for (auto growing = component_.size(); growing > 0; growing -= held_.size()) {
    auto const level = lowest_ceiling();
    held_.clear();
    for (auto const index : component_)
      if (!activities_[index].is_fixed && is_held_at(activities_[index], level)) held_.push_back(index);
    TWINSTEP_CHECK(!held_.empty(), "each round of filling fixes a rate");
    for (auto const index : held_) {
      auto& activity = activities_[index];
      activity.is_fixed = true;
      activity.new_rate = level;
      for (auto const& use : activity.uses) {
        auto& resource = resources_[use.resource];
        resource.left -= level * use.bytes;
        resource.weight -= use.bytes;
        --resource.growing;
      }
    }
  }
}

double FluidNetwork::lowest_ceiling() const {
  auto level = kUnlimited;
  for (auto const r : shared_)
    if (resources_[r].growing > 0) level = std::min(level, resources_[r].level());
  for (auto const index : component_)
    if (!activities_[index].is_fixed) level = std::min(level, activities_[index].limit);
  return level;
}

bool FluidNetwork::is_held_at(Activity const& activity, double level) const {
  return activity.limit <= level || std::ranges::any_of(activity.uses, [&](Use const& use) {
           auto const& resource = resources_[use.resource];
           return resource.stamp == stamp_ && resource.level() <= level;
         });
}

Time FluidNetwork::change_rate(std::uint32_t index, Time now) {
  auto& activity = activities_[index];
  if (activity.new_rate == activity.rate) return kNever;
  if (now > activity.since) {
    auto const moved = activity.rate * to_seconds(now - activity.since).count();
    activity.remaining = std::max(0.0, activity.remaining - moved);
    activity.since = now;
  }
  set_rate(activity, activity.new_rate);
  if (activity.remaining == 0) return activity.since;
  TWINSTEP_CHECK(activity.rate > 0, "every activity has a share of its resources");
  return end_of(activity);
}

}  // namespace twinstep::engine
