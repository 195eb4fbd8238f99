// A network that solves a differential equation: Burgers' equation, whose smooth start steepens to a shock,
// by minimising how far the network is from obeying it (Raissi, Perdikaris and Karniadakis, Physics-informed
// neural networks, 2019, example 2.1.1). No solution is shown to it; the exact one judges it.
//
//   burgers [small]        small: ten times the viscosity and no shock, for a test; the picture goes to
//                          out/burgers.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

/// u(t, x) for t in [0, 1], x in [-1, 1]. Start and edges are right whatever the network says: u(0, x) =
/// -sin(πx), u(t, ±1) = 0 (Lagaris, Likas and Fotiadis 1998).
Array solution(const nn::MLP& network, const Array& t, const Array& x) {
  return -sin(M_PI * x) + t * (1. - square(x)) * network(stack({t, x}));
}

/// u_t + u u_x - ν u_xx: zero where the equation holds.
Array residual(const nn::MLP& network, double viscosity, const Array& t, const Array& x) {
  const auto along_x = [&](const Array& z) { return solution(network, t, z); };
  const auto along_t = [&](const Array& s) { return solution(network, s, x); };
  const auto [u, by_x] = jet(along_x, x, {array(1.), array(0.)});  // u_x and u_xx in one run
  const Array by_t = jvp(along_t, t, array(1.)).second;
  return by_t + u * by_x[0] - viscosity * by_x[1];
}

struct Points {
  Array t, x;  // [n]
};

Array residuals(const nn::MLP& network, double viscosity, const Points& points) {
  const auto one = [&](const Array& t, const Array& x) { return residual(network, viscosity, t, x); };
  return vmap(one)(points.t, points.x);
}

Points uniform_points(const Array& key, std::int64_t n) {
  const auto keys = random::split<2>(key);
  return {random::uniform(keys[0], {n}), random::uniform(keys[1], {n}, f64, -1., 1.)};
}

/// Three in four points anywhere, one where the equation is missed most (Wu et al., A comprehensive study of
/// non-adaptive and residual-based adaptive sampling, 2023).
Points chosen_points(const nn::MLP& network, double viscosity, const Array& key, std::int64_t n) {
  const auto [a, b, c] = random::split<3>(key);
  const Points anywhere = uniform_points(a, n - n / 4), offered = uniform_points(b, 8 * n);
  const Array missed = abs(residuals(network, viscosity, offered));
  const Array drawn = random::categorical(c, log(missed / mean(missed) + 0.1), -1, {n / 4});
  const auto joined = [&](const Array& p, const Array& q) { return concatenate({p, q[drawn]}); };
  return tree_map(joined, anywhere, offered);
}

/// By the transformation of Cole and Hopf, as quotient of two integrals with a Gaussian weight. t > 0.
Array exact(double viscosity, const Array& t, const Array& x) {
  // The weight exp(-η²/4νt) times a factor of at most e^±1/2πν: beyond this, terms are below rounding.
  const Array far = sqrt(4 * viscosity * t * (40 + 1 / (M_PI * viscosity))),
              eta = far * linspace(-1., 1., 801);
  const Array exponent = -cos(M_PI * (x - eta)) / (2 * M_PI * viscosity) - square(eta) / (4 * viscosity * t);
  const Array weight = softmax(exponent);  // the rule of trapezoids: its ends are as good as zero
  return -sum(weight * sin(M_PI * (x - eta)));
}

struct Round {
  nn::MLP network;
  Array loss, steps;
};

int run(bool small) {
  const double viscosity = (small ? 0.1 : 0.01) / M_PI;
  const std::int64_t rounds = small ? 2 : 6, steps = small ? 200 : 1000, points = small ? 400 : 2500;
  const auto [weights, places] = random::split<2>(random::key(0));
  nn::MLP network = nn::make_mlp({.in = 2,
                                  .out = nn::scalar,
                                  .width = 20,
                                  .depth = small ? 3 : 4,
                                  .weight_init = nn::initializers::glorot_normal(),
                                  .bias_init = nn::initializers::zeros()},
                                 weights);
  const auto improve = jit([=](const nn::MLP& start, const Points& at) {
    const auto loss = [&](const nn::MLP& n) { return mean(square(residuals(n, viscosity, at))); };
    const auto found = minimize(loss, BFGS{}, start, {.max_steps = steps, .throw_ = false});
    return Round{found.value, found.objective, found.stats.steps};
  });
  const auto draw =
      jit([=](const nn::MLP& n, const Array& key) { return chosen_points(n, viscosity, key, points); });

  const Array ts = linspace(0., 1., 101)[range(1, {})], xs = linspace(-1., 1., 201);
  const auto grid = [&](const auto& u) {
    return vmap([&](const Array& x) { return vmap([&](const Array& t) { return u(t, x); })(ts); })(xs);
  };
  const Array truth =
      jit([&] { return grid([=](const Array& t, const Array& x) { return exact(viscosity, t, x); }); })();
  const auto evaluate = jit([&](const nn::MLP& n) {
    return grid([&](const Array& t, const Array& x) { return solution(n, t, x); });
  });

  std::vector<double> losses, errors;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const Array key = random::fold_in(places, round);
    const Round next = improve(network, round == 0 ? uniform_points(key, points) : draw(network, key));
    network = next.network;
    losses.push_back(next.loss.item<double>());
    errors.push_back((norm(ravel(evaluate(network) - truth)) / norm(ravel(truth))).item<double>());
    std::printf("round %2lld: mean square residual %.1e, relative error %.1e\n",
                static_cast<long long>(round + 1), losses.back(), errors.back());
    std::fflush(stdout);
  }

  const Array found = evaluate(network);
  Figure slices{.title = "Three moments of it", .xlabel = "x", .ylabel = "u", .height = 420};
  for (const int percent : {25, 50, 90}) {
    const std::string at = ", t = 0." + std::to_string(percent / 10) + (percent % 10 ? "5" : "");
    slices.line(xs, truth(ellipsis, percent - 1), "exact" + at)
        .points(xs[range({}, {}, 4)], found(range({}, {}, 4), percent - 1), "network" + at);
  }
  const Array number = arange(static_cast<double>(rounds)) + 1.;
  std::filesystem::create_directories("out");
  save_stacked({Figure{.title = "Burgers' equation, solved by a network", .xlabel = "t", .ylabel = "x"}.map(
                    ts, xs, found, "u"),
                slices,
                Figure{.title = "How it gets there",
                       .xlabel = "round of minimisation, each with new points",
                       .log_y = true,
                       .height = 360}
                    .line(number, array(errors), "relative error")
                    .line(number, array(losses), "mean square of the residual")},
               "out/burgers.png");
  std::puts("the picture is out/burgers.png");
  return errors.back() < (small ? 0.02 : 5e-3) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count > 1 && std::strcmp(arguments[1], "small") == 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
