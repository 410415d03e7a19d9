#include "sim/collectives/tuner/environment.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/input_error.hpp"

namespace twinstep::collectives::tuner {
namespace {

using Variables = std::map<std::string, std::string>;
using Mask = Environment::Mask;

// As the variables spell them (src/init.cc), in the order of our enumerations.
constexpr std::array<std::string_view, hardware::kTunedAlgorithms> kAlgorithms{
    "tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
constexpr std::array<std::string_view, hardware::kProtocols> kProtocols{"ll", "ll128", "simple"};
constexpr std::array<std::string_view, kTunedKinds> kKinds{"allreduce", "allgather", "reducescatter", "broadcast",
                                                           "reduce"};
// How far apart two devices may be, nearest first (src/graph/topo.h).
constexpr std::array<std::string_view, 10> kLevels{"loc", "nvl", "nvb", "c2c", "pix",
                                                   "pxb", "p2c", "pxn", "phb", "sys"};

std::string lower(std::string_view text) {
  auto result = std::string{text};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char each) { return static_cast<char>(std::tolower(static_cast<unsigned char>(each))); });
  return result;
}

[[noreturn]] void fail(std::string_view name, std::string_view found, std::string_view expected,
                       std::string_view way_out) {
  throw InputError{
      fmt::format("cluster.library.environment.{}: found {}, expected {}; {}", name, quoted(found), expected, way_out)};
}

/// The parts of `text` between separators, empty ones left out.
std::vector<std::string_view> split(std::string_view text, char separator) {
  auto parts = std::vector<std::string_view>{};
  while (!text.empty()) {
    auto const end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// "ring,tree" switches on what it names and all else off; "^ring" does the opposite.
template <std::size_t Count>
std::array<bool, Count> parse_list(std::string_view name, std::string_view value, std::string_view list,
                                   std::array<std::string_view, Count> const& known) {
  auto const excludes = list.starts_with('^');
  auto result = std::array<bool, Count>{};
  result.fill(excludes);
  auto const elements = split(list.substr(excludes ? 1 : 0), ',');
  if (elements.empty()) fail(name, value, fmt::format("a list of {}", fmt::join(known, ", ")), "name one, or unset it");
  for (auto const element : elements) {
    auto const found = std::find(known.begin(), known.end(), element);
    if (found == known.end())
      fail(name, value, fmt::format("a list of {}", fmt::join(known, ", ")),
           fmt::format("it says {}: {}", quoted(element), suggest_name(element, {known.begin(), known.end()})));
    result[static_cast<std::size_t>(found - known.begin())] = !excludes;
  }
  return result;
}

/// NCCL's parseList (src/graph/tuning.cc): entries between semicolons, each "collective:list"; the first may be a list
/// for all collectives. `set` receives the index of a collective and what its list says.
template <std::size_t Count, class Set>
void parse_mask(std::string_view name, std::string const& original, std::array<std::string_view, Count> const& known,
                Set set) {
  auto const value = lower(original);
  auto is_first = true;
  for (auto const entry : split(value, ';')) {
    auto const colon = entry.find(':');
    if (colon == std::string_view::npos) {
      if (!is_first)
        fail(name, original, "a collective before each list but the first", "write it like \"ring;allreduce:tree\"");
      auto const allowed = parse_list(name, original, entry, known);
      for (std::size_t i = 0; i < kTunedKinds; ++i) set(i, allowed);
    } else {
      auto const kind = std::find(kKinds.begin(), kKinds.end(), entry.substr(0, colon));
      if (kind == kKinds.end())
        fail(name, original, fmt::format("one of {} before the colon", fmt::join(kKinds, ", ")),
             suggest_name(entry.substr(0, colon), {kKinds.begin(), kKinds.end()}));
      set(static_cast<std::size_t>(kind - kKinds.begin()), parse_list(name, original, entry.substr(colon + 1), known));
    }
    is_first = false;
  }
}

/// The variables that mean something here, each looked up once.
class Reader {
 public:
  explicit Reader(Variables const& variables) {
    for (auto const& [name, value] : variables)
      if (!value.empty() && lower(value) != "unset") left_.emplace(name, value);
  }

  std::optional<std::string> text(std::string const& name) {
    auto const found = left_.find(name);
    if (found == left_.end()) return std::nullopt;
    auto value = std::move(found->second);
    left_.erase(found);
    return value;
  }

  std::optional<std::int64_t> integer(std::string const& name, std::int64_t least, std::int64_t most) {
    auto const value = text(name);
    if (!value) return std::nullopt;
    auto number = std::int64_t{0};
    auto const* const end = value->data() + value->size();
    auto const [rest, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc{} || rest != end || number < least || number > most)
      fail(name, *value, fmt::format("a whole number between {} and {}", least, most), "correct it, or unset it");
    return number;
  }

  bool flag(std::string const& name) { return integer(name, 0, 1).value_or(0) == 1; }

  /// 0 and 1; NCCL's 2 leaves it to the machine.
  std::optional<bool> choice(std::string const& name) {
    auto const value = integer(name, 0, 2);
    return !value || *value == 2 ? std::nullopt : std::optional{*value == 1};
  }

  std::optional<Bytes> bytes(std::string const& name, std::int64_t least) {
    auto const value = integer(name, least, std::int64_t{1} << 40);
    return value ? std::optional{Bytes{*value}} : std::nullopt;
  }

  /// Whether a path level, by its name or by its number from before the names (0 … 5), allows no other device.
  bool is_local_only(std::string const& name) {
    auto const value = text(name);
    if (!value) return false;
    auto const is_number = value->size() == 1 && value->front() >= '0' && value->front() <= '5';
    if (!is_number && std::find(kLevels.begin(), kLevels.end(), lower(*value)) == kLevels.end())
      fail(name, *value, fmt::format("one of {}", fmt::join(kLevels, ", ")), "correct it, or unset it");
    return *value == "0" || lower(*value) == kLevels.front();
  }

  std::vector<std::string> rest() const {
    auto names = std::vector<std::string>{};
    for (auto const& [name, value] : left_) names.push_back(name);
    return names;
  }

 private:
  Variables left_;
};

void read_masks(Reader& reader, Environment& result) {
  if (auto const algorithms = reader.text("NCCL_ALGO"))
    parse_mask("NCCL_ALGO", *algorithms, kAlgorithms, [&](std::size_t kind, auto const& allowed) {
      result.masks[kind].algorithms = allowed;
      result.masks[kind].algorithms_are_set = true;
    });
  if (auto const protocols = reader.text("NCCL_PROTO"))
    parse_mask("NCCL_PROTO", *protocols, kProtocols, [&](std::size_t kind, auto const& allowed) {
      result.masks[kind].protocols = allowed;
      result.masks[kind].protocols_are_set = true;
    });
}

void read_channels(Reader& reader, Environment& result) {
  constexpr auto kMost = std::int64_t{64};
  auto const least = std::max(reader.integer("NCCL_MIN_NCHANNELS", 0, kMost).value_or(0),
                              reader.integer("NCCL_MIN_CTAS", 0, kMost).value_or(0));
  auto const most = std::min(reader.integer("NCCL_MAX_NCHANNELS", 1, kMost).value_or(kMost),
                             reader.integer("NCCL_MAX_CTAS", 1, kMost).value_or(kMost));
  if (least > most)
    fail("NCCL_MIN_NCHANNELS", std::to_string(least), fmt::format("at most NCCL_MAX_NCHANNELS, which is {}", most),
         "lower it, or unset it");
  if (least > 0) result.min_channels = least;
  if (most < kMost) result.max_channels = most;
}

}  // namespace

Environment read_environment(Variables const& variables) {
  auto reader = Reader{variables};
  auto result = Environment{};
  read_masks(reader, result);
  read_channels(reader, result);
  result.nvls = reader.choice("NCCL_NVLS_ENABLE");
  result.pat = reader.choice("NCCL_PAT_ENABLE");
  result.collnet = reader.choice("NCCL_COLLNET_ENABLE");
  result.mnnvl = reader.choice("NCCL_MNNVL_ENABLE");
  auto const has_no_peers = reader.is_local_only("NCCL_P2P_LEVEL");
  result.p2p_is_off = reader.flag("NCCL_P2P_DISABLE") || has_no_peers;
  result.ll128_threads = reader.integer("NCCL_LL128_NTHREADS", 160, 640);
  result.nvls_chunk = reader.bytes("NCCL_NVLS_CHUNKSIZE", 1);
  result.nvls_tree_chunk = reader.bytes("NCCL_NVLSTREE_MAX_CHUNKSIZE", 1);
  result.tree_threshold = reader.bytes("NCCL_TREE_THRESHOLD", 0);
  result.ignored = reader.rest();
  return result;
}

}  // namespace twinstep::collectives::tuner
