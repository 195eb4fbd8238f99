// Whole models trained by gradient descent, step by step beside the same programs in Equinox, from the same
// keys on.

#include <apsis/apsis.hpp>

#include "golden/arrays.hpp"

namespace {

using namespace apsis;
using golden::Case;

Case case_named(const std::string& name) {
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/nn_training.txt"))
    if (c.name == name) return c;
  throw std::runtime_error("no case " + name);
}

/// The mean of -log softmax(logits)[label] over the rows.
Array cross_entropy(const Array& logits, const Array& labels) {
  return -mean(take_along_axis(log_softmax(logits), expand_dims(labels, 1), 1));
}

template <class Model, class State>
struct Trained {
  Model model;
  State state;
  Array losses;
};
/// `loss(model, state)` gives the loss and the next state. All steps are one program.
template <class Loss, class Model, class State>
Trained<Model, State> descend(const Loss& loss, const Model& model, const State& state, std::int64_t steps,
                              double rate) {
  using Carry = std::pair<Model, State>;
  const auto step = [&](const Carry& now, const Nothing&) {
    const auto [value, next, slope] = value_and_grad(loss)(now.first, now.second);
    return std::pair(
        Carry{tree_map([&](const Array& p, const Array& g) { return p - rate * g; }, now.first, slope), next},
        value);
  };
  const auto run = jit([&](const Carry& start) { return scan(step, start, Nothing{}, {.length = steps}); });
  const auto [end, losses] = run(Carry{model, state});
  return {end.first, end.second, losses};
}

/// Rounding of one step grows by each that follows.
void expect_losses(const Array& got, const Case& c, double relative) {
  golden::expect_same(got, c["y0"], relative, c.name);
}

TEST(Training, TwoMoons) {
  const Case c = case_named("moons");
  const auto x = golden::inputs_of(c);
  const nn::MLP model = nn::make_mlp({.in = 2, .out = 2, .width = 16, .depth = 2}, x[0]);
  const auto loss = [&](const nn::MLP& m, const Nothing& state) {
    return std::pair(cross_entropy(vmap(m)(x[1]), x[2]), state);
  };
  const auto trained = descend(loss, model, Nothing{}, 400, 0.5);
  expect_losses(trained.losses, c, 1e-9);
  const Array right = mean(argmax(vmap(trained.model)(x[1]), {.axis = 1}) == x[2]);
  EXPECT_EQ(right.item<double>(), c["y1"].real[0]);
  EXPECT_GE(right.item<double>(), 0.98);
}

struct Characters {
  nn::Embedding embedding;
  nn::GRUCell cell;
  nn::Linear out;
  /// Logits of the letter that follows each.
  Array operator()(const Array& text) const {
    const auto step = [this](const Array& h, const Array& letter) {
      const Array next = cell(embedding(letter), h);
      return std::pair(next, out(next));
    };
    return scan(step, zeros({cell.hidden_size()}), text).second;
  }
};

TEST(Training, CharactersByAGru) {
  const Case c = case_named("characters");
  const auto x = golden::inputs_of(c);
  const Array text = x[1];
  const std::int64_t letters = max(text).item<int>() + 1;
  const auto [a, b, d] = random::split<3>(x[0]);
  const Characters model{nn::make_embedding({.count = letters, .size = 6}, a),
                         nn::make_gru_cell({.in = 6, .hidden = 24}, b),
                         nn::make_linear({.in = 24, .out = letters}, d)};
  const auto loss = [&](const Characters& m, const Nothing& state) {
    return std::pair(cross_entropy(m(text[range(0, -1)]), text[range(1, {})]), state);
  };
  const auto trained = descend(loss, model, Nothing{}, 300, 1.0);
  expect_losses(trained.losses, c, 1e-7);
  // It has learnt the sentence: almost every letter is the likeliest one.
  const Array guess = argmax(trained.model(text[range(0, -1)]), {.axis = 1});
  EXPECT_GE(mean(guess == text[range(1, {})]).item<double>(), 0.9);
}

struct Pictures {
  nn::Conv conv;
  nn::BatchNorm norm;
  nn::MaxPool pool{.kernel_size = 2, .stride = 2};
  nn::Linear out;
  std::pair<Array, nn::BatchNormState> operator()(const Array& x, const nn::BatchNormState& state) const {
    const auto [h, next] = norm(conv(x), state);
    return {out(ravel(pool(nn::relu(h)))), next};
  }
};

TEST(Training, PicturesWithBatchNorm) {
  const Case c = case_named("pictures");
  const auto x = golden::inputs_of(c);
  const auto [a, b] = random::split<2>(x[0]);
  const Pictures model{.conv = nn::make_conv2d({.in = 1, .out = 4, .kernel_size = 3, .padding = 1}, a),
                       .norm = nn::make_batch_norm({.channels = 4, .momentum = 0.9}),
                       .out = nn::make_linear({.in = 36, .out = 3}, b)};
  using Result = std::pair<Array, nn::BatchNormState>;
  const auto batched = [](const Pictures& m) {
    return vmap(m, {.in_axes = {0, {}}, .out_axes = Result{0, {}}, .axis_name = "batch"});
  };
  const auto loss = [&](const Pictures& m, const nn::BatchNormState& state) {
    const auto [logits, next] = batched(m)(x[1], state);
    return std::pair(cross_entropy(logits, x[2]), next);
  };
  const auto trained = descend(loss, model, model.norm.init_state(), 60, 0.2);
  expect_losses(trained.losses, c, 1e-9);
  EXPECT_EQ(trained.state.count.item<int>(), 60);
  // In use each picture is judged by itself, with the statistics of training.
  const auto used = inference_mode(trained.model);
  const Array one = used(x[1][4], trained.state).first;
  EXPECT_EQ(argmax(one).item<int>(), x[2][4].item<int>());
}

}  // namespace
