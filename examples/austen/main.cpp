// A transformer learns to write English, letter by letter, from the first volume of Jane Austen's "Pride and
// Prejudice" (1813, public domain): it is judged by the last tenth, which it never saw, and then goes on by
// itself from two words.
//
//   austen [small]        small: fewer steps, for a test; the picture goes to out/austen.png, what it
//                         writes to out/austen.txt

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr std::int64_t width = 64, heads = 4, layers = 2, sequence = 96, window = 64;

struct Text {
  std::string letters;  // that occur; a letter's code is its place here
  std::string all;
  Array codes;  // i32
};

/// A paragraph a line.
Text read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream lines;
  lines << file.rdbuf();
  Text text;
  for (const char c : lines.str()) {
    if (c == '\n' && !text.all.empty() && text.all.back() == ' ')
      text.all.back() = '\n';
    else if (c != '\n' || text.all.empty() || text.all.back() != '\n')
      text.all += c == '\n' ? ' ' : c;
  }
  if (text.all.empty()) throw std::runtime_error(path + " cannot be read");
  for (int c = 0; c < 256; ++c)
    if (text.all.find(static_cast<char>(c)) != std::string::npos) text.letters += static_cast<char>(c);
  std::vector<std::int32_t> codes;
  for (const char c : text.all) codes.push_back(static_cast<std::int32_t>(text.letters.find(c)));
  text.codes = array(codes);
  return text;
}

/// Attention and a perceptron, each added to its input. Places are rotations, and a letter sees the `window`
/// letters before: so texts may be longer than those of the training.
struct Block {
  nn::RMSNorm before, between;
  nn::MultiheadAttention attention;
  nn::RotaryPositionalEmbedding rope{.embedding_size = width / heads};
  nn::MLP mlp;

  nn::AttentionHeads heads_of(const Array& x, const Array& start) const {
    const Array h = vmap(before)(x);
    nn::AttentionHeads found = attention.heads(h, h, h);
    const auto turn = vmap([&](const Array& v) { return rope(v, start); }, {.in_axes = 1, .out_axes = 1});
    found.query = turn(found.query);
    found.key = turn(found.key);
    return found;
  }
  Array with_mlp(const Array& x) const { return x + vmap(mlp)(vmap(between)(x)); }

  /// x: [sequence, width] → the same.
  Array operator()(const Array& x) const {
    return with_mlp(x + attention.attend(heads_of(x, 0),
                                         {.is_causal = true, .local_window = nn::LocalWindow{window, 0}}));
  }
  /// The same for the letters that follow those in the cache.
  std::pair<Array, nn::AttentionCache> next(const Array& x, const nn::AttentionCache& cache) const {
    const auto [attended, filled] =
        attention.attend(heads_of(x, cache.length), cache, {.local_window = nn::LocalWindow{window, 0}});
    return {with_mlp(x + attended), filled};
  }
};

Block make_block(const Array& key) {
  const auto [a, b] = random::split<2>(key);
  return {
      .before = nn::make_rms_norm({.shape = {width}, .use_bias = false, .dtype = f32}),
      .between = nn::make_rms_norm({.shape = {width}, .use_bias = false, .dtype = f32}),
      .attention = nn::make_multihead_attention({.num_heads = heads, .query_size = width, .dtype = f32}, a),
      .mlp = nn::make_mlp(
          {.in = width, .out = width, .width = 4 * width, .depth = 1, .activation = nn::gelu, .dtype = f32},
          b)};
}

using Caches = std::vector<nn::AttentionCache>;

struct Writer {
  nn::Embedding embedding;
  std::vector<Block> blocks;
  nn::RMSNorm norm;
  nn::Linear out;

  Array logits(const Array& x) const {
    return vmap([this](const Array& row) { return out(norm(row)); })(x);
  }
  /// What follows each letter: text [n] → logits [n, letters].
  Array operator()(const Array& text) const {
    Array x = vmap(embedding)(text);
    for (const Block& block : blocks) x = block(x);
    return logits(x);
  }
  /// The same for the letters that follow those in the caches.
  std::pair<Array, Caches> next(const Array& text, Caches caches) const {
    Array x = vmap(embedding)(text);
    for (std::size_t i = 0; i < blocks.size(); ++i) std::tie(x, caches[i]) = blocks[i].next(x, caches[i]);
    return {logits(x), caches};
  }
};

Writer make_writer(std::int64_t letters, const Array& key) {
  const auto [a, b, c] = random::split<3>(key);
  Writer writer{
      .embedding = nn::make_embedding(
          {.count = letters, .size = width, .weight_init = nn::initializers::normal(0.02), .dtype = f32}, a),
      .norm = nn::make_rms_norm({.shape = {width}, .use_bias = false, .dtype = f32}),
      .out = nn::make_linear({.in = width, .out = letters, .dtype = f32}, b)};
  for (std::int64_t i = 0; i < layers; ++i) writer.blocks.push_back(make_block(random::fold_in(c, i)));
  return writer;
}

/// How many bits each letter but the first is worth to the model: text [rows, n] → [rows, n - 1].
Array bits(const Writer& writer, const Array& text) {
  const Array logits = vmap(writer)(text(ellipsis, range(0, -1)));
  return optim::softmax_cross_entropy_with_integer_labels(logits, text(ellipsis, range(1, {}))) /
         std::log(2.);
}

/// Pieces of a text that begin `stride` letters after each other: [pieces, sequence + 1].
Array pieces(const Array& codes, std::int64_t stride) {
  const Array starts = stride * arange((codes.dim(0) - sequence - 1) / stride + 1);
  return codes[expand_dims(starts, 1) + arange(sequence + 1)];
}

/// A text of `length` letters that begins with `start`. All of it is one program: keys and values of the
/// letters before are kept, so that a letter costs the same wherever it stands.
std::string write(const Writer& writer, const Text& text, const std::string& start, std::int64_t length,
                  const Array& key) {
  std::vector<std::int32_t> begun;
  for (const char c : start) begun.push_back(static_cast<std::int32_t>(text.letters.find(c)));
  const auto go_on = jit([&](const Writer& w, const Array& first, const Array& keys) {
    Caches caches;
    for (const Block& block : w.blocks)
      caches.push_back(block.attention.init_cache(first.dim(0) + keys.dim(0)));
    const auto draw = [](const Array& k, const Array& logits) {
      return astype(random::categorical(k, logits / 0.7), i32);
    };
    using Carry = std::pair<Array, Caches>;
    const auto step = [&](const Carry& now, const Array& k) {
      const Array letter = draw(k, now.first);
      const auto [logits, next] = w.next(expand_dims(letter, 0), now.second);
      return std::pair(Carry{logits[0], next}, letter);
    };
    const auto [logits, filled] = w.next(first, caches);
    return scan(step, Carry{logits[-1], filled}, keys).second;
  });
  std::string written = start;
  for (const std::int32_t code :
       go_on(writer, array(begun), random::split(key, length)).to_vector<std::int32_t>())
    written += text.letters[static_cast<std::size_t>(code)];
  return written;
}

struct Curve {
  std::vector<double> steps, learned, unseen;
};

Writer learn(const Writer& start, const Array& learned, const Array& held_out, std::int64_t steps,
             std::int64_t report, Curve& curve) {
  const auto batches =
      train::batches(pieces(learned, 32), {.batch_size = 16, .epochs = 1000, .key = random::key(1)});
  const auto optimizer = optim::chain(
      optim::ClipByGlobalNorm{.max_norm = 1.},
      optim::AdamW{
          .learning_rate =
              optim::WarmupCosineDecay{.peak_value = 3e-3, .warmup_steps = steps / 20, .decay_steps = steps},
          .b2 = 0.99,
          .weight_decay = 0.1,
          .mask = [](const Array& leaf) { return leaf.ndim() > 1; }});
  using State = optim::state_t<decltype(optimizer), Writer>;
  const auto loss = [](const Writer& w, const Array& x) { return mean(bits(w, x)); };
  const auto step = jit([&](const Writer& w, const State& state, const Array& x) {
    const auto [value, gradient] = value_and_grad(loss)(w, x);
    const auto [change, next] = optimizer.update(gradient, state, w);
    return std::tuple(apply_updates(w, change), next, value);
  });
  const auto judge = jit(loss);
  const Array unseen = pieces(held_out, sequence);

  Writer writer = start;
  State state = optimizer.init(start);
  train::ProgressBar bar("austen", steps, stdout);
  Array sum = array(0.f);
  for (std::int64_t i = 0; i < steps; ++i) {
    Array value;
    std::tie(writer, state, value) = step(writer, state, batches[i]);
    sum = sum + value;
    if ((i + 1) % report != 0) continue;
    const Array now = judge(writer, unseen), mean_value = sum / report;
    curve.steps.push_back(static_cast<double>(i + 1));
    curve.learned.push_back(mean_value.item<double>());
    curve.unseen.push_back(now.item<double>());
    bar.show(i + 1, {{"bits a letter", mean_value}, {"held out", now}});
    sum = array(0.f);
  }
  return writer;
}

/// The mean of the bits over letters by their place in their word, from 1 to 10; 0: what ends a word.
std::vector<double> by_place(const Writer& writer, const Text& text, const Array& held_out,
                             std::int64_t begin) {
  const std::vector<float> each = ravel(jit(bits)(writer, pieces(held_out, sequence))).to_vector<float>();
  std::vector<double> sums(11), counts(11);
  for (std::size_t i = 0; i < each.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(begin) + i / sequence * sequence + i % sequence + 1;
    std::size_t place = 0;
    while (place < 10 && std::isalpha(static_cast<unsigned char>(text.all[at - place]))) ++place;
    sums[place] += static_cast<double>(each[i]);
    counts[place] += 1;
  }
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] /= counts[k];
  return sums;
}

int run(bool small) {
  const Text text = read(std::string(APSIS_EXAMPLE_DATA) + "/pride_and_prejudice_1.txt");
  const std::int64_t count = text.codes.dim(0), begin = count - count / 10;
  const Array learned = text.codes[range(0, begin)], held_out = text.codes[range(begin, {})];
  const Writer start = make_writer(static_cast<std::int64_t>(text.letters.size()), random::key(0));
  if (!small) std::fputs(to_string(nn::summary(start)).c_str(), stdout);

  // What a letter costs for one who knows how often each comes, but nothing of what stands before.
  const Array often = bincount(learned, {.length = static_cast<std::int64_t>(text.letters.size())}) /
                      static_cast<double>(begin);
  const double alone = -mean(log2(often[held_out])).item<double>();

  Curve curve;
  const Writer writer = learn(start, learned, held_out, small ? 60 : 3000, small ? 20 : 100, curve);
  std::printf("bits a letter of the last tenth: %.2f by its frequency alone, %.2f by the transformer\n",
              alone, curve.unseen.back());

  const std::string written = write(writer, text, "Mr. Darcy", small ? 100 : 700, random::key(3));
  std::filesystem::create_directories("out");
  std::ofstream("out/austen.txt") << written << '\n';
  std::printf("\n%s\n\n", written.c_str());

  const std::vector<double> places = by_place(writer, text, held_out, begin);
  save_stacked(
      {Figure{.title = "Learning to write, letter by letter", .xlabel = "step", .ylabel = "bits a letter"}
           .line(array(curve.steps), array(curve.unseen), "held out")
           .dashed(array(curve.steps), array(curve.learned), "of the batches"),
       Figure{.title = "What it cannot know: how words begin",
              .xlabel = "place of a letter in its word; 0: what follows a word",
              .ylabel = "bits a letter",
              .height = 400}
           .line(arange(11.), array(places), "")
           .points(arange(11.), array(places), "held out")},
      "out/austen.png");
  std::puts("the picture is out/austen.png");
  return curve.unseen.back() < (small ? 0.9 * alone : 1.95) ? 0 : 1;
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
