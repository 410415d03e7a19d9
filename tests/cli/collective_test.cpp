#include <algorithm>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;

namespace {

struct Refusal {
  std::vector<std::string> options;
  std::vector<std::string> says;
};

std::string set(std::string const& setting) {
  return "--set=cluster." + setting;
}

}  // namespace

TEST_CASE("collective refuses in one line what it cannot predict, with the way out", "[cli][collective]") {
  auto const each = GENERATE(values<Refusal>({
      {{"--algorithm", "pat"}, {"\"pat\" cannot do all_reduce; these can: ring, tree"}},
      {{"--op", "all_gather", "--algorithm", "tree"}, {"\"tree\" cannot do all_gather; these can: ring"}},
      {{"--algorithm", "rings"}, {"--algorithm rings", "ring"}},
      {{"--protocol", "ll256"}, {"--protocol ll256", "ll128"}},
      {{"--op", "allreduce"}, {"--op allreduce", "all_reduce"}},
      {{"--ranks", "33"}, {"--ranks 33", "32 GPUs", "--set cluster.nodes"}},
      {{"--ranks", "1"}, {"--ranks 1", "2 to 32"}},
      {{"-b", "1", "-e", "3"}, {"-e 3", "one element", "raise it"}},
      {{"-b", "1G", "-e", "1M"}, {"-b 1G", "exchange them"}},
      {{"--algorithm", "nvls"}, {"all_reduce cannot be done by nvls: needs SHARP", "these can: tree/ll"}},
      {{set("library.environment.NCCL_ALGO=nvls")},
       {"all_reduce cannot be done by what the environment allows: needs SHARP", "unset NCCL_ALGO or NCCL_PROTO"}},
      {{set("library.environment.NCCL_ALGO=pat")}, {"the tuner does not have it", "unset NCCL_ALGO or NCCL_PROTO"}},
      {{"--algorithm", "ring", set("library.environment.NCCL_ALGO=nvls")},
       {"all_reduce cannot be done by ring: NCCL_ALGO excludes it", "unset NCCL_ALGO or NCCL_PROTO"}},
      {{"-b", "1024T", "-e", "1024T", "--fidelity", "exact", "--algorithm", "tree", "--protocol", "ll"},
       {"found 32 participants", "a smaller size, or fold them"}},
      {{"-b", "1024T", "-e", "1024T", set("node.nic=1 Mb/s")},
       {"twinstep: all_reduce of 1.1 PB: found a time beyond", "a smaller size"}},
  }));
  auto arguments = std::vector<std::string>{"collective", "dgx-h100-ndr"};
  arguments.insert(arguments.end(), each.options.begin(), each.options.end());
  auto const outcome = run_twinstep(arguments);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  for (auto const& part : each.says) CHECK_THAT(outcome.err, Catch::Contains(part));
}

TEST_CASE("a GPU without NVLink slows a collective alike in all fidelities", "[cli][collective]") {
  auto const table = [](std::string const& fidelity) {
    auto const outcome =
        run_twinstep({"collective", "dgx-h100-ndr", "--ranks", "16", "-b", "256M", "-e", "256M", "--fidelity", fidelity,
                      "--algorithm", "ring", set(R"(faults=[{"resource": "gpu2.nvlink", "node": 0, "rate": 0}])")});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    auto const rows = outcome.out.find(" 268435456 ");
    return outcome.out.substr(rows, outcome.out.find('\n', rows) - rows);
  };
  CHECK(table("exact") == table("folded"));
}
