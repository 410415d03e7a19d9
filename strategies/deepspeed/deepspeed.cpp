#include "strategies/deepspeed/deepspeed.hpp"

namespace twinstep::strategies {

std::unique_ptr<DataParallel> make_strategy(DeepSpeedOptions const& options, StepContext& context) {
  return options.stage == 3 ? make_deepspeed3(context) : make_deepspeed1_2(context);
}

}  // namespace twinstep::strategies
