// train/*: steps of training of models of layers, whose parameters are those of Equinox's layers for the same
// keys.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Batch {
  Array x;       // f32[n, …], uniform in [0, 1)
  Array labels;  // i32[n]
};
Batch make_batch(Shape shape) {
  return {random::uniform(random::key(7), shape, f32), astype(arange(shape[0]) % 10, i32)};
}

// Classifiers, a step of Adam.

template <class Model>
using Step = std::tuple<Array, Model, optim::AdamState<Model>>;

template <class Model>
Step<Model> adam_step(const Model& model, const optim::AdamState<Model>& state, const Batch& batch) {
  const auto loss = [&](const Model& m) {
    const Array logits = vmap([&](const Array& x) { return m(x); })(batch.x);
    return mean(optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels));
  };
  const auto [value, gradient] = value_and_grad(loss)(model);
  const auto [change, next] = optim::Adam{}.update(gradient, state, model);
  return {value, apply_updates(model, change), next};
}

auto make_perceptron() {
  return nn::make_mlp({.in = 784, .out = 10, .width = 256, .activation = nn::relu, .dtype = f32},
                      random::key(0));
}
auto make_convolution() {
  const auto [a, b, c] = random::split<3>(random::key(0));
  return nn::make_sequential(
      nn::make_conv2d({.in = 1, .out = 16, .kernel_size = 3, .padding = 1, .dtype = f32}, a), nn::relu,
      nn::MaxPool{.kernel_size = 2, .stride = 2},
      nn::make_conv2d({.in = 16, .out = 32, .kernel_size = 3, .padding = 1, .dtype = f32}, b), nn::relu,
      nn::MaxPool{.kernel_size = 2, .stride = 2}, [](const Array& x) { return ravel(x); },
      nn::make_linear({.in = 1568, .out = 10, .dtype = f32}, c));
}

// Models of sequences, forward and backward.

struct Transformer {
  nn::LayerNorm before, between;
  nn::MultiheadAttention attention;
  nn::MLP mlp;
  Array operator()(const Array& x) const {
    const Array h = vmap(before)(x);
    const Array y = x + attention(h, h, h, {.is_causal = true});
    return y + vmap(mlp)(vmap(between)(y));
  }
};
Transformer make_transformer() {
  const auto [a, b] = random::split<2>(random::key(0));
  const auto norm = nn::make_layer_norm({.shape = {256}, .dtype = f32});
  return {norm, norm, nn::make_multihead_attention({.num_heads = 4, .query_size = 256, .dtype = f32}, a),
          nn::make_mlp(
              {.in = 256, .out = 256, .width = 1024, .depth = 1, .activation = nn::gelu, .dtype = f32}, b)};
}

struct Recurrent {
  nn::GRUCell cell;
  Array operator()(const Array& xs) const {
    const auto step = [this](const Array& h, const Array& x) {
      const Array next = cell(x, h);
      return std::pair(next, next);
    };
    return scan(step, zeros({64}, f32), xs).second;
  }
};
Recurrent make_recurrent() {
  return {nn::make_gru_cell({.in = 32, .hidden = 64, .dtype = f32}, random::key(0))};
}

template <class Model>
std::pair<Array, Model> forward_backward(const Model& model, const Array& x) {
  return value_and_grad([&](const Model& m) { return mean(square(vmap(m)(x))); })(model);
}

template <class Model>
void report_steps(const char* name, const Model& start, const Shape& shape) {
  const Batch batch = make_batch(shape);
  const auto step = jit(adam_step<Model>);
  Step<Model> now{{}, start, optim::Adam{}.init(start)};
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) {
    now = step(std::get<1>(now), std::get<2>(now), batch);
    losses.push_back(std::get<0>(now).template item<double>());
  }
  // From here on the same step again and again, so that both sides time the same work.
  report(name, "ms", 1e3 * median_seconds([&] { step(std::get<1>(now), std::get<2>(now), batch); }), losses);
}
template <class Model>
std::vector<double> answer_of(const std::pair<Array, Model>& value_and_gradient) {
  return {value_and_gradient.first.template item<double>(),
          optim::global_norm(value_and_gradient.second).template item<double>()};
}
template <class Model>
void report_passes(const char* name, const Model& model, const Shape& shape) {
  const Array x = make_batch(shape).x;
  const auto run = jit(forward_backward<Model>);
  const auto answer = answer_of(run(model, x));
  report(name, "ms", 1e3 * median_seconds([&] { run(model, x); }), answer);
}

template <class Model>
void report_first_step(const char* name, const Model& start, const Shape& shape) {
  const Batch batch = make_batch(shape);
  const auto state = optim::Adam{}.init(start);
  Step<Model> now;
  const double spent = seconds([&] { now = jit(adam_step<Model>)(start, state, batch); });
  report(name, "ms", 1e3 * spent, {std::get<0>(now).template item<double>()});
}
template <class Model>
void report_first_pass(const char* name, const Model& model, const Shape& shape) {
  const Array x = make_batch(shape).x;
  std::pair<Array, Model> found;
  const double spent = seconds([&] { found = jit(forward_backward<Model>)(model, x); });
  report(name, "ms", 1e3 * spent, answer_of(found));
}

const Shape digits{128, 784}, pictures{64, 1, 28, 28}, sentences{8, 128, 256}, series{32, 200, 32};

}  // namespace

void train() {
  report_steps("train/mlp", make_perceptron(), digits);
  report_steps("train/conv", make_convolution(), pictures);
  report_passes("train/transformer", make_transformer(), sentences);
  report_passes("train/gru", make_recurrent(), series);
}

void train_first() {
  warm_compiler();
  report_first_step("train/mlp-first-call", make_perceptron(), digits);
  report_first_step("train/conv-first-call", make_convolution(), pictures);
  report_first_pass("train/transformer-first-call", make_transformer(), sentences);
  report_first_pass("train/gru-first-call", make_recurrent(), series);
}

}  // namespace bench
