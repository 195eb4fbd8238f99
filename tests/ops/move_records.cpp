// Records of views, indexing, contractions, sorting and random words.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/program_array.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

const std::vector<Dtype> all_dtypes = [] {
  std::vector<Dtype> out;
  for (int d = 0; d < dtype_count; ++d) out.push_back(static_cast<Dtype>(d));
  return out;
}();

// Where an op has many forms, one of them is run in every dtype, the others in one of each width that differs
// in kind.
const std::vector<Dtype> few_dtypes = {Dtype::Bool, Dtype::BF16, Dtype::F64};
const std::vector<Dtype>& dtypes_of(bool first) { return first ? all_dtypes : few_dtypes; }

Array i64_array(const Shape& shape, const std::vector<std::int64_t>& values) { return array(values, shape); }
Array index_scalar(std::int64_t value) { return array(value); }

// Ops of one operand: each shape with its parameters, in every dtype.
struct Form {
  Shape shape;
  Params params;
};

Record of_one_operand(const Op& op, const std::vector<Form>& forms) {
  Random random(21);
  Record record{&op, {}, {}};
  for (const Form& form : forms) {
    for (Dtype dtype : all_dtypes)
      record.examples.push_back({std::string(name_of(dtype)) + to_string(form.shape) + to_string(form.params),
                                 form.params,
                                 {random_array(random, dtype, form.shape, -9, 9)}});
    record.smooth.push_back(
        {to_string(form.shape), form.params, {random_array(random, Dtype::F64, form.shape, -2, 2)}});
  }
  record.linear = {{true}};
  return record;
}

// Parts put together and taken apart.
std::vector<Record> complex_records() {
  Random random(33);
  Record whole{&complex_op, {}, {}}, re{&real_op, {}, {}}, im{&imag_op, {}, {}};
  whole.linear = {{true, true}};
  re.linear = im.linear = {{true}};
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{0}, Shape{2, 3}, Shape{67}}) {
    const auto drawn = [&](Dtype dtype) { return random_array(random, dtype, shape, -3, 3); };
    for (Dtype dtype : {Dtype::F32, Dtype::F64})
      whole.examples.push_back(
          {std::string(name_of(dtype)) + to_string(shape), {}, {drawn(dtype), drawn(dtype)}});
    for (Dtype dtype : {Dtype::C64, Dtype::C128})
      for (Record* part : {&re, &im})
        part->examples.push_back({std::string(name_of(dtype)) + to_string(shape), {}, {drawn(dtype)}});
    whole.smooth.push_back(whole.examples.back());
    re.smooth.push_back(re.examples.back());
    im.smooth.push_back(im.examples.back());
  }
  return {whole, re, im};
}

Record program_array_record() {
  Random random(27);
  Record record{&program_array_op, {}, {}};
  for (Dtype dtype : all_dtypes)
    for (const Shape& shape : {Shape{}, Shape{2, 3}, Shape{0}}) {
      Array value = random_array(random, dtype, shape, -9, 9);
      Params params = make_params(ProgramArrayParams{dtype, false, shape, {value}});
      record.examples.push_back({std::string(name_of(dtype)) + to_string(shape), params, {}});
    }
  return record;
}

std::vector<Record> view_records() {
  auto broadcast = [](Shape shape, Dims axes) { return make_params(BroadcastParams{shape, axes}); };
  auto reshape = [](Shape shape) { return make_params(ReshapeParams{shape}); };
  auto transpose = [](Dims permutation) { return make_params(TransposeParams{permutation}); };
  auto slice = [](Dims start, Dims limit, Dims stride) {
    return make_params(SliceParams{start, limit, stride});
  };
  auto reverse = [](Dims axes) { return make_params(ReverseParams{axes}); };
  auto name = [](std::string text) { return make_params(CheckpointNameParams{text}); };
  Record named = of_one_operand(checkpoint_name_op,
                                {{{}, name("x")}, {{2, 3}, name("hidden \"one\"")}, {{0}, name("")}});
  named.linear = {};  // its tangent has no name, so there is nothing to transpose
  return {
      named,
      of_one_operand(broadcast_in_dim_op, {{{}, broadcast({2, 3}, {})},
                                           {{3}, broadcast({2, 3}, {1})},
                                           {{3, 1}, broadcast({2, 3, 4}, {1, 2})},
                                           {{2, 3}, broadcast({3, 5, 2}, {2, 0})},
                                           {{1}, broadcast({0}, {0})}}),
      of_one_operand(reshape_op, {{{}, reshape({1, 1})},
                                  {{2, 6}, reshape({3, 4})},
                                  {{2, 3, 1, 2}, reshape({6, 2})},
                                  {{12}, reshape({2, 1, 6})},
                                  {{0, 3}, reshape({2, 0})}}),
      of_one_operand(transpose_op, {{{}, transpose({})},
                                    {{2, 3}, transpose({1, 0})},
                                    {{2, 3, 2}, transpose({2, 0, 1})},
                                    {{0, 2}, transpose({1, 0})}}),
      of_one_operand(slice_op, {{{5}, slice({1}, {4}, {1})},
                                {{7}, slice({1}, {7}, {3})},
                                {{3, 4}, slice({0, 1}, {3, 4}, {2, 2})},
                                {{4, 3}, slice({2, 0}, {2, 3}, {1, 1})},
                                {{2}, slice({0}, {2}, {1})}}),
      of_one_operand(
          reverse_op,
          {{{4}, reverse({0})}, {{2, 3}, reverse({1})}, {{2, 3}, reverse({0, 1})}, {{0, 2}, reverse({0})}}),
  };
}

Record concatenate_record() {
  Random random(22);
  Record record{&concatenate_op, {}, {}};
  for (const auto& [shapes, axis] :
       std::vector<std::pair<std::vector<Shape>, std::int64_t>>{{{{2}, {3}, {1}}, 0},
                                                                {{{2, 2}, {2, 1}, {2, 0}}, 1},
                                                                {{{1, 3}, {2, 3}, {1, 3}}, 0},
                                                                {{{0}, {0}, {0}}, 0}}) {
    Params params = make_params(ConcatenateParams{axis});
    auto operands = [&](Dtype dtype) {
      std::vector<Array> out;
      for (const Shape& shape : shapes) out.push_back(random_array(random, dtype, shape, -9, 9));
      return out;
    };
    for (Dtype dtype : all_dtypes)
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(shapes[0]), params, operands(dtype)});
    record.smooth.push_back({to_string(shapes[0]), params, operands(Dtype::F64)});
  }
  record.linear = {{true, true, true}};
  return record;
}

Record pad_record() {
  Random random(23);
  Record record{&pad_op, {}, {}};
  for (const auto& [shape, p] : std::vector<std::pair<Shape, PadParams>>{{{3}, {{1}, {2}, {0}}},
                                                                         {{3}, {{0}, {0}, {2}}},
                                                                         {{4}, {{-1}, {-2}, {0}}},
                                                                         {{4}, {{-2}, {1}, {1}}},
                                                                         {{2, 3}, {{1, -1}, {-1, 2}, {1, 0}}},
                                                                         {{2, 3}, {{-3, 0}, {1, 1}, {0, 2}}},
                                                                         {{0}, {{2}, {1}, {3}}},
                                                                         {{}, {{}, {}, {}}}}) {
    Params params = make_params(p);
    for (Dtype dtype : all_dtypes)
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(shape) + to_string(params),
           params,
           {random_array(random, dtype, shape, -9, 9), random_array(random, dtype, {}, -9, 9)}});
    record.smooth.push_back(
        {to_string(shape) + to_string(params),
         params,
         {random_array(random, Dtype::F64, shape, -2, 2), random_array(random, Dtype::F64, {}, -2, 2)}});
  }
  record.linear = {{true, true}};
  return record;
}

Record iota_record() {
  Record record{&iota_op, {}, {}};
  for (Dtype dtype : all_dtypes) {
    if (dtype == Dtype::Bool) continue;
    for (const auto& [shape, axis] :
         std::vector<std::pair<Shape, std::int64_t>>{{{5}, 0}, {{2, 3}, 1}, {{3, 2}, 0}, {{0}, 0}})
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(shape), make_params(IotaParams{dtype, shape, axis}), {}});
  }
  return record;
}

// Starts inside, at the ends, and outside on both sides.
const std::vector<std::vector<std::int64_t>> some_starts = {{0, 0}, {1, 1},          {2, -1},
                                                            {9, 1}, {-7, INT64_MAX}, {INT64_MIN, 0}};

Record dynamic_slice_record() {
  Random random(24);
  Record record{&dynamic_slice_op, {}, {}};
  for (const Shape& sizes : {Shape{2, 2}, Shape{1, 3}, Shape{3, 1}, Shape{0, 2}, Shape{3, 3}})
    for (const auto& starts : some_starts) {
      Params params = make_params(DynamicSliceParams{sizes});
      for (Dtype dtype : dtypes_of(&starts == &some_starts[0]))
        record.examples.push_back(
            {std::string(name_of(dtype)) + to_string(sizes) + " from " + std::to_string(starts[0]),
             params,
             {random_array(random, dtype, {3, 3}, -9, 9), index_scalar(starts[0]), index_scalar(starts[1])}});
      record.smooth.push_back({to_string(sizes),
                               params,
                               {random_array(random, Dtype::F64, {3, 3}, -2, 2), index_scalar(starts[0]),
                                index_scalar(starts[1])}});
    }
  record.linear = {{true, false, false}};
  return record;
}

Record dynamic_update_record() {
  Random random(25);
  Record record{&dynamic_update_slice_op, {}, {}};
  for (const Shape& sizes : {Shape{2, 2}, Shape{1, 3}, Shape{3, 1}, Shape{0, 2}, Shape{3, 3}})
    for (const auto& starts : some_starts) {
      auto operands = [&](Dtype dtype) {
        return std::vector<Array>{random_array(random, dtype, {3, 3}, -9, 9),
                                  random_array(random, dtype, sizes, -9, 9), index_scalar(starts[0]),
                                  index_scalar(starts[1])};
      };
      for (Dtype dtype : dtypes_of(&starts == &some_starts[0]))
        record.examples.push_back(
            {std::string(name_of(dtype)) + to_string(sizes) + " at " + std::to_string(starts[0]),
             {},
             operands(dtype)});
      record.smooth.push_back({to_string(sizes), {}, operands(Dtype::F64)});
    }
  record.linear = {{true, true, false, false}};
  return record;
}

// Geometries of gather and scatter: rows of a matrix, pairs of positions, windows, positions a row (batching
// axes).
struct Places {
  Shape operand;
  Array indices;
  GatherParams params;
  Shape slices;  // of the result, or the updates
};

std::vector<Places> some_places() {
  return {
      {{4},
       i64_array({3, 1}, {0, 3, 9}),
       {.collapsed_slice_dims = {0}, .start_index_map = {0}, .slice_sizes = {1}},
       {3}},
      {{3, 2},
       i64_array({2, 2, 1}, {2, 0, -4, 2}),
       {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .slice_sizes = {1, 2}},
       {2, 2, 2}},
      {{3, 3},
       i64_array({2, 2}, {1, 2, 1, 2}),
       {.collapsed_slice_dims = {0, 1}, .start_index_map = {1, 0}, .slice_sizes = {1, 1}},
       {2}},
      {{3, 3},
       i64_array({2, 2}, {0, 1, 1, 7}),
       {.offset_dims = {0, 2}, .start_index_map = {0, 1}, .slice_sizes = {2, 2}},
       {2, 2, 2}},
      {{2, 4},
       i64_array({2, 3, 1}, {3, 0, 1, 1, 1, 5}),
       {.collapsed_slice_dims = {1},
        .start_index_map = {1},
        .operand_batching_dims = {0},
        .start_indices_batching_dims = {0},
        .slice_sizes = {1, 1}},
       {2, 3}},
      {{4},
       i64_array({0, 1}, {}),
       {.collapsed_slice_dims = {0}, .start_index_map = {0}, .slice_sizes = {1}},
       {0}},
  };
}

constexpr detail::OutOfBounds modes[] = {detail::OutOfBounds::Clip, detail::OutOfBounds::Fill,
                                         detail::OutOfBounds::Zero};

Record gather_record() {
  Random random(26);
  Record record{&gather_op, {}, {}};
  for (Places place : some_places())
    for (detail::OutOfBounds mode : modes) {
      place.params.mode = mode;
      Params params = make_params(place.params);
      for (Dtype dtype : dtypes_of(place.slices == Shape{3}))
        record.examples.push_back({std::string(name_of(dtype)) + to_string(place.operand) + to_string(params),
                                   params,
                                   {random_array(random, dtype, place.operand, -9, 9), place.indices}});
      // What is out of bounds is NaN with Fill, which differences do not see through.
      if (mode != detail::OutOfBounds::Fill)
        record.smooth.push_back({to_string(place.operand),
                                 params,
                                 {random_array(random, Dtype::F64, place.operand, -2, 2), place.indices}});
    }
  record.linear = {{true, false}};
  return record;
}

Record scatter_record() {
  Random random(27);
  Record record{&scatter_op, {}, {}};
  for (Places place : some_places())
    for (detail::OutOfBounds mode : {detail::OutOfBounds::Clip, detail::OutOfBounds::Fill})
      for (ScatterKind kind :
           {ScatterKind::Set, ScatterKind::Add, ScatterKind::Mul, ScatterKind::Min, ScatterKind::Max}) {
        place.params.mode = mode;
        Params params = make_params(ScatterParams{place.params, kind});
        auto operands = [&](Dtype dtype) {
          return std::vector<Array>{random_array(random, dtype, place.operand, -3, 3), place.indices,
                                    random_array(random, dtype, place.slices, -3, 3)};
        };
        for (Dtype dtype : dtypes_of(place.slices == Shape{3}))
          record.examples.push_back(
              {std::string(name_of(dtype)) + to_string(place.operand) + to_string(params), params,
               operands(dtype)});
        // The others are not linear in both; indexing_test checks their derivatives.
        if (kind == ScatterKind::Set || kind == ScatterKind::Add)
          record.smooth.push_back(
              {to_string(place.operand) + to_string(params), params, operands(Dtype::F64)});
      }
  record.linear = {{true, false, true}};
  return record;
}

/// Few different values, so that ties are common; NaN and zeros of both signs among them.
Array with_ties(Random& random, Dtype dtype, const Shape& shape) {
  const Array x = random_array(random, dtype, shape, -2, 2);
  if (!is_floating(dtype)) return x;
  std::vector<double> values = x.to_vector<double>();
  for (double& v : values)
    v = v > 1 ? std::numeric_limits<double>::quiet_NaN() : v > 0 ? 0. : v > -1 ? -0. : -1.;
  return array_of(dtype, shape, values);
}

Record sort_record() {
  Random random(28);
  Record record{&sort_op, {}, {}};
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, std::int64_t>>{{{7}, 0}, {{3, 4}, 1}, {{3, 2}, 0}, {{0}, 0}, {{1}, 0}}) {
    for (Dtype dtype : dtypes_of(shape == Shape{7}))
      for (std::int64_t keys : {1, 2}) {
        // The second operand tells whether the sort is stable.
        const Array first = with_ties(random, dtype, shape);
        record.examples.push_back(
            {std::string(name_of(dtype)) + to_string(shape) + " by " + std::to_string(keys),
             make_params(SortParams{axis, keys}),
             {first, random_array(random, Dtype::I32, shape, 0, 3),
              random_array(random, dtype, shape, -9, 9)}});
      }
    record.smooth.push_back(
        {to_string(shape),
         make_params(SortParams{axis, 1}),
         {random_array(random, Dtype::F64, shape, -2, 2), random_array(random, Dtype::F64, shape, -2, 2)}});
  }
  return record;
}

Record argsort_record() {
  Random random(29);
  Record record{&argsort_op, {}, {}};
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, std::int64_t>>{{{7}, 0}, {{3, 4}, 1}, {{3, 2}, 0}, {{0}, 0}, {{1}, 0}})
    for (Dtype dtype : dtypes_of(shape == Shape{7}))
      for (std::int64_t keys : {1, 2}) {
        std::vector<Array> operands = {with_ties(random, dtype, shape)};
        if (keys == 2) operands.push_back(random_array(random, Dtype::I32, shape, 0, 3));
        record.examples.push_back(
            {std::string(name_of(dtype)) + to_string(shape) + " by " + std::to_string(keys),
             make_params(SortParams{axis, keys}), operands});
      }
  record.smooth.push_back(
      {"f64[4]", make_params(SortParams{0, 1}), {random_array(random, Dtype::F64, {4}, -2, 2)}});
  return record;
}

Record top_k_record() {
  Random random(30);
  Record record{&top_k_op, {}, {}};
  for (const auto& [shape, axis, count] :
       std::vector<std::tuple<Shape, std::int64_t, std::int64_t>>{{{7}, 0, 3},
                                                                  {{3, 4}, 1, 2},
                                                                  {{3, 2}, 0, 3},
                                                                  {{4}, 0, 0},
                                                                  {{0, 3}, 1, 2},
                                                                  {{1}, 0, 1},
                                                                  {{2, 90, 3}, 1, 40}}) {
    const Params params = make_params(TopKParams{axis, count});
    for (Dtype dtype : dtypes_of(shape == Shape{7}))
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(shape), params, {with_ties(random, dtype, shape)}});
    record.smooth.push_back({to_string(shape), params, {random_array(random, Dtype::F64, shape, -2, 2)}});
  }
  return record;
}

Record dot_record() {
  Random random(29);
  Record record{&dot_general_op, {}, {}};
  struct Geometry {
    Shape a, b;
    DotParams params;
  };
  for (const Geometry& g :
       std::vector<Geometry>{{{3}, {3}, {{0}, {0}, {}, {}}},
                             {{2, 3}, {3, 4}, {{1}, {0}, {}, {}}},
                             {{3, 2}, {4, 3}, {{0}, {1}, {}, {}}},
                             {{2, 2, 3}, {2, 3, 2}, {{2}, {1}, {0}, {0}}},
                             {{2, 3, 2}, {3, 2, 2}, {{1, 2}, {0, 2}, {}, {}}},
                             {{2, 1, 2, 3}, {1, 3, 2, 2}, {{3, 2}, {1, 3}, {0, 1}, {2, 0}}},
                             {{2}, {3}, {{}, {}, {}, {}}},
                             {{2, 0}, {0, 3}, {{1}, {0}, {}, {}}},
                             {{}, {2}, {{}, {}, {}, {}}}}) {
    Params params = make_params(g.params);
    auto operands = [&](Dtype dtype) {
      return std::vector<Array>{random_array(random, dtype, g.a, -5, 5),
                                random_array(random, dtype, g.b, -5, 5)};
    };
    for (Dtype dtype : dtypes_of(g.a == Shape{3} || g.a == Shape{2, 3}))
      record.examples.push_back(
          {std::string(name_of(dtype)) + to_string(g.a) + to_string(g.b), params, operands(dtype)});
    record.smooth.push_back({to_string(g.a) + to_string(g.b), params, operands(Dtype::F64)});
  }
  record.linear = {{true, false}, {false, true}};
  return record;
}

Record barrier_record() {
  Record record = of_one_operand(optimization_barrier_op, {{{2, 3}, {}}, {{}, {}}, {{0, 2}, {}}, {{40}, {}}});
  record.examples.push_back({"three", {}, {array({1., 2.}), array(std::vector<bool>{true}), array(3)}});
  return record;
}

Record threefry_record() {
  Random random(30);
  Record record{&threefry2x32_op, {}, {}};
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}}) {
    std::vector<Array> operands;
    for (int i = 0; i < 4; ++i) operands.push_back(random_array(random, Dtype::U32, shape, 0, 4294967295.));
    record.examples.push_back({to_string(shape), {}, operands});
  }
  return record;
}

}  // namespace

std::vector<Record> move_records() {
  std::vector<Record> all = view_records();
  for (Record (*make)() :
       {concatenate_record, pad_record, iota_record, program_array_record, dynamic_slice_record,
        dynamic_update_record, gather_record, scatter_record, sort_record, argsort_record, top_k_record,
        dot_record, barrier_record, threefry_record})
    all.push_back(make());
  std::ranges::move(complex_records(), std::back_inserter(all));
  return all;
}

}  // namespace apsis::testing
