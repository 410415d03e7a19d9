#include "sim/engine/fluid_network.hpp"

#include <bit>
#include <limits>

#include "sim/base/check.hpp"

namespace twinstep::engine {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kSame = 1 + 1e-12;  // rates closer than this differ by rounding only

}  // namespace

std::uint32_t FluidNetwork::add_resource(BytesPerSecond rate) {
  TWINSTEP_CHECK(rate.count() > 0, "a resource has a positive rate");
  resources_.push_back({.capacity = rate.count()});
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

/// Multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
inline std::size_t FluidNetwork::Task::hash() const {
  constexpr auto kGolden = std::uint64_t{0x9e37'79b9'7f4a'7c15};
  auto const key = std::bit_cast<std::uint64_t>(most) + static_cast<std::uint64_t>(least.count());
  return static_cast<std::size_t>((key * kGolden) >> (64 - kTaskBits));
}

inline FluidNetwork::Task const& FluidNetwork::task_of(Work const& work) {
  auto task = Task{0, 1, 0, work.least, 0, {}};
  for (auto const& use : work.uses) {
    auto const capacity = resources_[use.resource].capacity;
    task.bytes = std::max(task.bytes, use.bytes);
    if (use.bytes * task.capacity <= task.most * capacity) continue;
    task.most = use.bytes;
    task.capacity = capacity;
  }
  if (task.bytes > 0 && work.flow > 0) task.bytes = work.flow;
  TWINSTEP_CHECK(task.bytes > 0 || work.least > Duration{}, "an activity has something to do");
  auto& known = tasks_[task.hash()];
  if (task.is_like(known)) return known;
  auto const least_seconds = to_seconds(work.least).count();
  if (task.bytes == 0) task.bytes = least_seconds;  // its own speed then is 1: "bytes" are seconds
  task.limit = task.bytes / std::max(task.most / task.capacity, least_seconds);
  task.time = to_duration(Seconds{task.bytes / task.limit});
  return known = task;
}

std::uint32_t FluidNetwork::start(Time now, Time begins, Work const& work) {
  auto const index = new_activity();
  auto& activity = activities_[index];
  auto const& task = task_of(work);
  auto const uses = work.uses;
  activity.remaining = task.bytes;
  activity.limit = task.limit;
  activity.rate = task.limit;
  activity.since = std::max(now, begins);
  activity.end = activity.since + task.time;
  activity.is_active = true;

  activity.block = uses.empty() ? 0 : static_cast<std::uint32_t>(std::bit_width(uses.size() - 1)) + 1;
  activity.first_link = new_block(activity.block);
  activity.link_count = 0;
  auto is_contended = false;
  for (auto const& use : uses) {
    if (use.bytes <= 0) continue;
    auto& link = links_[activity.first_link + activity.link_count++];
    link = {use.bytes == task.bytes ? 1 : use.bytes / task.bytes, use.resource, index};
    attach(link);
    auto& resource = resources_[use.resource];
    resource.carried += use.bytes;
    resource.demand += activity.limit * link.weight;
    is_contended = is_contended || resource.is_contended();
  }
  activity.is_fresh = !is_contended;
  if (is_contended) {
    activity.rate = 0;
    disturb(index);
  } else {
    fresh_.push_back(index);
  }
  return index;
}

void FluidNetwork::change_least(std::uint32_t index, Time now, Work const& work) {
  auto& activity = activities_[index];
  TWINSTEP_CHECK(activity.is_active && activity.link_count > 0, "a running activity that moves something changes");
  auto const limit = task_of(work).limit;
  if (limit == activity.limit) return;
  advance(activity, now);
  auto is_contended = false;
  for (auto const& link : links_of(activity)) {
    auto& resource = resources_[link.resource];
    auto const was_contended = resource.is_contended();
    resource.demand += (limit - activity.limit) * link.weight;
    if (!was_contended && !resource.is_contended()) continue;
    is_contended = true;
    disturb_users(resource);
  }
  activity.limit = limit;
  if (is_contended) return disturb(index);
  set_rate(activity, limit);
  activity.is_fresh = true;
  fresh_.push_back(index);
}

void FluidNetwork::stop(std::uint32_t index) {
  auto& activity = activities_[index];
  TWINSTEP_CHECK(activity.is_active, "only a running activity stops");
  activity.is_active = false;
  activity.is_fresh = false;
  activity.is_disturbed = false;
  for (auto const& link : links_of(activity)) {
    detach(link);
    auto& resource = resources_[link.resource];
    auto const was_contended = resource.is_contended();
    if (resource.first_link == kNone)
      resource.demand = 0;
    else
      resource.demand -= activity.limit * link.weight;
    if (was_contended) disturb_users(resource);
  }
  free_links_[activity.block].push_back(activity.first_link);
  free_activities_.push_back(index);
}

std::uint32_t FluidNetwork::new_activity() {
  if (free_activities_.empty()) {
    activities_.emplace_back();
    return static_cast<std::uint32_t>(activities_.size() - 1);
  }
  auto const index = free_activities_.back();
  free_activities_.pop_back();
  return index;
}

/// Room for 2^(block - 1) links.
std::uint32_t FluidNetwork::new_block(std::uint32_t block) {
  auto& free = free_links_[block];
  if (free.empty()) {
    auto const first = static_cast<std::uint32_t>(links_.size());
    if (block > 0) links_.resize(links_.size() + (std::size_t{1} << (block - 1)));
    return first;
  }
  auto const first = free.back();
  free.pop_back();
  return first;
}

void FluidNetwork::attach(Link& link) {
  auto const place = static_cast<std::uint32_t>(&link - links_.data());
  auto& first = resources_[link.resource].first_link;
  link.next = first;
  if (first != kNone) links_[first].previous = place;
  first = place;
}

void FluidNetwork::detach(Link const& link) {
  if (link.next != kNone) links_[link.next].previous = link.previous;
  if (link.previous != kNone)
    links_[link.previous].next = link.next;
  else
    resources_[link.resource].first_link = link.next;
}

void FluidNetwork::disturb(std::uint32_t index) {
  if (activities_[index].is_disturbed) return;
  activities_[index].is_disturbed = true;
  disturbed_.push_back(index);
}

/// Users of a contended resource reach each other; those of one that is contended no more have to be solved each.
void FluidNetwork::disturb_users(Resource const& resource) {
  for (auto link = resource.first_link; link != kNone; link = links_[link].next) {
    disturb(links_[link].activity);
    if (resource.is_contended()) return;
  }
}

void FluidNetwork::set_rate(Activity& activity, double rate) {
  activity.rate = rate;
  activity.end = activity.since;
  if (activity.remaining == 0) return;
  TWINSTEP_CHECK(rate > 0, "every activity has a share of its resources");
  activity.end += to_duration(Seconds{activity.remaining / rate});
}

void FluidNetwork::solve_component_of(std::uint32_t seed) {
  gather_component(seed);
  if (full_at_.empty())
    activities_[seed].new_rate = activities_[seed].limit;  // it shares nothing
  else
    fill();
}

/// Finds the activities that share contended resources with `seed`, directly or through others.
void FluidNetwork::gather_component(std::uint32_t seed) {
  ++stamp_;
  component_.clear();
  full_at_.clear();
  component_.push_back(seed);
  activities_[seed].stamp = stamp_;
  for (std::size_t i = 0; i < component_.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows meanwhile
    auto& activity = activities_[component_[i]];
    activity.is_disturbed = false;
    activity.is_fixed = false;
    for (auto const& link : links_of(activity)) {
      auto& resource = resources_[link.resource];
      if (!resource.is_contended()) continue;
      if (resource.stamp != stamp_) reach(link.resource);
      resource.weight += link.weight;
      ++resource.growing;
    }
  }
}

void FluidNetwork::reach(std::uint32_t index) {
  auto& resource = resources_[index];
  resource.stamp = stamp_;
  resource.left = resource.capacity;
  resource.weight = 0;
  resource.growing = 0;
  full_at_.push_back({0, index});
  for (auto place = resource.first_link; place != kNone; place = links_[place].next) {
    auto const user = links_[place].activity;
    if (activities_[user].stamp == stamp_) continue;
    activities_[user].stamp = stamp_;
    component_.push_back(user);
  }
}

namespace {

/// Lower levels first; equal ones in the order in which they were found.
constexpr auto kIsHigher = [](auto const& a, auto const& b) {
  return a.level != b.level ? a.level > b.level : a.index > b.index;
};

}  // namespace

/// Progressive filling: all rates grow together. The lowest ceiling, a full resource or an activity's own limit, fixes
/// the rates that it holds back; then the rest grow on. A resource's ceiling only rises when rates are fixed, so it is
/// looked at again when it comes up as the lowest.
void FluidNetwork::fill() {
  limits_.clear();
  for (auto const index : component_) limits_.push_back({activities_[index].limit, index});
  std::ranges::sort(limits_, [](Ceiling const& a, Ceiling const& b) { return kIsHigher(b, a); });
  for (auto& full : full_at_) full.level = resources_[full.index].level();
  std::ranges::make_heap(full_at_, kIsHigher);

  growing_ = component_.size();
  auto next_limit = limits_.begin();
  auto level = 0.0;
  while (growing_ > 0) {
    while (next_limit != limits_.end() && activities_[next_limit->index].is_fixed) ++next_limit;
    TWINSTEP_CHECK(next_limit != limits_.end(), "whoever grows has a limit");
    auto const* const full = lowest_full_resource();
    if (full == nullptr || next_limit->level <= full->level * kSame) {
      level = std::max(level, next_limit->level);
      fix(next_limit->index, next_limit->level);
      continue;
    }
    if (full->level > level * kSame) level = full->level;  // otherwise the same, but for rounding
    for (auto place = resources_[full->index].first_link; place != kNone; place = links_[place].next)
      if (!activities_[links_[place].activity].is_fixed) fix(links_[place].activity, level);
  }
}

FluidNetwork::Ceiling* FluidNetwork::lowest_full_resource() {
  while (!full_at_.empty()) {
    auto const& resource = resources_[full_at_.front().index];
    if (resource.growing > 0 && resource.level() <= full_at_.front().level * kSame) return &full_at_.front();
    std::ranges::pop_heap(full_at_, kIsHigher);
    if (resource.growing == 0) {
      full_at_.pop_back();
      continue;
    }
    full_at_.back().level = resource.level();
    std::ranges::push_heap(full_at_, kIsHigher);
  }
  return nullptr;
}

void FluidNetwork::fix(std::uint32_t index, double rate) {
  auto& activity = activities_[index];
  activity.is_fixed = true;
  activity.new_rate = rate;
  --growing_;
  for (auto const& link : links_of(activity)) {
    auto& resource = resources_[link.resource];
    if (resource.stamp != stamp_) continue;
    resource.left -= rate * link.weight;
    resource.weight -= link.weight;
    --resource.growing;
  }
}

/// Moves what has passed since the rate was set.
void FluidNetwork::advance(Activity& activity, Time now) {
  if (now <= activity.since) return;
  auto const moved = activity.rate * to_seconds(now - activity.since).count();
  activity.remaining = std::max(0.0, activity.remaining - moved);
  activity.since = now;
}

Time FluidNetwork::change_rate(std::uint32_t index, Time now) {
  auto& activity = activities_[index];
  if (activity.new_rate <= activity.rate * kSame && activity.rate <= activity.new_rate * kSame) return kNever;
  advance(activity, now);
  activity.is_fresh = false;
  set_rate(activity, activity.new_rate);
  return activity.end;
}

}  // namespace twinstep::engine
