// SPDX-License-Identifier: GPL-2.0-only
// Welch's test and Holm's procedure. The expected values were computed apart from this code, by
// integrating Student's density numerically (Simpson's rule after x = sqrt(df) tan u).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analysis/welch.h"

namespace perf_latency {
namespace {

TEST(AnalysisWelch, StudentPValues) {
  struct Known {
    double t, degrees, p;
  };
  for (const Known& known :
       {Known{0, 5, 1}, Known{1, 1, 0.5}, Known{2.776445105, 4, 0.05},
        Known{5, 2.5, 0.02345118997086157}, Known{8.2, 3.7, 0.001672466974796145},
        Known{12.706204736, 1, 0.05}, Known{0.3, 60.5, 0.7652055253285567},
        Known{-2, 10, 0.07338803477072943}})
    EXPECT_NEAR(student_t_p_value(known.t, known.degrees), known.p, 1e-9)
        << known.t << ' ' << known.degrees;
  EXPECT_NEAR(student_t_p_value(40, 4), 2.3340163226012123e-06, 1e-13);
  EXPECT_EQ(student_t_p_value(std::numeric_limits<double>::infinity(), 3), 0);
}

void expect_welch(std::vector<double> before, std::vector<double> after, double least, double t,
                  double degrees, double p) {
  const WelchResult result = welch_test(describe(before), describe(after), least);
  EXPECT_NEAR(result.t, t, 1e-9);
  EXPECT_NEAR(result.degrees, degrees, 1e-9);
  EXPECT_NEAR(result.p, p, 1e-9);
}

TEST(AnalysisWelch, KnownSamples) {
  expect_welch(
      {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
      {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4}, 0,
      2.8529548701715215, 27.88730398842012, 0.008071938172192384);
  expect_welch({10.1, 10.2, 9.9}, {12.0, 12.3, 12.1}, 0, 16.570196998570314, 4,
               7.769063908461811e-05);
  expect_welch({100, 104}, {99, 120, 111, 107}, 0, 1.5096796982565253, 3.878751910970155,
               0.2078061473293986);
}

TEST(AnalysisWelch, ValuesThatAreEqualByLuck) {
  expect_welch({3, 3, 3}, {4, 4, 4}, 0.5, 2.449489742783178, 4, 0.07048399691021842);
  const Sample three = describe(std::vector<double>{3, 3});
  const Sample four = describe(std::vector<double>{4, 4});
  EXPECT_EQ(welch_test(three, three).p, 1);
  EXPECT_EQ(welch_test(three, four).p, 0);
}

TEST(AnalysisWelch, Describe) {
  const Sample sample = describe(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(sample.count, 8u);
  EXPECT_DOUBLE_EQ(sample.mean, 5);
  EXPECT_DOUBLE_EQ(sample.stddev, std::sqrt(32.0 / 7));
  EXPECT_EQ(describe({}).count, 0u);
  EXPECT_EQ(describe(std::vector<double>{7}).stddev, 0);
}

// 0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2: and nothing behind that.
TEST(AnalysisWelch, HolmStopsAtTheFirstThatFails) {
  EXPECT_EQ(holm(std::vector<double>{0.03, 0.01, 0.04, 0.015}, 0.05),
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(holm(std::vector<double>{0.013, 0.02, 0.04, 0.5}, 0.05),
            (std::vector<bool>{false, false, false, false}));
  EXPECT_TRUE(holm({}, 0.05).empty());
}

}  // namespace
}  // namespace perf_latency
