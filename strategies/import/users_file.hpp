#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/document.hpp"

/// Configurations of other programs as parts of a scenario.
namespace twinstep::strategies {

/// A part of a scenario as it grows. What it holds keeps the place in the user's file that it comes from.
class Part {
 public:
  /// `name`: "strategy", for messages.
  explicit Part(std::string name);

  /// Adds a member, or replaces it.
  void put(std::string_view key, io::Node const& value);
  /// The same for a value that follows from `from`.
  void put(std::string_view key, io::Node const& from, std::string_view text);
  void put(std::string_view key, io::Node const& from, char const* text) { put(key, from, std::string_view{text}); }
  void put(std::string_view key, io::Node const& from, bool fact);
  void put(std::string_view key, io::Node const& from, std::int64_t number);
  [[nodiscard]] bool has(std::string_view key) const { return node_.has(key); }
  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] io::Node const& node() const { return node_; }

 private:
  std::string name_;
  io::Node node_;
};

/// What a user's file says about a step.
struct UsersFile {
  /// Something that the file leaves to the command line or to the code that is run.
  struct Open {
    std::string part;  ///< of the scenario that may say it: "training"
    std::string key;
    std::string warning;  ///< if it does not
  };

  Part cluster{"cluster"};
  Part model{"model"};
  Part training{"training"};
  Part strategy{"strategy"};
  std::vector<Open> open;
  std::vector<std::string> warnings;  ///< keys that matter and are not modelled, and unknown ones
};

/// Which program's.
enum class UsersFormat : std::uint8_t { kDeepSpeed, kAccelerate, kTorchtitan, kMegatron };

/// Reads a text; files that it names are looked for beside it, and `read` gives theirs. Throws InputError: a file of
/// another kind, a value that cannot be, parallelism that is not modelled.
[[nodiscard]] UsersFile read_users_file(UsersFormat format, io::Source source,
                                        io::ReadText const& read = io::read_text);

/// Whose key in a scenario's strategy names such a file: "deepspeed_config".
[[nodiscard]] std::string_view scenario_key(UsersFormat format);

}  // namespace twinstep::strategies
