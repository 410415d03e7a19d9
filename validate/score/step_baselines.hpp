#pragma once

#include <vector>

#include "validate/score/step_score.hpp"

namespace twinstep::validate {

/// Fills the baselines of rows of speed that are predicted. One MFU (or HFU) for each family and GPU type, the
/// geometric mean over its scored rows; the row itself is among them. HFU counts 6 P and recomputation as a third more.
/// A row on several nodes copies the tokens a second and GPU of its own model on one node, where there is such a row:
/// the same parameters, sequence, GPU and recomputation, the nearest micro-batch; or multiplies what that row measured
/// by the ratio that is predicted between the two.
void set_baselines(std::vector<ScoredStep>& rows);

}  // namespace twinstep::validate
