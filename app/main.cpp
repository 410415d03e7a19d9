#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <malloc.h>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/cli/subcommands.hpp"
#include "app/commands.hpp"
#include "app/manners.hpp"
#include "app/output.hpp"
#include "sim/base/build.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/module.hpp"

namespace {

using namespace twinstep;
using namespace twinstep::app;

constexpr auto kAsk = R"(Everywhere: --color auto|always|never; - is standard input, or output
behind --out.
Ask, change the question, see the step:
  twinstep simulate SCENARIO.json
  twinstep simulate SCENARIO.json --set cluster.nodes=16 --json
  twinstep simulate SCENARIO.json --trace step.trace.json
`twinstep help SUBCOMMAND` tells more.)";

/// The first argument that looks like an option and is none.
std::string unknown_option(CLI::App const& program) {
  for (auto const& extra : program.remaining(true))
    if (extra.size() > 1 && extra.starts_with("-")) return extra;
  return {};
}

/// Adds the subcommands: that which was typed with its options, the others with what the help says of them. Declaring
/// all options took longer than many an answer.
void add_subcommands(CLI::App& program, std::vector<std::string> const& arguments, int& exit_code) {
  auto const is_subcommand = [](std::string const& word) {
    return std::ranges::find(kSubcommands, word, &Subcommand::name) != kSubcommands.end();
  };
  auto const typed = std::ranges::find_if(arguments, is_subcommand);
  for (auto const& [name, summary, add_options] : kSubcommands) {
    auto* const command = program.add_subcommand(std::string{name}, std::string{summary});
    if (typed != arguments.end() && *typed == name) add_options(*command, exit_code);
  }
}

/// Every word where a subcommand stands is one. Throws InputError with the nearest.
void check_subcommands(CLI::App* command, std::vector<std::string> const& arguments) {
  for (auto const& argument : arguments) {
    auto known = std::vector<std::string>{};
    for (auto const* const each : command->get_subcommands(nullptr)) known.push_back(each->get_name());
    if (known.empty() || argument.starts_with("-")) return;
    if (std::ranges::find(known, argument) == known.end())
      throw InputError{fmt::format("found no subcommand called {}; {}", twinstep::quoted(argument),
                                   suggest_name(argument, {known.begin(), known.end()}))};
    command = command->get_subcommand(argument);
  }
}

/// What to do about an argument that nothing takes: the nearest option of the subcommands in use, or --help.
std::string way_out(CLI::App const& program) {
  auto known = std::vector<std::string>{};
  auto in_use = std::string{};
  for (auto const* command = &program; command != nullptr;) {
    in_use += command->get_name() + " ";
    for (auto const* const option : command->get_options())
      for (auto const& name : option->get_lnames()) known.push_back("--" + name);
    auto const used = command->get_subcommands();
    command = used.empty() ? nullptr : used.front();
  }
  auto const extra = program.remaining(true);
  auto const option = unknown_option(program);
  auto const& odd = option.empty() && !extra.empty() ? extra.front() : option;
  auto const near = odd.empty() ? std::string_view{} : nearest_name(odd, {known.begin(), known.end()});
  return near.empty() ? fmt::format("see {}--help", in_use) : fmt::format("did you mean {}?", near);
}

/// "0.1.0 (commit 3f2a90c1d0aa, model 9be0…, with Gloo, MPI)".
std::string version_text() {
  auto const [version, commit, model] = build();
  auto text = fmt::format("{} (", version);
  if (!commit.empty()) text += fmt::format("commit {}, ", commit);
  auto const features = std::string_view{TWINSTEP_FEATURES};
  return text + fmt::format("model {}, {})", model, features.empty() ? "alone" : fmt::format("with {}", features));
}

int run(std::vector<std::string> arguments) {
  arguments = without_manners(std::move(arguments));
  auto exit_code = int{kDone};
  auto program = CLI::App{
      "twinstep predicts how long a training step takes on a cluster, whether it fits,\nand what it waits for.",
      "twinstep"};
  program.set_version_flag("--version", version_text());
  program.require_subcommand(1);
  program.failure_message([&program](CLI::App const*, CLI::Error const& error) {
    auto const unknown = unknown_option(program);  // it tells more than what else is missing because of it
    return unknown.empty() ? fmt::format("twinstep: {}; {}\n", one_line(error.what()), way_out(program))
                           : fmt::format("twinstep: The following argument was not expected: {}; {}\n",
                                         one_line(unknown), way_out(program));
  });
  add_subcommands(program, arguments, exit_code);
  program.footer(kAsk);  // after the subcommands, which would inherit it
  check_subcommands(&program, arguments);
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    program.parse(arguments);
  } catch (CLI::ParseError const& error) {
    auto out = std::ostringstream{};
    if (program.exit(error, out, std::cerr) != 0) return kInputWrong;
    print(out.str());
    return kDone;
  }
  return exit_code;
}

/// The largest file among the arguments is what most likely took it.
std::string out_of_memory(std::vector<std::string> const& arguments) {
  auto largest = std::pair{std::uintmax_t{0}, std::string{}};
  for (auto const& argument : arguments) {
    auto error = std::error_code{};
    if (auto const bytes = std::filesystem::file_size(argument, error); !error)
      largest = std::max(largest, std::pair{bytes, argument});
  }
  auto const input =
      largest.second.empty() ? std::string{} : fmt::format("; {} has {} bytes", largest.second, largest.first);
  return fmt::format("the machine's memory does not suffice{}; ask for less, or allow more (ulimit -v)", input);
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // memory that one simulation gives back is there for the next
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of its writer, as on a full disk
  try {
    return run({argv + 1, argv + argc});
  } catch (InputError const& error) {
    complain(error.what());
    return kInputWrong;
  } catch (Absent const& error) {
    complain(error.what());
    return kSomethingAbsent;
  } catch (std::bad_alloc const&) {
    complain(out_of_memory({argv + 1, argv + argc}));
    return kSomethingAbsent;
  } catch (std::exception const& error) {
    complain(fmt::format("this is a bug in twinstep: {}", error.what()));
    return kOurBug;
  }
}
