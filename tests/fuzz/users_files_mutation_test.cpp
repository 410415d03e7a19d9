#include <cstdint>
#include <random>
#include <string>

#include "sim/io/document.hpp"
#include "strategies/import/users_file.hpp"
#include "strategies/plan/read_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mutation.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using namespace twinstep::tests;

namespace {

void check_one_line(InputError const& error) {
  CHECK(std::string_view{error.what()}.find('\n') == std::string_view::npos);
  CHECK(std::string_view{error.what()}.size() > 10);
}

/// Reads damaged copies of an example: each becomes a plan, or is refused with one line; warnings are lines too.
/// Anything else thrown fails the test.
void fuzz(UsersFormat format, std::string const& example, std::uint64_t seed) {
  auto const original = io::read_text(TWINSTEP_EXAMPLES "/configs/" + example);
  auto random = std::mt19937_64{seed};
  auto refused = 0;
  for (auto round = 0; round < 600; ++round) {
    try {
      auto const file = read_users_file(format, {"fuzz", mutated(original, random)});
      for (auto const& warning : file.warnings) CHECK(warning.find('\n') == std::string::npos);
      static_cast<void>(read_plan(file.training.node(), file.strategy.node(), llama_2_7b(), 32));
    } catch (InputError const& error) {
      check_one_line(error);
      ++refused;
    }
  }
  CHECK(refused > 0);
}

}  // namespace

TEST_CASE("damaged configurations of other programs become plans or one line", "[fuzz]") {
  fuzz(UsersFormat::kDeepSpeed, "deepspeed-zero3.json", 1);
  fuzz(UsersFormat::kAccelerate, "accelerate-fsdp.yaml", 2);
  fuzz(UsersFormat::kTorchtitan, "torchtitan-llama.toml", 3);
  fuzz(UsersFormat::kMegatron, "megatron-7b.sh", 4);
}

TEST_CASE("configurations that nest without end or are long for nothing are refused in a moment", "[fuzz]") {
  auto const each = GENERATE(
      values<std::string>({std::string(60'000, '['), std::string(60'000, '{'), "a = " + std::string(60'000, '['),
                           std::string(1'000'000, 'x'), "a: &a [*a]", "[a" + std::string(30'000, '.') + "]",
                           std::string(60'000, '-'), std::string(60'000, '&')}));
  auto dotted = std::string{"a"};
  while (dotted.size() < 60'000) dotted += ".a";
  for (auto const& text : {each, dotted + " = 1", "[" + dotted + "]"})
    for (auto const format :
         {UsersFormat::kDeepSpeed, UsersFormat::kAccelerate, UsersFormat::kTorchtitan, UsersFormat::kMegatron})
      try {
        static_cast<void>(read_users_file(format, {"fuzz", text}));
        FAIL_CHECK("it was read");
      } catch (InputError const& error) {
        check_one_line(error);
      }
}
