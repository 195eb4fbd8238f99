// What has no floating leaf cannot be differentiated by, nor a result without one: each transformation says
// so.

#include "errors/error_of.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Counts {
  Array n, mask;
};
struct Mixed {
  Array x, n;
};

const auto doubled = [](const Array& x) { return x * 2; };
const auto loss = [](const Array& x) { return sum(x * 2.); };
const auto of_two = [](const Array& x, const Array& n) { return sum(x * n); };

std::string refusal(const char* transformation, const std::string& what) {
  return "[" + std::string(transformation) + "] " + what +
         ", but what one differentiates by must hold a floating array: integers have no derivative; write 3. "
         "instead of 3, or convert with astype";
}

TEST(Integers, AreRefusedAsArguments) {
  const std::string is_integer = "argument 0 is i64[]", none = "the arguments hold no array";
  EXPECT_EQ(error_of([] { grad(loss)(3); }), refusal("grad", is_integer));
  EXPECT_EQ(error_of([] { value_and_grad(loss)(3); }), refusal("grad", is_integer));
  EXPECT_EQ(error_of([] { jit(grad(loss))(3); }), refusal("grad", is_integer));
  EXPECT_EQ(error_of([] { vmap(grad(loss))(array({1, 2})); }), refusal("grad", "argument 0 is i32[]"));
  EXPECT_EQ(error_of([] { jvp(doubled, 3, 1); }), refusal("jvp", none));
  EXPECT_EQ(error_of([] { vjp(doubled, 3); }), refusal("vjp", none));
  EXPECT_EQ(error_of([] { linearize(doubled, 3); }), refusal("linearize", none));
  EXPECT_EQ(error_of([] { jvp(doubled, array(3), array(1)); }), refusal("jvp", "argument 0 is i32[]"));
  EXPECT_EQ(error_of([] { vjp(doubled, array(3)); }), refusal("vjp", "argument 0 is i32[]"));
  EXPECT_EQ(error_of([] { jacfwd(doubled)(3); }), refusal("jacfwd", is_integer));
  EXPECT_EQ(error_of([] { jacrev(doubled)(3); }), refusal("jacrev", is_integer));
  EXPECT_EQ(error_of([] { hessian(loss)(3); }), refusal("hessian", is_integer));
  EXPECT_EQ(error_of([] { jet(doubled, 3, {1}); }), refusal("jet", none));
  EXPECT_EQ(error_of([] { grad(loss)(array(true)); }), refusal("grad", "argument 0 is bool[]"));
}

TEST(Integers, AmongSeveralArguments) {
  EXPECT_EQ(error_of([] { grad<0, 1>(of_two)(1., 2); }), refusal("grad", "argument 1 is i64[]"));
  EXPECT_EQ(error_of([] { grad<1>(of_two)(1., 2); }), refusal("grad", "argument 1 is i64[]"));
  EXPECT_EQ(error_of([] { hessian<0, 1>(of_two)(1., 2); }), refusal("hessian", "argument 1 is i64[]"));
  const std::tuple<Array, Array> x{1., 2}, along{1., 1}, first{1., {}};
  EXPECT_EQ(error_of([&] { jvp(of_two, x, along); }), refusal("jvp", "argument 1 is i64[]"));
  // Nobody asks for the derivative by the second argument.
  expect_near(jvp(of_two, x, first).second, array(2.));
  expect_near(grad(of_two)(1., 2), array(2.));
  const auto [value, pull] = vjp(of_two, array(1.), array(2));
  const auto found = pull(array(1.));
  expect_near(std::get<0>(found), array(2.));
  EXPECT_TRUE(std::get<1>(found).is_empty());
}

TEST(Integers, AsLeavesOfAStruct) {
  auto by_counts = [](const Counts& c) { return sum(c.n * 2.); };
  const Counts counts{array({1, 2}), array({true, false})};
  EXPECT_EQ(error_of([&] { grad(by_counts)(counts); }),
            refusal("grad", "argument 0.n is i32[2], argument 0.mask is bool[2]"));
  EXPECT_EQ(error_of([&] { hessian(by_counts)(counts); }),
            refusal("hessian", "argument 0.n is i32[2], argument 0.mask is bool[2]"));
  EXPECT_EQ(error_of([&] { grad(by_counts)(Counts{}); }), refusal("grad", "argument 0 holds no array"));
  // Beside a floating leaf they stay empty.
  auto by_mixed = [](const Mixed& m) { return sum(m.x * m.n); };
  const Mixed gradient = grad(by_mixed)(Mixed{array(3.), array(2)});
  expect_near(gradient.x, array(2.));
  EXPECT_TRUE(gradient.n.is_empty());
  const auto hessian_of_mixed = hessian(by_mixed)(Mixed{array(3.), array(2)});
  expect_near(hessian_of_mixed.matrix(), zeros({1, 1}));
}

TEST(Integers, AreRefusedAsResults) {
  const std::string end =
      ", nothing floating: integers have no derivative; write 3. instead of 3, or convert with astype";
  auto whole = [](const Array& x) { return astype(x, i64); };
  auto nothing = [](const Array&) { return Array(); };
  EXPECT_EQ(error_of([&] { jacfwd(whole)(array(1.)); }), "[jacfwd] the function returns i64[]" + end);
  EXPECT_EQ(error_of([&] { jacrev(whole)(array(1.)); }), "[jacrev] the function returns i64[]" + end);
  EXPECT_EQ(error_of([&] { jacfwd(nothing)(array(1.)); }), "[jacfwd] the function returns no array" + end);
  EXPECT_EQ(error_of([&] { jacrev(nothing)(array(1.)); }), "[jacrev] the function returns no array" + end);
  const std::string no_loss =
      " the function must return one real scalar, got nothing; reduce it (sum, mean), or use jacrev for "
      "functions with many results";
  EXPECT_EQ(error_of([&] { grad(nothing)(array(1.)); }), "[grad]" + no_loss);
  EXPECT_EQ(error_of([&] { hessian(nothing)(array(1.)); }), "[hessian]" + no_loss);
  EXPECT_EQ(error_of([&] { jit(hessian(nothing))(array(1.)); }), "[hessian]" + no_loss);
}

TEST(Integers, JacobiansOfNothing) {
  auto none = [](const Array& x) { return x(range(0, 0)); };
  for (const Array& x : {array({1., 2.}), array(std::vector<double>{})}) {
    const Shape shape{0, x.size()};
    for (const Array& j : {jacfwd(none)(x), jacrev(none)(x), jit(jacfwd(none))(x), jit(jacrev(none))(x)}) {
      EXPECT_EQ(to_string(j.shape()), to_string(shape));
      EXPECT_EQ(j.dtype(), f64);
    }
  }
  auto total = [](const Array& x) { return sum(x * x); };
  const Array empty = array(std::vector<double>{});
  EXPECT_EQ(to_string(hessian(total)(empty).shape()), "[0, 0]");
  EXPECT_EQ(to_string(jit(hessian(total))(empty).shape()), "[0, 0]");
  EXPECT_EQ(to_string(jacrev(total)(empty).shape()), "[0]");
  struct Pair {
    Array a, b;
  };
  auto parts = [](const Pair& p) { return Pair{p.a(range(0, 0)), p.b * 2.}; };
  const auto j = jacrev(parts)(Pair{array({1., 2.}), array({3.})});
  EXPECT_EQ(to_string(j.block(&Pair::a, &Pair::b).shape()), "[0, 1]");
  expect_near(j.block(&Pair::b, &Pair::b), array({{2.}}));
}

}  // namespace
}  // namespace apsis::testing
