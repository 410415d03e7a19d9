#include "sim/io/scope_json.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "sim/io/json_writer.hpp"

namespace twinstep::io {

using program::Pass;
using program::Scope;

std::string scope_members(Scope const& scope, std::span<std::string const> names) {
  auto text = std::string{};
  auto const add = [&](std::string const& member) { text += (text.empty() ? "" : ", ") + member; };
  if (scope.unit.exists()) add(fmt::format(R"("unit": {})", json_string(names[scope.unit.index()])));
  if (scope.pass != Pass::kNone) add(fmt::format(R"("pass": "{}")", name_of(scope.pass)));
  if (scope.micro_batch != Scope::kNoMicroBatch) add(fmt::format(R"("micro_batch": {})", scope.micro_batch));
  return text;
}

ReadScope read_scope(Node const& owner) {
  auto out = ReadScope{};
  if (auto const unit = owner.find("unit")) out.unit = unit->string();
  if (auto const pass = owner.find("pass")) out.pass = pass->word<Pass>();
  if (auto const micro_batch = owner.find("micro_batch")) {
    if (micro_batch->integer_from(0) > std::numeric_limits<std::int32_t>::max())
      micro_batch->fail(fmt::format("found {}, expected a micro-batch below 2^31", micro_batch->integer()),
                        "count from 0");
    out.micro_batch = static_cast<std::int32_t>(micro_batch->integer());
  }
  auto const text = owner.find("scope");
  return out == ReadScope{} && text ? scope_named(text->string()) : out;
}

ReadScope scope_named(std::string_view text) {
  auto const dot = text.find_last_of('.');
  auto const last = text.substr(dot + 1);  // all of it where there is no dot
  auto const before = dot == text.npos ? std::string_view{} : text.substr(0, dot);
  if (auto const pass = find_enum<Pass>(last); pass && *pass != Pass::kNone)
    return {.unit = std::string{before}, .pass = *pass};
  auto out = ReadScope{};
  auto const [end, error] = std::from_chars(last.data(), last.data() + last.size(), out.micro_batch);
  if (before == "micro_batch" && error == std::errc{} && end == last.data() + last.size()) return out;
  return {.unit = std::string{text}};
}

}  // namespace twinstep::io
