// Schedules and projections against Optax's (tests/golden/optim.txt).

#include <set>

#include "optim/trajectory.hpp"

namespace apsis::optim::testing {
namespace {

const std::map<std::string, ScalarOrSchedule>& schedules() {
  static const std::vector<Boundary> boundaries{{30, 0.5}, {10, 2.}, {100, 0.1}};
  static const std::map<std::string, ScalarOrSchedule> table{
      {"constant", ConstantSchedule{0.3}},
      {"polynomial", PolynomialSchedule{.init_value = 0.1,
                                        .end_value = 0.02,
                                        .power = 2.5,
                                        .transition_steps = 50,
                                        .transition_begin = 10}},
      {"linear", LinearSchedule{.init_value = 0.1, .end_value = 0.01, .transition_steps = 100}},
      {"linear_constant", LinearSchedule{.init_value = 0.1, .end_value = 0.01}},
      {"exponential_decay", ExponentialDecay{.init_value = 0.1, .transition_steps = 10, .decay_rate = 0.5}},
      {"exponential_staircase", ExponentialDecay{.init_value = 0.1,
                                                 .transition_steps = 10,
                                                 .decay_rate = 0.5,
                                                 .transition_begin = 5,
                                                 .staircase = true,
                                                 .end_value = 0.01}},
      {"exponential_growth",
       ExponentialDecay{.init_value = 0.1, .transition_steps = 10, .decay_rate = 1.5, .end_value = 0.9}},
      {"exponential_constant",
       ExponentialDecay{.init_value = 0.1, .transition_steps = 10, .decay_rate = 0., .end_value = 0.5}},
      {"cosine_decay", CosineDecay{.init_value = 0.1, .decay_steps = 100, .alpha = 0.05}},
      {"cosine_decay_exponent",
       CosineDecay{.init_value = 0.1, .decay_steps = 50, .alpha = 0.1, .exponent = 2.}},
      {"piecewise_constant", PiecewiseConstantSchedule{0.1, {{30, 0.5}, {10, 0.2}, {100, 3.}}}},
      {"piecewise_linear", PiecewiseInterpolateSchedule{Interpolation::Linear, 0.1, boundaries}},
      {"piecewise_cosine", PiecewiseInterpolateSchedule{Interpolation::Cosine, 0.1, boundaries}},
      {"linear_onecycle", LinearOneCycle{.transition_steps = 100, .peak_value = 0.5}},
      {"linear_onecycle_options", LinearOneCycle{.transition_steps = 97,
                                                 .peak_value = 0.5,
                                                 .pct_start = 0.2,
                                                 .pct_final = 0.7,
                                                 .div_factor = 10.,
                                                 .final_div_factor = 100.}},
      {"cosine_onecycle", CosineOneCycle{.transition_steps = 100, .peak_value = 0.5}},
      {"warmup_constant", WarmupConstant{.init_value = 0.01, .peak_value = 0.1, .warmup_steps = 20}},
      {"warmup_cosine_decay",
       WarmupCosineDecay{.peak_value = 0.1, .warmup_steps = 10, .decay_steps = 100, .end_value = 0.001}},
      {"warmup_exponential_decay", WarmupExponentialDecay{.peak_value = 0.1,
                                                          .warmup_steps = 10,
                                                          .transition_steps = 20,
                                                          .decay_rate = 0.8,
                                                          .transition_begin = 5,
                                                          .staircase = true,
                                                          .end_value = 0.04}},
      {"join",
       JoinSchedules{{0.1, LinearSchedule{.init_value = 0.5, .end_value = 0.1, .transition_steps = 20},
                      CosineDecay{.init_value = 0.3, .decay_steps = 40}},
                     {10, 30}}},
      {"sgdr",
       SgdrSchedule{
           {{.init_value = 0., .peak_value = 0.1, .warmup_steps = 5, .decay_steps = 30, .end_value = 0.01},
            {.init_value = 0.01, .peak_value = 0.05, .warmup_steps = 10, .decay_steps = 60}}}}};
  return table;
}

TEST(Schedules, AreOptaxs) {
  std::set<std::string> seen;
  for (const golden::Case& c : cases()) {
    if (c.name != "schedule") continue;
    const std::string& name = c.text.at("name");
    ASSERT_TRUE(schedules().count(name)) << name;
    seen.insert(name);
    const ScalarOrSchedule& schedule = schedules().at(name);
    auto at_all = jit(vmap([&](const Array& count) { return astype(schedule(count), f64); }));
    const std::vector<double> compiled = at_all(array_of(c["count"])).to_vector<double>();
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      const double want = c["value"].real[i];
      // A cosine, a power and four operations: 8 units in the last place of the greatest value, about 1.
      EXPECT_NEAR(schedule(array(c["count"].integers[i])).item<double>(), want, 8 * 0x1p-53)
          << name << " " << i;
      EXPECT_NEAR(compiled[i], want, 8 * 0x1p-53) << name << " " << i;
    }
  }
  EXPECT_EQ(seen.size(), schedules().size());
}

struct Halving {
  Array first;
  Array operator()(const Array& count) const { return first / (1 + count); }
};

TEST(Schedules, OfOnesOwn) {
  const Array third = array(std::int64_t{3});
  EXPECT_EQ(ScalarOrSchedule([](const Array& count) { return 2. * count; })(third).item<double>(), 6.);
  EXPECT_EQ(ScalarOrSchedule(Halving{1.})(third).item<double>(), 0.25);
  // Its fields may be traced.
  auto descend = [](const Array& first) {
    Sgd sgd{.learning_rate = Halving{first}};
    return sgd.update(array(1.), sgd.init(array(0.)), array(0.)).first;
  };
  EXPECT_EQ(jit(descend)(array(0.5)).item<double>(), -0.5);
  EXPECT_EQ(grad(descend)(array(0.5)).item<double>(), -1.);
}

using Projection = Array (*)(const Array& x, const Array& other);
const std::map<std::string, Projection>& projections() {
  static const std::map<std::string, Projection> table{
      {"non_negative", [](const Array& x, const Array&) { return projection_non_negative(x); }},
      {"box", [](const Array& x, const Array& other) { return projection_box(x, -0.5, abs(other)); }},
      {"hypercube", [](const Array& x, const Array&) { return projection_hypercube(x, 0.6); }},
      {"simplex", [](const Array& x, const Array&) { return projection_simplex(x); }},
      {"simplex_scale", [](const Array& x, const Array&) { return projection_simplex(x, 2.5); }},
      {"l1_sphere", [](const Array& x, const Array&) { return projection_l1_sphere(x, 1.5); }},
      {"l1_ball", [](const Array& x, const Array&) { return projection_l1_ball(x, 1.5); }},
      {"l2_sphere", [](const Array& x, const Array&) { return projection_l2_sphere(x, 1.5); }},
      {"l2_ball", [](const Array& x, const Array&) { return projection_l2_ball(x, 1.5); }},
      {"linf_ball", [](const Array& x, const Array&) { return projection_linf_ball(x, 0.6); }},
      {"vector", [](const Array& x, const Array& other) { return projection_vector(x, other); }},
      {"hyperplane", [](const Array& x, const Array& other) { return projection_hyperplane(x, other, 0.7); }},
      {"halfspace", [](const Array& x, const Array& other) { return projection_halfspace(x, other, -0.7); }}};
  return table;
}

TEST(Projections, AreOptaxs) {
  std::set<std::string> seen;
  for (const golden::Case& c : cases()) {
    if (c.name != "projection") continue;
    const std::string& name = c.text.at("name");
    ASSERT_TRUE(projections().count(name)) << name;
    seen.insert(name);
    const Projection project = projections().at(name);
    const Array x = array_of(c["x"]), other = array_of(c["other"]);
    const Array slope = grad([&](const Array& v) { return dot(project(v, other), other); })(x);
    const std::vector<double> eager = project(x, other).to_vector<double>(),
                              gradient = slope.to_vector<double>(),
                              compiled = jit([&](const Array&v) { return project(v, other); })(x)
                                             .to_vector<double>();
    EXPECT_EQ(eager, compiled) << name;
    // Sums of six terms of the size of 3: 16 units in the last place of 4.
    for (std::size_t i = 0; i < eager.size(); ++i) {
      EXPECT_NEAR(eager[i], c["result"].real[i], 16 * 0x1p-51) << name;
      EXPECT_NEAR(gradient[i], c["gradient"].real[i], 16 * 0x1p-51) << name << " gradient " << i;
    }
  }
  EXPECT_EQ(seen.size(), projections().size());
}

TEST(Projections, OfATreeAreThoseOfOneVector) {
  struct Two {
    Array a, b;
  };
  const Array x = array({0.7, -1.5, 0.2, 3., -0.1, 0.4});
  const Two split{x[range(0, 2)], reshape(x[range(2, {})], {2, 2})};
  auto joined = [](const Two& t) { return concatenate({t.a, ravel(t.b)}).to_vector<double>(); };
  EXPECT_EQ(joined(projection_simplex(split)), projection_simplex(x).to_vector<double>());
  EXPECT_EQ(joined(projection_l1_ball(split)), projection_l1_ball(x).to_vector<double>());
  const Two lower{zeros({2}), -ones({2, 2})}, upper{ones({2}), zeros({2, 2})};
  EXPECT_EQ(
      joined(projection_box(split, lower, upper)),
      clip(x, array({0., 0., -1., -1., -1., -1.}), array({1., 1., 0., 0., 0., 0.})).to_vector<double>());
}

}  // namespace
}  // namespace apsis::optim::testing
