// Which way does a spiral turn? A neural controlled differential equation reads observations of which two in
// five are missing: dz = f(z) dX along a cubic path X through what is there (Kidger, Morrill, Foster and
// Lyons, Neural controlled differential equations for irregular time series, 2020).
//
//   spirals [small]         small: fewer steps, for a test; the picture goes to out/spirals.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr std::int64_t times = 33, channels = 3, hidden = 8;
constexpr double end = 4 * 3.14159265358979323846;

struct Spirals {
  Array seen;   // f32[n, times, channels]: time and place, NaN where it was not observed
  Array turns;  // f32[n]: 1 clockwise, 0 the other way
};

/// Spirals that shrink by half in a turn or so, from anywhere on the unit circle.
Spirals spirals(std::int64_t n, const Array& key) {
  const auto [starts, ways, gaps, noise] = random::split<4>(key);
  const Array ts = linspace(0., end, times), phase = random::uniform(starts, {n, 1}) * (2 * 3.14159265);
  const Array turns = astype(random::bernoulli(ways, 0.5, {n}), f64);
  const Array angle = phase + expand_dims(1. - 2. * turns, 1) * ts, radius = exp(-0.1 * ts);
  const Array place =
      stack({radius * cos(angle), radius * sin(angle)}, 2) + 0.03 * random::normal(noise, {n, times, 2});
  // Each coordinate by itself is missing; the first ones are there.
  const Array missing = random::bernoulli(gaps, 0.4, {n, times, 2}) && expand_dims(arange(times) > 0, 1);
  const Array seen = where(missing, std::numeric_limits<double>::quiet_NaN(), place);
  const Array time = broadcast_to(reshape(ts, {1, times, 1}), {n, times, 1});
  return {astype(concatenate({time, seen}, 2), f32), astype(turns, f32)};
}

Array observed_at() { return astype(linspace(0., end, times), f32); }
using Coefficients = CubicCoefficients<Array>;
Coefficients path_through(const Array& seen) {
  return backward_hermite_coefficients(observed_at(), seen, {.fill_forward_nans_at_end = true});
}

struct NeuralCDE {
  nn::MLP initial;     // the first observation → z(0)
  nn::MLP field;       // z → f(z), [hidden, channels]
  nn::Linear readout;  // z → logit of clockwise

  /// The logit at all times.
  Array along(const Coefficients& coefficients) const {
    const CubicInterpolation path{observed_at(), coefficients};
    const auto slope = [&](const Array& t, const Array& z) {
      return matmul(reshape(field(z), {hidden, channels}), path.derivative(t));
    };
    const Array z0 = initial(path.evaluate(0.f));
    const auto sol =
        diffeqsolve(ODETerm{slope}, Heun{}, 0.f, static_cast<float>(end),
                    static_cast<float>(end / (times - 1)), z0, {.saveat = {.ts = observed_at()}});
    return vmap(readout)(sol.ys);
  }
  Array operator()(const Coefficients& coefficients) const { return along(coefficients)[-1]; }
};

NeuralCDE make_model(const Array& key) {
  const auto [a, b, c] = random::split<3>(key);
  return {
      nn::make_mlp(
          {.in = channels, .out = hidden, .width = 32, .depth = 1, .activation = nn::softplus, .dtype = f32},
          a),
      nn::make_mlp({.in = hidden,
                    .out = hidden * channels,
                    .width = 32,
                    .depth = 1,
                    .activation = nn::softplus,
                    .final_activation = nn::tanh,
                    .dtype = f32},
                   b),
      nn::make_linear({.in = hidden, .out = nn::scalar, .dtype = f32}, c)};
}

struct Judgement {
  Array loss, right;  // the part of spirals whose way was told
};
Judgement judge(const NeuralCDE& model, const Coefficients& paths, const Array& turns) {
  const Array logits = vmap(model)(paths);
  return {mean(optim::sigmoid_binary_cross_entropy(logits, turns)),
          mean(astype((logits > 0.f) == (turns > 0.5f), f64))};
}

/// What was observed of some spirals, and what the equation makes of it as time goes by.
std::vector<Figure> figures(const NeuralCDE& model, const Spirals& held_out, const Coefficients& paths) {
  Figure plane{.title = "Spirals as they were observed, and paths through what is there",
               .xlabel = "x",
               .ylabel = "y"};
  Figure told{.title = "How likely it turns clockwise, by what was seen so far: 24 held-out spirals",
              .xlabel = "time",
              .ylabel = "probability"};
  const char* colors[] = {"#d55e00", "#0072b2"};
  const Array fine = linspace(0., end, 400), ts = linspace(0., end, times);
  const Array likely = nn::sigmoid(jit(vmap([&](const Coefficients& c) { return model.along(c); }))(paths));
  bool labelled[2] = {false, false}, drawn[2] = {false, false};
  for (std::int64_t i = 0; i < 24; ++i) {
    const bool clockwise = held_out.turns[i].item<float>() > 0.5f;
    const std::string name = clockwise ? "clockwise" : "the other way", color = colors[clockwise];
    told.line(ts, astype(likely[i], f64), labelled[clockwise] ? "" : name, color);
    labelled[clockwise] = true;
    if (drawn[clockwise]) continue;
    drawn[clockwise] = true;
    const CubicInterpolation path{observed_at(), tree_map([&](const Array& a) { return a[i]; }, paths)};
    const Array smooth = vmap([&](const Array& t) { return path.evaluate(t); })(astype(fine, f32));
    const Array seen = astype(held_out.seen[i], f64);
    plane.line(astype(smooth(range(), 1), f64), astype(smooth(range(), 2), f64), name, color);
    plane.points(seen(range(), 1), seen(range(), 2), "observed", color);
  }
  return {plane, told};
}

int run(bool small) {
  const auto [a, b, weights, order] = random::split<4>(random::key(0));
  const std::int64_t epochs = small ? 8 : 24;
  const Spirals learned = spirals(512, a), held_out = spirals(512, b);
  const auto through = jit(vmap(path_through));
  const Coefficients paths = through(learned.seen), unseen_paths = through(held_out.seen);

  const NeuralCDE start = make_model(weights);
  const auto batches = train::batches(std::pair{paths, learned.turns},
                                      {.batch_size = 64, .epochs = epochs, .key = order, .drop_last = true});
  const optim::Adam optimizer{.learning_rate = 1e-2};
  struct Run {
    NeuralCDE model;
    optim::AdamState<NeuralCDE> optimizer;
  };
  const auto loss = [](const NeuralCDE& m, const Coefficients& x, const Array& y) {
    return judge(m, x, y).loss;
  };
  const auto step = jit([&](const Run& r, const Coefficients& x, const Array& y) {
    const auto [value, gradient] = value_and_grad(loss)(r.model, x, y);
    const auto [change, next] = optimizer.update(gradient, r.optimizer, r.model);
    return std::pair(Run{apply_updates(r.model, change), next}, value);
  });
  const auto judged = jit(judge);

  Run state{start, optimizer.init(start)};
  train::ProgressBar bar("spirals", batches.size(), stdout);
  std::vector<double> steps, losses, held;
  Judgement now;
  for (std::int64_t i = 0; i < batches.size(); ++i) {
    const auto [x, y] = batches[i];
    Array value;
    std::tie(state, value) = step(state, x, y);
    if ((i + 1) % batches.batches_per_epoch() == 0) {
      now = judged(state.model, unseen_paths, held_out.turns);
      steps.push_back(static_cast<double>(i + 1));
      losses.push_back(value.item<double>());
      held.push_back(now.loss.item<double>());
      bar.show(i + 1, {{"loss", value}, {"held out", now.loss}, {"right", now.right}});
    }
  }
  const double right = now.right.item<double>();
  std::printf("of 512 held-out spirals the way of %.1f%% was told\n", 100 * right);

  std::vector<Figure> all = figures(state.model, held_out, unseen_paths);
  all.push_back(
      Figure{.title = "Training", .xlabel = "step", .ylabel = "cross entropy", .log_y = true, .height = 315}
          .line(array(steps), array(losses), "a batch")
          .line(array(steps), array(held), "held out"));
  std::filesystem::create_directories("out");
  save_stacked(all, "out/spirals.png");
  std::puts("the picture is out/spirals.png");
  return right >= 0.95 ? 0 : 1;
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
