// neural-ode/*: a training step of a neural differential equation. logaddexp(h, 0) is softplus.
#include <cmath>

#include "mlp.hpp"

namespace bench {

using namespace apsis;

namespace {

using Network = Mlp<3>;
const int batch = 32, points = 100;

struct Field {
  Network network;
  Array operator()(const Array&, const Array& y) const {
    return network(y, [](const Array& h) { return logaddexp(h, 0.f); });
  }
};

struct Data {
  Array ts, ys;
};

/// Damped rotations from 32 starts on the unit circle, in closed form.
Data make_data() {
  std::vector<float> ts(points), ys;
  for (int i = 0; i < points; ++i)
    ts[static_cast<std::size_t>(i)] = static_cast<float>(10.0 * i / (points - 1));
  for (int k = 0; k < batch; ++k) {
    for (int i = 0; i < points; ++i) {
      const double t = 10.0 * i / (points - 1), angle = 2 * M_PI * k / batch + t;
      ys.push_back(static_cast<float>(std::exp(-0.1 * t) * std::cos(angle)));
      ys.push_back(static_cast<float>(std::exp(-0.1 * t) * std::sin(angle)));
    }
  }
  return {array(ts), array(ys, Shape{batch, points, 2})};
}

/// adabelief (Zhuang et al. 2020) as Optax has it: b1 0.9, b2 0.999, eps and eps_root 1e-16.
struct Optimiser {
  Network mean, spread;
  Array count;
};

struct Step {
  Array loss;
  Network network;
  Optimiser optimiser;
};

template <LaneLoops loops>
Step train(const Network& network, const Optimiser& before, const Data& data) {
  auto loss = [&](const Network& net) {
    auto one = [&](const Array& y0) {
      return diffeqsolve(ODETerm{Field{net}}, Tsit5{}, data.ts[0], data.ts[-1], data.ts[1] - data.ts[0], y0,
                         {.controller = PIDController{.rtol = 1e-3, .atol = 1e-6}, .saveat = {.ts = data.ts}})
          .ys;
    };
    return mean(square(data.ys - vmap(one, {.loops = loops})(data.ys(range(), 0))));
  };
  auto [value, gradient] = value_and_grad(loss)(network);
  Step out{value, network, before};
  Optimiser& state = out.optimiser;
  state.count = before.count + 1.f;
  const Array mean_scale = 1.f - pow(0.9f, state.count), spread_scale = 1.f - pow(0.999f, state.count);
  auto update = [&](Array& weight, Array& m, Array& s, const Array& g) {
    m = 0.9f * m + 0.1f * g;
    s = 0.999f * s + 0.001f * square(g - m) + 1e-16f;
    weight = weight - 3e-3f * (m / mean_scale) / (sqrt(s / spread_scale) + 1e-16f);
  };
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    Layer &layer = out.network.layers[k], &m = state.mean.layers[k], &s = state.spread.layers[k];
    update(layer.weight, m.weight, s.weight, gradient.layers[k].weight);
    update(layer.bias, m.bias, s.bias, gradient.layers[k].bias);
  }
  return out;
}

Step start() {
  auto network = make_mlp<3>({2, 64, 64, 2});
  Network zero = tree_map([](const Array& a) { return zeros_like(a); }, network);
  return {{}, network, {zero, zero, Array(0, f32)}};
}

template <LaneLoops loops>
void report_step(const char* name) {
  Data data = make_data();
  auto step = jit(train<loops>);
  Step now = start();
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    now = step(now.network, now.optimiser, data);
    losses.push_back(now.loss.item<double>());
  }
  // From here on the same step again and again, so that both sides time the same work.
  double spent = median_seconds([&] { step(now.network, now.optimiser, data); }, 2.0);
  report(name, "ms", spent * 1e3, losses);
}

}  // namespace

void neural_ode() {
  report_step<LaneLoops::Automatic>("neural-ode/step");
  report_step<LaneLoops::Lanes>("neural-ode/step-lanes");
  report_step<LaneLoops::Lockstep>("neural-ode/step-lockstep");
}

void neural_ode_first() {
  warm_compiler();
  Data data = make_data();
  Step now = start();
  double spent = seconds([&] { now = jit(train<LaneLoops::Automatic>)(now.network, now.optimiser, data); });
  report("neural-ode/first-call", "ms", spent * 1e3, {now.loss.item<double>()});
}

}  // namespace bench
