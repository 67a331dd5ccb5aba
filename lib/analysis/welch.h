// SPDX-License-Identifier: GPL-2.0-only
// Is the difference of two sets of values larger than their noise? Welch's test, for many rows at once.
//
// Welch's t test compares two means without supposing that both sides scatter alike (B. L. Welch,
// Biometrika 34, 1947; the degrees of freedom by Welch and Satterthwaite). Its p value is the chance
// of a difference as large as this one where there is none. With many rows some p values are small by
// chance: Holm's procedure (1979) keeps the chance of even one wrong claim over all rows at `alpha`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace perf_latency {

struct Sample {
  size_t count = 0;
  double mean = 0;
  double stddev = 0;  // of the population that the values are drawn from (n - 1); 0 for one value
};
Sample describe(std::span<const double> values);

// Two-sided p value of Student's t with so many degrees of freedom (may be fractional, at least 1).
double student_t_p_value(double t, double degrees);

struct WelchResult {
  double t = 0;        // positive: the second side is larger
  double degrees = 0;  // of freedom
  double p = 1;
};
// Each side needs two values. A side's scatter is taken to be at least `least_stddev`: values may be
// equal by luck, or because they are too coarse to differ.
WelchResult welch_test(const Sample& before, const Sample& after, double least_stddev = 0);

// For each p value whether it may be claimed at this level, all claims together.
std::vector<bool> holm(std::span<const double> p_values, double alpha);

}  // namespace perf_latency
