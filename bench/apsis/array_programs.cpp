// arrays/*: what users write with arrays: a layer on a batch, gathers, a search, and the derivatives of four
// models (a perceptron, and of ADBench an LSTM, a Gaussian mixture, bundle adjustment). What each row is:
// bench/README.md.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

Array wave(std::int64_t n, double step) { return sin(arange(static_cast<double>(n)) * step); }

/// Four elements, or all of fewer.
std::vector<double> probes(const Array& result) {
  const Array flat = astype(reshape(result, {-1}), f64);
  std::vector<double> some;
  for (std::int64_t k : {std::int64_t{0}, flat.size() / 3, flat.size() / 2, flat.size() - 1})
    some.push_back(flat[k].item<double>());
  return some;
}

template <class F, class... A>
void measure(const char* name, F&& f, const A&... arguments) {
  const auto compiled = jit(f);
  Array y;
  const double spent = median_seconds([&] { y = compiled(arguments...); }, 0.5);
  report(name, "us", spent * 1e6, probes(y));
}

void layers() {
  for (const Dtype dtype : {f64, f32}) {
    const Array weights = astype(reshape(wave(64 * 64, 0.37) * 0.2, {64, 64}), dtype),
                bias = astype(wave(64, 0.7), dtype),
                rows = astype(reshape(wave(10'000 * 64, 0.13), {10'000, 64}), dtype);
    const auto layer = [](const Array& w, const Array& b, const Array& x) {
      return vmap([&](const Array& v) { return tanh(dot(w, v) + b); })(x);
    };
    measure(dtype == f64 ? "arrays/layer-f64" : "arrays/layer-f32", layer, weights, bias, rows);
  }
}

void gathers() {
  const std::int64_t n = 1'000'000, m = 30'000;
  const Array x = wave(n, 0.37), index = arange(n) * 7919 % n;
  const auto gather = [](const Array& of, const Array& at) { return of[at]; };
  measure("arrays/gather-forward", gather, x, index);
  const auto gradient = [](const Array& of, const Array& at) {
    return grad([&](const Array& v) { return sum(square(v[at])); })(of);
  };
  measure("arrays/gather-backward", gradient, x, index);
  const auto search = [](const Array& sorted, const Array& values) { return searchsorted(sorted, values); };
  measure("arrays/searchsorted", search, sort(wave(m, 0.37)), wave(m, 0.73));
}

/// A step of two layers, each with elementwise weights: the rows of `weights` are weights and biases in turn.
std::pair<Array, Array> lstm_step(const Array& weights, const Array& ends, const Array& state,
                                  const Array& input, const Array& next) {
  const std::int64_t h = input.size();
  Array x = input * ends[0];
  std::vector<Array> states;
  for (std::int64_t k = 0; k < 4; k += 2) {
    const Array gates = concatenate({x, state[k], x, state[k]}, 0) * weights[k] + weights[k + 1];
    const auto part = [&](std::int64_t i) { return gates[range(i * h, (i + 1) * h)]; };
    const Array cell = state[k + 1] * sigmoid(part(0)) + sigmoid(part(1)) * tanh(part(3));
    x = sigmoid(part(2)) * tanh(cell);
    states.insert(states.end(), {x, cell});
  }
  const Array y = x * ends[1] + ends[2];
  return {stack(states, 0), sum(next * (y - log(sum(exp(y)) + 2.)))};
}

void lstm() {
  const std::int64_t h = 14, steps = 1024;
  const Array weights = reshape(wave(16 * h, 0.37) * 0.5, {4, 4 * h}),
              ends = reshape(wave(3 * h, 0.7) * 0.5, {3, h}), state = reshape(wave(4 * h, 0.9) * 0.5, {4, h}),
              inputs = reshape(wave((steps + 1) * h, 0.13) * 0.5, {steps + 1, h});
  const auto loss = [&](const Array& w, const Array& e) {
    const auto step = [&](const Array& s, const std::pair<Array, Array>& in) {
      return lstm_step(w, e, s, in.first, in.second);
    };
    const auto [last, losses] =
        scan(step, state, std::pair(inputs[range(0, steps)], inputs[range(1, steps + 1)]));
    return -sum(losses) / static_cast<double>(steps * h);
  };
  measure(
      "arrays/lstm-grad", [&](const Array& w, const Array& e) { return grad(loss)(w, e); }, weights, ends);
}

/// The negative log likelihood, without constants, of a mixture of K Gaussians in d dimensions, whose inverse
/// covariances are given by the logarithms of a diagonal and what is below it.
Array mixture_loss(const Array& alphas, const Array& means, const Array& logs, const Array& below,
                   const Array& x) {
  const Array factors = exp(expand_dims(logs, -1)) * eye(x.dim(1)) + tril(below, -1);
  const Array centred = expand_dims(x, 1) - means;
  const Array squares = sum(square(einsum("kij,nkj->nki", {factors, centred})), {.axis = 2});
  const Array each = alphas + sum(logs, {.axis = 1}) - 0.5 * squares;
  return static_cast<double>(x.dim(0)) * logsumexp(alphas) - sum(logsumexp(each, {.axis = 1}));
}

void mixture() {
  const std::int64_t n = 10'000, d = 20, k = 25;
  const Array alphas = wave(k, 0.3) * 0.5, means = reshape(wave(k * d, 0.7) * 0.5, {k, d}),
              logs = reshape(wave(k * d, 0.9) * 0.5, {k, d}),
              below = reshape(wave(k * d * d, 0.11) * 0.5, {k, d, d}),
              x = reshape(wave(n * d, 0.13) * 0.5, {n, d});
  const auto gradient = [&](const Array& l) {
    return grad([&](const Array& v) { return mixture_loss(alphas, means, logs, v, x); })(l);
  };
  measure("arrays/gmm-grad", gradient, below);
}

Array cross_product(const Array& a, const Array& b) {
  return stack({a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}, 0);
}

/// Where a camera (rotation, centre, focal length, principal point, two coefficients of distortion) sees a
/// point, less where it was seen, times a weight.
Array reprojection_error(const Array& all, const Array& seen) {
  const Array camera = all[range(0, 11)], rotation = camera[range(0, 3)],
              point = all[range(11, 14)] - camera[range(3, 6)];
  const Array angle = sqrt(sum(square(rotation))), axis = rotation / angle, c = cos(angle);
  const Array turned =
      point * c + cross_product(axis, point) * sin(angle) + axis * (dot(axis, point) * (1. - c));
  const Array image = turned[range(0, 2)] / turned[2], r = sum(square(image));
  const Array distorted = image * (1. + camera[9] * r + camera[10] * r * r);
  return all[14] * (distorted * camera[6] + camera[range(7, 9)] - seen);
}

void bundle_adjustment() {
  const std::int64_t n = 31'843;
  const Array typical = array({0.2, 0.1, 0.3, 0., 0., 0., 1., 0., 0., 0.01, 0.01, 0.3, 0.2, 3., 1.});
  const Array all = reshape(wave(n * 15, 0.37) * 0.05, {n, 15}) + typical,
              seen = reshape(wave(n * 2, 0.11), {n, 2});
  const auto jacobian = [](const Array& a, const Array& s) {
    return vmap([](const Array& one, const Array& at) {
      return jacrev([&](const Array& v) { return reprojection_error(v, at); })(one);
    })(a, s);
  };
  measure("arrays/ba-jacobian", jacobian, all, seen);
}

void perceptron() {
  const nn::MLP model = nn::make_mlp(
      {.in = 64, .out = 1, .width = 128, .depth = 3, .activation = nn::relu, .dtype = f32}, random::key(0));
  const Array rows = astype(reshape(wave(4096 * 64, 0.13), {4096, 64}), f32);
  const auto run = jit(value_and_grad([](const nn::MLP& m, const Array& x) {
    return mean(square(vmap([&](const Array& v) { return m(v); })(x)));
  }));
  std::pair<Array, nn::MLP> y;
  const double spent = median_seconds([&] { y = run(model, rows); }, 0.5);
  report("arrays/mlp-grad", "us", spent * 1e6,
         {y.first.item<double>(), optim::global_norm(y.second).item<double>()});
}

}  // namespace

void array_programs() {
  layers();
  gathers();
  lstm();
  mixture();
  bundle_adjustment();
  perceptron();
}

}  // namespace bench
