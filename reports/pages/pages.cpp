#include "reports/pages/pages.hpp"

#include <array>
#include <filesystem>
#include <variant>

#include <fmt/core.h>

#include "explore/ask/data_hash.hpp"
#include "reports/accuracy.hpp"
#include "reports/pages/axes.hpp"
#include "reports/plan.hpp"
#include "reports/render/page_files.hpp"
#include "reports/render/page_text.hpp"
#include "reports/shell_text.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/version.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

constexpr auto kTakes =
    "a scenario, results of a sweep, a timeline, or what plan, validate or collective printed with --json";

/// What the name of a page's file tells.
struct Form {
  std::string_view ending;
  Renderer render;
};

constexpr std::array<Form, 6> kForms{
    {{".html", reports::page_html},
     {".htm", reports::page_html},
     {".md", reports::page_markdown},
     {".csv", reports::page_csv},
     {".json", reports::page_json},
     {".txt", [](reports::Page const& page) { return reports::page_text(page, {}); }}}};

/// One of the documents of JSON that have pages, known by the keys that only it has.
struct Kind {
  std::array<std::string_view, 2> keys;
  reports::Page (*page)(io::Node const&);
};

constexpr std::array<Kind, 4> kKinds{
    {{{"traceEvents", "twinstep"}, timeline_page},
     {{"collective", "rows"},
      [](io::Node const& document) { return collective_page(reports::read_collective(document)); }},
     {{"records", "families"},
      [](io::Node const& document) { return validation_page(reports::read_accuracy(document)); }},
     {{"plans", "pareto"}, [](io::Node const& document) { return plan_page(reports::read_plans(document)); }}}};

reports::Page page_of_document(io::Node const& document) {
  for (auto const& kind : kKinds)
    if (document.has(kind.keys[0]) && document.has(kind.keys[1])) return kind.page(document);
  if (document.has("step_time_s") || document.has("runs"))
    document.fail("found an answer of simulate", "give the scenario itself");
  document.fail("found none of the results that have a page", fmt::format("give {}", kTakes));
}

bool is_scenario(io::Node const& document) {
  return document.has("cluster") && document.has("model");
}

/// What a file was recognised as: its page, or the question that is answered when all files were read.
using Recognised = std::variant<reports::Page, Answered>;

Recognised recognise(io::Source source, std::vector<io::Change> const& changes) {
  auto const refuse_changes = [&](std::string_view what) {
    if (!changes.empty())
      throw InputError{fmt::format("{}: {} is {}; --set changes scenarios only, leave it out",
                                   option_of(changes.front()), one_line(source.name), what)};
  };
  if (sweep::are_results(source.text)) {
    refuse_changes("the results of a sweep");
    return sweep_page(sweep::read_results(source.name));
  }
  if (is_sweep_lines(source.text)) {
    refuse_changes("the results of a sweep");
    return sweep_page(read_sweep_lines(source));
  }
  auto const document = io::parse(source);
  if (!document.is(io::Node::Type::kObject)) document.fail("found no object in braces", fmt::format("give {}", kTakes));
  if (is_scenario(document)) return without_answers(question_of(document, changes));
  refuse_changes("no scenario");
  return page_of_document(document);
}

reports::Page page_of(Recognised recognised, Listener const& listener) {
  auto* const question = std::get_if<Answered>(&recognised);
  return question != nullptr ? scenario_page(look_closer(std::move(*question), listener))
                             : std::get<reports::Page>(std::move(recognised));
}

/// Which bytes a page was made of.
std::pair<std::string, std::string> input_fact(std::string const& name, std::string_view bytes) {
  return {"input", fmt::format("{}, SHA-256 {}", one_line(name), data_hash(bytes))};
}

std::string command_of(std::vector<std::string> const& results, std::vector<io::Change> const& changes) {
  auto command = std::string{"twinstep report"};
  for (auto const& result : results) command += " " + reports::shell_word(result);
  for (auto const& text : texts_of(changes)) command += " --set " + reports::shell_word(text);
  return command + " --out report.html";
}

/// Several as one, with what is said of all.
reports::Page finished(std::vector<reports::Page> pages, std::vector<std::string> const& results,
                       std::vector<io::Change> const& changes) {
  auto page = joined(std::move(pages));
  for (auto& section : page.sections)
    for (auto& chart : section.charts) fit_time_units(chart);
  page.facts.emplace_back("version", fmt::format("twinstep {}", kVersion));
  page.commands.insert(page.commands.begin(), command_of(results, changes));
  return page;
}

}  // namespace

reports::Page report_page(std::vector<io::Source> results, std::vector<io::Change> const& changes,
                          Listener const& listener) {
  auto names = std::vector<std::string>{};
  auto facts = std::vector<std::pair<std::string, std::string>>{};
  auto recognised = std::vector<Recognised>{};
  for (auto& result : results) {
    names.push_back(result.name);
    facts.push_back(input_fact(result.name, result.text));
    recognised.push_back(recognise(std::move(result), changes));
  }
  auto pages = std::vector<reports::Page>{};
  for (std::size_t i = 0; i < names.size(); ++i)
    pages.emplace_back(page_of(std::move(recognised[i]), listener)).facts.push_back(std::move(facts[i]));
  return finished(std::move(pages), names, changes);
}

reports::Page report_page(Answered question, Listener const& listener) {
  auto const asked = question.question;
  auto page = scenario_page(look_closer(std::move(question), listener));
  page.facts.push_back(input_fact(asked.name(), asked.document.source().text));
  return finished({std::move(page)}, {asked.name()}, asked.changes);
}

Renderer renderer_of(std::string_view option, std::string const& path) {
  auto const ending = std::filesystem::path{path}.extension().string();
  if (ending.empty()) return reports::page_html;
  for (auto const& form : kForms)
    if (ending == form.ending) return form.render;
  throw InputError{
      fmt::format("{} {}: found the ending {}, expected one of .html, .htm, .md, .csv, .json, .txt, or none "
                  "for HTML; name the file so",
                  option, one_line(path), twinstep::quoted(ending))};
}

}  // namespace twinstep::pages
