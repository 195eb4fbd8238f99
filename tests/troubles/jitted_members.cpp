// Jitted functions as members of structs that are transformed. Those made from lambdas that capture are no
// trees: they are static, and tell programs apart by what was jitted, not by how it looks.

#include <apsis/apsis.hpp>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

auto scaled_by(const Array& k) {
  return jit([k](const Array& x) { return tanh(k * x); });
}

struct Model {
  Array w;
  decltype(scaled_by(Array())) step;
};

Array loss(const Model& m, const Array& x) { return sum(m.step(m.w * x)); }

const Array xs = array({0.5, -1.25, 2.});

TEST(JittedMembers, CrossTransformations) {
  const Model m{array(0.7), scaled_by(array(2.))};
  const auto plain = [](const Array& w) { return sum(tanh(2. * (w * xs))); };
  const auto f = [](const Model& model, const Array& x) { return loss(model, x); };
  expect_near(f(m, xs), plain(m.w));
  expect_near(jit(f)(m, xs), plain(m.w));
  expect_near(grad(f)(m, xs).w, grad(plain)(m.w));
  expect_near(jit(grad(f))(m, xs).w, grad(plain)(m.w));
  expect_near(grad(jit(f))(m, xs).w, grad(plain)(m.w));
  const Array many = stack({xs, 2. * xs});
  expect_near(vmap(f, {.in_axes = {{}, 0}})(m, many), stack({loss(m, xs), loss(m, 2. * xs)}));
  expect_near(checkpoint(f)(m, xs), plain(m.w));
  // As a part of what a loop carries.
  const Model end = fori_loop(
      0, 3,
      [](const Array&, const Model& model) {
        return Model{model.step(model.w), model.step};
      },
      m);
  expect_near(end.w, tanh(2. * tanh(2. * tanh(2. * m.w))));
}

TEST(JittedMembers, AreStaticByIdentity) {
  const auto f = [](const Model& model, const Array& x) { return loss(model, x); };
  auto compiled = jit(f);
  const Model first{array(0.7), scaled_by(array(2.))}, second{array(0.7), scaled_by(array(3.))};
  compiled(first, xs);
  compiled(Model{array(0.1), first.step}, xs);  // a copy of the function is the function
  EXPECT_EQ(compiled.trace_count(), 1);
  expect_near(compiled(second, xs), loss(second, xs));  // of the same type, with another capture
  EXPECT_EQ(compiled.trace_count(), 2);
  EXPECT_TRUE(tree_equal(first, Model{array(0.7), first.step}));
  EXPECT_FALSE(tree_equal(first, second));
  EXPECT_THROW(compile(f, first, xs)(second, xs), Error);
  // Functions come and go; a new one in the memory of an old one is another.
  for (int k = 0; k < 20; ++k) {
    const Model m{array(0.7), scaled_by(array(0.1 * k))};
    expect_near(compiled(m, xs), sum(tanh(0.1 * k * (0.7 * xs))));
  }
}

auto step_with(const Array& k) {
  return jit([k](const auto& state) {
    auto next = state;
    next.w = tanh(k * state.w);
    return next;
  });
}

struct Training {
  Array w;
  decltype(step_with(Array())) step;
};

// The result, of which the cache keeps the structure, holds the function whose cache it is.
TEST(JittedMembers, MayReturnThemselves) {
  Array k = array(2.);
  std::optional<Training> last;
  {
    const Training first{array(0.7), step_with(k)};
    const Training next = first.step(first);
    last = next.step(next);
    expect_near(compile(first.step, first)(next).w, last->w);
    EXPECT_EQ(last->step.trace_count(), 1);
  }
  last = last->step(*last);
  expect_near(last->w, tanh(2. * tanh(2. * tanh(2. * array(0.7)))));
  EXPECT_GT(k.use_count(), 1u);
  last.reset();
  EXPECT_EQ(k.use_count(), 1u) << "the last copy of the function took its cache with it";
}

}  // namespace
}  // namespace apsis::testing
