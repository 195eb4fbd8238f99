// Records of the reductions and the running combinations.

#include "ops/records.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

struct Geometry {
  Shape shape;
  Dims axes;
};

// Lengths on both sides of every change of the order of summation.
const std::vector<Geometry> geometries = {
    {{5}, {0}},       {{15}, {0}},         {{16}, {0}},
    {{17}, {0}},      {{2, 3, 4}, {0}},    {{2, 3, 4}, {1}},
    {{2, 3, 4}, {2}}, {{2, 3, 4}, {0, 2}}, {{2, 3, 4}, {0, 1, 2}},
    {{3, 16}, {1}},   {{16, 3}, {0}},      {{255}, {0}},
    {{256}, {0}},     {{300}, {0}},        {{4095}, {0}},
    {{4096}, {0}},    {{4097}, {0}},       {{9000}, {0}},
    {{0, 3}, {1}},
};
const std::vector<Geometry> empty_geometries = {{{0}, {0}}, {{2, 0, 3}, {1}}, {{0, 3}, {0, 1}}};

Record reduction(const Op& op, DtypeSet dtypes, bool takes_empty, bool differentiable, double low = -2,
                 double high = 2) {
  Random random(11);
  Record record{&op, {}, {}};
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    if (!detail::contains(dtypes, dtype)) continue;
    auto add = [&](const Geometry& g) {
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(g.shape) + " over " + to_string(g.axes),
           make_params(ReduceParams{g.axes}),
           {random_array(random, dtype, g.shape, low, high)}});
    };
    for (const Geometry& g : geometries) add(g);
    if (takes_empty)
      for (const Geometry& g : empty_geometries) add(g);
    const std::vector<Array> edges = edge_operands(dtype, 2);
    const auto side = static_cast<std::int64_t>(edge_values(dtype).size());
    record.examples.push_back({std::string(name_of(dtype)) + " edges",
                               make_params(ReduceParams{{1}}),
                               {array_of(dtype, {side * side, 2}, [&] {
                                 std::vector<double> first = edges[0].to_vector<double>(),
                                                     second = edges[1].to_vector<double>(), both;
                                 for (std::size_t i = 0; i < first.size(); ++i)
                                   both.insert(both.end(), {first[i], second[i]});
                                 return both;
                               }())}});
  }
  if (differentiable)
    for (const Geometry& g : {Geometry{{5}, {0}}, {{2, 3, 4}, {0, 2}}, {{2, 3}, {0}}})
      record.smooth.push_back({"f64" + to_string(g.shape),
                               make_params(ReduceParams{g.axes}),
                               {random_array(random, Dtype::F64, g.shape, low, high)}});
  return record;
}

template <class AxisParams>
Record along_axis(const Op& op, DtypeSet dtypes, const std::vector<AxisParams>& all_params,
                  bool differentiable) {
  Random random(12);
  Record record{&op, {}, {}};
  for (const AxisParams& p : all_params) {
    const Params params = make_params(p);
    for (int d = 0; d < dtype_count; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!detail::contains(dtypes, dtype)) continue;
      for (const Shape& shape : {Shape{5, 2}, Shape{3, 4, 2}, Shape{2, 17}})
        record.examples.push_back({std::string(name_of(dtype)) + to_string(shape) + to_string(params),
                                   params,
                                   {random_array(random, dtype, shape, -3, 3)}});
      const auto side = static_cast<std::int64_t>(edge_values(dtype).size());
      for (const Array& edges : edge_operands(dtype, 2))
        record.examples.push_back({std::string(name_of(dtype)) + " edges" + to_string(params),
                                   params,
                                   {array_of(dtype, {side, side}, edges.to_vector<double>())}});
    }
    if (differentiable)
      for (const Shape& shape : {Shape{5, 3}, Shape{1, 2}, Shape{2, 7}})
        record.smooth.push_back({"f64" + to_string(shape) + to_string(params),
                                 params,
                                 {random_array(random, Dtype::F64, shape, -2, 2)}});
  }
  return record;
}

/// Sums with factors: of one entry, of many, and of lines side by side, of each floating dtype, both ways.
void add_factors(Record& record) {
  Random random(13);
  record.linear.push_back({true, false});
  for (const CumulativeParams& p : {CumulativeParams{0, false}, {0, true}, {1, false}, {1, true}}) {
    const Params params = make_params(p);
    const auto add = [&](std::vector<Example>& examples, Dtype dtype, const Shape& shape) {
      Shape steps = shape;
      --steps[static_cast<std::size_t>(p.axis)];
      examples.push_back(
          {std::string(name_of(dtype)) + to_string(shape) + to_string(params) + " with factors",
           params,
           {random_array(random, dtype, shape, -2, 2), random_array(random, dtype, steps, -1, 1)}});
    };
    for (Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
      for (const Shape& shape : {Shape{5, 2}, Shape{3, 4, 2}, Shape{2, 17}, Shape{1, 1}, Shape{3, 600}})
        add(record.examples, dtype, shape);
      const auto side = static_cast<std::int64_t>(edge_values(dtype).size());
      const std::vector<Array> edges = edge_operands(dtype, 2);
      const Shape terms{side, side}, steps = p.axis == 0 ? Shape{side - 1, side} : Shape{side, side - 1};
      std::vector<double> factors = edges[1].to_vector<double>();
      factors.resize(static_cast<std::size_t>(steps.product()));
      record.examples.push_back(
          {std::string(name_of(dtype)) + " edges" + to_string(params) + " with factors",
           params,
           {array_of(dtype, terms, edges[0].to_vector<double>()), array_of(dtype, steps, factors)}});
    }
    for (const Shape& shape : {Shape{5, 3}, Shape{2, 7}}) add(record.smooth, Dtype::F64, shape);
  }
}

}  // namespace

std::vector<Record> reduce_records() {
  const std::vector<CumulativeParams> running = {{0, false}, {0, true}, {1, false}, {1, true}};
  const std::vector<ArgReduceParams> places = {{0}, {1}};
  std::vector<Record> records = {
      reduction(reduce_sum_op, number_dtypes, true, true),
      reduction(reduce_prod_op, number_dtypes, true, true),
      reduction(reduce_max_op, real_dtypes, false, true),
      reduction(reduce_min_op, real_dtypes, false, true),
      reduction(reduce_and_op, bit_dtypes, true, false, 0, 7),
      reduction(reduce_or_op, bit_dtypes, true, false, 0, 7),
      along_axis(argmax_op, real_dtypes, places, true),
      along_axis(argmin_op, real_dtypes, places, true),
      along_axis(cumsum_op, number_dtypes, running, true),
      along_axis(cumprod_op, number_dtypes, running, true),
      along_axis(cummax_op, number_dtypes, running, true),
      along_axis(cummin_op, number_dtypes, running, true),
  };
  for (Record& r : records) {
    if (r.op == &reduce_sum_op || r.op == &cumsum_op) r.linear = {{true}};
    if (r.op == &cumsum_op) add_factors(r);
  }
  return records;
}

}  // namespace apsis::testing
