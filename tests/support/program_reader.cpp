#include "tests/support/program_reader.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/io/scope_json.hpp"
#include "sim/program/lifetimes.hpp"
#include "sim/program/well_formed.hpp"

namespace twinstep::tests {
namespace {

using namespace io;
using namespace program;

class ProgramReader {
 public:
  StepProgram read(Node const& document);

 private:
  NameId name(Node const& node);
  NameId name(std::string_view text);
  ScopeId scope(Node const& owner);
  RankValue value(Node const& node) const;
  RankValue value_or(Node const& owner, std::string_view key, std::int64_t otherwise) const;
  AxisId axis(Node const& node, GridId grid) const;
  GridId grid(Node const& owner) const;
  GridAxes along(Node const& owner) const;
  template <class IdType, class Table>
  IdType reference(Node const& node, Table const& table, char const* what) const;

  void read_grids(Node const& document);
  void read_facts(Node const& facts);
  void read_adamw(Node const& adamw);
  Variation variation(Node const& node) const;
  Role role(Node const& node);
  Buffer buffer(Node const& node);
  Operation operation(Node const& node, Role& role);
  Access access(Node const& node, Role const& role) const;
  Work work(Node const& node, Role& role) const;
  CommunicationPart part(Node const& node) const;

  StepProgram program_;
  std::unordered_map<std::string, NameId> ids_;
  ScopeIds scope_ids_;
};

bool is_true(Node const& owner, std::string_view key, bool otherwise = false) {
  auto const found = owner.find(key);
  return found ? found->boolean() : otherwise;
}

std::vector<Node> elements(Node const& owner, std::string_view key) {
  auto const found = owner.find(key);
  return found ? found->elements() : std::vector<Node>{};
}

template <class Item>
IndexRange append(std::vector<Item>& list, std::vector<Item> const& items) {
  auto const range = IndexRange{static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(items.size())};
  list.insert(list.end(), items.begin(), items.end());
  return range;
}

StepProgram ProgramReader::read(Node const& document) {
  document.allow_only(
      {"kind", "mesh", "grids", "facts", "adamw", "names", "scopes", "variations", "communicators", "roles"});
  if (auto const kind = document.at("kind"); kind.string() != "step-program")
    kind.fail(fmt::format("found {}, expected \"step-program\"", quoted(kind.string())),
              "give a file that holds a step program");
  read_grids(document);
  if (auto const facts = document.find("facts")) read_facts(*facts);
  if (auto const adamw = document.find("adamw")) read_adamw(*adamw);
  for (auto const& text : elements(document, "names")) static_cast<void>(name(text));
  for (auto const& node : elements(document, "scopes")) static_cast<void>(scope(node));
  for (auto const& node : elements(document, "variations")) program_.variations.push_back(variation(node));
  for (auto const& node : elements(document, "communicators")) {
    node.allow_only({"name", "grid", "axes"});
    program_.communicators.push_back({name(node.at("name")), along(node)});
  }
  for (auto const& node : document.at("roles").elements()) program_.roles.push_back(role(node));
  if (auto const defects = find_defects(program_); !defects.empty())
    document.fail(fmt::format("found a step program with {} defects, expected none: {}", defects.size(), defects[0]),
                  "correct what makes the program");
  return std::move(program_);
}

NameId ProgramReader::name(std::string_view text) {
  auto const [entry, is_new] = ids_.try_emplace(std::string{text}, program_.names.size());
  if (is_new) program_.names.emplace_back(text);
  return entry->second;
}

NameId ProgramReader::name(Node const& node) {
  return name(node.string());
}

ScopeId ProgramReader::scope(Node const& owner) {
  auto const found = read_scope(owner);
  auto const unit = found.unit.empty() ? NameId{} : name(found.unit);
  return scope_ids_.id_of({unit, found.pass, found.micro_batch}, program_.scopes);
}

/// A count so small that sums and products of a few of them stay inside 64 bits.
std::int64_t count(Node const& node, std::int64_t most = std::int64_t{1} << 56) {
  auto const value = node.integer();
  if (value < -most || value > most)
    node.fail(fmt::format("found {}, expected at most {} in size", value, most), "write it smaller");
  return value;
}

RankValue ProgramReader::value(Node const& node) const {
  if (!node.is(Node::Type::kObject)) return count(node);
  node.allow_only({"base", "variation"});
  return {count(node.at("base")), reference<VariationId>(node.at("variation"), program_.variations, "variations")};
}

RankValue ProgramReader::value_or(Node const& owner, std::string_view key, std::int64_t otherwise) const {
  auto const found = owner.find(key);
  return found ? value(*found) : RankValue{otherwise};
}

AxisId ProgramReader::axis(Node const& node, GridId grid) const {
  auto const found = program_.grids[grid].find(node.string());
  if (found.exists()) return found;
  auto known = std::vector<std::string_view>{};
  for (auto const& each : program_.grids[grid].axes()) known.push_back(each.name);
  node.fail(fmt::format("found {}, expected one of the axes", quoted(node.string())),
            suggest_name(node.string(), known));
}

/// The first grid where none is named.
GridId ProgramReader::grid(Node const& owner) const {
  auto const node = owner.find("grid");
  if (!node) return GridId{0};
  auto const& grids = program_.grids.all();
  auto const found = std::ranges::find(grids, node->string(), &Grid::name);
  if (found == grids.end())
    node->fail(fmt::format("found {}, expected one of the grids", quoted(node->string())),
               "name a grid of the program");
  return GridId{static_cast<std::size_t>(found - grids.begin())};
}

GridAxes ProgramReader::along(Node const& owner) const {
  auto out = GridAxes{grid(owner), {}};
  for (auto const& each : owner.at("axes").elements()) out.axes.insert(axis(each, out.grid));
  return out;
}

/// An index into `table`, or, where its entries have names, the name of one.
template <class IdType, class Table>
IdType ProgramReader::reference(Node const& node, Table const& table, char const* what) const {
  if constexpr (requires { table.front().name; }) {
    if (node.is(Node::Type::kString)) {
      auto known = std::vector<std::string_view>{};
      for (auto const& entry : table) known.push_back(program_.text(entry.name));
      auto const found = std::ranges::find(known, node.string());
      if (found == known.end())
        node.fail(fmt::format("found {}, expected one of the {}", quoted(node.string()), what),
                  suggest_name(node.string(), known));
      return IdType{static_cast<std::size_t>(found - known.begin())};
    }
  }
  auto const index = node.integer_from(0);
  if (index >= std::ssize(table))
    node.fail(fmt::format("found {}, expected one of the {} {}", index, table.size(), what), "count from 0");
  return IdType{static_cast<std::size_t>(index)};
}

std::vector<GridAxis> read_axes(Node const& node) {
  auto axes = std::vector<GridAxis>{};
  auto ranks = std::int64_t{1};
  for (auto const& axis : node.elements()) {
    axis.allow_only({"axis", "size"});
    axes.push_back({std::string{axis.at("axis").string()}, axis.at("size").integer_from(1)});
    if (std::ranges::count(axes, axes.back().name, &GridAxis::name) > 1)
      axis.fail(fmt::format("found axis {} twice", twinstep::quoted(axes.back().name)), "list each axis once");
    if (axes.size() > AxisSet::kMost)
      axis.fail(fmt::format("found a mesh of more than {} axes, expected fewer", AxisSet::kMost),
                "leave out axes of 1");
    constexpr std::int64_t kMostRanks = 1 << 20;
    if (axes.back().size > kMostRanks / ranks)
      axis.fail("found a mesh of more than 1048576 ranks, expected fewer", "make the axes shorter");
    ranks *= axes.back().size;
  }
  return axes;
}

/// "grids", or "mesh": the axes of the only one.
void ProgramReader::read_grids(Node const& document) {
  auto const several = document.find("grids");
  if (!several) {
    program_.grids = Grids{{Grid{read_axes(document.at("mesh"))}}};
    return;
  }
  auto grids = std::vector<Grid>{};
  for (auto const& node : several->elements()) {
    node.allow_only({"name", "axes"});
    grids.emplace_back(read_axes(node.at("axes")), std::string{node.at("name").string()});
    auto const& [first, last] = std::tie(grids.front(), grids.back());
    if (std::ranges::count(grids, last.name(), &Grid::name) > 1)
      node.fail(fmt::format("found grid {} twice", twinstep::quoted(last.name())), "give each grid its own name");
    if (last.world_size() != first.world_size())
      node.fail(fmt::format("found a grid of {} ranks, expected {} as in grid {}", last.world_size(),
                            first.world_size(), twinstep::quoted(first.name())),
                "all grids are over the same ranks");
  }
  if (grids.empty()) several->fail("found no grid, expected one at least", "write \"mesh\" with the axes of ranks");
  program_.grids = Grids{std::move(grids)};
}

void ProgramReader::read_facts(Node const& facts) {
  facts.allow_only({"tokens", "model_flops", "hardware_flops", "compute_type"});
  program_.facts = {facts.at("tokens").integer_from(0), Flops{facts.at("model_flops").number()},
                    Flops{facts.at("hardware_flops").number()}, facts.at("compute_type").word<DataType>()};
}

void ProgramReader::read_adamw(Node const& adamw) {
  adamw.allow_only({"learning_rate", "beta1", "beta2", "epsilon", "weight_decay"});
  program_.adamw = {adamw.at("learning_rate").number(), adamw.at("beta1").number(), adamw.at("beta2").number(),
                    adamw.at("epsilon").number(), adamw.at("weight_decay").number()};
}

Variation ProgramReader::variation(Node const& node) const {
  node.allow_only({"grid", "axes", "stride", "table"});
  auto out = Variation{along(node), 0, {}};
  if (auto const stride = node.find("stride"))
    out.stride = count(*stride, std::int64_t{1} << 36);  // times a million ranks
  for (auto const& entry : elements(node, "table")) out.table.push_back(count(entry));
  return out;
}

Role ProgramReader::role(Node const& node) {
  node.allow_only({"name", "grid", "where", "streams", "buffers", "operations"});
  auto out = Role{};
  out.name = name(node.at("name"));
  out.grid = grid(node);
  for (auto const& at : elements(node, "where")) {
    at.allow_only({"axis", "coordinate"});
    out.where.push_back({axis(at.at("axis"), out.grid), at.at("coordinate").integer_from(0)});
  }
  for (auto const& stream : elements(node, "streams")) {
    stream.allow_only({"name", "is_on_host"});
    out.streams.push_back({name(stream.at("name")), is_true(stream, "is_on_host")});
  }
  for (auto const& item : elements(node, "buffers")) out.buffers.push_back(buffer(item));
  for (auto const& item : elements(node, "operations")) out.operations.push_back(operation(item, out));
  auto const lifetimes = lifetimes_of(out);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    out.buffers[i].first_use = lifetimes[i].first_use;
    out.buffers[i].last_use = lifetimes[i].last_use;
    out.buffers[i].crosses_streams = lifetimes[i].crosses_streams;
  }
  return out;
}

Buffer ProgramReader::buffer(Node const& node) {
  node.allow_only({"name", "unit", "pass", "micro_batch", "scope", "elements", "type", "category", "space",
                   "is_persistent", "is_recorded"});
  auto out = Buffer{};
  out.name = name(node.at("name"));
  out.scope = scope(node);
  out.elements = value(node.at("elements"));
  out.type = node.at("type").word<DataType>();
  out.category = node.at("category").word<MemoryCategory>();
  out.space = node.at("space").word<MemorySpace>();
  out.is_persistent = is_true(node, "is_persistent");
  if (auto const recorded = node.find("is_recorded")) out.is_recorded = recorded->boolean();
  return out;
}

Operation ProgramReader::operation(Node const& node, Role& role) {
  node.allow_only({"name", "unit", "pass", "micro_batch", "scope", "stream", "launches", "waits", "work", "operands"});
  auto out = Operation{};
  out.name = name(node.at("name"));
  out.scope = scope(node);
  if (auto const stream = node.find("stream")) out.stream = reference<StreamId>(*stream, role.streams, "streams");
  auto const launches = node.at("launches");
  if (launches.integer_from(0) > std::numeric_limits<std::uint32_t>::max())
    launches.fail(fmt::format("found {} launches, expected fewer than 2^32", launches.integer()), "");
  out.launches = static_cast<std::uint32_t>(launches.integer());
  auto waits = std::vector<OpId>{};
  for (auto const& wait : elements(node, "waits"))
    waits.push_back(reference<OpId>(wait, role.operations, "operations issued before"));
  auto operands = std::vector<Access>{};
  for (auto const& operand : elements(node, "operands")) operands.push_back(access(operand, role));
  out.waits = append(role.waits, waits);
  out.accesses = append(role.accesses, operands);
  out.work = work(node.at("work"), role);
  return out;
}

Access ProgramReader::access(Node const& node, Role const& role) const {
  node.allow_only({"reads", "writes", "updates", "offset", "elements"});
  static constexpr std::array<std::pair<std::string_view, AccessMode>, 3> kModes{
      {{"reads", AccessMode::kRead}, {"writes", AccessMode::kWrite}, {"updates", AccessMode::kReadWrite}}};
  for (auto const& [word, mode] : kModes)
    if (auto const buffer = node.find(word))
      return {{reference<BufferId>(*buffer, role.buffers, "buffers"), value_or(node, "offset", 0),
               value(node.at("elements"))},
              mode};
  node.fail("found an operand without a buffer", "write \"reads\", \"writes\" or \"updates\" and the buffer");
}

std::int32_t small(Node const& node, std::string_view key) {
  return static_cast<std::int32_t>(node.at(key).integer_from(0));
}

Gemm read_gemm(Node const& node) {
  node.allow_only({"m", "n", "k", "batch", "type", "transpose_a", "transpose_b", "accumulate", "windows",
                   "window_elements", "side_by_side"});
  auto gemm = Gemm{node.at("m").integer_from(1),     node.at("n").integer_from(1),     node.at("k").integer_from(1),
                   node.at("batch").integer_from(1), node.at("type").word<DataType>(), is_true(node, "transpose_a"),
                   is_true(node, "transpose_b"),     is_true(node, "accumulate")};
  if (auto const windows = node.find("windows")) {
    gemm.windows = windows->word<Windows>();
    gemm.window_elements = node.at("window_elements").integer_from(1);
  }
  if (auto const beside = node.find("side_by_side"))
    gemm.side_by_side = {small(*beside, "heads"), is_true(*beside, "a"), is_true(*beside, "b"), is_true(*beside, "c")};
  return gemm;
}

Attention read_attention(Node const& node) {
  node.allow_only(
      {"batch", "heads", "kv_heads", "query_length", "key_length", "head_size", "type", "causal", "backward", "alibi"});
  auto const size = [&](std::string_view key) { return node.at(key).integer_from(1); };
  return {size("batch"),
          size("heads"),
          size("kv_heads"),
          size("query_length"),
          size("key_length"),
          size("head_size"),
          node.at("type").word<DataType>(),
          is_true(node, "causal", true),
          is_true(node, "backward"),
          is_true(node, "alibi")};
}

Work ProgramReader::work(Node const& node, Role& role) const {
  node.allow_only({"gemm", "attention", "elementwise", "communication", "copy", "delay"});
  if (auto const gemm = node.find("gemm")) return read_gemm(*gemm);
  if (auto const attention = node.find("attention")) return read_attention(*attention);
  if (auto const elementwise = node.find("elementwise")) {
    elementwise->allow_only(
        {"function", "elements", "bytes_per_element", "type", "scalar", "family", "accumulate", "rows"});
    auto const bytes = elementwise->at("bytes_per_element");
    if (bytes.integer_from(0) > std::numeric_limits<std::int32_t>::max())
      bytes.fail(fmt::format("found {} bytes per element, expected fewer than 2^31", bytes.integer()), "");
    auto out = Elementwise{elementwise->at("function").word<Function>(), value(elementwise->at("elements")),
                           static_cast<std::int32_t>(bytes.integer()), elementwise->at("type").word<DataType>()};
    out.scalar = elementwise->at("scalar").number();
    out.accumulate = is_true(*elementwise, "accumulate");
    if (auto const family = elementwise->find("family")) out.family = family->word<KernelFamily>();
    if (auto const rows = elementwise->find("rows"))
      out.rows = {small(*rows, "width"), small(*rows, "sequence"), small(*rows, "heads"), small(*rows, "head_size")};
    return out;
  }
  if (auto const communication = node.find("communication")) {
    auto parts = std::vector<CommunicationPart>{};
    for (auto const& item : communication->elements()) parts.push_back(part(item));
    return Communication{append(role.parts, parts)};
  }
  if (auto const copy = node.find("copy")) {
    copy->allow_only({"direction", "bytes"});
    return Copy{copy->at("direction").word<CopyDirection>(), value(copy->at("bytes"))};
  }
  return Delay{node.at("delay").duration()};
}

CommunicationPart ProgramReader::part(Node const& node) const {
  node.allow_only({"collective", "send_to", "receive_from", "communicator", "elements", "type", "reduction", "root"});
  auto const communicator = reference<CommunicatorId>(node.at("communicator"), program_.communicators, "communicators");
  auto const type = node.at("type").word<DataType>();
  auto const elements = value(node.at("elements"));
  if (auto const kind = node.find("collective")) {
    auto const reduction = node.find("reduction");
    return Collective{kind->word<CollectiveKind>(),
                      reduction ? reduction->word<Reduction>() : Reduction::kSum,
                      type,
                      communicator,
                      elements,
                      value_or(node, "root", 0)};
  }
  if (auto const peer = node.find("send_to")) return PointToPoint{true, type, communicator, value(*peer), elements};
  return PointToPoint{false, type, communicator, value(node.at("receive_from")), elements};
}

}  // namespace

program::StepProgram read_program(io::Node const& document) {
  return ProgramReader{}.read(document);
}

}  // namespace twinstep::tests
