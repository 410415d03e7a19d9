#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/mesh/schedule.hpp"
#include "strategies/parts/computation.hpp"
#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

/// Communicators along a pipeline, one for each direction.
struct PipelineCommunicators {
  CommunicatorId forward;
  CommunicatorId backward;
};

/// What a stage exchanges with those before and after it, in one of three ways (`PipelineExchange`).
class Neighbours {
 public:
  enum class Way : std::uint8_t { kForward, kBackward };  ///< of activations, of their gradients

  struct Outgoing {
    Way way = Way::kForward;
    std::int64_t stage = 0;
    program::Region region;
  };
  struct Incoming {
    Way way = Way::kForward;
    std::int64_t stage = 0;
    Slot const* like = nullptr;
  };

  Neighbours(StepContext& context, Computation& computation, PipelineCommunicators communicators)
      : context_{context}, computation_{computation}, communicators_{communicators} {}

  /// Whether what a pass sends and what the next one receives are written together.
  [[nodiscard]] bool pairs() const { return exchange() != PipelineExchange::kOverlapped; }

  void send(Outgoing const& outgoing);
  [[nodiscard]] program::Region receive(Incoming const& incoming);
  /// Both, between a pass and one of another kind.
  [[nodiscard]] program::Region send_and_receive(Outgoing const& outgoing, Incoming const& incoming);
  /// Adds to `own` what the other stage has at the same place; it does likewise.
  void exchange_and_add(std::int64_t stage, program::Region own);

 private:
  [[nodiscard]] PipelineExchange exchange() const { return context_.plan.parallel.pipeline.exchange; }
  [[nodiscard]] StreamId stream(bool sends, Way way, std::int64_t stage);
  [[nodiscard]] NameId name(bool sends, Way way);
  [[nodiscard]] program::Region buffer(Incoming const& incoming);
  [[nodiscard]] program::CommunicationPart part(bool sends, Way way, std::int64_t stage, program::Region region) const;
  void finish(OpId op);

  StepContext& context_;
  Computation& computation_;
  PipelineCommunicators communicators_;
  std::vector<std::pair<std::string, StreamId>> streams_;  // by name
};

}  // namespace twinstep::strategies
