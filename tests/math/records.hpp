#pragma once

#include <vector>

#include "math/exact.hpp"
#include "ops/math/functions.hpp"

// One record for each elementary function: what it computes and where to look closely.
namespace apsis::test {

struct Interval {
  double low, high;
};

struct UnaryRecord {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  ExactUnary exact;
  std::vector<Interval> intervals;  // sampled evenly, besides all bit patterns
  std::vector<double> points;       // with their neighbours
  int cost = 1;                     // of the exact value; divides the number of samples
  double absolute = 0;  // errors below this are no errors (near the negative zeros of lgamma and digamma)
};

struct BinaryRecord {
  const char* name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  ExactBinary exact;
  std::vector<Interval> x, y;  // pairs of intervals, besides all bit patterns
};

const std::vector<UnaryRecord>& unary_records();
const std::vector<BinaryRecord>& binary_records();
const detail::math::FunctionRecord& function_record(const char* name);

}  // namespace apsis::test
