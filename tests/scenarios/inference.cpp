// Inference: epidemics and predators fitted through the solver, from many starts at once; samplers on
// posteriors with known moments; Laplace's approximation; variational inference. Fits: reference/inference.py
// (SciPy).

#include <cmath>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

struct Epidemic {
  Array transmission, recovery;  // logarithms
};
struct Boys {
  Array susceptible, infected;
};

TEST(Inference, InfluenzaInABoardingSchool) {
  Table table = read_csv(data_file("influenza_boarding_school_1978.csv"));
  Array days = table.column("day"), in_bed = table.column("in_bed");
  auto model = [&](const Epidemic& e, const Array& at) {
    auto field = [b = exp(e.transmission), g = exp(e.recovery)](const Array&, const Boys& s) {
      Array new_cases = b * s.susceptible * s.infected / 763.;
      return Boys{-new_cases, new_cases - g * s.infected};
    };
    return diffeqsolve(ODETerm{field}, Tsit5{}, at[0], at[-1], 0.01, Boys{760., 3.},
                       {.controller = PIDController{.rtol = 1e-9, .atol = 1e-9}, .saveat = {.ts = at}})
        .ys.infected;
  };
  auto loss = [&](const Epidemic& e) { return sum(square(model(e, days) - in_bed)); };
  auto fit = [&](const Epidemic& start) { return minimize(loss, BFGS{.gtol = 1e-3}, start); };
  auto found = jit(fit)({0.5, -0.8});
  EXPECT_NEAR(exp(found.value.transmission).item<double>(), 1.6997993979180697, 1e-5);
  EXPECT_NEAR(exp(found.value.recovery).item<double>(), 0.4468658948242079, 1e-5);
  EXPECT_NEAR(found.objective.item<double>() / 3874.3573172194747, 1, 1e-6);  // tolerance of the solves
  // All starts of a grid that converge find the same.
  auto many = jit(vmap(fit))(Epidemic{array({0.3, 0.5, 0.7, 0.9}), array({-0.5, -0.8, -1., -0.7})});
  expect_close(exp(many.value.transmission), full({4}, 1.6997993979180697), 1e-4);
  // Boys in bed are conserved with those who are well again: by the last day nearly all have had it.
  expect_all_ways(
      [&](const Array& p) {
        return model({p[0], p[1]}, days)[range(0, 14, 4)];
      },
      array({0.5, -0.8}), {.eager = 1e-9, .modes = 1e-7, .differences = 1e-4, .direct = false});
}

TEST(Inference, LynxAndHareFromManyStarts) {
  Table table = read_csv(data_file("hudson_bay_lynx_hare.csv"));
  Array seen = log(table.values(range(), range(1, 3))), years = table.column("year") - 1900.;
  struct Rates {
    Array a, b, c, d;
  };
  auto path = [&](const Array& p) {
    Array e = exp(p);
    Rates r{e[0], e[1], e[2], e[3]};
    auto field = [r](const Array&, const Array& y) {
      auto [u, v] = unstack<2>(y);
      return stack({u * (r.a - r.b * v), v * (r.d * u - r.c)});
    };
    return log(diffeqsolve(ODETerm{field}, Tsit5{}, 0., 20., 0.1, e[range(4, {})],
                           {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}, .saveat = {.ts = years}})
                   .ys);
  };
  auto loss = [&](const Array& p) { return sum(square(path(p) - seen)); };
  Array start = log(array({0.55, 0.03, 0.8, 0.025, 33., 6.}));
  auto fit = [&](const Array& s) { return minimize(loss, BFGS{.gtol = 1e-5}, s); };
  auto found = jit(fit)(start);
  expect_close(exp(found.value),
               array({0.5401589854835939, 0.02716535671975868, 0.796386054063283, 0.023694638924979368,
                      34.60242393762666, 5.84450614937788}),
               1e-4);
  EXPECT_NEAR(found.objective.item<double>() / 2.0186611552320164, 1, 1e-6);
  Array starts = start + 0.15 * random::normal(random::key(6), {6, 6});
  auto many = jit(vmap(fit))(starts);
  EXPECT_NEAR(min(many.objective).item<double>() / 2.0186611552320164, 1, 1e-6);
  for (int i : {0, 4}) {
    auto alone = jit(fit)(starts[i]);
    EXPECT_TRUE(tree_equal(alone.value, many.value[i])) << i;
  }
  // Standard errors: the inverse of the Hessian, by Gauss and Newton the same at a good fit.
  Array h = jit(hessian(loss))(found.value),
        j = jit(jacfwd([&](const Array&p) { return ravel(path(p)); }))(found.value);
  expect_close(h / max(abs(h)), 2. * matmul(transpose(j), j) / max(abs(h)), 0.2);
  expect_all_ways([&](const Array& p) { return loss(p); }, start,
                  {.eager = 1e-8, .modes = 1e-6, .differences = 1e-3, .step = 1e-5, .direct = false});
}

// A Gaussian posterior with a known mean and covariance.
Array posterior(const Array& x) {
  Array d = x - array({1., -2.});
  return -0.5 * dot(d, dot(array({{2., 0.6}, {0.6, 1.}}), d));
}

TEST(Inference, Metropolis) {
  struct Chain {
    Array at, value, accepted;
  };
  auto sample = [](const Array& key) {
    auto step = [&](const Chain& c, const Array& i) {
      auto [a, b] = random::split<2>(random::fold_in(key, i));
      Array tried = c.at + 1.5 * random::normal(a, {2}), value = posterior(tried);
      Array yes = log(random::uniform(b)) < value - c.value;
      Chain next{where(yes, tried, c.at), where(yes, value, c.value), c.accepted + yes};
      return std::pair{next, next.at};
    };
    Array start = zeros({2});
    auto [end, path] = scan(step, Chain{start, posterior(start), 0}, arange(3000));
    return std::pair{path[range(500, {})], end.accepted};
  };
  Array keys = random::split(random::key(12), 16);
  auto [paths, accepted] = jit(vmap(sample))(keys);
  // 40,000 draws with a correlation of some ten steps: 4,000 that count, 0.016 each of deviation one; four.
  Array flat = reshape(paths, {-1, 2});
  expect_close(mean(flat, {.axis = 0}), array({1., -2.}), 0.07 / 2);
  Array d = flat - mean(flat, {.axis = 0});
  const double det = 2 - 0.36;
  expect_close(matmul(transpose(d), d) / double(flat.dim(0)),
               array({{1. / det, -0.6 / det}, {-0.6 / det, 2. / det}}), 0.1);
  EXPECT_TRUE(tree_equal(jit(sample)(keys[7]).second, accepted[7]));
}

TEST(Inference, HamiltonianMonteCarlo) {
  struct Particle {
    Array x, p;
  };
  auto leapfrog = [](const Particle& s, const Array& length, const Array& h) {
    auto slope = grad(posterior);
    auto step = [&](const Array&, const Particle& q) {
      Array half = q.p + 0.5 * h * slope(q.x), x = q.x + h * half;
      return Particle{x, half + 0.5 * h * slope(x)};
    };
    return fori_loop(0, length, step, s);  // as many as were drawn: lanes differ
  };
  auto sample = [&](const Array& key) {
    auto step = [&](const Array& x, const Array& i) {
      auto [a, b, c] = random::split<3>(random::fold_in(key, i));
      Particle s{x, random::normal(a, {2})}, e = leapfrog(s, random::randint(c, {}, 3, 12), 0.3);
      Array gain = posterior(e.x) - 0.5 * dot(e.p, e.p) - posterior(s.x) + 0.5 * dot(s.p, s.p);
      Array next = where(log(random::uniform(b)) < gain, e.x, x);
      return std::pair{next, next};
    };
    return scan(step, zeros({2}), arange(600)).second[range(50, {})];
  };
  Array keys = random::split(random::key(13), 20);
  Array paths = jit(vmap(sample))(keys), flat = reshape(paths, {-1, 2});
  // 11,000 draws, nearly independent: 0.01 each; four of them.
  expect_close(mean(flat, {.axis = 0}), array({1., -2.}), 0.04 / 2);
  expect_close(var(flat, {.axis = 0}), array({1 / 1.64, 2 / 1.64}), 0.05);
  EXPECT_TRUE(tree_equal(jit(sample)(keys[11]), paths[11]));
  EXPECT_TRUE(tree_equal(jit(vmap(sample, {.loops = LaneLoops::Lockstep}))(keys), paths));
  // Leapfrog is reversible, and its derivative a symplectic matrix: determinant one.
  Array j = jit(jacfwd([&](const Array& z) {
    Particle e = leapfrog({z[range(0, 2)], z[range(2, {})]}, 7, 0.3);
    return concatenate({e.x, e.p});
  }))(array({0.5, -1., 0.2, 0.1}));
  Array omega = array({{0., 0., 1., 0.}, {0., 0., 0., 1.}, {-1., 0., 0., 0.}, {0., -1., 0., 0.}});
  expect_close(matmul(transpose(j), matmul(omega, j)), omega, 1e-13);
  expect_all_ways(
      [&](const Array& z) {
        return leapfrog({z[range(0, 2)], z[range(2, 4)]}, astype(floor(z[4]), i64), z[5]).x;
      },
      array({0.5, -1., 0.2, 0.1, 7.5, 0.3}), {.spread = 0.2, .lanes = {1, 5, 17}});
}

TEST(Inference, EvidenceByLaplaceAndImportance) {
  // Coin with a Beta(2, 3) prior, 7 of 10 heads: the evidence is a ratio of Beta functions.
  auto log_joint = [](const Array& logit) {
    Array p = sigmoid(logit);
    return (7. + 2.) * log(p) + (3. + 3.) * log1p(-p) + lgamma(5.) - lgamma(2.) - lgamma(3.);
  };
  const double exact =
      std::lgamma(9) + std::lgamma(6) - std::lgamma(15) + std::lgamma(5) - std::lgamma(2) - std::lgamma(3);
  auto mode = jit([&](const Array& start) {
    return minimize([&](const Array& z) { return -log_joint(z); }, start).value;
  })(0.);
  EXPECT_NEAR(mode.item<double>(), std::log(9. / 6), 1e-8);
  Array curvature = -jit(grad(grad(log_joint)))(mode);
  EXPECT_NEAR(curvature.item<double>(), 15 * 0.6 * 0.4, 1e-8);
  EXPECT_NEAR((log_joint(mode) + 0.5 * log(2 * M_PI / curvature)).item<double>(), exact, 0.03);  // 1 / (8 n)
  Array x = mode + 1.3 * random::normal(random::key(1), {20000}) / sqrt(curvature);
  Array weight = jit(vmap(log_joint))(x) + 0.5 * square((x - mode) * sqrt(curvature) / 1.3) +
                 log(1.3 * std::sqrt(2 * M_PI) / sqrt(curvature));
  EXPECT_NEAR((logsumexp(weight) - std::log(20000.)).item<double>(), exact,
              0.01);  // a hundred-fiftieth, measured 0.002
  expect_all_ways([&](const Array& z) { return log_joint(z[0]); }, array({0.3}),
                  {.single = 1e-5, .second = true});
}

TEST(Inference, VariationalGaussian) {
  // The best Gaussian of a Gaussian is itself: the reparametrised gradient vanishes there, for any draws.
  struct Normal {
    Array mean, log_scale;
  };
  auto elbo = [](const Normal& q, const Array& key) {
    auto one = [&](const Array& k) {
      Array z = q.mean + exp(q.log_scale) * random::normal(k, {3});
      return -0.5 * sum(square((z - array({1., 2., 3.})) / array({0.5, 1., 2.}))) + sum(q.log_scale);
    };
    return mean(vmap(one)(random::split(key, 64)));
  };
  optim::Sgd sgd{.learning_rate = 0.05, .momentum = 0.5};
  auto train = jit([&](const Normal& start) {
    auto step = [&](const std::pair<Normal, optim::TraceState<Normal>>& c, const Array& i) {
      auto [value, slope] = value_and_grad(elbo)(c.first, random::fold_in(random::key(3), i));
      auto [change, next] = sgd.update(slope, c.second, c.first);
      // Uphill.
      return std::pair{
          std::pair{apply_updates(c.first, tree_map([](const Array& x) { return -x; }, change)), next},
          value};
    };
    return scan(step, std::pair{start, sgd.init(start)}, arange(1500)).first.first;
  });
  Normal end = train({zeros({3}), zeros({3})});
  expect_close(end.mean, array({1., 2., 3.}), 0.1);             // noise of 64 draws, step 0.05
  expect_close(exp(end.log_scale), array({0.5, 1., 2.}), 0.1);  // likewise
  expect_all_ways(
      [&](const Array& p) {
        return elbo({p[range(0, 3)], p[range(3, 6)]}, random::key(1));
      },
      array({1., 1.5, 2., -0.5, 0.1, 0.5}), {.second = true});
}

TEST(Inference, Misuses) {
  expect_misuse("a seed is a scalar integer, got f64[]", [&] { random::key(array(1.5)); });
  expect_misuse("result is f64[2] in branch 0 and f64[] in branch 1", [&] {
    switch_(1, std::tuple{[](const Array& x) { return x; }, [](const Array& x) { return x[0]; }},
            array({1., 2.}));
  });
  expect_misuse("give {.length = n}", [&] {
    scan([](const Array& c, const Nothing&) { return std::pair{c, Nothing{}}; }, 0., Nothing{});
  });
  Array kept;
  expect_misuse("after its", [&] {
    jit([&](const Array& x) { return kept = x * 2.; })(1.);
    Array later = kept + 1.;
  });
}

}  // namespace
}  // namespace apsis::scenarios
