// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/welch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/result.h"

namespace perf_latency {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method. Converges for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMaxSteps = 10'000;
  constexpr double kPrecision = 1e-15;
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double product = d;
  for (int m = 1; m <= kMaxSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    product *= step;
    if (std::fabs(step - 1) < kPrecision) break;
  }
  return product;
}

// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

Sample describe(std::span<const double> values) {
  Sample sample;
  sample.count = values.size();
  if (values.empty()) return sample;
  const auto n = static_cast<double>(values.size());
  sample.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return sample;
  double squares = 0;
  for (const double value : values) squares += (value - sample.mean) * (value - sample.mean);
  sample.stddev = std::sqrt(squares / (n - 1));
  return sample;
}

double student_t_p_value(double t, double degrees) {
  if (std::isinf(t)) return 0;
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

WelchResult welch_test(const Sample& before, const Sample& after, double least_stddev) {
  PL_CHECK(before.count >= 2 && after.count >= 2);
  const auto variance_of_mean = [&](const Sample& sample) {
    const double stddev = std::max(sample.stddev, least_stddev);
    return stddev * stddev / static_cast<double>(sample.count);
  };
  const double a = variance_of_mean(before);
  const double b = variance_of_mean(after);
  const double difference = after.mean - before.mean;
  WelchResult result;
  if (a + b == 0) {
    result.degrees = static_cast<double>(before.count + after.count - 2);
    if (difference == 0) return result;
    result.t = std::copysign(std::numeric_limits<double>::infinity(), difference);
    result.p = 0;
    return result;
  }
  result.t = difference / std::sqrt(a + b);
  result.degrees = (a + b) * (a + b) /
                   (a * a / static_cast<double>(before.count - 1) +
                    b * b / static_cast<double>(after.count - 1));
  result.p = student_t_p_value(result.t, result.degrees);
  return result;
}

std::vector<bool> holm(std::span<const double> p_values, double alpha) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> claimed(p_values.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    if (p_values[order[i]] > alpha / static_cast<double>(order.size() - i)) break;
    claimed[order[i]] = true;
  }
  return claimed;
}

}  // namespace perf_latency
