#include "strategies/import/users_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/maker.hpp"
#include "sim/io/other_formats.hpp"
#include "strategies/import/readers.hpp"

namespace twinstep::strategies {
namespace {

/// What is counted from one up, so that a date, a fraction or a negative number is refused where it stands.
constexpr auto kCounts = std::to_array<std::string_view>({"micro_batch",
                                                          "global_batch",
                                                          "gradient_accumulation",
                                                          "sequence_length",
                                                          "ranks",
                                                          "nodes",
                                                          "shard_group",
                                                          "replicas",
                                                          "tensor",
                                                          "pipeline",
                                                          "chunks",
                                                          "micro_batch_group",
                                                          "layers",
                                                          "hidden",
                                                          "heads",
                                                          "kv_heads",
                                                          "head_size",
                                                          "ffn",
                                                          "vocabulary",
                                                          "max_sequence_length",
                                                          "first",
                                                          "segment",
                                                          "bucket_size"});

/// Makes values that messages place where `from` stands.
io::Maker maker_at(io::Node const& from) {
  auto place = io::place_of(from.source(), from.value().offset);
  place.erase(place.size() - 2);  // ": ", which messages add again
  return io::Maker{std::move(place)};
}

}  // namespace

Part::Part(std::string name) : name_{std::move(name)}, node_{io::parse({name_, "{}", false})} {}

void Part::put(std::string_view key, io::Node const& value) {
  if (value.is(io::Node::Type::kNumber) && !std::isfinite(value.number()))
    value.fail(fmt::format("found {}, expected a finite number", value.number()), "write the number, or leave it out");
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // that is exact in every format; toml11 cuts at 2^63
  auto const is_count = std::ranges::find(kCounts, key) != kCounts.end() && !value.is(io::Node::Type::kArray);
  if (is_count && value.integer_from(1) > kMost)
    value.fail(fmt::format("found {}, expected a number that can be counted to", value.integer()), "lower it");
  node_ = io::with_member(node_, key, value);
}

void Part::put(std::string_view key, io::Node const& from, std::string_view text) {
  put(key, maker_at(from).text(text));
}

void Part::put(std::string_view key, io::Node const& from, bool fact) {
  put(key, maker_at(from).fact(fact));
}

void Part::put(std::string_view key, io::Node const& from, std::int64_t number) {
  put(key, maker_at(from).number(number));
}

void put_cpu_offload(Part& strategy, io::Node const& from) {
  auto offload = Part{"offload"};
  offload.put("parameters", from, "cpu");
  strategy.put("offload", offload.node());
}

void put_tensor_ranks(Part& strategy, std::optional<io::Node> const& degree) {
  if (!degree || degree->integer_from(1) == 1) return;
  auto parallel = Part{"parallel"};
  parallel.put("tensor", *degree);
  strategy.put("parallel", parallel.node());
}

UsersFile read_users_file(UsersFormat format, io::Source source, io::ReadText const& read) {
  auto const directory = std::filesystem::path{source.name}.parent_path().string();
  switch (format) {
    case UsersFormat::kDeepSpeed:
      io::no_larger(source.name, source.text, io::kLargestConfiguration);
      return read_deepspeed(io::parse(std::move(source), io::Dialect::kForeign));
    case UsersFormat::kAccelerate: return read_accelerate(io::parse_yaml(std::move(source)), directory, read);
    case UsersFormat::kTorchtitan: return read_torchtitan(io::parse_toml(std::move(source)));
    case UsersFormat::kMegatron: {
      auto warnings = std::vector<std::string>{};
      auto const arguments = io::parse_arguments(std::move(source), warnings);
      return read_megatron(arguments, std::move(warnings));
    }
  }
  TWINSTEP_UNREACHABLE("every format has its reader");
}

std::string_view scenario_key(UsersFormat format) {
  switch (format) {
    case UsersFormat::kDeepSpeed: return "deepspeed_config";
    case UsersFormat::kAccelerate: return "accelerate_config";
    case UsersFormat::kTorchtitan: return "torchtitan_config";
    case UsersFormat::kMegatron: return "megatron_config";
  }
  TWINSTEP_UNREACHABLE("every format has its key");
}

}  // namespace twinstep::strategies
