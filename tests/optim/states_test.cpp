// States are trees: they go through jit, vmap, scan and files, and a run goes on where another left off.

#include <cmath>
#include <cstdio>
#include <functional>

#include "optim/trajectory.hpp"

namespace apsis::optim::testing {
namespace {

struct Model {
  std::vector<Params> layers;
  Array steps;  // an integer: no gradient
  bool flag = true;
};

Params slope(const Params& p) {
  const Params a = problem("a", p.w.dtype()), t = problem("t", p.w.dtype());
  return tree_map([](const Array& s, const Array& x, const Array& y) { return s * (x - y); }, a, p, t);
}
double loss_of(const Params& p) {
  const Params e =
      tree_map([](const Array& x, const Array& y) { return square(x - y); }, p, problem("t", f64));
  return (sum(e.w) + sum(e.b) + sum(e.c)).item<double>();
}

using Leaves = std::vector<Array>;

/// An optimiser by the leaves of its states: what is done with it is compiled once, not once for each.
struct AnyOptimizer {
  std::function<Leaves(const Params&)> init;
  std::function<std::pair<Params, Leaves>(const Params&, const Leaves&)> step;
  std::function<Leaves(const Leaves&)> through_file;
};
template <class Optimizer>
AnyOptimizer any(const Optimizer& optimizer) {
  const auto prototype = optimizer.init(problem("0", f64));
  const auto state_of = [prototype](const Leaves& leaves) { return unflatten_like(prototype, leaves); };
  return {[=](const Params& p) { return tree_leaves(optimizer.init(p)); },
          [=](const Params& p, const Leaves& s) {
            auto [change, next] = optimizer.update(slope(p), state_of(s), p, {.value = sum(square(p.w))});
            return std::pair{apply_updates(p, change), tree_leaves(next)};
          },
          [=](const Leaves& s) {
            const std::string path = ::testing::TempDir() + "apsis_optim_state.npz";
            save(path, state_of(s));
            const auto loaded = load(path, prototype);
            std::remove(path.c_str());
            return tree_leaves(loaded);
          }};
}

/// Compiled programs round a product and a sum once where steps op by op round twice
/// (docs/design/numbers.md): over twelve steps, to 1000 units in the last place of 4.
void expect_near(const Leaves& x, const Leaves& y, const char* name) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].is_empty()) continue;
    ASSERT_EQ(x[i].aval().dtype(), y[i].aval().dtype()) << name;
    EXPECT_TRUE(allclose(x[i], y[i], {.rtol = 1000 * 0x1p-52, .atol = 1000 * 0x1p-50}).item<bool>())
        << name << i;
  }
}

template <class T>
void expect_near(const T& a, const T& b, const char* name) {
  expect_near(tree_leaves(a), tree_leaves(b), name);
}

/// Whether steps that are compiled one by one, in a loop, in a batch, and after a file, give the same bits.
void run_all_ways(const char* name, const AnyOptimizer& optimizer) {
  const auto& step = optimizer.step;
  const Params start = problem("0", f64);
  Params eager = start, compiled = start, resumed = start;
  Leaves state = optimizer.init(start), compiled_state = state, resumed_state = state;
  auto compiled_step = jit([&](const Params& p, const Leaves& s) { return step(p, s); });
  for (int k = 0; k < 12; ++k) {
    std::tie(eager, state) = step(eager, state);
    std::tie(compiled, compiled_state) = compiled_step(compiled, compiled_state);
    if (k == 5) resumed_state = optimizer.through_file(resumed_state);
    std::tie(resumed, resumed_state) = compiled_step(resumed, resumed_state);
  }
  expect_near(tree_leaves(eager), tree_leaves(compiled), name);
  expect_near(state, compiled_state, name);
  EXPECT_TRUE(tree_equal(resumed, compiled)) << name;
  EXPECT_TRUE(tree_equal(resumed_state, compiled_state)) << name;

  // Three starts at once; the state of a batch is a batch of states.
  auto batch = [&](const Params& p) {
    return tree_map([](const Array& x) { return stack({x, x + 1., 0.5 * x}); }, p);
  };
  auto run = [&](const Params& p) {
    return fori_loop(
               0, 12,
               [&](const Array&, const std::pair<Params, Leaves>& c) { return step(c.first, c.second); },
               std::pair{p, optimizer.init(p)})
        .first;
  };
  const Params many = jit(vmap(run))(batch(start));
  for (int lane = 0; lane < 3; ++lane) {
    auto of_lane = [&](const Array& x) { return x[lane]; };
    EXPECT_TRUE(tree_equal(tree_map(of_lane, many), jit(run)(tree_map(of_lane, batch(start)))))
        << name << lane;
  }
  EXPECT_TRUE(tree_equal(jit(run)(start), compiled)) << name;
}
template <class Optimizer>
void run_all_ways(const char* name, const Optimizer& optimizer) {
  run_all_ways(name, any(optimizer));
}

TEST(States, OfAllKindsRunInAllWays) {
  run_all_ways("sgd", Sgd{.learning_rate = 0.05, .momentum = 0.9});
  run_all_ways("adam", Adam{.learning_rate =
                                WarmupCosineDecay{.peak_value = 0.1, .warmup_steps = 3, .decay_steps = 20}});
  run_all_ways("chain", chain(ClipByGlobalNorm{1.},
                              AdamW{.learning_rate = 0.05, .weight_decay = 0.1, .mask = [](const Array& x) {
                                      return x.ndim() == 2;
                                    }}));
  run_all_ways("adafactor", Adafactor{.learning_rate = 0.05, .min_dim_size_to_factor = 2, .momentum = 0.5});
  run_all_ways("sm3", Sm3{.learning_rate = 0.05});
  run_all_ways("noisy_sgd", NoisySgd{.learning_rate = 0.05, .key = random::key(3)});
  run_all_ways("prodigy", Prodigy{});
  run_all_ways("adopt", Adopt{.learning_rate = 0.05});
  run_all_ways("ademamix", Ademamix{.learning_rate = 0.05, .b3 = 0.9});
  run_all_ways("cocob", Cocob{});
  run_all_ways("dog", Dog{});
  run_all_ways("momo_adam", MomoAdam{.adapt_lower_bound = true});
  run_all_ways("plateau", chain(RmsProp{.learning_rate = 0.05}, ReduceOnPlateau{.patience = 2}));
}

TEST(States, OfWrappersRunInAllWays) {
  run_all_ways("multi_steps", multi_steps(Adam{.learning_rate = 0.05}, {.every_k = 3}));
  run_all_ways("apply_if_finite", apply_if_finite(Adam{.learning_rate = 0.05}, 2));
  run_all_ways("lookahead", lookahead(Sgd{.learning_rate = 0.05}));
  run_all_ways("schedule_free", schedule_free_sgd({.learning_rate = 0.1, .warmup_steps = 2}));
  run_all_ways("mechanize", mechanize(Sgd{.learning_rate = 0.05}));
  run_all_ways("sam", sam(Sgd{.learning_rate = 0.05}, Sgd{.learning_rate = 0.01}));
  run_all_ways("galore", galore({.learning_rate = 0.05, .projection = {.rank = 1, .update_proj_gap = 5}}));
  run_all_ways("conditionally_mask",
               conditionally_mask(Adam{.learning_rate = 0.05}, [](const Array& k) { return k % 2 == 0; }));
  run_all_ways("multi_steps that skip",
               multi_steps(Sgd{.learning_rate = 0.05}, {.every_k = 2}, SkipLargeUpdates{30.}));
  run_all_ways("named_chain",
               named_chain(named<"clip">(ClipByGlobalNorm{1.}), named<"adam">(Adam{.learning_rate = 0.05})));
  run_all_ways("masked", masked(Adam{.learning_rate = 0.05}, [](const Array& x) { return x.ndim() == 1; }));
}

TEST(States, HyperparametersChangeWithoutATrace) {
  auto optimizer = inject_hyperparams(Adam{.learning_rate = 0.1});
  using State = state_t<decltype(optimizer), Params>;
  int traces = 0;
  auto step = jit([&](const Params& p, const State& s) {
    ++traces;
    return optimizer.update(slope(p), s, p);
  });
  const Params p = problem("0", f64);
  State state = optimizer.init(p);
  auto [change, next] = step(p, state);
  EXPECT_EQ(change.b[0].item<double>(),
            Adam{.learning_rate = 0.1}.update(slope(p), Adam{}.init(p), p).first.b[0].item<double>());
  next.hyperparams.learning_rate = 0.;
  EXPECT_EQ(step(p, next).first.b[0].item<double>(), 0.);
  EXPECT_EQ(traces, 1);
}

TEST(States, OptimizersAreTrees) {
  const Params p = problem("0", f64), g = slope(p);
  auto change = [](const auto& optimizer, const Params& gradient, const Params& params) {
    return optimizer.update(gradient, optimizer.init(params), params).first;
  };
  auto agrees = [&](const auto& optimizer) {
    auto compiled =
        jit([&](const std::decay_t<decltype(optimizer)>& o, const Params& x) { return change(o, g, x); });
    expect_near(compiled(optimizer, p), change(optimizer, g, p), "optimizer");
  };
  agrees(
      AdamW{.learning_rate = 0.5, .weight_decay = 0.1, .mask = [](const Array& x) { return x.ndim() == 1; }});
  agrees(
      AdamW{.learning_rate = 0.5, .weight_decay = 0.1, .mask = [](const Array& x) { return x.ndim() == 2; }});
}

TEST(States, MomentsHaveTheDtypeThatIsAskedFor) {
  const Params start = problem("0", f32);
  auto after = [&](const auto& optimizer) {
    using State = state_t<std::decay_t<decltype(optimizer)>, Params>;
    auto step = [&](const Array&, const std::pair<Params, State>& c) {
      auto [change, next] = optimizer.update(slope(c.first), c.second, c.first);
      return std::pair{apply_updates(c.first, change), next};
    };
    return jit([&](const Params& p) {
      return fori_loop(0, 20, step, std::pair{p, optimizer.init(p)});
    })(start);
  };
  const auto [narrow, state] = after(Adam{.learning_rate = 0.05, .mu_dtype = bf16});
  EXPECT_EQ(state.mu.w.dtype(), bf16);
  EXPECT_EQ(state.nu.w.dtype(), f32);
  EXPECT_EQ(narrow.w.dtype(), f32);
  // An average in bf16 is off by 2^-9 of it in each update, twice, and by ten times that in the end: so is
  // each of twenty steps of about 0.05.
  const Params wide = after(Adam{.learning_rate = 0.05}).first;
  EXPECT_TRUE(allclose(narrow.w, wide.w, {.rtol = 0., .atol = 20 * 0.05 * 20 * 0x1p-9}).item<bool>());
  EXPECT_FALSE(array_equal(narrow.w, wide.w).item<bool>());
  EXPECT_EQ(
      after(Sgd{.learning_rate = 0.05, .momentum = 0.9, .accumulator_dtype = f16}).second.trace.b.dtype(),
      f16);
  EXPECT_EQ(after(Muon{.learning_rate = 0.05, .mu_dtype = bf16}).second.mu.w.dtype(), bf16);
  EXPECT_EQ(Lion{.mu_dtype = f64}.init(start).trace.b.dtype(), f64);
  try {
    AdamW{.mu_dtype = i32}.init(start);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).substr(0, 47), "[AdamW] mu_dtype = i32 must be a floating dtype");
  }
}

TEST(States, OfModelsWithOtherFields) {
  const Model model{{problem("0", f64), problem("t", f32)}, array(7), true};
  auto loss = [](const Model& m) {
    return sum(square(m.layers[0].w)) + sum(square(m.layers[1].w)) + 0. * m.steps;
  };
  const Model gradient = grad(loss)(model);
  EXPECT_TRUE(gradient.steps.is_empty());
  auto optimizer = chain(ClipByGlobalNorm{1.}, AdamW{.learning_rate = 0.1}, KeepParamsNonnegative{});
  auto state = optimizer.init(model);
  auto [change, next] = optimizer.update(gradient, state, model);
  EXPECT_TRUE(change.steps.is_empty());
  const Model moved = apply_updates(model, change);
  EXPECT_EQ(moved.steps.item<int>(), 7);
  EXPECT_EQ(moved.layers[1].w.dtype(), f32);
  EXPECT_EQ(std::get<1>(next).nu.layers[1].w.dtype(), f32);
  EXPECT_TRUE(std::get<1>(next).nu.steps.is_empty());
}

/// A transformation of one's own, without any of the library's.
struct Halve {
  template <class P>
  std::tuple<> init(const P&) const {
    return {};
  }
  template <class P>
  std::pair<P, std::tuple<>> update(const P& gradient, const std::tuple<>& state, const P&) const {
    return {tree_map([](const Array& g) { return 0.5 * g; }, gradient), state};
  }
};
static_assert(GradientTransformation<Halve, Params>);
static_assert(GradientTransformation<Adam, Params>);

TEST(States, OfOnesOwnTransformation) {
  const Params p = problem("0", f64);
  auto optimizer = multi_steps(chain(Halve{}, Sgd{.learning_rate = 1.}), {.every_k = 1});
  auto [change, next] = optimizer.update(p, optimizer.init(p), p);
  EXPECT_EQ(change.w.to_vector<double>(), (-0.5 * p.w).to_vector<double>());
}

TEST(States, OfNamedChainsHaveNames) {
  auto optimizer =
      named_chain(named<"clip">(ClipByGlobalNorm{1.}), named<"adam">(Adam{.learning_rate = 0.05}));
  const Params p = problem("0", f64);
  auto state = optimizer.update(slope(p), optimizer.init(p), p).second;
  EXPECT_EQ(state.get<"adam">().count.item<std::int64_t>(), 1);
  state.get<"adam">().count = array(std::int64_t{7});
  EXPECT_EQ(optimizer.update(slope(p), state, p).second.get<"adam">().count.item<std::int64_t>(), 8);
}

TEST(States, HoldWhatIsMeasured) {
  auto length = [](const Params& g) { return global_norm(g); };
  auto optimizer = chain(snapshot(length), ClipByGlobalNorm{1.}, measure_with_ema(length, Ema{.decay = 0.5}),
                         Sgd{.learning_rate = 0.05});
  const Params p = problem("0", f64), g = slope(p);
  auto state = optimizer.init(p);
  EXPECT_EQ(std::get<0>(state).measurement.item<double>(), global_norm(p).item<double>());
  for (int k = 0; k < 3; ++k) state = optimizer.update(g, state, p).second;
  EXPECT_EQ(std::get<0>(state).measurement.item<double>(), global_norm(g).item<double>());
  EXPECT_NEAR(std::get<2>(state).measurement.item<double>(), 1., 1e-15);  // three roundings of 1
}

TEST(States, ComplexParametersAreTwoRealOnes) {
  struct Both {
    Array z, x;
  };
  auto inner = AdamW{.learning_rate = 0.1, .weight_decay = 0.01};
  auto optimizer = split_real_and_imaginary(inner);
  Both p{complex(array({1., 2.}), array({-1., 0.5})), array({3.})};
  std::tuple<Array, Array, Array> q{real(p.z), p.x, imag(p.z)};
  auto state = optimizer.init(p);
  auto real_state = inner.init(q);
  for (int k = 0; k < 5; ++k) {
    auto [change, next] = optimizer.update(p, state, p);
    auto [real_change, real_next] = inner.update(q, real_state, q);
    p = apply_updates(p, change);
    q = apply_updates(q, real_change);
    state = next;
    real_state = real_next;
  }
  EXPECT_EQ(p.z.dtype(), c128);
  EXPECT_TRUE(tree_equal(std::tuple{real(p.z), p.x, imag(p.z)}, q));
}

TEST(Privacy, ClipsSingleExamples) {
  // Optax's docstrings: lengths 0, 5, 5 and 5.
  const Array g = array({{0., 0., 0.}, {0., 3., 4.}, {4., 0., 3.}, {3., 4., 0.}});
  auto expect = [&](double bound, double each, std::int64_t clipped) {
    const auto [sum, count] = per_example_global_norm_clip(g, bound);
    EXPECT_EQ(sum.to_vector<double>(), (std::vector<double>(3, each)));
    EXPECT_EQ(count.item<std::int64_t>(), clipped);
  };
  expect(100., 7., 0);
  expect(0., 0., 3);
  expect(1.25, 1.75, 3);
  // Two leaves: each has its share of the bound.
  const std::pair two{g, array({3., 0., 0., 4.})};
  const auto [sums, counts] = per_example_layer_norm_clip(two, std::sqrt(2.));
  EXPECT_NEAR(sums.first[0].item<double>(), 7. / 5., 1e-15);
  EXPECT_NEAR(sums.second.item<double>(), 2., 1e-15);
  EXPECT_EQ(counts.second.item<std::int64_t>(), 2);
}

TEST(Privacy, DescentIsThatOfClippedMeans) {
  const Array x = array({1., -1.}), gradients = array({{3., 4.}, {0., 0.5}, {-6., 8.}});
  auto quiet =
      dpsgd({.learning_rate = 0.5, .l2_norm_clip = 5., .noise_multiplier = 0., .key = random::key(1)});
  const Array change = quiet.update(gradients, quiet.init(x), x).first;
  EXPECT_NEAR(change[0].item<double>(), 0., 1e-15);
  EXPECT_NEAR(change[1].item<double>(), -0.5 * (4. + 0.5 + 4.) / 3., 1e-15);
  // The noise has the deviation it says, and is drawn anew in each update.
  auto loud = dpsgd({.learning_rate = 1., .l2_norm_clip = 2., .noise_multiplier = 3., .key = random::key(1)});
  const Array wide = zeros({100, 1000}), at = zeros({1000});
  auto [first, state] = loud.update(wide, loud.init(at), at);
  const Array second = loud.update(wide, state, at).first;
  EXPECT_NEAR(std_(first).item<double>(), 6. / 100, 3 * 0.06 / std::sqrt(2000.));  // three standard errors
  EXPECT_GT(max(abs(first - second)).item<double>(), 0.1);
}

TEST(States, LearningRatesHaveGradients) {
  // The loss after three steps, by the learning rate.
  auto after = [](const Array& rate) {
    Array x = array({1., -2.});
    Adam adam{.learning_rate = rate};
    auto state = adam.init(x);
    for (int k = 0; k < 3; ++k) {
      auto [change, next] = adam.update(2. * x, state, x);
      x = apply_updates(x, change);
      state = next;
    }
    return sum(square(x));
  };
  const double h = 1e-5, up = after(array(0.1 + h)).item<double>(),
               down = after(array(0.1 - h)).item<double>();
  // The error of the difference is about 1e-16 / h and h².
  EXPECT_NEAR(grad(after)(array(0.1)).item<double>(), (up - down) / (2 * h), 1e-8);
}

/// Refused by `init`, with the optimiser's name.
template <class Optimizer>
void expect_refused(const char* name, Optimizer optimizer, double rate) {
  optimizer.learning_rate = rate;
  try {
    optimizer.init(ones({2, 2}));
    ADD_FAILURE() << name << " takes " << rate;
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("[" + std::string(name) + "] learning_rate = "))
        << e.what();
  }
}

TEST(States, LearningRatesAreFiniteAndNotNegative) {
  for (double rate : {-1e-3, -HUGE_VAL, HUGE_VAL, std::nan("")}) {
    expect_refused("Sgd", Sgd{}, rate);
    expect_refused("Adam", Adam{}, rate);
    expect_refused("AdamW", AdamW{}, rate);
    expect_refused("Adagrad", Adagrad{}, rate);
    expect_refused("RmsProp", RmsProp{}, rate);
    expect_refused("Adadelta", Adadelta{}, rate);
    expect_refused("Lion", Lion{}, rate);
    expect_refused("Lars", Lars{}, rate);
    expect_refused("Muon", Muon{}, rate);
    expect_refused("Prodigy", Prodigy{}, rate);
    expect_refused("ScaleByLearningRate", ScaleByLearningRate{}, rate);
  }
  // A schedule is asked for its first value. To climb, the sign is said, not hidden in the rate.
  EXPECT_THROW(Adam{.learning_rate = ConstantSchedule{-1.}}.init(ones({2})), Error);
  const auto climb = chain(ScaleByAdam{}, ScaleByLearningRate{.learning_rate = 0.1, .flip_sign = false});
  EXPECT_GT(climb.update(array(1.), climb.init(array(0.)), array(0.)).first.item<double>(), 0);
  EXPECT_EQ(Scale{-1.}.update(array(1.), Scale{-1.}.init(array(0.)), array(0.)).first.item<double>(), -1);
}

TEST(Update, MovingAveragesAndNorms) {
  const Params p = problem("0", f64), q = problem("t", f64);
  EXPECT_EQ(incremental_update(p, q, 1.).w.to_vector<double>(), p.w.to_vector<double>());
  EXPECT_EQ(incremental_update(p, q, 0.25).c.item<double>(), 0.25 * -1.25 + 0.75 * 2.);
  EXPECT_TRUE(tree_equal(periodic_update(p, q, array(6), 3), p));
  EXPECT_TRUE(tree_equal(periodic_update(p, q, array(7), 3), q));
  EXPECT_NEAR(square(global_norm(q)).item<double>(), 8.703125, 1e-14);
  EXPECT_GT(loss_of(p), loss_of(q));
}

TEST(Lbfgs, FollowsOptax) {
  for (const golden::Case& c : cases()) {
    if (c.name != "lbfgs") continue;
    const bool quadratic = c.text.at("objective") == "quadratic";
    const Array a = quadratic ? array_of(c["A"]) : Array(), b = quadratic ? array_of(c["b"]) : Array();
    auto objective = [&](const Array& x) {
      if (quadratic) return 0.5 * dot(x, matmul(a, x)) - dot(b, x);
      const Array head = x[range(0, -1)], tail = x[range(1, {})];
      return sum(100. * square(tail - square(head)) + square(1. - head));
    };
    auto run = [&](const auto& optimizer) {
      using State = state_t<std::decay_t<decltype(optimizer)>, Array>;
      auto step = jit([&](const Array& x, const State& s) {
        auto [value, gradient] = optimizer.value_and_grad(objective, s, x);
        auto [change, next] = optimizer.update(gradient, s, x, value, objective);
        return std::pair{apply_updates(x, change), next};
      });
      Array x = array_of(c["x0"]);
      State state = optimizer.init(x);
      const auto n = static_cast<std::size_t>(x.size());
      for (std::size_t k = 0; k < static_cast<std::size_t>(c["x"].shape[0]); ++k) {
        std::tie(x, state) = step(x, state);
        const std::vector<double> values = x.to_vector<double>();
        // Steps of a quasi-Newton method amplify rounding by the condition of the Hessian, 2500 for
        // Rosenbrock's.
        for (std::size_t i = 0; i < n; ++i)
          EXPECT_NEAR(values[i], c["x"].real[k * n + i], 1e-9)
              << c.text.at("search") << " " << quadratic << " step " << k;
      }
    };
    if (c.text.at("search") == "zoom")
      run(lbfgs());
    else
      run(lbfgs({}, BacktrackingLineSearch{.max_backtracking_steps = 30}));
  }
}

TEST(Lbfgs, StateHoldsValueAndGradient) {
  auto loss = [](const Params& p) { return sum(square(p.w - 1.)) + sum(square(square(p.b))) + square(p.c); };
  auto optimizer = lbfgs();
  Params p = problem("0", f64);
  auto state = optimizer.init(p);
  for (int k = 0; k < 20; ++k) {
    auto [value, gradient] = optimizer.value_and_grad(loss, state, p);
    expect_near(std::pair{value, gradient}, value_and_grad(loss)(p), "value and gradient");
    auto [change, next] = optimizer.update(gradient, state, p, value, loss);
    p = apply_updates(p, change);
    state = next;
  }
  EXPECT_LT(loss(p).item<double>(), 1e-3);
}

TEST(Lbfgs, SearchesAlongDirectionsOfOthers) {
  auto loss = [](const Array& x) { return sum(square(x - 3.) * array({1., 10.})); };
  auto optimizer = line_search(chain(ScaleByAdam{}, Scale{-1.}), BacktrackingLineSearch{});
  auto run = [&](const Array& start) {
    Array x = start;
    auto state = optimizer.init(x);
    for (int k = 0; k < 10; ++k) {
      auto [value, gradient] = optimizer.value_and_grad(loss, state, x);
      auto [change, next] = optimizer.update(gradient, state, x, value, loss);
      x = apply_updates(x, change);
      state = next;
    }
    return x;
  };
  const Array starts = array({{0., 0.}, {5., -1.}});
  const Array ends = jit(vmap(run))(starts);
  for (int i = 0; i < 2; ++i) {
    EXPECT_LT(loss(ends[i]).item<double>(), loss(starts[i]).item<double>());
    EXPECT_EQ(jit(run)(starts[i]).to_vector<double>(), ends[i].to_vector<double>());
  }
}

}  // namespace
}  // namespace apsis::optim::testing
