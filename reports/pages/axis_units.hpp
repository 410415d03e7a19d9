#pragma once

#include "reports/page/page.hpp"

/// Axes in the units that suit what is on them.
namespace twinstep::pages {

/// Multiplies all numbers of the chart: those of x with one factor, those of y with the other.
void scale(reports::Chart& chart, double x, double y);

/// Puts axes of time into the unit in which their largest number has one to three digits before the point: us, ms or s;
/// hours or days where they are of whole jobs. Makers of charts need not know it, and several results may need another
/// than the first of them.
void fit_time_units(reports::Chart& chart);

}  // namespace twinstep::pages
