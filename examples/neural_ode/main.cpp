// A neural differential equation that tells two spirals apart: points flow along a field that is learned
// until a straight cut divides them (Chen et al., Neural ordinary differential equations, 2018), with two
// dimensions more than the plane has, so that they can pass each other (Dupont, Doucet and Teh, Augmented
// neural ODEs, 2019).
//
//   neural_ode [small]     small: fewer steps, for a test; the picture goes to out/neural_ode.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr std::int64_t extra = 2;

struct Classifier {
  nn::MLP field;
  nn::Linear cut;

  /// Where the point is at these times, from 0 to 1: [times, 2 + extra].
  Array path(const Array& point, const Array& times) const {
    const auto slope = [this](const Array&, const Array& y) { return field(y); };
    return diffeqsolve(ODETerm{slope}, Tsit5{}, 0., 1., {}, concatenate({point, zeros({extra}, f32)}),
                       {.controller = PIDController{.rtol = 1e-3, .atol = 1e-4}, .saveat = {.ts = times}})
        .ys;
  }
  /// The logarithm of the odds that the point is of the second spiral.
  Array operator()(const Array& point) const { return cut(path(point, ones({1}, f32))[0]); }
};

struct Data {
  Array points;  // f32[n, 2]
  Array labels;  // f32[n]: 0 or 1
};

/// Two spirals of one turn and a half, with noise.
Data draw(const Array& key, std::int64_t n) {
  const auto keys = random::split<2>(key);
  const Array labels = astype(arange(n) % 2, f32);
  const Array along = sqrt(random::uniform(keys[0], {n}, f32, 0.03, 1.)),
              angle = 3 * M_PI * along + M_PI * labels;
  const Array points = expand_dims(along, 1) * stack({cos(angle), sin(angle)}, 1);
  return {points + 0.02 * random::normal(keys[1], {n, 2}, f32), labels};
}

struct Run {
  Classifier model;
  optim::AdamState<Classifier> optimizer;
};

int run(bool small) {
  const std::int64_t steps = small ? 250 : 400, report = small ? 50 : 10;
  const auto [a, b, c, d] = random::split<4>(random::key(0));
  const Data learned = draw(c, 600), held_out = draw(d, 400);
  const Classifier start{
      nn::make_mlp({.in = 2 + extra, .out = 2 + extra, .width = 32, .depth = 2, .dtype = f32}, a),
      nn::make_linear({.in = 2 + extra, .out = nn::scalar, .dtype = f32}, b)};

  const optim::Adam optimizer{.learning_rate = optim::CosineDecay{.init_value = 1e-2, .decay_steps = steps}};
  const auto loss = [](const Classifier& m, const Data& data) {
    // Each point takes the steps that it needs.
    return mean(optim::sigmoid_binary_cross_entropy(vmap(m)(data.points), data.labels));
  };
  const auto step = jit([&](const Run& r, const Data& data) {
    const auto [value, gradient] = value_and_grad(loss)(r.model, data);
    const auto [change, next] = optimizer.update(gradient, r.optimizer, r.model);
    return std::pair(Run{apply_updates(r.model, change), next}, value);
  });
  const auto judge = jit([&](const Classifier& m, const Data& data) {
    return std::pair(loss(m, data), mean((vmap(m)(data.points) > 0.) == (data.labels > 0.5)));
  });

  Run state{start, optimizer.init(start)};
  train::ProgressBar bar("neural_ode", steps, stdout);
  std::vector<double> numbers, seen, unseen;
  double accuracy = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    Array value;
    std::tie(state, value) = step(state, learned);
    if ((i + 1) % report != 0) continue;
    const auto [now, right] = judge(state.model, held_out);
    numbers.push_back(static_cast<double>(i + 1));
    seen.push_back(value.item<double>());
    unseen.push_back(now.item<double>());
    accuracy = right.item<double>();
    bar.show(i + 1, {{"loss", value}, {"held out", now}, {"right", right}});
  }
  std::printf("%.1f %% of 400 held-out points are told right\n", 100 * accuracy);

  const Array axis = linspace(-1.15f, 1.15f, 140);
  const Array odds = jit([&](const Classifier& m) {
    return vmap([&](const Array& y) {
      return vmap([&](const Array& x) { return nn::sigmoid(m(stack({x, y}))); })(axis);
    })(axis);
  })(state.model);
  const Array second = learned.labels > 0.5, first = logical_not(second);
  const auto of = [&](const Array& chosen, int k) { return learned.points(range(), k)[chosen]; };
  const char* const colors[] = {"#d55e00", "#0072b2"};
  const Array times = linspace(0.f, 1.f, 60);
  const Array paths =
      jit(vmap([&](const Array& p) { return state.model.path(p, times); }))(learned.points[range(0, 40)]);
  Figure flow{.title = "How they flow to where a straight cut divides them (two of four dimensions)",
              .xlabel = "x",
              .ylabel = "y"};
  for (int i = 0; i < 40; ++i) flow.line(paths(i, range(), 0), paths(i, range(), 1), "", colors[i % 2]);
  std::filesystem::create_directories("out");
  save_stacked(
      {Figure{
           .title = "Two spirals, told apart by a neural differential equation", .xlabel = "x", .ylabel = "y"}
           .map(axis, axis, odds, "probability of the second spiral")
           .points(of(first, 0), of(first, 1), "first", colors[0])
           .points(of(second, 0), of(second, 1), "second", colors[1]),
       flow,
       Figure{.title = "Training", .xlabel = "step", .ylabel = "loss", .log_y = true}
           .line(array(numbers), array(unseen), "held out")
           .dashed(array(numbers), array(seen), "seen")},
      "out/neural_ode.png");
  std::puts("the picture is out/neural_ode.png");
  return accuracy >= (small ? 0.9 : 0.98) ? 0 : 1;
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
