// Large arrays that a loop makes anew element by element lie where they were, if nothing reads what was there
// later; and what reads one array goes into the later loop that reads it.

#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

constexpr std::int64_t side = 256, array_bytes = side * side * 8;

template <class F>
std::int64_t scratch_bytes(const F& f, const Array& x) {
  return detail::compile(*staged_call(f, x).graph)->scratch_bytes;
}

Array square_matrix(std::uint64_t seed) { return detail::filled({f64, {side, side}}, seed); }

/// Three trips of a loop that carries a matrix and its rows' sums.
template <class Body>
auto loop_of(const Body& body) {
  return [body](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array& i, const std::pair<Array, Array>& c) { return body(i, c.first, c.second); },
        std::pair{x, sum(x, {.axis = 1})});
  };
}

TEST(CarriesInPlace, WhatIsMadeElementByElement) {
  const Array x = square_matrix(3);
  const auto step = loop_of([](const Array&, const Array& m, const Array& s) {
    const Array next = m * .5 + expand_dims(s, 1) * s;
    return std::pair{next, sum(next, {.axis = 1}) / double(side)};
  });
  expect_graph_compiled_equal(step, x);
  EXPECT_LT(scratch_bytes(step, x), 2 * array_bytes);
}

TEST(CarriesInPlace, NotWhatIsReadElsewhere) {
  const Array x = square_matrix(4);
  const auto expect_equal = [&](const auto& body) { expect_graph_compiled_equal(loop_of(body), x); };
  // Transposes and neighbours; the array that was there, behind the new one; only some of its rows.
  expect_equal([](const Array&, const Array& m, const Array& s) {
    return std::pair{m + transpose(m) * .25, s};
  });
  expect_equal([](const Array&, const Array& m, const Array& s) {
    return std::pair{.5 * (m + roll(m, 1, 0)) - roll(m, -1, 1), s};
  });
  expect_equal([](const Array&, const Array& m, const Array& s) {
    const Array next = m * .5 + s;
    return std::pair{next, sum(m * next[3], {.axis = 0}) / double(side)};
  });
  expect_equal([](const Array& i, const Array& m, const Array& s) {
    return std::pair{m * s + m[i], m[i + 1] + s};
  });
  expect_equal([](const Array&, const Array& m, const Array& s) {
    return std::pair{dot(m, m) / double(side) + m, s};
  });
}

TEST(CarriesInPlace, ListsOfWhatWasThere) {
  const Array x = square_matrix(5);
  expect_graph_compiled_equal(
      [](const Array& a) {
        return scan(
            [](const Array& m, const Array& k) {
              return std::pair{sin(m) * k, std::pair{m[1], sum(m * k)}};
            },
            a, arange(4.));
      },
      x);
  // Two that change places, a size that is no multiple of a vector, and a loop without a trip.
  expect_graph_compiled_equal(
      [](const Array& a) {
        return fori_loop(
            0, 3,
            [](const Array&, const std::pair<Array, Array>& c) {
              return std::pair{c.second * .5, c.first + c.second};
            },
            std::pair{a, cos(a)});
      },
      x);
  for (const std::int64_t trips : {0, 3})
    expect_graph_compiled_equal(
        [&](const Array& a) {
          return fori_loop(
              0, trips, [](const Array&, const Array& m) { return m * m - .5; }, a);
        },
        detail::filled({f64, {333, 201}}, 6));
  // In lanes, which leave one by one.
  expect_graph_compiled_equal(
      [](const Array& a) {
        return vmap([](const Array& row) {
          return while_loop([](const Array& v) { return sum(v * v) > 40.; },
                            [](const Array& v) { return v * .5; }, row);
        })(a);
      },
      detail::filled({f64, {3, 40000}}, 7));
}

// The memory of the result is one of the two that take turns, whichever has the last value.
TEST(CarriesInPlace, TheResultIsOneOfTwo) {
  const Array x = square_matrix(10);
  const auto next = [](const Array& m) { return sin(m) * .5 + transpose(m) * .25; };
  for (const std::int64_t trips : {0, 1, 2, 5}) {
    const auto many = [&](const Array& a) {
      return fori_loop(
          0, trips, [&](const Array&, const Array& m) { return next(m); }, a);
    };
    expect_graph_compiled_equal(many, x);
    EXPECT_LT(scratch_bytes(many, x), 2 * array_bytes) << trips;
    // Of a temporary, which is the other one; read once more behind the loop; in a loop.
    const auto of_temporary = [&](const Array& a) { return many(dot(a, a) / double(side)); };
    expect_graph_compiled_equal(of_temporary, x);
    EXPECT_LT(scratch_bytes(of_temporary, x), 2 * array_bytes) << trips;
    expect_graph_compiled_equal(
        [&](const Array& a) {
          return std::pair{many(a), sum(many(a), {.axis = 0})};
        },
        x);
    expect_graph_compiled_equal(
        [&](const Array& a) {
          return fori_loop(
              0, 3, [&](const Array&, const Array& m) { return many(m + transpose(m)); }, a);
        },
        x);
  }
  // An unknown number of them.
  for (const double most : {1e9, 1., .3, .1}) {
    const auto shrink = [&](const Array& a) {
      return while_loop([&](const Array& m) { return max(abs(m)) > most; }, next, a);
    };
    expect_graph_compiled_equal(shrink, x);
    EXPECT_LT(scratch_bytes(shrink, x), 2 * array_bytes) << most;
  }
  // What is made where it was.
  const auto alone = [](const Array& a) {
    return fori_loop(
        0, 3, [](const Array&, const Array& m) { return m * m - .5; }, a);
  };
  expect_graph_compiled_equal(alone, x);
  EXPECT_LT(scratch_bytes(alone, x), array_bytes);
}

// Outer products that are added to an array: the first one waits for the second.
TEST(CarriesInPlace, SeveralOuterProductsInOneLoop) {
  const Array x = square_matrix(8);
  const auto step = loop_of([](const Array&, const Array& m, const Array& s) {
    const Array first = m + expand_dims(s, 1) * s;
    const Array u = tanh(dot(square_matrix(9), s) / double(side));
    const Array next = first + where(expand_dims(u > 0., 1), expand_dims(u, 1) * s, 0.);
    return std::pair{next, u};
  });
  expect_graph_compiled_equal(step, x);
  EXPECT_LT(scratch_bytes(step, x), 2 * array_bytes);
}

}  // namespace
}  // namespace apsis::testing
