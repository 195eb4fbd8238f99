// Complex numbers and concatenations whose parts are written where the whole is to be, compiled at every
// width, against the evaluator.

#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

Array numbers(const Shape& shape, Dtype dtype, std::uint64_t seed) {
  const Array re = random::normal(random::key(seed), shape, f64),
              im = random::normal(random::key(seed + 1), shape, f64);
  return astype(complex(re, im), dtype);
}

TEST(ResultParts, OfComplexFunctions) {
  const auto f = [](const Array& a, const Array& b) { return exp(a * b); };
  for (const Dtype dtype : {c64, c128})
    for (const Shape& shape :
         std::vector<Shape>{{}, {1}, {17}, {40}, {1000}, {4099}, {3, 50}, {50, 3}, {7, 1, 33}})
      expect_graph_compiled_equal(f, numbers(shape, dtype, 1), numbers(shape, dtype, 3));
}

TEST(ResultParts, OfComplexBesidesOtherResults) {
  const Array a = numbers({300}, c128, 5), x = real(numbers({300}, c128, 7));
  expect_graph_compiled_equal(
      [](const Array& z, const Array& r) {
        const Array re = sin(r), im = cos(r) + imag(z);
        const Array w = complex(re, im);
        return std::tuple{re, w, sum(re), w * 2., im, w};
      },
      a, x);
  expect_graph_compiled_equal([](const Array& r) { return std::tuple{complex(sin(r), sin(r)), sin(r)}; }, x);
  expect_graph_compiled_equal([](const Array& r) { return complex(flip(r), exp(r)); }, x);
  expect_graph_compiled_equal([](const Array& z) { return transpose(reshape(exp(z), {20, 15})); }, a);
}

/// One part or none is made by a loop: they are put together in registers.
TEST(ResultParts, OfComplexWithPartsFromElsewhere) {
  for (const Dtype dtype : {f32, f64})
    for (const Shape& shape : std::vector<Shape>{
             {0}, {1}, {7}, {16}, {33}, {4099}, {3, 50}, {50, 3}, {0, 5}, {7, 1, 33}, {64, 64}}) {
      const Array x = detail::filled({dtype, shape}, 11), y = detail::filled({dtype, shape}, 12);
      const auto check = [&](const auto& f) { expect_graph_compiled_equal(f, x, y); };
      check([](const Array& a, const Array& b) { return std::tuple{complex(a, b), complex(b, a * 0.)}; });
      check([](const Array& a, const Array& b) { return complex(a, zeros_like(b)); });
      check([](const Array& a, const Array& b) { return complex(zeros_like(a), exp(b)); });
      check([](const Array& a, const Array& b) {
        return real(complex(a, exp(b)) * complex(a, zeros_like(b)));
      });
      check([](const Array& a, const Array& b) { return complex(flip(a, {-1}), b); });
      check(
          [](const Array& a, const Array& b) { return transpose(complex(transpose(a), transpose(sin(b)))); });
      check([](const Array& a, const Array& b) {
        return fft::ifft(complex(exp(a), zeros_like(b)), {.n = 5}) + sum(a);
      });
    }
  const Array x = detail::filled({f64, {40, 30}}, 13);
  expect_graph_compiled_equal([](const Array& a) { return complex(a[range(0, {}, 2)], a[range(1, {}, 2)]); },
                              x);
  expect_graph_compiled_equal(
      [](const Array& a) {
        return complex(broadcast_to(max(a, {.axis = 1, .keepdims = true}), {40, 30}),
                       broadcast_to(a[range(3, 4)], {40, 30}));
      },
      x);
}

TEST(ResultParts, OfComplexUpdatedAndReadAgain) {
  const Array x = real(numbers({300}, c128, 9));
  expect_graph_compiled_equal(
      [](const Array& r) {
        const Array re = sin(r), w = complex(re, cos(r)).at(0).set(3.);
        return std::tuple{w, re + 1., sum(re)};
      },
      x);
}

TEST(ResultParts, OfComplexCarriedByLoops) {
  const Array a = numbers({100}, c128, 11), b = numbers({100}, c128, 13);
  expect_graph_compiled_equal(
      [](const Array& z, const Array& c) {
        return fori_loop(
            0, 5, [&](const Array&, const Array& w) { return w * w / (1. + abs(w)) + c; }, z);
      },
      a, b);
}

TEST(ResultParts, JoinedAlongEveryAxis) {
  const auto f = [](const Array& x, const Array& y, int axis) {
    return concatenate({sin(x), y, x * 2., cos(y)}, axis);
  };
  for (const Dtype dtype : {f64, f32, i8})
    for (const std::int64_t rows : {1, 3, 70})
      for (const std::int64_t columns : {1, 5, 63, 64, 200}) {
        const Array x = detail::filled({dtype, {rows, columns}}, 1),
                    y = detail::filled({dtype, {rows, columns}}, 2);
        for (const int axis : {0, 1})
          expect_graph_compiled_equal([&](const Array& a, const Array& b) { return f(a, b, axis); }, x, y);
        expect_graph_compiled_equal(
            [](const Array& a, const Array& b) {
              return stack({exp(a), a + b}, 1);
            },
            x, y);
      }
}

/// Columns that lie in memory are put beside one another in vectors, by one loop.
TEST(ResultParts, JoinedColumnsFromElsewhere) {
  for (const Dtype dtype : {f64, f32, i32})
    for (const std::int64_t count : {2, 3, 5, 8, 11, 12, 16, 17})
      for (const std::int64_t rows : {1, 4, 9, 70, 300}) {
        const Array x = detail::filled({dtype, {count, rows}}, 3), y = detail::filled({dtype, {rows, 3}}, 4);
        expect_graph_compiled_equal(
            [&](const Array& a, const Array& b) {
              std::vector<Array> columns;
              for (std::int64_t k = 0; k < count; ++k) columns.push_back(expand_dims(a[k], 1));
              const Array whole = concatenate(columns, 1);
              columns.push_back(flip(b, 0));
              return std::tuple{whole, concatenate(columns, 1), stack({whole, 2 * whole}, 2)};
            },
            x, y);
      }
  const Array x = detail::filled({f64, {16, 300}}, 5);
  const auto join = [](const Array& a) {
    std::vector<Array> columns;
    for (int k = 0; k < 16; ++k) columns.push_back(a[k]);
    return stack(columns, -1);
  };
  const std::string code = lower(join, x).compile().code_text();
  EXPECT_EQ(code.find("store double"), std::string::npos) << code;
  // Rows of several columns are copied as they lie: a table of shuffles would take long to compile.
  const auto turn = [](const Array& a) { return roll(reshape(a, {300, 16}), 1, 1); };
  EXPECT_LT(lower(turn, x).compile().code_text().size(), 10000u);
}

TEST(ResultParts, JoinedBesidesOtherResults) {
  const Array x = detail::filled({f64, {300}}, 3), y = detail::filled({f64, {300}}, 4);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const Array s = sin(a), c = cos(b);
        const Array w = concatenate({s, c, s}), v = concatenate({c, s + 1.});
        return std::tuple{s, w, sum(c), v * 2., v, w, concatenate({w, v})};
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const Array s = sin(a), w = concatenate({s, b}).at(2).set(3.);
        return std::tuple{w, s + 1., sum(w)};
      },
      x, y);
  // What borders of a difference are made of is read from inside of it.
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const Array s = exp(a), wide = concatenate({array({0.}), s, array({1.})});
        return wide[range(0, -2)] - 2. * s + wide[range(2, {})] + b;
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const Array at = astype(abs(b) * 100., i64);
        return concatenate({a[at], flip(sin(a)), a.at(at).add(1.)});
      },
      x, y);
}

// What is joined is joined again, along other axes and in other shapes, with narrow parts among it.
TEST(ResultParts, JoinedInWhatIsJoined) {
  const Array x = detail::filled({f64, {6, 300}}, 7), y = detail::filled({f64, {6, 2}}, 8),
              z = detail::filled({f64, {1, 302}}, 9);
  const auto rows = [](const Array& a, const Array& b) { return concatenate({sin(b), exp(a)}, 1); };
  expect_graph_compiled_equal(
      [&](const Array& a, const Array& b, const Array& c) {
        return concatenate({c * 2., rows(a, b), cos(c)}, 0);
      },
      x, y, z);
  expect_graph_compiled_equal(
      [&](const Array& a, const Array& b, const Array& c) {
        const Array inner = rows(a, b), outer = concatenate({c + 1., inner, c}, 0);
        return std::tuple{stack({outer, outer * 3.}), sum(inner), stack({inner, rows(a * 2., b)}), outer};
      },
      x, y, z);
  expect_graph_compiled_equal(
      [&](const Array& a, const Array& b, const Array& c) {
        return fori_loop(
            0, 4,
            [&](const Array&, const Array& w) {
              const Array inner = rows(a * w(0, 0), b);
              return concatenate({sin(w[range(0, 1)]), inner, concatenate({c, inner}, 0)}, 0);
            },
            concatenate({c, rows(a, b), c, rows(a, b)}, 0));
      },
      x, y, z);
}

TEST(ResultParts, JoinedInLoops) {
  const Array x = detail::filled({f64, {200}}, 5), y = detail::filled({f64, {100}}, 6);
  // One part is the same in each iteration; the whole is carried, or read.
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        return fori_loop(
            0, 5,
            [&](const Array&, const Array& w) {
              return concatenate({sin(b), w[range(0, 100)] * 0.5});
            },
            a);
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        return fori_loop(
            0, 5,
            [&](const Array& i, const Array& w) {
              const Array both = concatenate({sin(b), w[range(0, 100)] * 0.5});
              return w + cumsum(both) * astype(i, f64);
            },
            a);
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        return vmap([&](const Array& start) {
          return while_loop([](const Array& w) { return w[0] < 3.; },
                            [&](const Array& w) {
                              return concatenate({w[range(0, 100)] + 1., b * w[3]});
                            },
                            start * a);
        })(linspace(0.1, 2., 7));
      },
      x, y);
}

// One loop makes all columns, or several do; columns that are read elsewhere, too, or twice.
TEST(ResultParts, ColumnsSideBySide) {
  for (const Dtype dtype : {f64, f32, i32, bf16})
    for (const std::int64_t rows : {1, 5, 9, 70, 1000})
      for (const std::int64_t count : {2, 3, 4, 5, 6, 9}) {
        const Array x = detail::filled({dtype, {rows, count}}, 3);
        expect_graph_compiled_equal(
            [&](const Array& a) {
              const std::vector<Array> in = unstack(a, 1);
              std::vector<Array> out;
              for (std::size_t k = 0; k < in.size(); ++k)
                out.push_back(where(in[k] < in[(k + 1) % in.size()], in[k], in[(k + 2) % in.size()]));
              return stack(out, 1);
            },
            x);
      }
  const Array x = detail::filled({f64, {7, 60, 3}}, 5), y = detail::filled({f64, {7, 60}}, 6);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const std::vector<Array> in = unstack(a, 2);
        const Array s = in[0] * b, c = in[2] * in[1], d = b - in[0];
        const Array one = stack({s, c, d}, -1), turned = stack({d, s, c}, -1), twice = stack({s, c, s}, -1);
        return std::tuple{one, turned * 2., s, sum(one), twice, stack({s, b, c}, -1), sum(d)};
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        const std::vector<Array> in = unstack(a, 2);
        const Array mean = expand_dims(sum(b, {.axis = 1}), 1);
        return stack({in[0] * 2., in[1] - mean, max(in[2]) * in[0]}, -1);
      },
      x, y);
  expect_graph_compiled_equal(
      [](const Array& a, const Array& b) {
        return fori_loop(
            0, 4,
            [&](const Array& i, const Array& w) {
              return stack({w(ellipsis, 1) * b, w(ellipsis, 2) + astype(i, f64), w(ellipsis, 0) - b}, -1);
            },
            a);
      },
      x, y);
}

// Loops that are alike are one function: with columns, those whose columns lie alike.
TEST(ResultParts, ColumnsOfLoopsAlike) {
  const Array x = detail::filled({f64, {300, 3}}, 5);
  expect_graph_compiled_equal(
      [](const Array& a) {
        Array v = a;
        std::vector<Array> all;
        for (int k = 0; k < 8; ++k) {
          const std::vector<Array> in = unstack(v, 1);
          v = k % 3 == 2 ? stack({in[1] * in[2], in[1] - in[0], in[2] + in[0]}, 1)
                         : stack({in[0] * in[1], in[2] - in[1], in[0] + in[1]}, 1);
          all.push_back(sum(v, {.axis = 0}));
        }
        return std::pair{v, all};
      },
      x);
}

// A loop of sums walks what it stores as that will lie: as columns, or as a part of rows.
TEST(ResultParts, StoredInLoopsOfSums) {
  for (const Shape& shape : {Shape{5, 5}, Shape{40, 64}, Shape{3, 7, 64}}) {
    const Array x = detail::filled({f64, shape}, 5), y = detail::filled({f64, shape}, 6);
    for (int axis = 0; axis + 1 < shape.rank(); ++axis)
      expect_graph_compiled_equal(
          [&](const Array& a, const Array& b) {
            const Array p = a * 2., q = b + 1.;
            return std::tuple{sum(stack({p, q}, -1), {.axis = 0}), sum(concatenate({p, -q}, -1), {.axis = 0}),
                              sum(p * q, {.axis = axis}), sum(a * b, {.axis = axis})};
          },
          x, y);
  }
}

// What lanes make lies one behind the other, also where it is to be columns of a whole.
TEST(ResultParts, OfLanesJoinedAlongEveryAxis) {
  const Array x = detail::filled({f64, {5, 16}}, 7);
  for (int axis : {0, 1})
    expect_graph_compiled_equal(
        [axis](const Array& a) {
          const auto [low, high] = vmap([](const Array& start) {
            const auto end = while_loop([](const std::pair<Array, Array>& w) { return w.first[0] < 3.; },
                                        [](const std::pair<Array, Array>& w) {
                                          return std::pair{w.first + 1., w.second * 0.5};
                                        },
                                        std::pair{start, 2. * start});
            return end;
          })(a);
          return concatenate({low, high}, axis);
        },
        x);
}

}  // namespace
}  // namespace apsis::testing
