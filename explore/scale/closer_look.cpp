#include "explore/scale/closer_look.hpp"

#include <array>

#include "explore/ask/parallel.hpp"
#include "explore/plan/way_out.hpp"
#include "explore/scale/why.hpp"

namespace twinstep::explore {
namespace {

void answer(CloserLook& look) {
  if (!look.question.outcomes.empty()) return;
  run_steps(look.question);
  add_ways_out(look.question);
}

void look_at_waits(CloserLook& look) {
  auto const& question = look.question;
  auto ran = std::vector<Scenario const*>{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i)
    if (question.run(i) != nullptr) ran.push_back(&question.scenarios[i]);
  look.without_communication =
      map_indices(ran.size(), [&](std::size_t i) { return time_without_communication(*ran[i]); });
  look.why = explain(question, *question.best());
}

struct Part {
  std::string_view name;
  void (*look)(CloserLook&);
};

constexpr std::array<Part, 6> kParts{
    {{"the answer", answer},
     {"where the step goes", look_at_waits},
     {"scaling", [](CloserLook& look) { look.scaling = scaling_of(look.question); }},
     {"bus bandwidth", [](CloserLook& look) { look.collectives = collective_curves(look.question); }},
     {"sensitivity",
      [](CloserLook& look) { look.effects = effects_of(look.question.scenarios[*look.question.best()]); }},
     {"bucket sizes", [](CloserLook& look) { look.buckets = bucket_curves(look.question); }}}};

}  // namespace

CloserLook look_closer(Answered question, Listener const& listener) {
  auto look = CloserLook{.question = std::move(question),
                         .without_communication = {},
                         .why = {},
                         .scaling = {},
                         .collectives = {},
                         .effects = {},
                         .buckets = {}};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (i > 0 && !look.question.best()) break;
    listener(i + 1, kParts.size(), kParts[i].name);
    kParts[i].look(look);
  }
  return look;
}

}  // namespace twinstep::explore
