// Functions of the library given to transformations by name, also where the C library has one of that name.

#include <cmath>
#include <sstream>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array x = array({0.1, 0.2, 0.3});
const Array rows = array({{1., 2., 3.}, {4., 5., 6.}});

TEST(LibraryFunctions, AreDifferentiated) {
  expect_same_bits(grad(sin)(0.5), grad([](const Array& a) { return sin(a); })(0.5));
  expect_same_bits(grad(sum)(x), ones({3}));
  expect_same_bits(value_and_grad(norm)(x).second, grad([](const Array& a) { return norm(a); })(x));
  const auto [dy, dx] = grad<0, 1>(atan2)(1., 2.);
  expect_near(dy, array(2. / 5.));
  expect_near(dx, array(-1. / 5.));
  expect_near(hessian(exp)(1.), Array(std::exp(1.)));
  expect_same_bits(jvp(sin, x, ones({3})).second, cos(x));
  expect_same_bits(std::get<0>(vjp(sin, x).second(ones({3}))), cos(x));
  expect_near(jacfwd(cos)(0.5), -sin(Array(0.5)));
}

TEST(LibraryFunctions, AreMappedCompiledAndChosen) {
  expect_same_bits(vmap(dot)(rows, rows), array({14., 77.}));
  expect_same_bits(vmap(dot, {0, {}})(rows, array({1., 0., 1.})), array({4., 10.}));
  expect_same_bits(vmap(sum)(rows), array({6., 15.}));
  expect_same_bits(jit(exp)(x), jit([](const Array& a) { return exp(a); })(x));
  expect_same_bits(compile(tanh, x)(x), jit([](const Array& a) { return tanh(a); })(x));
  expect_same_bits(cond(true, sin, cos, x), sin(x));
  expect_same_bits(tree_map(zeros_like, std::vector{x, rows})[1], zeros({2, 3}));
  // Which function it is, is part of the key.
  auto apply = jit([](const auto& f, const Array& a) { return f(a); });
  auto as_value = [](Array (*f)(const Array&, Loc)) { return detail::library_function(f, {}); };
  expect_near(apply(as_value(sin), x), sin(x));
  expect_near(apply(as_value(cos), x), cos(x));
  EXPECT_EQ(apply.trace_count(), 2);
}

TEST(LibraryFunctions, ErrorsNameTheLineOfTheTransformation) {
  try {
    vmap(dot)(rows, array({{1., 2.}, {3., 4.}}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("library_functions_test.cpp"), std::string::npos) << e.what();
  }
}

TEST(Axes, AreGivenAsOneNumberOrAsAList) {
  auto f = [](const Array& a, const Array& b) { return a * b; };
  const Array ones23 = ones({2, 3});
  const Array wanted = vmap(f, {.in_axes = {1, 1}})(rows, ones23);
  expect_same_bits(vmap(f, {.in_axes = 1})(rows, ones23), wanted);
  expect_same_bits(vmap(f, {1, 1})(rows, ones23), wanted);
  expect_same_bits(vmap(f, {.in_axes = {0, {}}})(rows, x), rows * x);
  expect_same_bits(vmap(f, {0, {}})(rows, x), rows * x);
  expect_same_bits(vmap(f, {{}, -1})(array({1., 2.}), rows),
                   vmap(f, {.in_axes = {{}, 1}})(array({1., 2.}), rows));
  EXPECT_THROW(vmap(f, {0})(rows, rows), Error);
}

TEST(Branches, MayReturnNumbers) {
  auto same = [](const Array& a) { return a; };
  auto number = [](const Array&) { return 7.; };
  for (bool first : {true, false}) {
    auto choose = [&](const Array& p, const Array& a) { return cond(p, same, number, a); };
    const Array wanted = first ? Array(2.5, f64) : Array(7., f64);
    expect_same_bits(choose(first, Array(2.5, f64)), wanted);
    expect_same_bits(jit(choose)(first, Array(2.5, f64)), wanted);
    expect_same_bits(grad<1>(choose)(first, Array(2.5, f64)), Array(first ? 1. : 0., f64));
  }
  auto integer = [](const Array&) { return 1; };
  expect_same_bits(cond(true, integer, number, 0.), Array(1.));
}

Array twice(const Array& a) { return 2. * a; }
Array thrice(const Array& a) { return 3. * a; }

TEST(Branches, OfOneTypeMayStandInAVector) {
  const std::vector<Array (*)(const Array&)> branches{twice, thrice};
  auto choose = [&](const Array& i, const Array& a) { return switch_(i, branches, a); };
  for (int i : {-1, 0, 1, 5}) {
    const Array wanted = i <= 0 ? twice(x) : thrice(x);
    expect_same_bits(choose(i, x), wanted);
    expect_same_bits(jit(choose)(i, x), wanted);
    DisableJit off;
    expect_same_bits(choose(i, x), wanted);
  }
  expect_same_bits(vmap(choose)(array({0, 1, 1}), x), array({0.2, 3. * 0.2, 3. * 0.3}));
}

struct Settings {
  Static<double> slope = 0.5;
  Static<int> power = 3;
};

TEST(StaticNumbers, ComputeAsTheNumbersTheyHold) {
  const Settings s;
  static_assert(std::is_same_v<decltype(s.slope * s.power), double>);
  static_assert(std::is_same_v<decltype(s.power + 1), int>);
  EXPECT_EQ(s.slope * s.slope + 2. * s.slope - 1, 0.25);
  EXPECT_EQ(-s.slope / s.power, -0.5 / 3);
  EXPECT_EQ(s.power % 2, 1);
  EXPECT_TRUE(s.slope < s.power && s.power > 2 && 2 <= s.power && s.slope == 0.5);
  expect_same_bits(x * s.slope, x * 0.5);
  expect_same_bits(pow(x, s.power), x * x * x);
  int sum = 0;
  for (int i = 0; i < s.power; ++i) sum += i;
  EXPECT_EQ(sum, 3);
}

TEST(Streams, TakeArraysShapesAndDtypes) {
  std::ostringstream text;
  text << "x = " << array({1., 2.}) << ", " << 1 << ", " << Static<double>(0.5) << '\n';
  EXPECT_EQ(text.str(), "x = [1. 2.], 1, 0.5\n");
  std::ostringstream kind;
  kind << zeros({2, 3}).dtype() << ' ' << zeros({2, 3}).shape() << ' ' << array(1).shape();
  EXPECT_EQ(kind.str(), "f64 [2, 3] []");
}

TEST(Streams, TakePrograms) {
  const auto traced = trace([](const Array& a) { return sin(a); }, x);
  std::ostringstream text, code;
  text << traced;
  EXPECT_EQ(text.str(), traced.text());
  code << traced.lower();
  EXPECT_EQ(code.str(), traced.lower().text());
}

TEST(Leaves, OfAPartialAndActivationsByTheirNames) {
  EXPECT_EQ(tree_leaves(Partial{[](const Array& a, const Array& b) { return a * b; }, x}).size(), 1u);
  expect_same_bits(relu(array({-1., 2.})), array({0., 2.}));
  expect_same_bits(softmax(x), nn::softmax(x));
}

}  // namespace
}  // namespace apsis::testing
