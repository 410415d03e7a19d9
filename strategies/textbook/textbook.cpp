#include "strategies/textbook/textbook.hpp"

#include <array>

namespace twinstep::strategies {

std::unique_ptr<DataParallel> make_strategy(TextbookOptions const& options, StepContext& context) {
  constexpr auto kStages = std::array{make_naive, make_zero1, make_zero2, make_zero3};
  return kStages.at(static_cast<std::size_t>(options.stage))(context);
}

}  // namespace twinstep::strategies
