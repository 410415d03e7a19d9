#pragma once

#include "sim/io/document.hpp"
#include "validate/records/nccl_tests.hpp"

namespace twinstep::records {

/// Whether a text begins like a JSON object, as no log does.
[[nodiscard]] bool begins_object(std::string_view text);

/// Reads what nccl-tests writes with -J FILE (NVIDIA/nccl-tests, src/util.cu, JSON_FILE_VERSION 1 and 2): "args" names
/// the program, "config.devices" has one entry for each process, of which each has nthreads x ngpus ranks, "results"
/// one for each size; NaN is the string "nan". Only NCCL_* of "env" are taken. Throws InputError for any other
/// document.
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_json(io::Node const& document);

}  // namespace twinstep::records
