#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/hardware/library.hpp"
#include "sim/io/document.hpp"
#include "validate/records/collective_record.hpp"
#include "validate/records/launch_command.hpp"

/// What others measured: logs of nccl-tests and rccl-tests.
namespace twinstep::records {

/// A "#  Rank" line.
struct LoggedRank {
  std::int64_t rank = 0;
  std::int64_t process = 0;
  std::string host;
  std::int64_t device = 0;
  std::string device_name;
  bool operator==(LoggedRank const&) const = default;
};

/// One half of a row.
struct LoggedTiming {
  Duration time;
  std::optional<BytesPerSecond> algorithm_bandwidth;
  std::optional<BytesPerSecond> bus_bandwidth;
  std::optional<std::int64_t> wrong;  ///< elements with a wrong value; nothing for "N/A" and for the errors of old logs
};

struct LoggedRow {
  Bytes size;
  std::optional<std::int64_t> count;
  std::optional<LoggedTiming> out_of_place;
  std::optional<LoggedTiming> in_place;
};

/// One table of a log and what is said about it. What the log does not say is empty.
struct CollectiveLog {
  std::optional<validate::MeasuredKind> collective;  ///< by the name of its program ("all_reduce_perf") or a caption
  std::vector<LoggedRank> seen_ranks;
  std::optional<std::int64_t> ranks;
  std::optional<LaunchCommand> command;
  std::int64_t programs = 1;                   ///< that wrote into one log, each with a rank 0 of its own
  std::optional<hardware::Launcher> launcher;  ///< by the processes of the ranks of one host
  bool is_rccl = false;
  std::string library_version;                     ///< "2.28.7"
  std::map<std::string, std::string> environment;  ///< NCCL_* and RCCL_* that were set
  std::string type;                                ///< "float"
  std::string reduction;                           ///< "sum"; "none" where data only moves
  std::vector<LoggedRow> rows;
  std::optional<BytesPerSecond> average_bus_bandwidth;
  std::vector<std::string> warnings;  ///< one line each, beginning with the file and the line

  [[nodiscard]] std::vector<std::string> hosts() const;         ///< in order of appearance
  [[nodiscard]] std::vector<std::string> device_names() const;  ///< different ones, in order of appearance
};

/// Reads a log, as text or as the JSON that nccl-tests writes with -J: one CollectiveLog for each table, and for each
/// element type and reduction in it. `name` is what messages call it. Lines of NCCL's own and of launchers may stand
/// between and in front of the rows, or cut them in two; rows that are not complete are left out with a warning. Throws
/// InputError where there is no table. `told_ranks` took part where nothing in the log says how many.
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests(std::string const& name, std::string_view text,
                                                         std::optional<std::int64_t> told_ranks = {});

/// Reads what nccl-tests writes with -J FILE (NVIDIA/nccl-tests, src/util.cu, JSON_FILE_VERSION 1 and 2): "args" names
/// the program, "config.devices" has one entry for each process, of which each has nthreads x ngpus ranks, "results"
/// one for each size; NaN is the string "nan". Only NCCL_* of "env" are taken. Throws InputError for any other
/// document.
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_json(io::Node const& document);

/// Adds what follows from the rest of a log: the number of ranks and their launcher from the ranks that were listed,
/// by the command that started the program, by `told_ranks` or by the columns, in this order, and warnings for what it
/// does not say and for wrong elements.
void complete(std::string const& name, CollectiveLog& log, std::optional<std::int64_t> told_ranks = {});

/// The logs as records of one system each, called by the file's name. Throws InputError for a log that does not say
/// which collective it is of or how many ranks took part, and for a time of zero.
[[nodiscard]] std::vector<validate::CollectiveRecord> records_of(std::string const& name,
                                                                 std::vector<CollectiveLog> const& logs);

/// The logs as a JSON array of records with the keys that collections of such measurements use: collective, nodes,
/// gpus_per_node, ranks, gpu, nccl_version, env, dtype, tool, rows [size_bytes, time_us, algbw_GBps, busbw_GBps],
/// rows_in_place, source, …; null where the log does not say.
[[nodiscard]] std::string records_json(std::string const& name, std::vector<CollectiveLog> const& logs);

}  // namespace twinstep::records
