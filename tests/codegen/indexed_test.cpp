// Gather and scatter with few index vectors, which are written out: the evaluator's bits for every dtype,
// mode and kind, with indices that repeat and that are out of bounds, for one lane and for many.

#include "codegen/emit/lowering.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Dtype dtypes[] = {boolean, i8, i32, i64, u16, u64, bf16, f16, f32, f64};
const IndexMode modes[] = {IndexMode::Clip, IndexMode::Fill};

Array table_of(Dtype dtype, const Shape& shape) {
  return astype(reshape(remainder(arange(static_cast<double>(shape.product())) * 7., 23.) - 3., shape),
                dtype);
}

Array update(const Array& x, const Array& at, const Array& v, IndexMode mode, int kind) {
  const IndexUpdate place = x.at(at);
  switch (kind) {
    case 0:
      return place.set(v, mode);
    case 1:
      return place.add(v, mode);
    case 2:
      return place.multiply(v, mode);
    case 3:
      return place.min(v, mode);
    default:
      return place.max(v, mode);
  }
}

template <class F, class... A>
void expect_same_compiled(const F& f, const A&... args) {
  expect_compiled_as_interpreted(jit(f), args...);
}

TEST(Indexed, ReadsAsTheEvaluatorDoes) {
  const Array at = array({3, -1, 40, 3, -50, 0});
  for (Dtype dtype : dtypes)
    for (IndexMode mode : modes) {
      SCOPED_TRACE(std::string(name_of(dtype)) + (mode == IndexMode::Clip ? ", clipped" : ", filled"));
      auto read = [=](const Array& x, const Array& i) { return x.at(i).get(mode); };
      expect_same_compiled(read, table_of(dtype, {40}), at);
      expect_same_compiled(read, table_of(dtype, {40, 5}), at);  // more than registers hold
      expect_same_compiled(read, table_of(dtype, {5}), at);
      expect_same_compiled([=](const Array& x, const Array& i) { return read(transpose(x), i); },
                           table_of(dtype, {2, 40}), at);
      expect_same_compiled(
          [=](const Array& x, const Array& i) { return x.at(i, i(range({}, {}, -1))).get(mode); },
          table_of(dtype, {7, 40}), at);
    }
}

TEST(Indexed, WritesAsTheEvaluatorDoes) {
  const Array at = array({3, -1, 40, 3, -50, 0});
  for (Dtype dtype : dtypes)
    for (IndexMode mode : modes)
      for (int kind = 0; kind < 5; ++kind) {
        SCOPED_TRACE(std::string(name_of(dtype)) + (mode == IndexMode::Clip ? ", clipped, " : ", dropped, ") +
                     std::to_string(kind));
        auto write = [=](const Array& x, const Array& i, const Array& v) {
          return update(x, i, v, mode, kind);
        };
        expect_same_compiled(write, table_of(dtype, {40}), at, table_of(dtype, {6}));
        expect_same_compiled(write, table_of(dtype, {40, 5}), at, table_of(dtype, {6, 5}));
        expect_same_compiled(
            [=](const Array& x, const Array& i, const Array& v) {
              return update(transpose(x), i, v, mode, kind) + update(transpose(x), i, flip(v, 0), mode, kind);
            },
            table_of(dtype, {2, 40}), at, table_of(dtype, {6, 2}));
      }
}

struct Writing {
  Array step, x, rows;
};

/// A table that all lanes share, a buffer of each lane's own; indices that differ, and that do not; lanes
/// that end.
template <bool own_index>
Array walk(const Array& length, const Array& x, const Array& table, IndexMode mode, int kind) {
  return while_loop([&](const Writing& s) { return s.step < length; },
                    [&](const Writing& s) {
                      const Array at =
                          own_index ? stack({s.step, astype(s.x * 9., i64), s.step}) : array({3, 70, 3});
                      Array y = sum(table.at(at).get(mode) * 0.125) + 0.25 * sum(s.rows.at(at).get());
                      return Writing{s.step + 1, sin(s.x + where(isnan(y), 0.5, y)),
                                     update(s.rows, at, stack({s.x, y, -s.x}), mode, kind)};
                    },
                    Writing{0, x, ones({40})})
      .rows;
}

TEST(Indexed, InLanes) {
  const Array lengths = array({5, 0, 11, 3, 40, 7, 1, 2, 9, 30, 4}), xs = cos(arange(11.)),
              table = table_of(f64, {40});
  auto check = [&](const auto& one) {
    const Array all = jit(vmap(one, {.loops = LaneLoops::Lanes}))(lengths, xs);
    for (std::int64_t i = 0; i < lengths.size(); ++i) {
      const Array single = one(lengths[i], xs[i]);
      expect_same_bits(Array(all[i]), single);
      detail::InterpretScope interpreted;
      expect_same_bits(one(lengths[i], xs[i]), single);
    }
    expect_near(
        jit(grad([&](const Array& x) { return sum(vmap(one)(lengths, x)); }))(xs),
        jit(vmap(grad<1>([&](const Array& n, const Array& x) { return sum(one(n, x)); })))(lengths, xs),
        1e-12);
  };
  for (IndexMode mode : modes)
    for (int kind : {0, 1}) {
      SCOPED_TRACE(std::to_string(kind));
      check([&](const Array& n, const Array& x) { return walk<true>(n, x, table, mode, kind); });
      check([&](const Array& n, const Array& x) { return walk<false>(n, x, table, mode, kind); });
    }
}

TEST(Indexed, WithoutACall) {
  auto f = jit([](const Array& x, const Array& i) { return x.at(i).add(x(i)); });
  const Array x = table_of(f64, {40}), at = array({3, 5, 3});
  f(x, at);
  EXPECT_EQ(compile(f, x, at).code_text().find("apsis_call_kernel"), std::string::npos);
}

}  // namespace
}  // namespace apsis::testing
