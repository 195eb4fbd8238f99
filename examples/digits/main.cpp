// Handwritten digits of 8 by 8 pixels: a perceptron and a convolution learn to read them, and are judged by a
// fifth of the digits that they never saw.
//
//   digits [small]        small: fewer epochs, for a test; the picture goes to out/digits.png
//
// Each training writes its checkpoints and metrics to out/digits/<model>, and goes on from there if it was
// interrupted: remove the folder to begin anew. `tensorboard --logdir out/digits` shows the metrics.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

#include "digits.hpp"

namespace {

using namespace apsis;
using digits::Digits;

auto make_perceptron(const Array& key) {
  auto [a, b, c] = random::split<3>(key);
  return nn::make_sequential([](const Array& x) { return ravel(x); },
                             nn::make_linear({.in = 64, .out = 128, .dtype = f32}, a), nn::relu,
                             nn::Dropout{.p = 0.2}, nn::make_linear({.in = 128, .out = 64, .dtype = f32}, b),
                             nn::relu, nn::make_linear({.in = 64, .out = 10, .dtype = f32}, c));
}

auto make_convolution(const Array& key) {
  auto [a, b, c] = random::split<3>(key);
  return nn::make_sequential(
      nn::make_conv2d({.in = 1, .out = 16, .kernel_size = 3, .padding = 1, .dtype = f32}, a), nn::relu,
      nn::make_conv2d({.in = 16, .out = 32, .kernel_size = 3, .padding = 1, .dtype = f32}, b), nn::relu,
      nn::MaxPool{.kernel_size = 2, .stride = 2}, [](const Array& x) { return ravel(x); },
      nn::Dropout{.p = 0.3}, nn::make_linear({.in = 512, .out = 10, .dtype = f32}, c));
}

template <class Model>
struct Run {
  Model model;
  optim::AdamState<Model> optimizer;
  Array key;  // of dropout
};

/// The model after all epochs.
template <class Model>
Model train_digits(const std::string& name, const Model& start, const Digits& learned, const Digits& held_out,
                   std::int64_t epochs) {
  const auto batches =
      train::batches(learned, {.batch_size = 64, .epochs = epochs, .key = random::key(1), .drop_last = true});
  const optim::AdamW optimizer{.learning_rate = optim::WarmupCosineDecay{.peak_value = 3e-3,
                                                                         .warmup_steps = batches.size() / 20,
                                                                         .decay_steps = batches.size()},
                               .weight_decay = 1e-3};
  const auto step = jit([&](const Run<Model>& run, const Digits& batch) {
    const auto keys = random::split<2>(run.key);
    const auto loss = [&](const Model& m) {
      const Array logits = vmap(m)(batch.images, random::split(keys[0], batch.images.dim(0)));
      return mean(optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels));
    };
    const auto [value, gradient] = value_and_grad(loss)(run.model);
    const auto [change, next] = optimizer.update(gradient, run.optimizer, run.model);
    return std::pair(Run<Model>{apply_updates(run.model, change), next, keys[1]}, value);
  });
  const auto judge = jit([](const Model& m, const Digits& d) {
    const Array logits = vmap([&](const Array& x) { return inference_mode(m)(x); })(d.images);
    return std::pair(mean(optim::softmax_cross_entropy_with_integer_labels(logits, d.labels)),
                     mean(argmax(logits, {.axis = 1}) == d.labels));
  });

  const std::string folder = "out/digits/" + name;
  const CheckpointManager checkpoints{
      .directory = folder, .max_to_keep = 2, .save_interval_steps = batches.batches_per_epoch()};
  auto [done, run] = checkpoints.restore_latest(Run<Model>{start, optimizer.init(start), random::key(2)});
  std::filesystem::create_directories(folder);
  const JsonLines log{folder + "/metrics.jsonl"};
  const TensorBoard board{folder};
  log.rewind(done);
  board.rewind(done);
  train::ProgressBar bar(name, batches.size(), stdout);
  while (done < batches.size()) {
    Array value;
    std::tie(run, value) = step(run, batches[done++]);
    if (done % batches.batches_per_epoch() == 0) {
      const auto [loss, accuracy] = judge(run.model, held_out);
      const Metrics metrics{{"loss", value}, {"held-out loss", loss}, {"held-out accuracy", accuracy}};
      log.write(done - 1, metrics);
      board.write(done - 1, metrics);
      bar.show(done, metrics);
    }
    checkpoints.save(done, run);
  }
  return inference_mode(run.model);
}

int run(bool small) {
  const Digits all = digits::read(std::string(APSIS_EXAMPLE_DATA) + "/digits_8x8.txt");
  const std::int64_t rows = all.labels.dim(0), held = rows / 5;
  const Array order = random::permutation(random::key(0), rows);
  const auto part = [&](const Range& r) {
    return tree_map([&](const Array& a) { return take(a, order[r], 0); }, all);
  };
  const Digits held_out = part(range(0, held)), learned = part(range(held, {}));
  std::printf("%lld digits to learn from, %lld held out\n", static_cast<long long>(rows - held),
              static_cast<long long>(held));
  if (small) std::filesystem::remove_all("out/digits");  // a test begins anew

  bool good = true;
  Array read;
  const auto judge = [&](const char* name, const auto& model, double bound) {
    read = argmax(jit(vmap([&](const Array& x) { return model(x); }))(held_out.images), {.axis = 1});
    const double accuracy = mean(read == held_out.labels).template item<double>();
    std::printf("%s: %.2f %% of the held-out digits are read right (%.0f %% wanted)\n", name, 100 * accuracy,
                100 * bound);
    good &= accuracy >= bound;
  };
  judge("perceptron",
        train_digits("perceptron", make_perceptron(random::key(3)), learned, held_out, small ? 8 : 40),
        small ? 0.9 : 0.97);
  judge("convolution",
        train_digits("convolution", make_convolution(random::key(4)), learned, held_out, small ? 3 : 30),
        small ? 0.85 : 0.98);

  Figure losses{.title = "Reading digits", .xlabel = "step", .ylabel = "loss", .log_y = true, .height = 315};
  for (const char* name : {"perceptron", "convolution"}) {
    const Table table = read_json_lines(std::string("out/digits/") + name + "/metrics.jsonl");
    losses.line(table.column("step"), table.column("held-out loss"), std::string(name) + ", held out")
        .dashed(table.column("step"), table.column("loss"), std::string(name) + ", a batch");
  }
  // Those that the convolution reads wrong come first.
  const Array right = read == held_out.labels, from_wrong = argsort(astype(right, i64));
  const std::int64_t wrong = held - sum(right).item<int>();
  std::string title = "Held-out digits. The first " + std::to_string(wrong) + " are read wrong, as";
  for (std::int64_t i = 0; i < std::min<std::int64_t>(wrong, 16); ++i)
    title += (i ? ", " : " ") + std::to_string(read[from_wrong[i]].item<int>());
  save_stacked({losses, digits::pictures(take(held_out.images, from_wrong, 0), 4, 16, title)},
               "out/digits.png");
  std::puts("the picture is out/digits.png");
  return good ? 0 : 1;
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
