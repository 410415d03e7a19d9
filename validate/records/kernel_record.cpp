#include "validate/records/kernel_record.hpp"

#include <fmt/format.h>

namespace twinstep::validate {
namespace {

using io::Node;

std::string text_at(Node const& node, std::string_view key) {
  auto const value = node.find(key);
  return value ? std::string{value->string()} : std::string{};
}

std::int64_t size_at(Node const& node, std::string_view key) {
  return node.at(key).integer_from(1);
}

bool flag_at(Node const& node, std::string_view key) {
  auto const value = node.find(key);
  return value && value->boolean();
}

Seconds time_at(Node const& node, std::string_view key) {
  auto const value = node.at(key);
  auto const microseconds = value.number();
  if (microseconds <= 0)
    value.fail(fmt::format("found {} us, expected a time above 0", microseconds), "leave out what was not measured");
  return Seconds{microseconds * kMicrosecond};
}

program::Gemm gemm_of(Node const& node) {
  auto const batch = node.find("batch");
  return {.m = size_at(node, "m"),
          .n = size_at(node, "n"),
          .k = size_at(node, "k"),
          .batch = batch ? batch->integer_from(1) : 1,
          .type = node.at("dtype").word<DataType>(),
          .transpose_a = flag_at(node, "transpose_a"),
          .transpose_b = flag_at(node, "transpose_b"),
          .accumulate = flag_at(node, "accumulate")};
}

program::Attention attention_of(Node const& node) {
  auto const attention = program::Attention{.batch = size_at(node, "batch"),
                                            .heads = size_at(node, "heads"),
                                            .kv_heads = size_at(node, "kv_heads"),
                                            .query_length = size_at(node, "query_length"),
                                            .key_length = size_at(node, "key_length"),
                                            .head_size = size_at(node, "head_size"),
                                            .type = node.at("dtype").word<DataType>(),
                                            .causal = node.at("causal").boolean(),
                                            .backward = node.at("backward").boolean()};
  if (attention.heads % attention.kv_heads != 0)
    node.at("kv_heads")
        .fail(fmt::format("found {}, expected a divisor of the {} heads", attention.kv_heads, attention.heads),
              "grouped queries share their keys evenly");
  return attention;
}

program::Elementwise elementwise_of(Node const& node) {
  constexpr auto kMostBytes = 1'000'000;
  auto const bytes = node.at("bytes_per_element");
  if (bytes.integer_from(1) > kMostBytes) bytes.fail("found more bytes than an element can have", "give those of one");
  return {.elements = size_at(node, "elements"),
          .bytes_per_element = static_cast<std::int32_t>(bytes.integer()),
          .type = node.find("dtype") ? node.at("dtype").word<DataType>() : DataType::kFp32};
}

program::Copy copy_of(Node const& node) {
  return {.direction = node.at("direction").word<program::CopyDirection>(), .bytes = size_at(node, "bytes")};
}

void read_work(Node const& node, KernelRecord& record) {
  auto const what = node.at("measurement");
  auto const name = what.string();
  if (name == "gemm") {
    record.work = gemm_of(node);
  } else if (name == "attention") {
    record.work = attention_of(node);
  } else if (name == "elementwise") {
    record.work = elementwise_of(node);
  } else if (name == "copy") {
    record.work = copy_of(node);
  } else if (name == "launch") {
    record.launches = size_at(node, "launches");
  } else {
    what.fail(fmt::format("found {}, expected a kind of kernel", twinstep::quoted(name)),
              suggest_name(name, {"gemm", "attention", "elementwise", "copy", "launch"}));
  }
}

KernelRecord record_of(Node const& node) {
  auto record = KernelRecord{.device = std::string{node.at("device").string()},
                             .backend = text_at(node, "backend"),
                             .time = time_at(node, "time_us"),
                             .beside = text_at(node, "beside")};
  record.low = node.find("low_us") ? time_at(node, "low_us") : record.time;
  record.high = node.find("high_us") ? time_at(node, "high_us") : record.time;
  if (record.low > record.time || record.time > record.high)
    node.at("time_us").fail("found a median that does not lie between \"low_us\" and \"high_us\"",
                            "a tenth of the repetitions is below the one and above the other");
  if (auto const repetitions = node.find("repetitions")) record.repetitions = repetitions->integer_from(1);
  read_work(node, record);
  return record;
}

}  // namespace

std::vector<KernelRecord> read_kernel_records(io::Node const& document) {
  auto records = std::vector<KernelRecord>{};
  for (auto const& node : document.elements()) records.push_back(record_of(node));
  return records;
}

}  // namespace twinstep::validate
