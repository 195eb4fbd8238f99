#pragma once

// One record an op: what the generic suites run it on. The suites (rules, emission, staging, and with a
// compiler evaluator against compiled code) take everything from here, so a new op needs a record and no test
// of its own.

#include <string>
#include <vector>

#include "apsis/core/op.hpp"
#include "ops/dtype_set.hpp"

namespace apsis::testing {

/// One call of an op.
struct Example {
  std::string what;
  Params params;
  std::vector<Array> operands;
};

struct Record {
  const Op* op;
  /// Any values and shapes: edges, zero sizes, every dtype. Results are compared bit for bit.
  std::vector<Example> examples;
  /// f64 operands in the inside of the domain, away from kinks, where differences approximate derivatives.
  std::vector<Example> smooth;
  double jvp_tolerance = 1e-7;
  /// Sets of operands (of the smooth examples with as many) in which the op is linear, the others held.
  std::vector<std::vector<bool>> linear = {};
};

/// The records of all ops, by family.
std::vector<Record> all_records();
std::vector<Record> elementwise_records();
std::vector<Record> reduce_records();
std::vector<Record> move_records();
std::vector<Record> matrix_records();
std::vector<Record> fft_records();
std::vector<Record> convolution_records();

/// A small generator of its own, so that examples are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word();
  /// In [low, high).
  double uniform(double low, double high);

 private:
  std::uint64_t state_;
};

/// Elements drawn from [low, high), converted to the dtype.
Array random_array(Random& random, Dtype dtype, const Shape& shape, double low, double high);
/// The values where implementations go wrong: zeros, ends of ranges, subnormals, infinities, NaN.
std::vector<double> edge_values(Dtype dtype);
/// `count` operands that together run through all combinations of edge values.
std::vector<Array> edge_operands(Dtype dtype, std::size_t count);
/// An array of given values.
Array array_of(Dtype dtype, const Shape& shape, const std::vector<double>& values);

/// Equal dtype, shape and elements, bit for bit; all NaNs are equal.
bool same_elements(const Array& a, const Array& b);
/// The results of an op on concrete operands.
std::vector<Array> run(const Op& op, const Params& params, std::span<const Array> operands);

}  // namespace apsis::testing
