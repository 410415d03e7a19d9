#include "tests/cli/sweep_support.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace twinstep::tests {

std::string small_sweep(std::string const& parts) {
  return fmt::format("{{\"base\": {}, {}}}", small_scenario(), parts);
}

std::string sweep_of_everything() {
  // 4 numbers of nodes × 3 batches × 2 models × 3 strategies. A model as wide as the second does not fit, "five" is
  // wrong, 16 and 32 are no multiples of 24 ranks, and the constraint leaves out 32 samples on 8 of them.
  return small_sweep(R"("axes": {
    "cluster.nodes": [1, 2, 3, "five"],
    "training.global_batch": {"from": 16, "to": 32, "step": 8},
    "model.hidden": [1024, 65536],
    "strategy.name": ["ddp", "zero-3", "fsdp2"]},
    "constraints": ["training.global_batch < 32 * cluster.nodes"])");
}

explore::sweep::Results swept(Scratch const& folder, std::string const& sweep) {
  auto const out = folder.path("results.sqlite");
  auto const outcome = run_twinstep({"sweep", folder.write("sweep.json", sweep), "--out", out});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return explore::sweep::read_results(out);
}

pid_t start_twinstep(std::vector<std::string> const& arguments, std::string const& err) {
  auto words = arguments;
  words.insert(words.begin(), "twinstep");
  auto pointers = std::vector<char*>{};
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  auto const child = fork();
  if (child < 0) throw std::runtime_error{"no process can be made"};
  if (child > 0) return child;
  auto const file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(file, STDERR_FILENO);
  dup2(file, STDOUT_FILENO);
  execv(TWINSTEP_BINARY, pointers.data());
  _exit(127);
}

bool is_over(pid_t process) {
  auto ended = siginfo_t{};
  return waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == process;
}

int wait_for(pid_t process) {
  auto status = 0;
  waitpid(process, &status, 0);
  return exit_code_of(status);
}

}  // namespace twinstep::tests
