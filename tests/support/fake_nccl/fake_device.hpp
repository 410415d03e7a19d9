#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "validate/cuda/device_api.hpp"

namespace twinstep::tests {

/// GPUs and a collective library that are not there: buffers lie in host memory, a collective is done when its group
/// ends, and the clock advances by 10 us + 1 ns a byte of the largest buffer for each.
class FakeDevice final : public cuda::DeviceApi {
 public:
  explicit FakeDevice(int devices) : devices_{devices} {}

  /// From now on every collective leaves one wrong element in what rank `rank` receives.
  void break_rank(int rank) { broken_rank_ = rank; }
  [[nodiscard]] int collectives() const { return collectives_; }
  [[nodiscard]] std::size_t live_allocations() const { return memory_.size(); }

  int device_count() override { return devices_; }
  std::string device_name(int /*device*/) override { return "fake"; }
  std::string library_version() override { return "0.0.1"; }
  std::vector<char> make_meeting_id() override { return {'i', 'd'}; }
  void connect(cuda::Ranks const& ranks, std::vector<char> const& meeting_id) override;
  void* allocate(int rank, Bytes size) override;
  void release(int rank, void* memory) override;
  void upload(int rank, void* to, std::span<float const> from) override;
  void download(int rank, std::span<float> to, void const* from) override;
  void begin_group() override;
  void end_group() override;
  void launch(int rank, cuda::CollectiveCall const& call) override;
  void start_clock(int rank) override { starts_[static_cast<std::size_t>(rank)] = now_; }
  void stop_clock(int rank) override { stops_[static_cast<std::size_t>(rank)] = now_; }
  void wait(int /*rank*/) override {}
  Duration elapsed(int rank) override;

 private:
  int devices_;
  int broken_rank_ = -1;
  int collectives_ = 0;
  bool is_in_group_ = false;
  std::size_t world_ = 0;
  Time now_;
  std::vector<Time> starts_;
  std::vector<Time> stops_;
  std::map<void*, std::unique_ptr<std::vector<float>>> memory_;
  std::map<int, cuda::CollectiveCall> calls_;  ///< of the open group, by rank
};

}  // namespace twinstep::tests
