#include "explore/ask/parallel.hpp"

#include <exception>
#include <tbb/parallel_for.h>

namespace twinstep::explore {

void for_each_index(std::size_t count, std::function<void(std::size_t)> const& work) {
  auto errors = std::vector<std::exception_ptr>(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  });
  for (auto const& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace twinstep::explore
