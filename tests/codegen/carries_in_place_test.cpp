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
