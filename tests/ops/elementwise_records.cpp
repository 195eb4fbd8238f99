// Records of the elementwise ops.

#include "ops/bits_params.hpp"
#include "ops/convert_params.hpp"
#include "ops/forbid_params.hpp"
#include "ops/gamma_params.hpp"
#include "ops/power_params.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

struct Interval {
  double low, high;
};

class Elementwise {
 public:
  Elementwise(const Op& op, DtypeSet dtypes, std::vector<Interval> domain) : domain_(std::move(domain)) {
    record_.op = &op;
    for (int d = 0; d < dtype_count; ++d)
      if (detail::contains(dtypes, static_cast<Dtype>(d))) add_examples(static_cast<Dtype>(d));
    if (op.jvp && detail::contains(dtypes, Dtype::F64)) add_smooth();
  }

  Elementwise& linear(std::vector<std::vector<bool>> masks) {
    record_.linear = std::move(masks);
    return *this;
  }
  Elementwise& tolerance(double t) {
    record_.jvp_tolerance = t;
    return *this;
  }
  operator Record() const { return record_; }

 private:
  void add_examples(Dtype dtype) {
    const std::string name(name_of(dtype));
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}, Shape{2, 0, 3}, Shape{67}})
      record_.examples.push_back({name + to_string(shape), {}, draw(dtype, shape)});
    record_.examples.push_back({name + " edges", {}, edge_operands(dtype, domain_.size())});
  }
  void add_smooth() {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3}})
      record_.smooth.push_back({"f64" + to_string(shape), {}, draw(Dtype::F64, shape)});
  }
  std::vector<Array> draw(Dtype dtype, const Shape& shape) {
    std::vector<Array> operands;
    for (Interval i : domain_) operands.push_back(random_array(random_, dtype, shape, i.low, i.high));
    return operands;
  }

  Record record_;
  std::vector<Interval> domain_;
  Random random_{20261121};
};

// Asked for what it allows: examples are batched and compiled, smooth ones differentiated and transposed.
Record forbid_record() {
  Random random(3);
  Record record{&forbid_op, {}, {}, 1e-7, {{true}}};
  Params not_reversed = make_params(ForbidParams{Forbid::Reverse, "own"}),
         not_batched = make_params(ForbidParams{Forbid::Batching, "own"});
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{0}, Shape{67}})
    record.examples.push_back(
        {to_string(shape), not_reversed, {random_array(random, Dtype::F32, shape, -3, 3)}});
  record.smooth.push_back({"f64[3]", not_batched, {random_array(random, Dtype::F64, {3}, -3, 3)}});
  return record;
}

Record select_record() {
  Random random(1);
  Record record{&select_op, {}, {}, 1e-7, {{false, true, true}}};
  auto example = [&](Dtype dtype, const Shape& shape) {
    return Example{std::string(name_of(dtype)) + to_string(shape),
                   {},
                   {random_array(random, Dtype::Bool, shape, -1, 1),
                    random_array(random, dtype, shape, -9, 9), random_array(random, dtype, shape, -9, 9)}};
  };
  for (int d = 0; d < dtype_count; ++d)
    for (const Shape& shape : {Shape{}, Shape{9}, Shape{0}, Shape{2, 3}})
      record.examples.push_back(example(static_cast<Dtype>(d), shape));
  record.smooth.push_back(example(Dtype::F64, {9}));
  return record;
}

Record convert_record() {
  Random random(2);
  Record record{&convert_op, {}, {}, 1e-7, {{true}}};
  for (int from = 0; from < dtype_count; ++from)
    for (int to = 0; to < dtype_count; ++to) {
      const auto source = static_cast<Dtype>(from), target = static_cast<Dtype>(to);
      const std::string what = std::string(name_of(source)) + " to " + std::string(name_of(target));
      record.examples.push_back({what, make_params(ConvertParams{target, false}), edge_operands(source, 1)});
      record.examples.push_back({what + " empty",
                                 make_params(ConvertParams{target, false}),
                                 {random_array(random, source, {0, 2}, 0, 1)}});
    }
  record.examples.push_back(
      {"weak", make_params(ConvertParams{Dtype::F64, true}), {random_array(random, Dtype::F64, {3}, 0, 1)}});
  // Differences need a result as fine as the operand, so to f64; that the tangent takes the dtype is seen in
  // `linear`.
  record.smooth.push_back({"f64 to weak f64",
                           make_params(ConvertParams{Dtype::F64, true}),
                           {random_array(random, Dtype::F64, {3}, -1, 1)}});
  return record;
}

// Bits stay, whatever they mean: NaNs with a payload are what reads of integers are.
Record bitcast_record() {
  Record record{&bitcast_op, {}, {}};
  for (int from = 0; from < dtype_count; ++from)
    for (int to = 0; to < dtype_count; ++to) {
      const auto source = static_cast<Dtype>(from), target = static_cast<Dtype>(to);
      const auto has_bits = [](Dtype d) { return d != Dtype::Bool && !is_complex(d); };
      if (!has_bits(source) || !has_bits(target) || item_size(source) != item_size(target)) continue;
      record.examples.push_back({std::string(name_of(source)) + " to " + std::string(name_of(target)),
                                 make_params(BitcastParams{target}), edge_operands(source, 1)});
    }
  return record;
}

// What keeps all bits is linear exactly.
Record reduce_precision_record() {
  Random random(3);
  Record record{&reduce_precision_op, {}, {}, 1e-7, {{true}}};
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!detail::contains(float_dtypes, dtype)) continue;
    for (const auto& [exponent, mantissa] : {std::pair{8, 7}, {5, 10}, {11, 52}, {4, 3}, {8, 0}, {2, 30}})
      record.examples.push_back(
          {std::string(name_of(dtype)) + " to " + std::to_string(exponent) + ", " + std::to_string(mantissa),
           make_params(ReducePrecisionParams{exponent, mantissa}), edge_operands(dtype, 1)});
  }
  record.smooth.push_back({"all bits",
                           make_params(ReducePrecisionParams{11, 52}),
                           {random_array(random, Dtype::F64, {2, 3}, 0.5, 2)}});
  return record;
}

Record integer_pow_record() {
  Random random(3);
  Record record{&integer_pow_op, {}, {}};
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!detail::contains(number_dtypes, dtype)) continue;
    for (std::int64_t n : {0, 1, 2, 3, 5, 8, 31, -1, -2, -3}) {
      if (n < 0 && is_integer(dtype)) continue;
      record.examples.push_back({std::string(name_of(dtype)) + " to the power " + std::to_string(n),
                                 make_params(IntegerPowParams{n}), edge_operands(dtype, 1)});
    }
  }
  for (std::int64_t n : {0, 1, 2, 3, 5, -1, -2})
    record.smooth.push_back({"power " + std::to_string(n),
                             make_params(IntegerPowParams{n}),
                             {random_array(random, Dtype::F64, {2, 3}, 0.5, 2)}});
  return record;
}

Record polygamma_record() {
  Random random(3);
  Record record{&polygamma_op, {}, {}};
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!detail::contains(float_dtypes, dtype)) continue;
    for (std::int64_t n : {1, 2, 7, 40})
      record.examples.push_back({std::string(name_of(dtype)) + " of order " + std::to_string(n),
                                 make_params(PolygammaParams{n}), edge_operands(dtype, 1)});
  }
  for (std::int64_t n : {1, 2, 3})
    record.smooth.push_back({"order " + std::to_string(n),
                             make_params(PolygammaParams{n}),
                             {random_array(random, Dtype::F64, {2, 3}, 0.5, 6)}});
  return record;
}

}  // namespace

std::vector<Record> elementwise_records() {
  const Interval any{-3, 3}, positive{0.2, 3}, large{10, 60};
  std::vector<Record> records = {
      Elementwise(add_op, number_dtypes, {any, any}).linear({{true, true}}),
      Elementwise(sub_op, number_dtypes, {any, any}).linear({{true, true}}),
      Elementwise(mul_op, number_dtypes, {any, any}).linear({{true, false}, {false, true}}),
      Elementwise(div_op, number_dtypes, {any, positive}).linear({{true, false}}),
      Elementwise(rem_op, number_dtypes, {large, {3, 3.5}}).tolerance(1e-6),
      Elementwise(neg_op, number_dtypes, {any}).linear({{true}}),
      Elementwise(fma_op, float_dtypes, {any, any, any}).linear({{true, false, true}, {false, true, true}}),
      Elementwise(abs_op, number_dtypes, {{0.1, 3}}),
      Elementwise(sign_op, number_dtypes, {positive}),
      Elementwise(difference_of_products_op, only(Dtype::F32) | only(Dtype::F64), {any, any, any, any})
          .linear({{true, false, true, false}, {false, true, false, true}}),
      Elementwise(copysign_op, float_dtypes, {positive, {-2, -1}}),

      Elementwise(eq_op, real_dtypes, {any, any}),
      Elementwise(ne_op, real_dtypes, {any, any}),
      Elementwise(lt_op, number_dtypes, {any, any}),
      Elementwise(le_op, number_dtypes, {any, any}),
      Elementwise(gt_op, number_dtypes, {any, any}),
      Elementwise(ge_op, number_dtypes, {any, any}),
      Elementwise(maximum_op, real_dtypes, {any, any}),
      Elementwise(minimum_op, real_dtypes, {any, any}),

      Elementwise(bit_and_op, bit_dtypes, {large, large}),
      Elementwise(bit_or_op, bit_dtypes, {large, large}),
      Elementwise(bit_xor_op, bit_dtypes, {large, large}),
      Elementwise(bit_not_op, bit_dtypes, {large}),
      Elementwise(shift_left_op, integer_dtypes, {large, {-1, 9}}),
      Elementwise(shift_right_arithmetic_op, integer_dtypes, {{-90, 90}, {-1, 9}}),
      Elementwise(shift_right_logical_op, integer_dtypes, {{-90, 90}, {-1, 9}}),
      Elementwise(population_count_op, integer_dtypes, {large}),
      Elementwise(count_leading_zeros_op, integer_dtypes, {large}),

      Elementwise(is_finite_op, float_dtypes, {any}),
      Elementwise(stop_gradient_op, all_dtypes, {any}),
      Elementwise(nextafter_op, dtypes_between(Dtype::F32, Dtype::F64), {any}),
      forbid_record(),
      select_record(),
      convert_record(),
      bitcast_record(),
      reduce_precision_record(),

      Elementwise(floor_op, float_dtypes, {{0.1, 0.9}}),
      Elementwise(round_op, float_dtypes, {{0.6, 1.4}}),

      Elementwise(hypot_op, float_dtypes, {positive, positive}),
      Elementwise(pow_op, number_dtypes, {positive, any}),
      integer_pow_record(),

      Elementwise(logaddexp_op, float_dtypes, {any, any}),

      Elementwise(atan2_op, float_dtypes, {any, positive}),

      polygamma_record(),

#define FUNCTION(name, exact, intervals, points, low, high, ...) \
  Elementwise(name##_op, float_dtypes, {{low, high}}),
#include "math/unary_functions.inc"
#undef FUNCTION
  };
  return records;
}

}  // namespace apsis::testing
