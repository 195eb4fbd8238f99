// Gather and scatter by dimension numbers, against JAX.

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace apsis::testing {
namespace {

IndexMode mode_of(const Case& c) { return c.text.at("mode") == "clip" ? IndexMode::Clip : IndexMode::Fill; }

Array gathered(const Case& c, Inputs x) {
  const GatherDimensions dimensions{dims(c, "offset_dims"), dims(c, "collapsed_slice_dims"),
                                    dims(c, "start_index_map"), dims(c, "operand_batching_dims"),
                                    dims(c, "start_indices_batching_dims")};
  return gather(x[0], x[1], dimensions, dims(c, "sizes"), mode_of(c));
}

Array scattered(const Case& c, Inputs x) {
  const std::map<std::string, ScatterUpdate> kinds{{"set", ScatterUpdate::Set},
                                                   {"add", ScatterUpdate::Add},
                                                   {"multiply", ScatterUpdate::Multiply},
                                                   {"min", ScatterUpdate::Min},
                                                   {"max", ScatterUpdate::Max}};
  const ScatterDimensions dimensions{dims(c, "offset_dims"), dims(c, "collapsed_slice_dims"),
                                     dims(c, "start_index_map"), dims(c, "operand_batching_dims"),
                                     dims(c, "start_indices_batching_dims")};
  return scatter(x[0], x[1], x[2], dimensions,
                 {.update = kinds.at(c.text.at("kind")),
                  .mode = mode_of(c),
                  .unique_indices = c.text.at("kind") == "multiply"});
}

TEST(Gather, ByDimensionNumbersIsJaxs) {
  Function take = one(gathered, 0, 0), put = one(scattered, 1e-15, 1e-6);
  take.compiles_each = put.compiles_each = false;
  check_file("gather", {{"gather", take}, {"scatter", put}});
}

TEST(Gather, WrappedIndicesGoRound) {
  const Array x = array({10., 20., 30.}), i = array({-4, -1, 0, 2, 3, 7});
  const auto same = [](const Array& a, const Array& b) { EXPECT_TRUE(identical(a, b)) << to_string(a); };
  same(x.at(i).get(IndexMode::Wrap), array({30., 30., 10., 30., 10., 20.}));
  same(x.at(i).add(1., IndexMode::Wrap), array({12., 21., 33.}));
  same(jit([](const Array& a, const Array& at) { return a.at(at).set(0., IndexMode::Wrap); })(x, array(4)),
       array({10., 0., 30.}));
  same(x.at(array({5u})).get(IndexMode::Wrap), array({30.}));
  const Array m = reshape(arange(6.), {2, 3});
  same(m.at(array({3, -3}), range(0, 2)).get(IndexMode::Wrap), array({{3., 4.}, {3., 4.}}));
  same(grad([&](const Array& a) { return sum(a.at(i).get(IndexMode::Wrap) * arange(6.)); })(x),
       array({6., 5., 4.}));
}

// What stands beside the index in JAX: `indices_are_sorted`, `unique_indices`, and modes.
TEST(Updates, PromisesAndModes) {
  const Array x = array({1., 2., 3., 4.}), at = array({0, 2}), y = array({5., 7.});
  const IndexPromises unique{.sorted = true, .unique = true};
  const auto by_factor = [&](const Array& v) { return sum(x.at(at).promise(unique).multiply(v)); };
  expect_identical({x.at(at).promise(unique).set(y), grad(by_factor)(y)},
                   {array({5., 2., 7., 4.}), array({1., 3.})}, "promised unique");
  const auto by_divisor = [&](const Array& v) { return sum(x.at(at).promise(unique).divide(v)); };
  expect_identical({jit(grad(by_divisor))(array({1., 2.}))}, {array({-1., -0.75})}, "a quotient");
  EXPECT_THROW(grad([&](const Array& v) { return sum(x.at(at).multiply(v)); })(y), Error);
  expect_identical({x.at(at).get(IndexMode::Promise), x.at(at).add(y, IndexMode::Promise),
                    x.at(array({0, 9})).get(IndexMode::Promise)},
                   {array({1., 3.}), array({6., 2., 10., 4.}), array({1., 4.})}, "promised in bounds");
}

// As in JAX 0.10: x / ones_like(x).at(…).multiply(…), a floating number.
TEST(Updates, QuotientsOfIntegersAreFloating) {
  const Array x = arange(5);
  expect_identical({x.at(1).divide(2), x.at(array({1, 3, 3})).divide(array({2, 2, 3}))},
                   {array({0., 0.5, 2., 3., 4.}), array({0., 0.5, 2., 0.5, 4.})}, "quotients");
  EXPECT_EQ(astype(x, i32).at(1).divide(2).dtype(), (astype(x, i32) / astype(x, i32)).dtype());
  EXPECT_THROW((x > 1).at(1).divide(true), Error);
}

TEST(Segments, AreCountedByTheGreatestOnlyWhereNoneAreGiven) {
  const Array x = array({1., 2., 4.}), ids = array({0, 1, 1});
  expect_identical(
      {segment_sum(x, ids), segment_sum(x, ids, {.segments = 1}), segment_sum(x, ids, {.segments = 0})},
      {array({1., 6.}), array({1.}), zeros({0})}, "counted");
  try {
    segment_sum(x, ids, {.segments = -5});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(
        std::string_view(e.what()).find("[segment_sum] a number of entries must not be negative, got -5"),
        std::string_view::npos);
  }
}

}  // namespace
}  // namespace apsis::testing
