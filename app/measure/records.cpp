#include "app/measure/records.hpp"

#include <fmt/core.h>

#include "app/output.hpp"
#include "hw_profiles/facts.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/version.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::app {
namespace {

using io::check_writable;
using io::write_file;

}  // namespace

MeasuredRecords::MeasuredRecords(MeasureOptions const& options) : options_{options} {
  if (options.out) check_writable("--out", *options.out);
  if (!options.cluster) return;
  cluster_ = io::parse({"--cluster", *options.cluster, false});
  if (!cluster_->is(io::Node::Type::kObject))
    cluster_->fail("found no object, expected the physical facts of the machine",
                   R"(write it like {"gpu": "h100", "gpus_per_node": 8, "nodes": 2})");
  static_cast<void>(hw_profiles::read_facts(*cluster_));  // now, not when all is measured
}

void MeasuredRecords::belong_to(measure::Job const& job) {
  job_ = job;
}

void MeasuredRecords::add(Members members) {
  records_.push_back(std::move(members));
  save();
}

void MeasuredRecords::save() const {
  if (options_.out) write_file(*options_.out, text());
}

void MeasuredRecords::finish() {
  is_complete_ = true;
  save();
  if (options_.as_json) print(text());
}

std::string MeasuredRecords::text() const {
  auto json = io::JsonWriter{};
  json.begin_array();
  for (auto const& members : records_) {
    json.begin_object();
    members(json);
    write_shared(json);
    json.end_object();
  }
  json.end_array();
  return std::move(json).finish();
}

void MeasuredRecords::write_shared(io::JsonWriter& json) const {
  json.member("system", options_.system.empty() ? job_.device : options_.system);
  json.member("device", job_.device);
  json.member("backend", job_.backend);
  json.member("library_version", job_.library);
  json.member("ranks", job_.ranks);
  json.member("nodes", divide_up(job_.ranks, job_.ranks_per_node));
  json.member("gpus_per_node", job_.ranks_per_node);
  json.member("tool", "twinstep measure");
  json.member("tool_version", kVersion);
  json.member("date", today());
  if (cluster_) {
    json.key("cluster");
    io::write(json, *cluster_);
  }
  json.member("complete", is_complete_);
}

}  // namespace twinstep::app
