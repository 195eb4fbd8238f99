// The ops give JAX's values and gradients, edge cases included.
#include "golden/suite.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace {

using namespace apsis;
using namespace apsis::detail;
using golden::Arrays;
using golden::Case;
using golden::Family;
using golden::numbers;
using golden::Runner;

Dims dims(const Case& c, const std::string& key) { return Dims(numbers(c, key)); }

Runner op(const Op& which) {
  return [&which](const Case&, std::span<const Array> x) { return bind_all(which, Params{}, x); };
}
Runner reduction(const Op& which) {
  return [&which](const Case& c, std::span<const Array> x) {
    return bind_all(which, make_params(ReduceParams{dims(c, "axis")}), x);
  };
}
Runner arg_reduction(const Op& which) {
  return [&which](const Case& c, std::span<const Array> x) {
    return bind_all(which, make_params(ArgReduceParams{numbers(c, "axis")[0]}), x);
  };
}
Runner cumulative(const Op& which) {
  return [&which](const Case& c, std::span<const Array> x) {
    return bind_all(which,
                    make_params(CumulativeParams{numbers(c, "axis")[0], numbers(c, "reverse")[0] != 0}), x);
  };
}
template <class F>
Runner one(F f) {
  return [f](const Case& c, std::span<const Array> x) { return Arrays{f(c, x)}; };
}

/// JAX's functions count negative starts from the end; the ops clamp only.
Arrays starts(const Array& x, const Array& s) {
  Arrays out;
  std::vector<std::int64_t> places = s.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i)
    out.push_back(Array(places[i] < 0 ? places[i] + x.dim(static_cast<int>(i)) : places[i], i64));
  return out;
}

Family shape_family() {
  return {
      "shape",
      0,
      0,
      {{"transpose", one([](const Case& c, auto x) { return lax::transpose(x[0], dims(c, "permutation")); })},
       {"reshape", one([](const Case& c, auto x) { return lax::reshape(x[0], dims(c, "shape")); })},
       {"rev", one([](const Case& c, auto x) { return lax::reverse(x[0], dims(c, "axes")); })},
       {"concatenate", one([](const Case&, auto x) { return lax::concatenate(x, 1); })},
       {"broadcast_in_dim", one([](const Case& c, auto x) {
          return lax::broadcast_in_dim(x[0], dims(c, "shape"), dims(c, "dims"));
        })},
       {"slice", one([](const Case& c, auto x) {
          return lax::slice(x[0], dims(c, "start"), dims(c, "limit"), dims(c, "strides"));
        })},
       {"pad", one([](const Case& c, auto x) {
          return lax::pad(x[0], x[1], dims(c, "lo"), dims(c, "hi"), dims(c, "interior"));
        })}},
      30};
}

Family integer_family() {
  return {"integer",
          0,
          0,
          {{"div", op(div_op)},
           {"add", op(add_op)},
           {"sub", op(sub_op)},
           {"mul", op(mul_op)},
           {"max", op(maximum_op)},
           {"min", op(minimum_op)},
           {"shift_left", op(shift_left_op)},
           {"shift_right_arithmetic", op(shift_right_arithmetic_op)},
           {"shift_right_logical", op(shift_right_logical_op)},
           {"and", op(bit_and_op)},
           {"or", op(bit_or_op)},
           {"xor", op(bit_xor_op)},
           {"neg", op(neg_op)},
           {"abs", op(abs_op)},
           {"sign", op(sign_op)},
           {"not", op(bit_not_op)},
           {"population_count", op(population_count_op)},
           {"clz", op(count_leading_zeros_op)}},
          8 * 18};
}

Family convert_family() {
  return {"convert",
          0,
          0,
          {{"convert", one([](const Case& c, auto x) {
              return lax::convert(x[0], golden::dtype_named(c.text.at("to")));
            })}},
          150};
}

Family dot_family() {
  return {"dot",
          1e-13,
          1e-5,
          {{"dot_general", one([](const Case& c, auto x) {
              return lax::dot_general(x[0], x[1], dims(c, "lhs_contract"), dims(c, "rhs_contract"),
                                      dims(c, "lhs_batch"), dims(c, "rhs_batch"));
            })}},
          27};
}

Family reduce_family() {
  return {"reduce",
          1e-14,
          1e-6,
          {{"sum", reduction(reduce_sum_op)},
           {"prod", reduction(reduce_prod_op)},
           {"max", reduction(reduce_max_op)},
           {"min", reduction(reduce_min_op)},
           {"any", reduction(reduce_or_op)},
           {"all", reduction(reduce_and_op)},
           {"lax_sum", reduction(reduce_sum_op)},
           {"lax_prod", reduction(reduce_prod_op)},
           {"lax_max", reduction(reduce_max_op)},
           {"lax_min", reduction(reduce_min_op)},
           {"argmax", arg_reduction(argmax_op)},
           {"argmin", arg_reduction(argmin_op)},
           {"cumsum", cumulative(cumsum_op)},
           {"cumprod", cumulative(cumprod_op)},
           {"cummax", cumulative(cummax_op)},
           {"cummin", cumulative(cummin_op)}},
          100};
}

Family index_family() {
  return {"index",
          0,
          0,
          {{"dynamic_slice", one([](const Case& c, auto x) {
              return lax::dynamic_slice(x[0], starts(x[0], x[1]), dims(c, "sizes"));
            })},
           {"dynamic_update_slice", one([](const Case&, auto x) {
              return lax::dynamic_update_slice(x[0], x[1], starts(x[0], x[2]));
            })}},
          20};
}

class GoldenOps : public testing::TestWithParam<Family (*)()> {};

TEST_P(GoldenOps, equal_jax) { golden::check_family(GetParam()()); }

INSTANTIATE_TEST_SUITE_P(files, GoldenOps,
                         testing::Values(shape_family, integer_family, convert_family, dot_family,
                                         reduce_family, index_family),
                         [](const auto& info) { return std::string(info.param().file); });

}  // namespace
