// Errors name the line of the call, whatever the number of its arguments, and the function that was called.

#include <apsis/apsis.hpp>

#include <gtest/gtest.h>

using namespace apsis;

namespace {

struct Pair {
  Array a, b;
};
struct Many {
  std::vector<Array> parts;
};
const Array x = array({1., 2.});
const Array n = array({1, 2});
const Array key = random::key(0);
const Many one{{x}}, two{{x, x}};
Array twice(const Array& a) { return 2. * a; }
/// An error without a place of its own, for C++ has no room for one in `!x`.
Array absent(const Array&) { return !Array(); }

template <class Run>
void expect_place(int line, const std::string& begin, const Run& run) {
  try {
    run();
    ADD_FAILURE() << "line " << line << ": nothing was thrown";
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.starts_with(begin)) << what;
    EXPECT_NE(what.find("\n  at " __FILE__ ":" + std::to_string(line) + " in "), std::string::npos) << what;
  }
}
#define EXPECT_HERE(begin, ...) expect_place(__LINE__, begin, [&] { (void)(__VA_ARGS__); })

TEST(Place, OfTransformationsOfOneCall) {
  EXPECT_HERE("[vjp] argument 0 is i32[2]", vjp(twice, n));
  EXPECT_HERE("[vjp] argument 0 is i32[2]", vjp(sin, n));
  EXPECT_HERE("[vjp] ", vjp([](const auto&... a) { return (a + ...); }, n, n, n, n, n, n));
  EXPECT_HERE("[linearize] argument 0 is i32[2]", linearize(twice, n));
  EXPECT_HERE("[linear_transpose] argument 0 is i32[2]", linear_transpose(twice, n));
  EXPECT_HERE("[Array] ", eval_shape(absent, x));
  EXPECT_HERE("[Array] ", trace(absent, x));
  EXPECT_HERE("[Array] ", lower(absent, x));
  EXPECT_HERE("[Array] ", compile(absent, x));
  EXPECT_HERE("[Array] ", make_graph(absent, x));
  EXPECT_HERE("[Array] ", closure_convert(absent, x));
  EXPECT_HERE("[Array] ", vjp(absent, x));
  EXPECT_HERE("[Array] ", linearize(absent, x));
  EXPECT_HERE("[Array] ", linear_transpose(absent, x));
  EXPECT_HERE("[Array] ", jit(absent)(x));
  EXPECT_HERE("[Array] ", vmap(absent)(x));
  EXPECT_HERE("[Array] ", grad(absent)(array(1.)));
  EXPECT_HERE("[Array] ", jvp(absent, x, x));
  EXPECT_HERE("[Array] ", jacfwd(absent)(x));
}

TEST(Place, OfPullBacks) {
  const auto pull = vjp(twice, x).second;
  const auto push = linearize(twice, x).second;
  EXPECT_HERE("[vjp] the cotangent of result is f64[3], but result is f64[2]", pull(ones({3})));
  EXPECT_HERE("[vjp] the cotangent of result is f32[2], but result is f64[2]", pull(ones({2}, f32)));
  EXPECT_HERE("[linearize] the tangent of ", push(ones({3})));
}

TEST(Place, OfTreesMapped) {
  EXPECT_HERE("[tree_map] tree 1 and tree 2",
              tree_map([](const Array& a, const Array&) { return a; }, one, two));
  EXPECT_HERE("[tree_map] tree 1 and tree 2", tree_map(maximum, one, two));
  EXPECT_HERE("[combine] tree 1 and tree 3", combine(one, one, two));
  EXPECT_HERE("[Array] ", tree_map(absent, one));
}

TEST(Place, OfOptimizers) {
  EXPECT_HERE("[Sgd] momentum = 1.0 must be", optim::Sgd{.momentum = 1.}.init(x));
  EXPECT_HERE("[Adam] eps = -1.0 must be", optim::Adam{.eps = -1.}.init(x));
  const optim::Adam adam;
  const auto state = adam.init(two);
  EXPECT_HERE("[update] tree 1 and tree 3", adam.update(one, state, two));
  EXPECT_HERE("[update] the state does not belong", adam.update(one, state, one));
  EXPECT_HERE("[update] the state does not belong", adam.update(x, adam.init(ones({3})), x));
  EXPECT_HERE("[update] the gradient of params is f64[3]", adam.update(ones({3}), adam.init(x), x));
  EXPECT_HERE(
      "[update] the gradient of params is f64[3]",
      optim::chain(optim::Clip{}, adam).update(ones({3}), optim::chain(optim::Clip{}, adam).init(x), x));
  EXPECT_HERE("[Clip] max_delta = 0.0 must be", optim::chain(adam, optim::Clip{0.}).init(x));
  EXPECT_HERE("[CosineDecay] decay_steps = 0 must be",
              optim::Adam{.learning_rate = optim::CosineDecay{.decay_steps = 0}}.init(x));
  EXPECT_HERE("[tree_map] ", apply_updates(one, two));
  EXPECT_HERE("[add] shapes [2] and [3] do not broadcast", apply_updates(x, ones({3})));
}

TEST(Place, OfNames) {
  const Dimensions lengths{{"in", 3}};
  EXPECT_HERE("[Dimensions] no length is known by the name 'out'", lengths["out"]);
  EXPECT_HERE("[Dimensions] no length is known by the name 'out'", lengths[std::string("out")]);
  EXPECT_HERE("[Dimensions] no length is known by the name 'out'", lengths.shape({"in", "out"}));
}

TEST(CalledBy, ItsOwnName) {
  EXPECT_HERE("[hessian] argument 0 is i32[2]", hessian([](const Array& a) { return sum(a); })(n));
  EXPECT_HERE("[hessian] the function must return one real scalar", hessian(twice)(x));
  EXPECT_HERE("[clip] shapes [2] and [3] do not broadcast", clip(x, ones({3}), 1.));
  EXPECT_HERE("[clip] shapes [2] and [3] do not broadcast", clip(x, 0., ones({3})));
  EXPECT_HERE("[clip] is not defined for c128[2]", clip(astype(x, c128), 0., 1.));
  EXPECT_HERE("[softmax] f64[2] has no axis 2", softmax(x, 2));
  EXPECT_HERE("[log_softmax] f64[2] has no axis -3", log_softmax(x, -3));
  EXPECT_HERE("[split] axis 0 of shape [2] does not divide into 4611686018427387904 equal parts",
              split(x, std::int64_t{1} << 62));
  EXPECT_HERE("[normal] a count must not be negative, got [-1]", random::normal(key, {-1}));
  EXPECT_HERE("[exponential] a count must not be negative, got [-1]", random::exponential(key, {-1}));
  EXPECT_HERE("[exponential] a key is an array u32[2]", random::exponential(x, {1}));
  EXPECT_HERE("[choice] a key is an array u32[2]", random::choice(x, x, {1}));
  EXPECT_HERE("[categorical] a key is an array u32[2]", random::categorical(x, x));
  EXPECT_HERE("[dim] axis 0 is out of range for shape []: a scalar has no axes", array(1.).dim(0));
  EXPECT_HERE("[sum] axis -1 is out of range for shape []: a scalar has no axes",
              sum(array(1.), {.axis = -1}));
}

}  // namespace
