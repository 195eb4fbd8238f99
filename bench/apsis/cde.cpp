// cde/*: a training step of a neural controlled differential equation that tells which way spirals turn.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

constexpr std::int64_t batch = 32, points = 100, channels = 3, hidden = 8, width = 128;
constexpr double end = 4 * 3.14159265358979323846;

struct Data {
  Array ts, paths, turns;  // f32: [points], time and place [batch, points, channels], [batch]
};
/// Spirals from all around the unit circle, every other one the other way.
Data make_data() {
  const Array ts = linspace(0., end, points), k = expand_dims(astype(arange(batch), f64), 1);
  const Array turns = k % 2., angle = k * (2 * M_PI / batch) + (1. - 2. * turns) * ts;
  const Array radius = exp(-0.1 * ts), time = broadcast_to(ts, {batch, points});
  return {astype(ts, f32), astype(stack({time, radius * cos(angle), radius * sin(angle)}, 2), f32),
          astype(squeeze(turns, 1), f32)};
}

struct NeuralCDE {
  nn::MLP initial, field;
  nn::Linear readout;

  /// The logit at the end of a path.
  Array operator()(const Array& ts, const CubicCoefficients<Array>& coefficients) const {
    const CubicInterpolation path{ts, coefficients};
    const auto slope = [&](const Array&, const Array& z) { return reshape(field(z), {hidden, channels}); };
    const auto sol =
        diffeqsolve(to_ode(ControlTerm{slope, path}), Tsit5{}, ts[0], ts[-1], ts[1] - ts[0],
                    initial(path.evaluate(ts[0])), {.controller = PIDController{.rtol = 1e-3, .atol = 1e-6}});
    return readout(sol.ys[-1]);
  }
};
NeuralCDE make_model() {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const nn::MLPOptions initial{
      .in = channels, .out = hidden, .width = width, .depth = 1, .activation = nn::softplus, .dtype = f32},
      field{.in = hidden,
            .out = hidden * channels,
            .width = width,
            .depth = 1,
            .activation = nn::softplus,
            .final_activation = nn::tanh,
            .dtype = f32};
  return {nn::make_mlp(initial, a), nn::make_mlp(field, b),
          nn::make_linear({.in = hidden, .out = nn::scalar, .dtype = f32}, c)};
}

using Step = std::tuple<Array, NeuralCDE, optim::AdamState<NeuralCDE>>;
Step train_step(const NeuralCDE& model, const optim::AdamState<NeuralCDE>& state, const Data& data) {
  const auto loss = [&](const NeuralCDE& m) {
    const auto one = [&](const Array& seen) {
      return m(data.ts, backward_hermite_coefficients(data.ts, seen));
    };
    return mean(optim::sigmoid_binary_cross_entropy(vmap(one)(data.paths), data.turns));
  };
  const auto [value, gradient] = value_and_grad(loss)(model);
  const auto [change, next] = optim::Adam{.learning_rate = 1e-3}.update(gradient, state, model);
  return {value, apply_updates(model, change), next};
}

}  // namespace

void cde() {
  const Data data = make_data();
  const auto step = jit(train_step);
  NeuralCDE model = make_model();
  auto state = optim::Adam{.learning_rate = 1e-3}.init(model);
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    Array loss;
    std::tie(loss, model, state) = step(model, state, data);
    losses.push_back(loss.item<double>());
  }
  // From here on the same step again and again, so that both sides time the same work.
  const double spent = median_seconds([&] { step(model, state, data); }, 2.0);
  report("cde/spiral-step", "ms", spent * 1e3, losses);
}

}  // namespace bench
