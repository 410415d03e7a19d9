#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace twinstep::engine {

/// Bytes that an activity moves over one resource.
struct Use {
  std::uint32_t resource = 0;
  double bytes = 0;
};

/// What an activity has to do.
struct Work {
  std::span<Use const> uses;  ///< each resource once; uses of zero bytes are allowed
  double flow = 0;            ///< bytes of one flow, where several alike share resources; 0: of its largest use
  Duration least;             ///< how long it would take on resources without limits
};

/// Activities that flow over shared resources at max-min fair rates.
///
/// An activity moves bytes over one or more resources in fixed proportion and may have a speed of its own that it never
/// exceeds. Its rate is that of one of its flows: a copy of eight ranks counts once on the slot of each and eight times
/// on the memory that they share. So two flows on one link get the same, whichever link is narrow for either of them.
/// Rates grow together from zero; where a resource is full, its activities stop growing; the others go on (Bertsekas
/// and Gallager, Data Networks, section 6.5.2, with weights).
///
/// Rates change only when an activity starts, ends or gets another speed of its own. A resource is *contended* if its
/// users would overfill it, each as fast as if it were alone; only then can it slow anybody. So an activity on
/// uncontended resources has its full speed at once, and where one on contended resources starts or ends, only those
/// that it reaches through contended resources are solved again.
///
/// Everything lies in flat arrays that are used again; nothing is allocated once they have grown. The cost of a
/// solution is O(u log u) in the uses u of the activities that are solved.
class FluidNetwork {
 public:
  /// Adds a resource and gives its index. Requires a positive rate.
  std::uint32_t add_resource(BytesPerSecond rate);

  /// Starts an activity that flows from `begins` on (>= now; its share is reserved at once). The index stays valid
  /// until `stop`.
  std::uint32_t start(Time now, Time begins, Work const& work);

  /// Lets an activity go on as one that would take another least time in all; what has passed has passed. The rest of
  /// `work` is that with which it started, and moves something.
  void change_least(std::uint32_t activity, Time now, Work const& work);

  /// Ends an activity.
  void stop(std::uint32_t activity);

  /// Solves what these disturbed. Calls `on_change(activity, end)` for each activity that is new or whose
  /// end moved; the last call for an activity counts.
  template <class OnChange>
  void settle(Time now, OnChange&& on_change) {
    for (auto const seed : disturbed_) {
      if (!activities_[seed].is_active || !activities_[seed].is_disturbed) continue;
      solve_component_of(seed);
      for (auto const index : component_)
        if (auto const end = change_rate(index, now); end != kNever) on_change(index, end);
    }
    disturbed_.clear();
    for (auto const index : fresh_)
      if (std::exchange(activities_[index].is_fresh, false)) on_change(index, activities_[index].end);
    fresh_.clear();
  }

  [[nodiscard]] BytesPerSecond rate(std::uint32_t resource) const {
    return BytesPerSecond{resources_[resource].capacity};
  }
  /// Of one flow of an activity, in an arbitrary unit of its own.
  [[nodiscard]] double speed(std::uint32_t activity) const { return activities_[activity].rate; }
  /// Bytes of all activities that have started on a resource.
  [[nodiscard]] double carried(std::uint32_t resource) const { return resources_[resource].carried; }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  struct Activity {
    double remaining = 0;  // bytes of one of its flows
    double rate = 0;       // bytes per second; 0 until the first solution
    double limit = 0;      // the rate if it were alone
    double new_rate = 0;   // valid while solving
    Time since;            // `remaining` is that of this moment
    Time end;              // at this rate
    std::uint32_t first_link = 0;
    std::uint32_t link_count = 0;
    std::uint32_t block = 0;  // links that it may have: 2^(block - 1), or none
    std::uint32_t stamp = 0;
    bool is_active = false;
    bool is_fresh = false;  // its full speed is still to be told
    bool is_disturbed = false;
    bool is_fixed = false;  // valid while solving
  };
  /// One activity on one resource; those of a resource form a list.
  struct Link {
    double weight = 0;  // bytes here for each byte of one of the activity's flows
    std::uint32_t resource = 0;
    std::uint32_t activity = 0;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
  };
  struct Resource {
    double capacity = 0;
    double demand = 0;  // of the users, each at its limit
    double carried = 0;
    std::uint32_t first_link = kNone;
    std::uint32_t stamp = 0;
    // Valid while solving.
    double left = 0;            // capacity that no fixed activity takes
    double weight = 0;          // of the users without a fixed rate
    std::uint32_t growing = 0;  // how many those are
    [[nodiscard]] bool is_contended() const { return demand > capacity * (1 + 1e-9); }  // but for rounding
    [[nodiscard]] double level() const { return (left > 0 ? left : 0) / weight; }
  };
  /// What one of an activity's flows has to move, and how it goes if the activity is alone.
  struct Task {
    // What decides.
    double most = 0;      // bytes on the resource that would slow it most …
    double capacity = 1;  // … and what that carries
    double bytes = 0;
    Duration least;

    double limit = 0;
    Duration time;
    [[nodiscard]] std::size_t hash() const;
    [[nodiscard]] bool is_like(Task const& other) const {
      return most == other.most && capacity == other.capacity && bytes == other.bytes && least == other.least;
    }
  };
  /// At which rate something stops the growth of rates: a full resource, or an activity's own limit.
  struct Ceiling {
    double level = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] std::span<Link> links_of(Activity const& activity) {
    return std::span{links_}.subspan(activity.first_link, activity.link_count);
  }
  Task const& task_of(Work const& work);
  static void advance(Activity& activity, Time now);
  static void set_rate(Activity& activity, double rate);
  [[nodiscard]] std::uint32_t new_activity();
  [[nodiscard]] std::uint32_t new_block(std::uint32_t block);
  void attach(Link& link);
  void detach(Link const& link);
  void disturb(std::uint32_t activity);
  void disturb_users(Resource const& resource);
  void solve_component_of(std::uint32_t seed);
  void gather_component(std::uint32_t seed);
  void reach(std::uint32_t resource);
  void fill();
  [[nodiscard]] Ceiling* lowest_full_resource();
  void fix(std::uint32_t activity, double rate);
  [[nodiscard]] Time change_rate(std::uint32_t activity, Time now);

  std::vector<Activity> activities_;
  std::vector<std::uint32_t> free_activities_;
  std::vector<Resource> resources_;
  std::vector<Link> links_;
  std::array<std::vector<std::uint32_t>, 33> free_links_;  // blocks, by their number
  std::vector<std::uint32_t> fresh_;
  std::vector<std::uint32_t> disturbed_;  // to be solved
  std::vector<std::uint32_t> component_;  // activities
  std::vector<Ceiling> limits_;           // of the component's activities, lowest first
  std::vector<Ceiling> full_at_;          // heap: contended resources of the component; levels may have risen since
  static constexpr auto kTaskBits = 6;
  // By a hash: what starts mostly is like something before, and to divide is slow.
  std::array<Task, 1U << kTaskBits> tasks_;
  std::uint32_t stamp_ = 0;
  std::size_t growing_ = 0;  // activities of the component without a rate
};

}  // namespace twinstep::engine
