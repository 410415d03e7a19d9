#include "tests/support/shared_numbers.hpp"

#include <sys/mman.h>
#include <system_error>

namespace twinstep::tests {

SharedNumbers::SharedNumbers(std::size_t ranks, std::size_t for_each) : ranks_{ranks}, for_each_{for_each} {
  auto* const memory =
      ::mmap(nullptr, ranks * for_each * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
  numbers_ = static_cast<double*>(memory);
}

SharedNumbers::~SharedNumbers() {
  ::munmap(numbers_, ranks_ * for_each_ * sizeof(double));
}

}  // namespace twinstep::tests
