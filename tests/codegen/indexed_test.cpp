// Gather and scatter with few index vectors, which are written out: the evaluator's bits for every dtype,
// mode and kind, with indices that repeat and that are out of bounds, for one lane and for many.

#include "codegen/compile/compile.hpp"
#include "codegen/emit/lowering.hpp"
#include "codegen/staged_compiled_equal.hpp"
#include "ir/graph.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Dtype dtypes[] = {boolean, i8, i32, i64, u16, u64, bf16, f16, f32, f64};
const IndexMode modes[] = {IndexMode::Clip, IndexMode::Fill};

Array table_of(Dtype dtype, const Shape& shape) {
  return astype(reshape(remainder(arange(static_cast<double>(shape.product())) * 7., 23.) - 3., shape),
                dtype);
}

Array update(const IndexUpdate& place, const Array& v, IndexMode mode, int kind) {
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

Array update(const Array& x, const Array& at, const Array& v, IndexMode mode, int kind) {
  return update(x.at(at), v, mode, kind);
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

/// Many indices, in the loop that computes them and uses what is read.
TEST(Indexed, PicksAsTheEvaluatorDoes) {
  const Array at = remainder(arange(100) * 37, 90) - 45, other = remainder(arange(100) * 11, 13) - 6,
              square = reshape(at, {10, 10});
  for (Dtype dtype : dtypes)
    for (IndexMode mode : modes) {
      SCOPED_TRACE(std::string(name_of(dtype)) + (mode == IndexMode::Clip ? ", clipped" : ", filled"));
      const Array line = table_of(dtype, {40}), table = table_of(dtype, {40, 7}),
                  one = table_of(dtype, {40, 1});
      expect_same_compiled([=](const Array& x, const Array& i) { return x.at(i).get(mode); }, line, at);
      expect_same_compiled(
          [=](const Array& x, const Array& i) { return x.at(i * 2 + 1).get(mode) == x.at(i).get(mode); },
          line, square);
      expect_same_compiled(
          [=](const Array& x, const Array& i, const Array& j) { return x.at(i, j).get(mode); }, table, at,
          other);
      expect_same_compiled(
          [=](const Array& x, const Array& i, const Array& j) { return transpose(x).at(j + 1, i).get(mode); },
          table, at, other);
      expect_same_compiled([=](const Array& x, const Array& i) { return x.at(i, 0).get(mode); }, one, at);
      expect_same_compiled(
          [=](const Array& x, const Array& i) { return flip(x, 0).at(transpose(i)).get(mode); }, line,
          square);
      expect_same_compiled(
          [=](const Array& x, const Array& i) {
            return vmap([=](const Array& row, const Array& j) { return row.at(j).get(mode); })(x, i);
          },
          table_of(dtype, {10, 7}), square);
      expect_same_compiled(
          [=](const Array& x, const Array& i) { return take_along_axis(x, remainder(i, 10), 0); },
          table_of(dtype, {10, 10}), square);
    }
}

/// An array by places that it holds itself, computed in the same loop and as a whole.
TEST(Indexed, PicksFromWhatTheLoopMakes) {
  const Array at = remainder(arange(100) * 37, 100);
  expect_same_compiled([](const Array& i) { return i(i) + i(i(i + 1)); }, at);
  expect_same_compiled(
      [](const Array& i, const Array& x) {
        const Array y = exp(x) * 2.;
        return std::pair{y(i) - y, sum(y(i) * x)};
      },
      at, linspace(-1., 1., 100));
  expect_same_compiled([](const Array& i) { return (arange(100) * 3)(i) + full({100}, 2)(i); }, at);
  // Each lane from a table of its own, and all from one, in loops of different lengths.
  const auto walk = [](const Array& n, const Array& table, const Array& shared, const Array& i) {
    return fori_loop(
        0, n,
        [&](const Array& k, const Array& x) { return x(remainder(i + k, 64)) * 0.5 + shared(i) + sin(x); },
        table);
  };
  const Array lengths = array({3, 0, 7, 1, 5, 2, 4, 9, 1}), tables = cos(reshape(arange(9. * 64), {9, 64})),
              places = remainder(arange(64) * 5, 64);
  const Array all = jit(vmap(walk, {.in_axes = {0, 0, {}, {}}, .loops = LaneLoops::Lanes}))(
      lengths, tables, sin(arange(64.)), places);
  for (std::int64_t lane = 0; lane < 9; ++lane) {
    detail::InterpretScope interpreted;
    expect_same_bits(Array(all[lane]), walk(lengths[lane], tables[lane], sin(arange(64.)), places));
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

/// Many updates of an array that is read again, of one that is no array in memory, and of one that a loop
/// carries: the kernel writes to a copy at the place of the result.
TEST(Indexed, ManyUpdatesOfWhatMayNotBeOverwritten) {
  const Array at = remainder(arange(100) * 37, 90) - 45;
  for (Dtype dtype : {boolean, i16, bf16, f32, f64})
    for (IndexMode mode : modes)
      for (int kind = 0; kind < 5; ++kind) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " kind " + std::to_string(kind));
        const Array x = table_of(dtype, {60}), v = table_of(dtype, {100});
        const auto changed = [=](const Array& y, const Array& i, const Array& u) {
          return update(y, i, u, mode, kind);
        };
        expect_same_compiled(
            [=](const Array& y, const Array& i, const Array& u) {
              return std::pair{changed(y, i, u), flip(y)};
            },
            x, at, v);
        expect_same_compiled(
            [=](const Array& i, const Array& u) { return changed(full({60}, 1, dtype), i, u); }, at, v);
        expect_same_compiled([=](const Array& y, const Array& i,
                                 const Array& u) { return changed(broadcast_to(y[0], {60}), i, u); },
                             x, at, v);
        expect_same_compiled(
            [=](const Array& y, const Array& i, const Array& u) { return changed(transpose(y)[3], i, u); },
            table_of(dtype, {60, 5}), at, v);
        expect_same_compiled(
            [=](const Array& y, const Array& i, const Array& u) {
              return fori_loop(
                  0, 3, [=](const Array&, const Array& c) { return changed(flip(changed(c, i, u)), i, u); },
                  y);
            },
            x, at, v);
      }
}

/// Many updates, in the loop that computes them and their indices: of lengths around whole vectors, whose
/// last vector the loop takes again.
TEST(Indexed, PutsWhatTheLoopMakes) {
  for (std::int64_t n : {64, 100})
    for (Dtype dtype : {boolean, i32, f16, f32, f64})
      for (IndexMode mode : modes)
        for (int kind = 0; kind < 5; ++kind) {
          SCOPED_TRACE(std::to_string(n) + " " + std::string(name_of(dtype)) + " kind " +
                       std::to_string(kind) + (mode == IndexMode::Clip ? ", clipped" : ", dropped"));
          const Array at = remainder(arange(n) * 37, 90) - 45, v = table_of(dtype, {n});
          expect_graph_compiled_equal(
              [=](const Array& x, const Array& i, const Array& u) {
                return update(x.at(i * 2 + 1, remainder(i, 5) - 1), where(i > 3, u, flip(u)), mode, kind);
              },
              table_of(dtype, {60, 3}), at, v);
          if (dtype != f32) continue;
          // A few elements, which are in registers.
          expect_graph_compiled_equal(
              [=](const Array& x, const Array& i, const Array& u) {
                return update(x.at(remainder(i, 11) - 2, remainder(i, 3)), u, mode, kind);
              },
              table_of(dtype, {4, 3}), at, v);
        }
}

TEST(Indexed, PutsInRowMajorOrder) {
  const Array at = remainder(arange(600) * 37, 90) - 45, v = sin(arange(600.));
  for (IndexMode mode : modes)
    for (const Shape& shape : {Shape{20, 30}, Shape{200, 3}, Shape{3, 200}, Shape{6, 10, 10}}) {
      SCOPED_TRACE(to_string(shape));
      expect_graph_compiled_equal(
          [=](const Array& x, const Array& i, const Array& u) {
            const Array places = reshape(i, shape), elements = reshape(u, shape);
            const Array other = remainder(places * 7, 5) - 1;
            return std::tuple{x.at(transpose(places), transpose(other)).set(transpose(elements), mode),
                              x.at(flip(places), other).add(exp(elements), mode), sum(elements),
                              max(elements),
                              zeros({9, 40}).at(remainder(places, 12), places * 3).add(1., mode)};
          },
          table_of(f64, {60, 3}), at, v);
    }
}

/// One index for each of so many elements that they do not stay in the cache.
TEST(Indexed, PutsManyByOneIndex) {
  const std::int64_t n = (1 << 22) + 5;
  const Array at = remainder(arange(n) * 7919, 70) - 4, v = sin(astype(arange(n), f32));
  for (IndexMode mode : modes)
    expect_same_compiled(
        [=](const Array& x, const Array& i, const Array& u) {
          return std::pair{x.at(i).add(u * 2.f, mode), zeros({64}, i64).at(i - 1).set(i, mode)};
        },
        table_of(f32, {60}), at, v);
}

/// Of the array that is updated, in the loop of the update; of an index that is the array.
TEST(Indexed, PutsIntoWhatTheLoopReads) {
  const Array x = table_of(f64, {10, 10}), places = reshape(remainder(arange(100) * 37, 10), {10, 10});
  for (int kind = 0; kind < 5; ++kind) {
    SCOPED_TRACE(kind);
    const auto changed = [=](const Array& y, const Array& i, const Array& u) {
      return update(y.at(i, transpose(i)), u, IndexMode::Clip, kind);
    };
    expect_graph_compiled_equal([=](const Array& y, const Array& i) { return changed(y, i, y * 2. + 1.); }, x,
                                places);
    expect_graph_compiled_equal(
        [=](const Array& y, const Array& i) { return changed(y, i, y(i, i + 1) + flip(y)); }, x, places);
    expect_graph_compiled_equal([=](const Array& i) { return changed(i, i, i + 1); }, places);
    // What a loop makes is the array and what is put into it.
    expect_graph_compiled_equal(
        [=](const Array& y, const Array& i) {
          const Array z = y * 2. + 1.;
          return changed(z, i, z);
        },
        x, places);
    expect_graph_compiled_equal(
        [=](const Array& i) {
          const Array j = i + 1;
          return std::pair{changed(j, j, j), j(j, j)};
        },
        places);
    expect_graph_compiled_equal(
        [=](const Array& y, const Array& i) {
          return fori_loop(
              0, 4, [=](const Array& k, const Array& c) { return changed(c, remainder(i + k, 10), sin(c)); },
              y);
        },
        x, places);
    // An input that is given up lies under the result.
    const auto twice = jit([=](const Array& y, const Array& i) { return changed(y, i, y(i, i) * 3. + y); });
    const Array kept = twice(x, places);
    Array given = x + 0.;
    expect_same_bits(twice(std::move(given), places), kept);
  }
  // Lanes put into arrays of their own.
  const Array starts = arange(5);
  const auto walk = [=](const Array& n) {
    return fori_loop(
        0, n,
        [=](const Array& k, const Array& c) {
          return c.at(places + k, remainder(places * 3, 10)).add(sin(c));
        },
        x);
  };
  const Array all = jit(vmap(walk, {.loops = LaneLoops::Lanes}))(starts);
  for (std::int64_t lane = 0; lane < 5; ++lane) {
    detail::InterpretScope interpreted;
    expect_same_bits(Array(all[lane]), walk(starts[lane]));
  }
}

/// Zeros are written where the result is, and nowhere else.
TEST(Indexed, ManyUpdatesOfZerosTakeNoMemory) {
  const auto count = [](const Array& i) { return zeros({10'000}).at(i).add(1.); };
  const auto graph = detail::parse_graph(trace(count, arange(5'000)).text());
  EXPECT_LT(detail::compile(*graph)->scratch_bytes, 10'000 * 8 + 5'000 * 8);  // the ones, not the zeros
}

TEST(Indexed, WithoutACall) {
  auto f = jit([](const Array& x, const Array& i) { return x.at(i).add(x(i)); });
  const Array x = table_of(f64, {40}), at = array({3, 5, 3});
  f(x, at);
  EXPECT_EQ(compile(f, x, at).code_text().find("apsis_call_kernel"), std::string::npos);
  auto many = jit([](const Array& x, const Array& i) { return x(i) * x(i + 1); });
  EXPECT_EQ(compile(many, x, arange(39)).code_text().find("apsis_call_kernel"), std::string::npos);
}

}  // namespace
}  // namespace apsis::testing
