#include "validate/records/collective_words.hpp"

#include <utility>

#include <fmt/format.h>

#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using validate::MeasuredKind;

/// Longer names first: "reduce" is a part of "all_reduce".
constexpr std::pair<std::string_view, MeasuredKind> kCollectiveWords[] = {
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"allreduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},
    {"alltoall", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"sendrecv", validate::kSendReceive},
    {"gather", CollectiveKind::kGather},
    {"scatter", CollectiveKind::kScatter},
    {"reduce", CollectiveKind::kReduce}};

}  // namespace

std::optional<MeasuredKind> collective_named_in(std::string_view text) {
  auto const letters = plain_letters(text);
  for (auto const& [word, collective] : kCollectiveWords)
    if (letters.find(word) != std::string::npos) return collective;
  return std::nullopt;
}

std::string version_of_code(std::int64_t code) {
  return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

}  // namespace twinstep::records
