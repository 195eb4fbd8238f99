// Creation, shapes, indexing and products against JAX and NumPy.

#include "apsis/array/shape.hpp"
#include "apsis/array/creation.hpp"
#include "apsis/array/index.hpp"
#include "apsis/array/product.hpp"
#include "apsis/array/sized.hpp"
#include "apsis/ops/math.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

SpaceOptions space(const Case& c) {
  return {.endpoint = flag(c, "endpoint"), .axis = static_cast<int>(number(c, "axis"))};
}

int integer(const Case& c, const std::string& key, std::size_t at = 0) {
  return static_cast<int>(numbers(c, key).at(at));
}

TEST(ArrayRoom, Creation) {
  const Table table{
      {"linspace", one([](auto& c, auto x) { return linspace(x[0], x[1], number(c, "count"), space(c)); })},
      {"logspace", one([](auto& c, auto x) { return logspace(x[0], x[1], number(c, "count"), space(c)); })},
      {"geomspace", one([](auto& c, auto x) { return geomspace(x[0], x[1], number(c, "count"), space(c)); })},
      {"diagflat", one([](auto& c, auto x) { return diagflat(x[0], integer(c, "k")); })},
      {"diagonal", one([](auto& c, auto x) {
         return diagonal(x[0], integer(c, "k"), integer(c, "axes", 0), integer(c, "axes", 1));
       })},
      {"vander", one([](auto& c, auto x) { return vander(x[0], number(c, "n"), flag(c, "increasing")); })},
      APSIS_BINARY(fill_diagonal),
      {"meshgrid", many([](auto& c, auto x) {
         return meshgrid(x, {.matrix = flag(c, "matrix"), .sparse = flag(c, "sparse")});
       })},
      {"tri", one([](auto& c, auto) { return tri(number(c, "n"), number(c, "m"), integer(c, "k")); })},
      {"indices", one([](auto& c, auto) { return indices(dims(c, "sizes")); })},
      {"empty", one([](auto& c, auto) { return empty({number(c, "n")}); })},
      APSIS_UNARY(empty_like),
  };
  check_file("creation", table);
}

PadMode pad_mode(const std::string& name) {
  const std::map<std::string, PadMode> modes{{"edge", PadMode::Edge},
                                             {"reflect", PadMode::Reflect},
                                             {"symmetric", PadMode::Symmetric},
                                             {"wrap", PadMode::Wrap},
                                             {"linear_ramp", PadMode::LinearRamp},
                                             {"maximum", PadMode::Maximum},
                                             {"minimum", PadMode::Minimum},
                                             {"mean", PadMode::Mean},
                                             {"median", PadMode::Median}};
  return modes.at(name);
}

TEST(ArrayRoom, Shape) {
  using Part = std::vector<Array> (*)(const Array&, std::int64_t, Loc);
  auto parts = [](Part f) { return many([f](auto& c, auto x) { return f(x[0], number(c, "n"), {}); }); };
  const Table table{
      {"rollaxis",
       one([](auto& c, auto x) { return rollaxis(x[0], integer(c, "axis"), integer(c, "start")); })},
      APSIS_UNARY(matrix_transpose),
      {"broadcast_arrays", many([](auto&, auto x) { return broadcast_arrays(x); })},
      APSIS_UNARY(atleast_1d),
      APSIS_UNARY(atleast_2d),
      APSIS_UNARY(atleast_3d),
      {"hstack", one([](auto&, auto x) { return hstack(x); })},
      {"vstack", one([](auto&, auto x) { return vstack(x); })},
      {"dstack", one([](auto&, auto x) { return dstack(x); })},
      {"column_stack", one([](auto&, auto x) { return column_stack(x); })},
      {"block", one([](auto&, auto x) {
         return block({{x[0], x[1]}, {x[2], x[3]}});
       })},
      {"append", one([](auto& c, auto x) {
         return c.text.at("axis") == "none" ? append(x[0], x[1]) : append(x[0], x[1], integer(c, "axis"));
       })},
      {"insert",
       one([](auto& c, auto x) { return insert(x[0], dims(c, "places"), x[1], integer(c, "axis")); })},
      {"delete", one([](auto& c, auto x) { return delete_(x[0], dims(c, "places"), integer(c, "axis")); })},
      {"array_split",
       many([](auto& c, auto x) { return array_split(x[0], number(c, "n"), integer(c, "axis")); })},
      {"hsplit", parts(hsplit)},
      {"vsplit", parts(vsplit)},
      {"dsplit", parts(dsplit)},
      APSIS_UNARY(fliplr),
      APSIS_UNARY(flipud),
      {"rot90", one([](auto& c, auto x) {
         return rot90(x[0], integer(c, "k"), integer(c, "axes", 0), integer(c, "axes", 1));
       })},
      {"roll", one([](auto& c, auto x) { return roll(x[0], dims(c, "shift"), dims(c, "axes")); })},
      {"repeat", one([](auto& c, auto x) { return repeat(x[0], dims(c, "counts"), integer(c, "axis")); })},
      {"resize", one([](auto& c, auto x) { return resize(x[0], dims(c, "shape")); })},
      {"pad", one([](auto& c, auto x) {
         return pad(x[0], dims(c, "low"), dims(c, "high"), pad_mode(c.text.at("mode")),
                    {.end_value = 0.5, .stat_length = number(c, "length")});
       })},
  };
  check_file("shape", table);
  EXPECT_EQ(broadcast_shapes({{2, 1}, {3}, {}}), (Shape{2, 3}));
}

OutOfBounds mode(const Case& c) {
  return c.text.at("mode") == "wrap" ? OutOfBounds::Wrap : OutOfBounds::Clip;
}

TEST(ArrayRoom, Index) {
  const Table table{
      {"put_along_axis",
       one([](auto& c, auto x) { return put_along_axis(x[0], x[1], x[2], integer(c, "axis")); })},
      {"select", one([](auto&, auto x) {
         return select({x[0], x[1]}, {x[2], x[3]}, x[4]);
       })},
      {"choose", one([](auto& c, auto x) { return choose(x[0], x.subspan(1), mode(c)); })},
      {"tril_indices",
       many([](auto& c, auto) { return tril_indices(number(c, "n"), integer(c, "k"), number(c, "m")); })},
      {"triu_indices",
       many([](auto& c, auto) { return triu_indices(number(c, "n"), integer(c, "k"), number(c, "m")); })},
      {"diag_indices", many([](auto& c, auto) { return diag_indices(number(c, "n"), integer(c, "d")); })},
      {"ix", many([](auto&, auto x) {
         return ix_({x[0], x[1]});
       })},
      {"unravel_index", many([](auto& c, auto x) { return unravel_index(x[0], dims(c, "shape")); })},
      {"ravel_multi_index",
       one([](auto& c, auto x) { return ravel_multi_index(x, dims(c, "shape"), mode(c)); })},
  };
  check_file("index", table);
  const Array square = zeros({3, 3});
  expect_identical(diag_indices_from(square), diag_indices(3), "diag_indices_from");
  for (std::size_t i = 0; i < 2; ++i) {
    expect_identical({tril_indices_from(square, 1)[i]}, {tril_indices(3, 1)[i]}, "tril_indices_from");
    expect_identical({triu_indices_from(square, 1)[i]}, {triu_indices(3, 1)[i]}, "triu_indices_from");
  }
}

TEST(ArrayRoom, Product) {
  const Table table{
      {"vecdot", one([](auto& c, auto x) { return vecdot(x[0], x[1], integer(c, "axis")); })},
      APSIS_BINARY(matvec),
      APSIS_BINARY(vecmat),
      APSIS_BINARY(kron),
      {"cross", one([](auto& c, auto x) {
         return cross(x[0], x[1],
                      {.axis_a = integer(c, "axes", 0),
                       .axis_b = integer(c, "axes", 1),
                       .axis_c = integer(c, "axes", 2)});
       })},
      {"trace", one([](auto& c, auto x) {
         return trace(
             x[0],
             {.offset = integer(c, "k"), .axis1 = integer(c, "axes", 0), .axis2 = integer(c, "axes", 1)});
       })},
  };
  check_file("product", table);
}

TEST(ArrayRoom, Updates) {
  auto mode = [](const Case& c) { return c.text.at("mode") == "clip" ? IndexMode::Clip : IndexMode::Drop; };
  const Table table{
      {"subtract", one([=](auto& c, auto x) { return x[0].at(x[1]).subtract(x[2], mode(c)); })},
      {"divide", one([=](auto& c, auto x) { return x[0].at(x[1]).divide(x[2], mode(c)); })},
      {"power", one([=](auto& c, auto x) { return x[0].at(x[1]).power(x[2], mode(c)); })},
      {"apply", one([=](auto& c, auto x) {
         return x[0].at(x[1]).apply([](const Array& some) { return sin(some); }, mode(c));
       })},
  };
  check_file("updates", table);
}

TEST(ArrayRoom, OfBooleansAndIntegers) {
  const Array mask = array({true, false});
  EXPECT_TRUE(is_leaf<Array>::equal(outer(mask, mask), array({{true, false}, {false, false}})));
  EXPECT_TRUE(is_leaf<Array>::equal(ldexp(array({1.5, 3.}), mask), array({3., 3.})));
  EXPECT_TRUE(is_leaf<Array>::equal(array({2, 3}).at(array({0, 0, 7})).power(3), array({512, 3})));
}

TEST(ArrayRoom, WithoutAnAxisAllElements) {
  const auto same = [](const Array& a, const Array& b) { EXPECT_TRUE(is_leaf<Array>::equal(a, b)); };
  const Array x = array({{1, 2}, {3, 4}});
  same(insert(x, {1, -1}, array({8, 9})), array({1, 8, 2, 3, 9, 4}));
  same(delete_(x, {0, 3}), array({2, 3}));
  same(compress(array({false, true, true}), x), array({2, 3}));
  same(compress(array({false, true, true}), x, {.size = 1}), array({2}));
}

TEST(ArrayRoom, UpdatesOfNothingAreNothing) {
  const Array none = zeros({0, 3}), at = array({0, 5, -1});
  for (const auto mode : {IndexMode::Drop, IndexMode::Clip, IndexMode::Wrap}) {
    EXPECT_EQ(none.at(at).add(1., mode).shape(), Shape({0, 3}));
    EXPECT_EQ(jit([=](const Array& x) {
                return x.at(at).set(ones({3, 3}), mode);
              })(none)
                  .shape(),
              Shape({0, 3}));
  }
  EXPECT_THROW(none.at(at).add(ones({2, 3})), Error);  // which does not fit
}

}  // namespace
}  // namespace apsis::testing
