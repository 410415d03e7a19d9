#pragma once

#include <memory>
#include <string>
#include <vector>

#include "explore/ask/parts.hpp"
#include "explore/ask/scenario.hpp"
#include "sim/io/change.hpp"

namespace twinstep::explore {

/// What is asked: a scenario document with changes in place of its own values, in their order. A value: a variation is
/// another question, and shares the parts on which the two agree.
struct Question {
  io::Node document;                ///< as it was written
  std::string folder;               ///< where files that it names are looked for
  std::vector<io::Change> changes;  ///< of the command line, then of the program
  std::shared_ptr<Parts> parts = std::make_shared<Parts>();

  /// What it is called in messages: its file.
  [[nodiscard]] std::string const& name() const { return document.source().name; }
  /// The variation with one value more changed, and with several.
  [[nodiscard]] Question with(std::string path, io::Node const& value) const;
  [[nodiscard]] Question with(std::vector<io::Change> const& more) const;
  /// The document with all changes made. Throws InputError where a path leads through a number or beyond an array.
  [[nodiscard]] io::Node changed() const;
};

/// The question that a scenario file asks; what it names is looked for beside the file.
/// explore/ask/schema/scenario.schema.json describes the form.
[[nodiscard]] Question question_of(io::Node document, std::vector<io::Change> changes = {});

/// The scenarios of a question: "strategy" may be a list, one for each. Throws InputError.
[[nodiscard]] std::vector<Scenario> read_scenarios(Question const& question);
/// The same for a document that has all changes in it.
[[nodiscard]] std::vector<Scenario> read_scenarios(io::Node const& document, std::string const& folder,
                                                   std::shared_ptr<Parts> const& parts);

}  // namespace twinstep::explore
