#include <algorithm>
#include <sstream>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

namespace {

/// Characters, not bytes: those that continue one in UTF-8 do not count.
std::ptrdiff_t width(std::string const& line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace

TEST_CASE("the help of every subcommand fits into 80 columns", "[cli][help]") {
  auto const commands = std::vector<std::vector<std::string>>{{},
                                                              {"simulate"},
                                                              {"sweep"},
                                                              {"plan"},
                                                              {"report"},
                                                              {"collective"},
                                                              {"measure"},
                                                              {"measure", "collective"},
                                                              {"measure", "compute"},
                                                              {"measure", "copy"},
                                                              {"measure", "step"},
                                                              {"calibrate"},
                                                              {"validate"},
                                                              {"validate", "collectives"},
                                                              {"validate", "steps"},
                                                              {"import"},
                                                              {"compare"},
                                                              {"profiles"}};
  for (auto command : commands) {
    command.emplace_back("--help");
    auto const outcome = tests::run_twinstep(command);
    REQUIRE(outcome.exit_code == 0);
    auto lines = std::istringstream{outcome.out};
    for (auto line = std::string{}; std::getline(lines, line);) {
      INFO(line);
      CHECK(width(line) <= 80);
    }
  }
}
