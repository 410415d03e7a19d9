#include "sim/io/program_json.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/io/json_text.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"
#include "sim/io/scope_json.hpp"

namespace twinstep::io {
namespace {

using namespace program;

std::string number(double value) {
  TWINSTEP_CHECK(value - value == 0, "JSON has finite numbers only");
  return fmt::format("{}", value);
}

class ProgramWriter : JsonText {
 public:
  explicit ProgramWriter(StepProgram const& program) : program_{program} {
    for (auto const& scope : program.scopes) scopes_.push_back(scope_members(scope, program.names));
  }
  std::string write();

 private:
  std::string text(NameId name) const { return json_string(program_.text(name)); }
  std::string value(RankValue value) const {
    if (!value.varies()) return std::to_string(value.base);
    return fmt::format(R"({{"base": {}, "variation": {}}})", value.base, value.variation.index());
  }
  template <class Enum>
  std::string word(Enum value) const {
    return json_string(name_of(value));
  }
  /// Nothing for the first grid.
  std::string grid(GridId id) const {
    return id == GridId{0} ? std::string{} : fmt::format(R"("grid": {}, )", json_string(program_.grids[id].name()));
  }
  std::string axes(GridAxes along) const;
  /// By name if it is the only one of that name, otherwise by index.
  template <class Table>
  std::string reference(Table const& table, std::size_t index) const {
    auto const has_name = [&](auto const& other) { return other.name == table[index].name; };
    return std::ranges::count_if(table, has_name) == 1 ? text(table[index].name) : std::to_string(index);
  }

  void write_grids();
  void write_axes(Grid const& grid);
  void write_facts();
  void write_role(Role const& role);
  void write_buffer(Buffer const& buffer);
  void write_operation(Role const& role, Operation const& op);
  void write_scope(ScopeId scope) {
    if (scope.exists()) put(", {}", scopes_[scope.index()]);
  }
  void write_work(Role const&, Gemm const& gemm);
  void write_work(Role const&, Attention const& attention);
  void write_work(Role const&, Elementwise const& elementwise);
  void write_work(Role const& role, Communication const& communication);
  void write_work(Role const&, Copy const& copy) {
    put(R"({{"copy": {{"direction": {}, "bytes": {}}}}})", word(copy.direction), value(copy.bytes));
  }
  void write_work(Role const&, Delay const& delay) { put(R"({{"delay": "{}"}})", quantity_text(delay.duration)); }
  void write_part(Collective const& collective);
  void write_part(PointToPoint const& message);

  StepProgram const& program_;
  std::vector<std::string> scopes_;  // as members of an object
};

std::string ProgramWriter::write() {
  put("{{\n\"kind\": \"step-program\",\n");
  write_grids();
  write_facts();
  put("\"names\": [\n");
  list(program_.names, "\n", [&](std::string const& name) { out_ += json_string(name); });
  put("],\n\"scopes\": [\n");
  list(scopes_, "\n", [&](std::string const& members) { put("{{{}}}", members); });
  put("],\n\"variations\": [\n");
  list(program_.variations, "\n", [&](Variation const& variation) {
    put(R"({{{}"axes": {}, "stride": {}, "table": [{}]}})", grid(variation.along.grid), axes(variation.along),
        variation.stride, fmt::join(variation.table, ", "));
  });
  put("],\n\"communicators\": [\n");
  list(program_.communicators, "\n", [&](Communicator const& communicator) {
    put(R"({{"name": {}, {}"axes": {}}})", text(communicator.name), grid(communicator.along.grid),
        axes(communicator.along));
  });
  put("],\n\"roles\": [\n");
  list(program_.roles, "\n", [&](Role const& role) { write_role(role); });
  put("]\n}}\n");
  return std::move(out_);
}

std::string ProgramWriter::axes(GridAxes along) const {
  auto const& all = program_.grids[along.grid].axes();
  auto words = std::vector<std::string>{};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (along.axes.contains(AxisId{i})) words.push_back(json_string(all[i].name));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

void ProgramWriter::write_axes(Grid const& grid) {
  list(grid.axes(), " ",
       [&](GridAxis const& axis) { put(R"({{"axis": {}, "size": {}}})", json_string(axis.name), axis.size); });
}

/// "mesh" where there is one grid, without a name of its own.
void ProgramWriter::write_grids() {
  auto const& grids = program_.grids.all();
  if (grids.size() == 1 && grids.front().name() == Grid{}.name()) {
    put("\"mesh\": [");
    write_axes(grids.front());
    return put("],\n");
  }
  put("\"grids\": [\n");
  list(grids, "\n", [&](Grid const& grid) {
    put(R"({{"name": {}, "axes": [)", json_string(grid.name()));
    write_axes(grid);
    put("]}}");
  });
  put("],\n");
}

void ProgramWriter::write_facts() {
  auto const& [tokens, model_flops, hardware_flops, compute_type] = program_.facts;
  put("\"facts\": {{\"tokens\": {}, \"model_flops\": {}, \"hardware_flops\": {}, \"compute_type\": {}}},\n", tokens,
      number(model_flops.count()), number(hardware_flops.count()), word(compute_type));
  auto const& [learning_rate, beta1, beta2, epsilon, weight_decay] = program_.adamw;
  put("\"adamw\": {{\"learning_rate\": {}, \"beta1\": {}, \"beta2\": {}, \"epsilon\": {}, \"weight_decay\": {}}},\n",
      number(learning_rate), number(beta1), number(beta2), number(epsilon), number(weight_decay));
}

void ProgramWriter::write_role(Role const& role) {
  put("{{\"name\": {}, {}\"where\": [", text(role.name), grid(role.grid));
  list(role.where, " ", [&](AxisCoordinate at) {
    put(R"({{"axis": {}, "coordinate": {}}})", json_string(program_.grids[role.grid].axes()[at.axis.index()].name),
        at.coordinate);
  });
  put("],\n \"streams\": [");
  list(role.streams, " ", [&](Stream const& stream) {
    put(R"({{"name": {}{}}})", text(stream.name), stream.is_on_host ? R"(, "is_on_host": true)" : "");
  });
  put("],\n \"buffers\": [\n  ");
  list(role.buffers, "\n  ", [&](Buffer const& buffer) { write_buffer(buffer); });
  put("],\n \"operations\": [\n  ");
  list(role.operations, "\n  ", [&](Operation const& op) { write_operation(role, op); });
  put("]}}");
}

void ProgramWriter::write_buffer(Buffer const& buffer) {
  put(R"({{"name": {})", text(buffer.name));
  write_scope(buffer.scope);
  put(R"(, "elements": {}, "type": {}, "category": {}, "space": {}{}{}}})", value(buffer.elements), word(buffer.type),
      word(buffer.category), word(buffer.space), buffer.is_persistent ? R"(, "is_persistent": true)" : "",
      buffer.is_recorded ? "" : R"(, "is_recorded": false)");
}

void ProgramWriter::write_operation(Role const& role, Operation const& op) {
  put(R"({{"name": {})", text(op.name));
  write_scope(op.scope);
  if (!op.is_on_host()) put(R"(, "stream": {})", reference(role.streams, op.stream.index()));
  put(R"(, "launches": {}, "waits": [)", op.launches);
  list(role.waits_of(op), " ", [&](OpId wait) { put("{}", wait.index()); });
  put(R"(], "work": )");
  std::visit([&](auto const& work) { write_work(role, work); }, op.work);
  put(R"(, "operands": [)");
  static constexpr std::array<std::string_view, 3> kModes{"reads", "writes", "updates"};
  list(role.accesses_of(op), " ", [&](Access const& access) {
    put(R"({{"{}": {}, "offset": {}, "elements": {}}})", kModes[static_cast<std::size_t>(access.mode)],
        access.region.buffer.index(), value(access.region.offset), value(access.region.elements));
  });
  put("]}}");
}

void ProgramWriter::write_work(Role const&, Gemm const& gemm) {
  put(R"({{"gemm": {{"m": {}, "n": {}, "k": {}, "batch": {}, "type": {})", gemm.m, gemm.n, gemm.k, gemm.batch,
      word(gemm.type));
  if (gemm.transpose_a) put(R"(, "transpose_a": true)");
  if (gemm.transpose_b) put(R"(, "transpose_b": true)");
  if (gemm.accumulate) put(R"(, "accumulate": true)");
  if (gemm.windows != Windows::kNone)
    put(R"(, "windows": {}, "window_elements": {})", word(gemm.windows), gemm.window_elements);
  if (auto const& [heads, a, b, c] = gemm.side_by_side; heads > 1)
    put(R"(, "side_by_side": {{"heads": {}, "a": {}, "b": {}, "c": {}}})", heads, a, b, c);
  put("}}}}");
}

void ProgramWriter::write_work(Role const&, Attention const& attention) {
  put(R"({{"attention": {{"batch": {}, "heads": {}, "kv_heads": {}, "query_length": {}, "key_length": {}, )"
      R"("head_size": {}, "type": {}, "causal": {}, "backward": {}{}}}}})",
      attention.batch, attention.heads, attention.kv_heads, attention.query_length, attention.key_length,
      attention.head_size, word(attention.type), attention.causal, attention.backward,
      attention.alibi ? R"(, "alibi": true)" : "");
}

void ProgramWriter::write_work(Role const&, Elementwise const& elementwise) {
  put(R"({{"elementwise": {{"function": {}, "elements": {}, "bytes_per_element": {}, "type": {}, "scalar": {})",
      word(elementwise.function), value(elementwise.elements), elementwise.bytes_per_element, word(elementwise.type),
      number(elementwise.scalar));
  if (elementwise.family != KernelFamily::kStrategy) put(R"(, "family": {})", word(elementwise.family));
  if (elementwise.accumulate) put(R"(, "accumulate": true)");
  if (auto const& rows = elementwise.rows; rows != RowShape{})
    put(R"(, "rows": {{"width": {}, "sequence": {}, "heads": {}, "head_size": {}}})", rows.width, rows.sequence,
        rows.heads, rows.head_size);
  put("}}}}");
}

void ProgramWriter::write_work(Role const& role, Communication const& communication) {
  put(R"({{"communication": [)");
  list(role.parts_of(communication), " ",
       [&](CommunicationPart const& part) { std::visit([&](auto const& p) { write_part(p); }, part); });
  put("]}}");
}

void ProgramWriter::write_part(Collective const& collective) {
  put(R"({{"collective": {}, "communicator": {}, "elements": {}, "type": {}, "reduction": {}, "root": {}}})",
      word(collective.kind), reference(program_.communicators, collective.communicator.index()),
      value(collective.elements), word(collective.type), word(collective.reduction), value(collective.root));
}

void ProgramWriter::write_part(PointToPoint const& message) {
  put(R"({{"{}": {}, "communicator": {}, "elements": {}, "type": {}}})", message.sends ? "send_to" : "receive_from",
      value(message.peer), reference(program_.communicators, message.communicator.index()), value(message.elements),
      word(message.type));
}

}  // namespace

std::string to_json(StepProgram const& program) {
  return ProgramWriter{program}.write();
}

}  // namespace twinstep::io
