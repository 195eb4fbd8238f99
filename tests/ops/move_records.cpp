// Records of views, of the ops that gather and scatter elements, and of contractions.

#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/records.hpp"
#include "ops/view_params.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

const Dtype some_dtypes[] = {Dtype::Bool, Dtype::I8,  Dtype::U64, Dtype::BF16,
                             Dtype::F32,  Dtype::F64, Dtype::C64};

struct Moves {
  Record record;
  Random random{21};
  explicit Moves(const Op& op, std::vector<std::vector<bool>> linear = {}) : record{&op, {}, {}} {
    record.linear = std::move(linear);
  }

  /// Every dtype for operands of the given shapes, followed by `indices`; in f64 for derivatives too unless
  /// empty.
  void add(const Params& params, const std::vector<Shape>& shapes, const std::vector<Array>& indices = {},
           std::size_t index_at = 99) {
    bool empty = false;
    for (const Shape& s : shapes) empty = empty || s.product() == 0;
    for (Dtype dtype : some_dtypes) {
      Example example{std::string(name_of(dtype)) + to_string(shapes[0]) + to_string(params), params, {}};
      for (const Shape& s : shapes) example.operands.push_back(random_array(random, dtype, s, -5, 5));
      auto place = example.operands.begin() + static_cast<std::ptrdiff_t>(std::min(index_at, shapes.size()));
      example.operands.insert(place, indices.begin(), indices.end());
      if (dtype == Dtype::F64 && !empty) record.smooth.push_back(example);
      record.examples.push_back(std::move(example));
    }
  }
  operator Record() const { return record; }
};

Array places(const Shape& shape, const std::vector<double>& values) {
  return array_of(Dtype::I64, shape, values);
}

Record broadcast_record() {
  Moves m(broadcast_in_dim_op, {{true}});
  m.add(make_params(BroadcastParams{{3}, {}}), {Shape{}});
  m.add(make_params(BroadcastParams{{2, 3}, {1}}), {Shape{3}});
  m.add(make_params(BroadcastParams{{4, 2, 3}, {0, 2}}), {Shape{1, 3}});
  m.add(make_params(BroadcastParams{{3, 2}, {1, 0}}), {Shape{2, 3}});
  m.add(make_params(BroadcastParams{{0, 3}, {1}}), {Shape{3}});
  return m;
}

Record reshape_record() {
  Moves m(reshape_op, {{true}});
  m.add(make_params(ReshapeParams{{3, 2}}), {Shape{2, 3}});
  m.add(make_params(ReshapeParams{{6}}), {Shape{2, 3}});
  m.add(make_params(ReshapeParams{{1, 1}}), {Shape{}});
  m.add(make_params(ReshapeParams{{3, 0}}), {Shape{0}});
  return m;
}

Record transpose_record() {
  Moves m(transpose_op, {{true}});
  m.add(make_params(TransposeParams{{1, 0}}), {Shape{2, 3}});
  m.add(make_params(TransposeParams{{2, 0, 1}}), {Shape{2, 3, 4}});
  m.add(make_params(TransposeParams{{1, 0}}), {Shape{0, 3}});
  return m;
}

Record slice_record() {
  Moves m(slice_op, {{true}});
  m.add(make_params(SliceParams{{1}, {4}, {1}}), {Shape{5}});
  m.add(make_params(SliceParams{{0, 1}, {3, 4}, {2, 3}}), {Shape{3, 4}});
  m.add(make_params(SliceParams{{2}, {2}, {1}}), {Shape{5}});
  return m;
}

Record reverse_record() {
  Moves m(reverse_op, {{true}});
  m.add(make_params(ReverseParams{{0}}), {Shape{5}});
  m.add(make_params(ReverseParams{{0, 2}}), {Shape{2, 3, 2}});
  m.add(make_params(ReverseParams{{1}}), {Shape{2, 0}});
  return m;
}

Record concatenate_record() {
  Moves m(concatenate_op, {{true, true, true}});
  m.add(make_params(ConcatenateParams{0}), {Shape{2}, Shape{3}, Shape{1}});
  m.add(make_params(ConcatenateParams{1}), {Shape{2, 1}, Shape{2, 2}, Shape{2, 3}});
  m.add(make_params(ConcatenateParams{0}), {Shape{0}, Shape{3}, Shape{0}});
  return m;
}

Record pad_record() {
  Moves m(pad_op, {{true, true}});
  m.add(make_params(PadParams{{1}, {2}, {0}}), {Shape{3}, Shape{}});
  m.add(make_params(PadParams{{-1, 1}, {1, -2}, {0, 2}}), {Shape{3, 3}, Shape{}});
  m.add(make_params(PadParams{{2}, {0}, {0}}), {Shape{0}, Shape{}});
  return m;
}

Record dynamic_slice_record() {
  Moves m(dynamic_slice_op, {{true, false, false}});
  for (double start : {-7., 0., 1., 9.})
    m.add(make_params(DynamicSliceParams{{2, 1}}), {Shape{4, 3}},
          {places({}, {start}), places({}, {1 - start})});
  m.add(make_params(DynamicSliceParams{{0, 1}}), {Shape{4, 3}}, {places({}, {1}), places({}, {1})});
  return m;
}

Record dynamic_update_record() {
  Moves m(dynamic_update_slice_op, {{true, true, false, false}});
  for (double start : {-7., 0., 1., 9.})
    m.add({}, {Shape{4, 3}, Shape{2, 1}}, {places({}, {start}), places({}, {1 - start})});
  return m;
}

// Rows of a matrix, and single elements of it.
GatherParams rows(OutOfBounds mode) { return {{1}, {0}, {0}, {}, {}, {1, 3}, mode}; }
GatherParams elements(OutOfBounds mode) { return {{}, {0, 1}, {0, 1}, {}, {}, {1, 1}, mode}; }

Record gather_record() {
  Moves m(gather_op, {{true, false}});
  for (OutOfBounds mode : {OutOfBounds::Clip, OutOfBounds::Zero}) {
    m.add(make_params(rows(mode)), {Shape{4, 3}}, {places({5, 1}, {0, 3, 3, -1, 4})});
    m.add(make_params(elements(mode)), {Shape{4, 3}}, {places({3, 2}, {0, 0, 3, 2, 1, 9})});
  }
  return m;
}

Record scatter_record() {
  Moves m(scatter_op, {{true, false, true}});
  m.add(make_params(ScatterParams{rows(OutOfBounds::Clip), ScatterKind::Set, true}),
        {Shape{4, 3}, Shape{2, 3}}, {places({2, 1}, {3, 0})}, 1);
  m.add(make_params(ScatterParams{rows(OutOfBounds::Fill), ScatterKind::Set, true}),
        {Shape{4, 3}, Shape{2, 3}}, {places({2, 1}, {3, 7})}, 1);
  // Sums, and so the rest, are of numbers.
  for (ScatterKind kind : {ScatterKind::Add, ScatterKind::Mul, ScatterKind::Min, ScatterKind::Max})
    for (Dtype dtype : {Dtype::I8, Dtype::F16, Dtype::F64}) {
      Example example{std::string(name_of(dtype)),
                      make_params(ScatterParams{rows(OutOfBounds::Clip), kind, false}),
                      {random_array(m.random, dtype, {4, 3}, -3, 3), places({5, 1}, {0, 2, 2, -1, 9}),
                       random_array(m.random, dtype, {5, 3}, -3, 3)}};
      if (dtype == Dtype::F64 && kind == ScatterKind::Add) m.record.smooth.push_back(example);
      m.record.examples.push_back(std::move(example));
    }
  return m;
}

Record iota_record() {
  Record record{&iota_op, {}, {}};
  for (Dtype dtype : {Dtype::I32, Dtype::U8, Dtype::I64, Dtype::F16, Dtype::F32, Dtype::F64})
    for (const Shape& shape : {Shape{5}, Shape{2, 3}, Shape{0}})
      record.examples.push_back(
          {std::string(name_of(dtype)), make_params(IotaParams{dtype, shape, shape.rank() - 1}), {}});
  return record;
}

Record sort_record() {
  Random random(22);
  Record record{&sort_op, {}, {}};
  for (Dtype dtype : {Dtype::Bool, Dtype::I8, Dtype::U16, Dtype::F16, Dtype::F32, Dtype::F64}) {
    record.examples.push_back(
        {"edges of " + std::string(name_of(dtype)), make_params(SortParams{0, 1}), edge_operands(dtype, 1)});
    record.examples.push_back(
        {"pairs of " + std::string(name_of(dtype)),
         make_params(SortParams{1, 1}),
         {random_array(random, dtype, {2, 5}, -2, 2), random_array(random, dtype, {2, 5}, -2, 2)}});
  }
  record.smooth.push_back(
      {"f64", make_params(SortParams{1, 1}), {random_array(random, Dtype::F64, {2, 5}, -2, 2)}});
  return record;
}

Record dot_record() {
  Random random(23);
  Record record{&dot_general_op, {}, {}};
  record.linear = {{true, false}, {false, true}};
  for (Dtype dtype : {Dtype::I32, Dtype::BF16, Dtype::F32, Dtype::F64}) {
    auto add = [&](const DotParams& p, const Shape& a, const Shape& b) {
      Example example{std::string(name_of(dtype)) + to_string(a) + to_string(b),
                      make_params(p),
                      {random_array(random, dtype, a, -3, 3), random_array(random, dtype, b, -3, 3)}};
      if (dtype == Dtype::F64 && a.product() > 0) record.smooth.push_back(example);
      record.examples.push_back(std::move(example));
    };
    add({{1}, {0}, {}, {}}, {2, 3}, {3, 4});
    add({{0}, {0}, {}, {}}, {5}, {5});
    add({{2}, {1}, {0}, {0}}, {2, 3, 4}, {2, 4, 3});
    add({{0, 1}, {1, 0}, {}, {}}, {2, 3}, {3, 2});
    add({{}, {}, {}, {}}, {2}, {3});
    add({{1}, {0}, {}, {}}, {2, 0}, {0, 4});
  }
  return record;
}

}  // namespace

std::vector<Record> move_records() {
  return {
      broadcast_record(),      reshape_record(), transpose_record(), slice_record(),   reverse_record(),
      concatenate_record(),    pad_record(),     gather_record(),    scatter_record(), dynamic_slice_record(),
      dynamic_update_record(), iota_record(),    sort_record(),      dot_record()};
}

}  // namespace apsis::testing
