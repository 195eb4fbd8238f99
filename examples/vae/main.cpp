// A variational autoencoder of handwritten digits: after it has learned to tell images by eight numbers,
// random numbers become digits that nobody wrote (Kingma and Welling, Auto-encoding variational Bayes, 2014).
//
//   vae [small]             small: fewer epochs, for a test; the picture goes to out/vae.png

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

#include "../digits/digits.hpp"

namespace {

using namespace apsis;
using digits::Digits;

constexpr std::int64_t pixels = 64, latent = 8;

struct Autoencoder {
  nn::MLP encoder;  // pixels → mean and log variance of the numbers
  nn::MLP decoder;  // numbers → logits of the pixels

  std::pair<Array, Array> encode(const Array& image) const {
    const Array code = encoder(2. * ravel(image) - 1.);
    return {code[range(0, latent)], code[range(latent, {})]};
  }
  /// Minus the lower bound of the log likelihood of one image, by one draw.
  Array operator()(const Array& image, const Array& key) const {
    const auto [mean, log_variance] = encode(image);
    const Array numbers = mean + exp(0.5 * log_variance) * random::normal(key, {latent}, f32);
    const Array reconstruction = sum(optim::sigmoid_binary_cross_entropy(decoder(numbers), ravel(image)));
    const Array divergence = 0.5 * sum(square(mean) + exp(log_variance) - 1. - log_variance);
    return reconstruction + divergence;
  }
};

struct Run {
  Autoencoder model;
  optim::AdamState<Autoencoder> optimizer;
};

int run(bool small) {
  const Digits all = digits::read(std::string(APSIS_EXAMPLE_DATA) + "/../digits/digits_8x8.txt");
  const std::int64_t held = 200, epochs = small ? 15 : 200;
  const Array held_out = all.images[range(0, held)], images = all.images[range(held, {})];
  const auto [a, b, order, noise, draws] = random::split<5>(random::key(0));
  const Autoencoder start{
      nn::make_mlp(
          {.in = pixels, .out = 2 * latent, .width = 256, .depth = 2, .activation = nn::gelu, .dtype = f32},
          a),
      nn::make_mlp(
          {.in = latent, .out = pixels, .width = 256, .depth = 2, .activation = nn::gelu, .dtype = f32}, b)};

  const auto batches =
      train::batches(images, {.batch_size = 64, .epochs = epochs, .key = order, .drop_last = true});
  const optim::Adam optimizer{.learning_rate = optim::WarmupCosineDecay{
                                  .peak_value = 2e-3, .warmup_steps = 50, .decay_steps = batches.size()}};
  const auto bound = [](const Autoencoder& m, const Array& x, const Array& key) {
    return mean(vmap(m)(x, random::split(key, x.dim(0))));
  };
  const auto step = jit([&](const Run& r, const Array& x, const Array& key) {
    const auto [value, gradient] = value_and_grad(bound)(r.model, x, key);
    const auto [change, next] = optimizer.update(gradient, r.optimizer, r.model);
    return std::pair(Run{apply_updates(r.model, change), next}, value);
  });
  const auto judge = jit(bound);

  Run state{start, optimizer.init(start)};
  train::ProgressBar bar("autoencoder", batches.size(), stdout);
  std::vector<double> steps, learned, unseen;
  const double before = judge(start, held_out, noise).item<double>();
  for (std::int64_t i = 0; i < batches.size(); ++i) {
    Array value;
    std::tie(state, value) = step(state, batches[i], random::fold_in(noise, i));
    if ((i + 1) % batches.batches_per_epoch() == 0) {
      const Array now = judge(state.model, held_out, noise);
      steps.push_back(static_cast<double>(i + 1));
      learned.push_back(value.item<double>());
      unseen.push_back(now.item<double>());
      bar.show(i + 1, {{"loss", value}, {"held out", now}});
    }
  }
  std::printf("minus the bound of the log likelihood of held-out images: %.2f at first, then %.2f\n", before,
              unseen.back());

  const auto decoded = jit(vmap([&](const Array& z) { return nn::sigmoid(state.model.decoder(z)); }));
  const auto codes = jit(vmap([&](const Array& x) { return state.model.encode(x).first; }));
  const Array seen = reshape(held_out[range(0, 32)], {2, 16, pixels}),
              again = reshape(decoded(codes(held_out[range(0, 32)])), {2, 16, pixels});
  const Array pairs = reshape(stack({seen, again}, 1), {64, pixels});
  std::filesystem::create_directories("out");
  save_stacked(
      {digits::pictures(decoded(random::normal(draws, {64, latent}, f32)), 4, 16, "Digits that nobody wrote"),
       digits::pictures(pairs, 4, 16, "Held-out digits, and below each what its eight numbers keep of it"),
       Figure{.title = "Training", .xlabel = "step", .ylabel = "minus the bound (nats)", .height = 315}
           .line(array(steps), array(learned), "a batch")
           .line(array(steps), array(unseen), "held out")},
      "out/vae.png");
  std::puts("the picture is out/vae.png");
  return unseen.back() < (small ? 30 : 26) ? 0 : 1;
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
