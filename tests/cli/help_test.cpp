#include <sstream>

#include "reports/table.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

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
      CHECK(reports::display_width(line) <= 80);
    }
  }
}
