#include "app/cli/shell_words.hpp"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace twinstep::app {
namespace {

/// Names of its subcommands, and its options.
std::vector<std::string> words_of(CLI::App const& command) {
  auto words = std::vector<std::string>{};
  for (auto const* const each : command.get_subcommands(nullptr)) words.push_back(each->get_name());
  for (auto const* const option : command.get_options()) {
    for (auto const& name : option->get_lnames()) words.push_back("--" + name);
    for (auto const& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

/// Calls `visit(place, command)` for the command and all below it; a place is " measure step", the program's is empty.
template <class Visit>
void visit_all(CLI::App const& command, std::string const& place, Visit const& visit) {
  visit(place, command);
  for (auto const* const each : command.get_subcommands(nullptr))
    visit_all(*each, place + " " + each->get_name(), visit);
}

/// For bash and zsh: `cases` move from place to place, and give the words at one.
std::string posix_script(CLI::App const& program, std::string_view frame, std::string_view give) {
  auto moves = std::string{};
  auto words = std::string{};
  visit_all(program, {}, [&](std::string const& place, CLI::App const& command) {
    if (!place.empty()) moves += fmt::format("      \"{0}\") at=\"{0}\";;\n", place);
    words += fmt::format(fmt::runtime(give), place, fmt::join(words_of(command), " "));
  });
  return fmt::format(fmt::runtime(frame), moves, words);
}

constexpr auto kBash = R"(_twinstep() {{
  local word at= words= current="${{COMP_WORDS[COMP_CWORD]}}"
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$at $word" in
{}    esac
  done
  case "$at" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _twinstep twinstep
)";

constexpr auto kZsh = R"(#compdef twinstep
_twinstep() {{
  local word at=
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$at $word" in
{}    esac
  done
  case "$at" in
{}  esac
  _files
}}
if [[ "$funcstack[1]" = _twinstep ]]; then _twinstep "$@"; else compdef _twinstep twinstep; fi
)";

/// In fish's single quotes, on one line.
std::string in_fish(std::string text) {
  auto out = std::string{};
  for (auto const c : text)
    if (c == '\n')
      out += ' ';
    else
      out += (c == '\'' || c == '\\') ? fmt::format("\\{}", c) : std::string(1, c);
  return "'" + out + "'";
}

std::string fish_script(CLI::App const& program) {
  auto script = std::string{};
  visit_all(program, {}, [&](std::string const& place, CLI::App const& command) {
    auto seen = std::string{};
    for (std::size_t at = 0; at < place.size();) {
      auto const end = std::min(place.find(' ', at + 1), place.size());
      seen += fmt::format("{}__fish_seen_subcommand_from{}", seen.empty() ? "" : "; and ", place.substr(at, end - at));
      at = end;
    }
    auto const when = in_fish(seen.empty() ? "__fish_use_subcommand" : seen);
    for (auto const* const each : command.get_subcommands(nullptr))
      script += fmt::format("complete -c twinstep -n {} -a {} -d {}\n", when, each->get_name(),
                            in_fish(each->get_description()));
    for (auto const* const option : command.get_options()) {
      auto names = std::string{};
      for (auto const& name : option->get_lnames()) names += " -l " + name;
      for (auto const& name : option->get_snames()) names += " -s " + name;
      if (!names.empty())
        script += fmt::format("complete -c twinstep -n {}{}{} -d {}\n", when, names,
                              option->get_items_expected_max() > 0 ? " -r" : "", in_fish(option->get_description()));
    }
  });
  return script;
}

/// Lines as they are: a backslash, and a full stop or a quote at a line's beginning, would command troff.
std::string in_troff(std::string const& text) {
  auto out = std::string{};
  auto begins = true;
  for (auto const c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    begins = c == '\n';
  }
  return out;
}

}  // namespace

std::string completion_script(CLI::App const& program, std::string const& shell) {
  if (shell == "fish") return fish_script(program);
  if (shell == "zsh") return posix_script(program, kZsh, "    \"{}\") compadd -- {};;\n");
  return posix_script(program, kBash, "    \"{}\") words=\"{}\";;\n");
}

std::string manual_page(CLI::App const& program) {
  auto page = std::string{".TH TWINSTEP 1\n.SH NAME\ntwinstep \\- predict the training step of a model on a cluster\n"};
  visit_all(program, {}, [&](std::string const& place, CLI::App const& command) {
    auto const help = command.get_formatter()->make_help(&command, "twinstep" + place, CLI::AppFormatMode::Normal);
    page += fmt::format(".SH \"twinstep{}\"\n.nf\n{}\n.fi\n", place, in_troff(help));
  });
  return page;
}

}  // namespace twinstep::app
