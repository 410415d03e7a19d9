#include "explore/sweep/spec.hpp"
#include "explore/sweep/workers.hpp"
#include "sim/base/input_error.hpp"
#include "tests/cli/sweep_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using Catch::Contains;

namespace {

/// What is wrong with a sweep; "" if nothing is.
std::string refusal(std::string const& text) {
  auto const folder = Scratch{};
  try {
    auto const sweep = explore::sweep::Sweep{folder.write("sweep.json", text)};
    static_cast<void>(explore::sweep::Evaluator{sweep, {}}.check());
    return {};
  } catch (InputError const& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("what is wrong with a sweep is said with its place", "[sweep][bad_input]") {
  auto const [parts, message] = GENERATE(table<std::string, std::string>({
      {R"("axes": {})", "/axes: found no axis, expected at least one"},
      {R"("comment": "x")", "found nothing that varies, expected \"axes\" or \"points\""},
      {R"("points": [])", "/points: found no point"},
      {R"("axes": {"cluster.nodes": []})", "/axes/cluster.nodes: found no value"},
      {R"("axes": {"cluster.nodes": 4})", "found 4, expected an array in brackets"},
      {R"("axes": {"clutser.nodes": [4]})",
       "found the path \"clutser.nodes\", which no scenario has; did you mean \"cluster\"?"},
      {R"("axes": {"cluster.nods": [4]})", "/base/cluster: found the unknown key \"nods\"; did you mean"},
      {R"("axes": {"cluster.nodes": [1, 2], "training.micro": [1]})", "found the unknown key \"micro\""},
      {R"("axes": {"cluster..nodes": [1]})", "found an empty name in the path"},
      {R"("axes": {"cluster.nodes": [1]}, "points": [{"cluster.nodes": 2}])", "as an axis and in \"points\""},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 4}})", "expected \"factor\" or \"step\""},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 4, "factor": 1}})", "found a range that does not grow"},
      {R"("axes": {"cluster.nodes": {"from": 4, "to": 1, "step": 1}})", "found an end below the beginning"},
      {R"("axes": {"cluster.node.nic": {"from": "1 Gb/s", "to": "4 GB", "factor": 2}})",
       "found the unit \"GB\", and \"from\" has \"Gb/s\""},
      {R"("axes": {"cluster.nodes": [1]}, "constraints": ["cluster.nodes"])",
       "found the end in the constraint, expected a comparison"},
      {R"("axes": {"cluster.nodes": [1]}, "constraints": ["cluster.nods < 2"])",
       "found \"cluster.nods\", which neither the base nor an axis says"},
      {R"("axes": {"strategy": [{"name": "ddp"}, {"name": "fsdp2"}], "strategy.name": ["zero-3"]})",
       "/axes/strategy/0: found a value of \"strategy\" that says \"strategy.name\" too, which varies by itself"},
      {R"("points": [{"strategy": {"name": "ddp"}}], "axes": {"strategy.name": ["zero-3"]})",
       "/points/0/strategy: found a value of \"strategy\" that says \"strategy.name\" too"},
      {R"("axes": {"strategy": [{"name": "ddp"}]}, "constraints": ["strategy.nam == 'ddp'"])",
       "found \"strategy.nam\", which neither the base nor an axis says; did you mean \"strategy.name\"?"},
      {R"("axes": {"cluster.nodes": [1, 2]}, "constraints": ["cluster.nodes / 0 > 1"])",
       "/constraints/0: found a division by zero in cluster.nodes / 0: 0 is 0"},
      {R"("axes": {"cluster.nodes": [1, 2]}, "constraints": ["strategy.name > 3"])",
       "/constraints/0: found strategy.name (the text \"zero-3\") beside the number 3"},
      {R"("axes": {"cluster.nodes": [1, 2, 1.0]})",
       "/axes/cluster.nodes/2: found 1, which means the same as 1 at /axes/cluster.nodes/0; leave one of them out"},
      {R"("axes": {"cluster.node.nic": ["100 Gb/s", "12.5 GB/s"]})",
       "found \"12.5 GB/s\", which means the same as \"100 Gb/s\" at"},
      {R"("axes": {"strategy": [{"name": "ddp", "bucket": null}, {"name": "ddp"}]})", "means the same as"},
      {R"("points": [{"cluster.nodes": 1, "training.micro_batch": 2}, {"training.micro_batch": 2, "cluster.nodes": 1}])",
       "/points/1: found"},
      {R"("axes": {"training.tokens": {"from": 1.5, "to": 1.50000000001, "step": 1e-13}})",
       "that twelve digits do not tell apart"},
      {R"("axes": {"cluster.nodes": [1], "cluster.nodes": [2]})", "cluster.nodes"},
      {R"("axis": {"cluster.nodes": [1]})", "found the unknown key \"axis\"; did you mean \"axes\"?"},
  }));
  INFO(parts);
  CHECK_THAT(refusal(small_sweep(parts)), Contains(message));
}

TEST_CASE("what the sweep schema allows is what the program takes", "[sweep][schema]") {
  auto const [parts, is_right] = GENERATE(table<std::string, bool>({
      {R"("axes": {"cluster.nodes": [1]})", true},
      {R"("points": [{"cluster.nodes": 1}], "constraints": ["cluster.nodes < 3"])", true},
      {R"("axes": {"cluster.node.nic": {"from": "100 Gb/s", "to": "200 Gb/s", "factor": 2}}, "comment": "x")", true},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 2, "step": 1}})", true},
      {R"("axes": {"nodes": [1]})", false},
      {R"("axes": {"cluster.nodes": 1})", false},
      {R"("axes": {"cluster.nodes": {"from": 1, "to": 2}})", false},
      {R"("axes": {"cluster.nodes": [1]}, "constraint": [])", false},
      {R"("constraints": [])", false},
  }));
  auto const text = small_sweep(parts);
  INFO(text);
  CHECK(tests::schema_violations(text, read_file(in_repository("explore/sweep/schema/sweep.schema.json"))).empty() ==
        is_right);
  CHECK(refusal(text).empty() == is_right);
}
