#include "reports/accuracy.hpp"
#include "reports/calibration.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

void write(JsonWriter& out, CalibrationReport::Kernels const& kernels) {
  out.begin_object();
  out.member("kind", kernels.kind);
  out.member("points", kernels.points);
  out.member("before", kernels.before);
  out.member("fitted", kernels.fitted);
  out.member("held_out", kernels.held_out);
  out.end_object();
}

void write(JsonWriter& out, CalibrationReport::Number const& number) {
  out.begin_object();
  out.member("path", number.path);
  out.member("unit", number.unit);
  out.member("before", number.before);
  out.member("value", number.value);
  out.member("spread", number.spread);
  out.member("points", number.points);
  out.member("left_out", number.left_out);
  out.end_object();
}

void write(JsonWriter& out, CalibrationReport::Sweep const& sweep) {
  out.begin_object();
  out.member("collective", sweep.collective);
  out.member("ranks", sweep.ranks);
  out.member("nodes", sweep.nodes);
  out.member("smallest_bytes", sweep.smallest);
  out.member("largest_bytes", sweep.largest);
  out.end_object();
}

}  // namespace

std::string calibration_json(CalibrationReport const& report) {
  auto out = JsonWriter{};
  out.begin_object();
  out.member("cluster", report.cluster);
  out.member("out", report.out);
  out.member("calibration", report.calibration);
  out.member("data_sha256", report.data_hash);
  auto const write_each = [](JsonWriter& list, auto const& each) { write(list, each); };
  write_array(out, "numbers", report.numbers, write_each);
  write_array(out, "sweeps", report.sweeps, write_each);
  write_array(out, "predictors", report.accuracy.predictors,
              [&](JsonWriter& list, PredictorAccuracy const& each) { write_predictor(list, report.accuracy, each); });
  write_array(out, "kernels", report.kernels, write_each);
  write_values(out, "skipped", report.skipped);
  out.end_object();
  return std::move(out).finish();
}

}  // namespace twinstep::reports
