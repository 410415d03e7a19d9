#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace twinstep::engine {

/// Bytes that an activity moves over one resource.
struct Use {
  std::uint32_t resource = 0;
  double bytes = 0;
};

/// Activities that flow over shared resources at max-min fair rates.
///
/// An activity moves bytes over one or more resources in fixed proportion and may have a speed of its own that it never
/// exceeds. Its rate is counted on the resource that would slow it most if it were alone. Rates grow together from
/// zero; where a resource is full, its activities stop growing; the others go on (Bertsekas and Gallager, Data
/// Networks, section 6.5.2, with weights).
///
/// Rates change only when an activity starts or ends. One that starts where there is room for its full speed changes
/// nobody's rate, nor does one that leaves resources which were not full; most do. Otherwise the activities that share
/// a resource with it, directly or through others, are solved again, and only they.
class FluidNetwork {
 public:
  /// Adds a resource and gives its index. Requires a positive rate.
  std::uint32_t add_resource(BytesPerSecond rate);

  /// Starts an activity that flows from `begins` on (>= now; its share is reserved at once). `least` is how long it
  /// would take on resources without limits. Uses of zero bytes are allowed. The index stays valid until `stop`.
  std::uint32_t start(Time now, Time begins, std::span<Use const> uses, Duration least);

  /// Ends an activity.
  void stop(std::uint32_t activity);

  /// Solves what `start` and `stop` disturbed. Calls `on_change(activity, end)` for each activity that is new or whose
  /// end moved; the last call for an activity counts.
  /// Cost O(uses + activities × shared resources) of the components touched.
  template <class OnChange>
  void settle(Time now, OnChange&& on_change) {
    for (auto const index : fresh_)
      if (activities_[index].is_active) on_change(index, end_of(activities_[index]));
    fresh_.clear();
    while (!disturbed_.empty()) {
      auto const seed = disturbed_.back();
      disturbed_.pop_back();
      if (!activities_[seed].is_active || !activities_[seed].is_disturbed) continue;
      solve_component_of(seed);
      for (auto const index : component_) {
        if (auto const end = change_rate(index, now); end != kNever) on_change(index, end);
      }
    }
  }

 private:
  struct Activity {
    std::vector<Use> uses;  // bytes relative to `work`
    double work = 0;        // bytes on the tightest resource, at the start
    double remaining = 0;
    double rate = 0;  // bytes per second; 0 until the first solution
    double new_rate = 0;
    double own_limit = 0;  // bytes per second
    double limit = 0;      // own_limit, and that of resources that it has for itself; valid while solving
    Time since;            // `remaining` is that of this moment
    std::uint32_t stamp = 0;
    bool is_active = false;
    bool is_disturbed = false;
    bool is_fixed = false;  // valid while solving
  };
  struct Resource {
    double capacity = 0;
    double taken = 0;  // by the users, at their rates
    std::vector<std::uint32_t> users;
    [[nodiscard]] bool is_full() const { return taken >= capacity * (1 - 1e-9); }  // but for rounding
    // Valid while solving.
    double left = 0;            // capacity that no fixed activity takes
    double weight = 0;          // of the users without a fixed rate
    std::uint32_t growing = 0;  // how many those are
    std::uint32_t stamp = 0;
    [[nodiscard]] double level() const { return (left > 0 ? left : 0) / weight; }
  };

  [[nodiscard]] double find_limit(Activity const& activity) const;
  [[nodiscard]] bool has_room_for(Activity const& activity, double rate) const;
  void set_rate(Activity& activity, double rate);
  [[nodiscard]] static Time end_of(Activity const& activity);
  void disturb(std::uint32_t activity);
  void solve_component_of(std::uint32_t seed);
  void gather_component(std::uint32_t seed);
  void fill();
  [[nodiscard]] double lowest_ceiling() const;
  [[nodiscard]] bool is_held_at(Activity const& activity, double level) const;
  Time change_rate(std::uint32_t activity, Time now);

  std::vector<Activity> activities_;
  std::vector<std::uint32_t> free_;
  std::vector<Resource> resources_;
  std::vector<std::uint32_t> fresh_;      // started with room for their full speed
  std::vector<std::uint32_t> disturbed_;  // to be solved
  std::vector<std::uint32_t> component_;  // activities
  std::vector<std::uint32_t> shared_;     // resources with several users in the component
  std::vector<std::uint32_t> held_;       // activities that one round of filling fixes
  std::uint32_t stamp_ = 0;
};

}  // namespace twinstep::engine
