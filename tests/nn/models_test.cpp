// Layers in transformations, in each other, and as whole models.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include <apsis/apsis.hpp>

#include "control/peak_memory.hpp"

namespace {

using namespace apsis;

/// The greatest difference of two arrays.
double apart(const Array& a, const Array& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item<double>();
}

TEST(Models, AnMlpIsItsLayers) {
  const nn::MLP mlp =
      nn::make_mlp({.in = 3, .out = 2, .width = 5, .depth = 2, .activation = nn::relu}, random::key(1));
  ASSERT_EQ(mlp.layers.size(), 3u);
  const Array x = array({0.1, -0.2, 0.3});
  Array h = nn::relu(mlp.layers[0](x));
  h = nn::relu(mlp.layers[1](h));
  EXPECT_EQ(mlp(x).to_vector<double>(), mlp.layers[2](h).to_vector<double>());
  const auto loss = [](const nn::MLP& m, const Array& v) { return sum(square(m(v))); };
  const nn::MLP slope = jit(grad(loss))(mlp, x);
  EXPECT_EQ(slope.layers[1].weight.shape(), (Shape{5, 5}));
  EXPECT_EQ(slope.activation, nn::relu);
}

TEST(Models, AScanOverLayersIsTheLayers) {
  nn::MLPOptions o{.in = 3, .out = 2, .width = 4, .depth = 5};
  const nn::MLP plain = nn::make_mlp(o, random::key(1));
  o.scan = true;
  const nn::MLP scanned = nn::make_mlp(o, random::key(1));
  ASSERT_EQ(scanned.layers.size(), 3u);
  EXPECT_EQ(scanned.layers[1].weight.shape(), (Shape{4, 4, 4}));
  const Array x = random::normal(random::key(2), {7, 3});
  // The same sums in the same order, but for where multiplications and additions are fused.
  EXPECT_LE(apart(jit(vmap(plain))(x), jit(vmap(scanned))(x)), 1e-15);
  const auto loss = [](const nn::MLP& m, const Array& v) { return sum(square(vmap(m)(v))); };
  const nn::MLP a = jit(grad(loss))(plain, x), b = jit(grad(loss))(scanned, x);
  for (int i = 0; i < 4; ++i)
    EXPECT_LE(apart(a.layers[static_cast<std::size_t>(i) + 1].weight, b.layers[1].weight[i]), 1e-14);
}

TEST(Models, SequentialsOfManyTypes) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const auto model =
      nn::make_sequential(nn::make_linear({.in = 2, .out = 6}, a), nn::relu, nn::Dropout{.p = 0.5},
                          nn::Identity{}, nn::Lambda{nn::tanh}, nn::make_linear({.in = 6, .out = 1}, b));
  static_assert(!nn::is_stateful<std::decay_t<decltype(model)>>);
  const Array x = array({0.3, -0.4});
  const auto& layers = model.layers;
  const Array keys = random::split(c, 6);
  const Array want =
      std::get<5>(layers)(tanh(std::get<2>(layers)(nn::relu(std::get<0>(layers)(x)), keys[2])));
  EXPECT_LE(apart(model(x, c), want), 1e-15);
  const auto used = inference_mode(model);
  EXPECT_LE(apart(used(x), std::get<5>(layers)(tanh(nn::relu(std::get<0>(layers)(x))))), 1e-15);
  EXPECT_THROW(model(x), Error);  // dropout wants a key
  // A key for each sample of a batch, compiled, with the gradient of all of it.
  const auto loss = [](const auto& m, const Array& xs, const Array& ks) {
    return sum(square(vmap(m)(xs, ks)));
  };
  const Array xs = random::normal(a, {4, 2}), ks = random::split(b, 4);
  const auto slope = jit(grad(loss))(model, xs, ks);
  EXPECT_EQ(std::get<0>(slope.layers).weight.shape(), (Shape{6, 2}));
  EXPECT_TRUE(static_cast<bool>(all(isfinite(std::get<0>(slope.layers).weight))));
  // Keys and layers decide, not the batch.
  EXPECT_LE(apart(jit(vmap(model))(xs, ks)[1], model(xs[1], ks[1])), 1e-15);
}

TEST(Models, SequentialsOfOneType) {
  std::vector<nn::Linear> layers;
  const Array keys = random::split(random::key(0), 3);
  for (int i = 0; i < 3; ++i) layers.push_back(nn::make_linear({.in = 4, .out = 4}, keys[i]));
  const nn::Sequential model{layers};
  const Array x = array({1., 2., 3., 4.});
  EXPECT_EQ(model(x).to_vector<double>(), layers[2](layers[1](layers[0](x))).to_vector<double>());
  const auto repeated = nn::make_repeated(
      [](const Array& key) { return nn::make_linear({.in = 4, .out = 4}, key); }, 3, random::key(0));
  EXPECT_LE(apart(jit(repeated)(x), model(x)), 1e-15);
  const auto dropped = nn::make_repeated(
      [](const Array& key) {
        return nn::make_sequential(nn::make_linear({.in = 4, .out = 4}, key), nn::Dropout{.p = 0.5});
      },
      3, random::key(0));
  Array h = x;
  for (int i = 0; i < 3; ++i)
    h = nn::Dropout{.p = 0.5}(layers[static_cast<std::size_t>(i)](h), random::split(keys[i], 2)[1]);
  EXPECT_LE(apart(dropped(x, random::key(0)), h), 1e-15);
}

TEST(Models, StatesGoThroughSequentials) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const auto model =
      nn::make_sequential(nn::make_linear({.in = 3, .out = 4}, a), nn::make_batch_norm({.channels = 4}),
                          nn::relu, nn::SpectralNorm{nn::make_linear({.in = 4, .out = 2}, b)});
  using Model = std::decay_t<decltype(model)>;
  static_assert(nn::is_stateful<Model>);
  const Model::State start = nn::init_state(model, c);
  const Array xs = random::normal(c, {8, 3});
  using Result = std::pair<Array, Model::State>;
  const auto batched = [](const Model& m, const Array& x, const Model::State& s) {
    Result axes{0, s};
    for_each_leaf(axes.second, [](Array& leaf) { leaf = {}; });
    return vmap(m, {.in_axes = {0, {}}, .out_axes = axes, .axis_name = "batch"})(x, s);
  };
  const auto [ys, next] = jit(batched)(model, xs, start);
  EXPECT_EQ(ys.shape(), (Shape{8, 2}));
  const Array h = vmap(std::get<0>(model.layers))(xs);
  const Array centre = mean(h, {.axis = 0});
  EXPECT_LE(apart(std::get<1>(next).mean, 0.01 * centre), 1e-15);
  EXPECT_EQ(std::get<1>(next).count.item<int>(), 1);
  const Array normal = nn::relu((h - centre) / sqrt(mean(square(h - centre), {.axis = 0}) + 1e-5));
  const auto& last = std::get<3>(model.layers);
  const Array want = vmap([&](const Array& v) { return last(v, std::get<3>(start)).first; })(normal);
  EXPECT_LE(apart(ys, want), 1e-14);
  // In use, samples do not see each other, and states stay.
  const auto used = inference_mode(model);
  const auto [one, same] = used(xs[0], next);
  EXPECT_TRUE(tree_equal(same, next));
  EXPECT_EQ(one.shape(), (Shape{2}));
}

/// A layer that is always called with a state and a key.
struct Noisy {
  using State = Array;
  Array scale;
  Array init_state(const Array& = {}) const { return Array(0); }
  std::pair<Array, Array> operator()(const Array& x, const Array& calls, const Array& key) const {
    return {key.is_empty() ? x : x + scale * random::normal(key, x.shape()), calls + 1};
  }
};

TEST(Models, LayersOfOnesOwnTakeStatesAndKeys) {
  const auto model = nn::make_sequential(nn::tanh, Noisy{array(0.1)});
  const Array x = array({1., 2.}), key = random::key(3), keys = random::split(key, 2);
  const auto state = nn::init_state(model);
  const auto [y, next] = jit(model)(x, state, key);
  EXPECT_LE(apart(y, tanh(x) + 0.1 * random::normal(keys[1], {2})), 1e-15);
  EXPECT_EQ(std::get<1>(next).item<int>(), 1);
  EXPECT_LE(apart(model(x, next).first, tanh(x)), 0);
  // Without a state, but with a key.
  const auto drawn =
      nn::make_sequential([](const Array& v, const Array& k) { return v + random::uniform(k, v.shape()); });
  EXPECT_LE(apart(drawn(x, key), x + random::uniform(random::split(key, 1)[0], {2})), 0);
}

struct Tied {
  nn::Embedding embedding;
  nn::Linear out;
};

TEST(Models, SharedParametersAreOne) {
  const auto [a, b] = random::split<2>(random::key(0));
  const Tied pair{nn::make_embedding({.count = 5, .size = 3}, a), nn::make_linear({.in = 3, .out = 5}, b)};
  const auto tied = nn::make_shared(
      pair, [](Tied& m) -> Array& { return m.out.weight; }, [](const Tied& m) { return m.embedding.weight; });
  EXPECT_TRUE(tied.tree.out.weight.is_empty());
  EXPECT_EQ(nn::summary(tied).parameters, 5 * 3 + 5);
  const auto loss = [](const auto& m, const Array& token) {
    const Tied whole = m();
    return sum(square(whole.out(whole.embedding(token))));
  };
  const auto slope = jit(grad(loss))(tied, Array(2));
  // Both ways that the weight is used are in its gradient.
  const auto apart_loss = [](const Array& w, const Array& v, const Array& bias) {
    return sum(square(matmul(w, v[2]) + bias));
  };
  const Array w = pair.embedding.weight;
  const Array first = grad(apart_loss)(w, w, pair.out.bias);
  const Array second = grad([&](const Array& v) { return apart_loss(w, v, pair.out.bias); })(w);
  EXPECT_LE(apart(slope.tree.embedding.weight, first + second), 1e-14);
  // Several places at once.
  const auto both = nn::make_shared(
      std::pair(pair.out, pair.out),
      [](std::pair<nn::Linear, nn::Linear>& m) { return std::tie(m.second.weight, m.second.bias); },
      [](const std::pair<nn::Linear, nn::Linear>& m) { return std::tuple(m.first.weight, m.first.bias); });
  EXPECT_EQ(nn::summary(both).rows.size(), 2u);
  EXPECT_TRUE(tree_equal(both().second, pair.out));
}

/// Attention by its formula, all logits at once.
Array plain_attention(const Array& q, const Array& k, const Array& v, const Array& bias, bool causal) {
  const std::int64_t n = q.dim(1), group = n / k.dim(1);
  const Array keys = repeat(k, group, 1), values = repeat(v, group, 1);
  Array logits = einsum("tnh,snh->nts", {q, keys}) / std::sqrt(static_cast<double>(q.dim(2)));
  if (!bias.is_empty()) logits = logits + bias;
  if (causal) {
    const Array at = arange(q.dim(0)), of = arange(k.dim(0));
    logits = where(of <= expand_dims(at, 1), logits, -1e300);
  }
  return einsum("nts,snh->tnh", {softmax(logits), values});
}

TEST(Attention, LongSequencesAreTakenInBlocks) {
  const auto [a, b, c, d] = random::split<4>(random::key(0));
  constexpr std::int64_t t = 530, s = 500;  // more logits a head than are computed at once; t is no multiple
  const Array q = random::normal(a, {t, 2, 3}), k = random::normal(b, {s, 1, 3}),
              v = random::normal(c, {s, 1, 3});
  for (const Array& bias : {Array(), random::normal(d, {2, t, s}), random::normal(d, {1, 1, s})}) {
    for (bool causal : {false, true}) {
      nn::AttentionOptions o{.bias = bias, .is_causal = causal};
      const Array y = nn::dot_product_attention(q, k, v, o), want = plain_attention(q, k, v, bias, causal);
      EXPECT_LE(apart(y, want), 1e-13);
      if (!bias.is_empty() && causal) continue;
      const auto gradients = [&](const auto& f) { return jit(grad(f))(std::tuple{q, k, v}); };
      const auto got = gradients([&](const std::tuple<Array, Array, Array>& x) {
        return sum(sin(nn::dot_product_attention(std::get<0>(x), std::get<1>(x), std::get<2>(x), o)));
      });
      const auto wanted = gradients([&](const std::tuple<Array, Array, Array>& x) {
        return sum(sin(plain_attention(std::get<0>(x), std::get<1>(x), std::get<2>(x), bias, causal)));
      });
      EXPECT_LE(apart(std::get<0>(got), std::get<0>(wanted)), 1e-12);
      EXPECT_LE(apart(std::get<1>(got), std::get<1>(wanted)), 1e-12);
      EXPECT_LE(apart(std::get<2>(got), std::get<2>(wanted)), 1e-12);
    }
  }
}

TEST(Attention, MemoryIsLinear) {
  // The gradient of a sequence of 4096, whose logits would be 64 MiB, in an eighth of that.
  const Array x = random::normal(random::key(0), {4096, 1, 8}, f32);
  const auto slope = jit(grad(
      [](const Array& v) { return sum(square(nn::dot_product_attention(v, v, v, {.is_causal = true}))); }));
  EXPECT_LT(apsis::testing::peak_of_first([&] { slope(x); }), 8 << 20);
}

TEST(Attention, LanesOfBlocks) {
  const Array x = random::normal(random::key(0), {2, 600, 1, 3}, f64);
  const auto attend = [](const Array& v) { return nn::dot_product_attention(v, v, v, {.is_causal = true}); };
  const Array y = jit(vmap(attend))(x);
  EXPECT_LE(apart(y, attend(x)), 1e-13);  // the batch that it takes itself
  for (int i = 0; i < 2; ++i) EXPECT_LE(apart(y[i], attend(x[i])), 1e-13);
}

TEST(Attention, DropoutOfNothingIsNone) {
  const auto [a, b] = random::split<2>(random::key(0));
  nn::MultiheadAttention mha =
      nn::make_multihead_attention({.num_heads = 4, .query_size = 8, .num_kv_heads = 2}, a);
  const Array x = random::normal(b, {6, 8});
  const nn::MultiheadOptions o{.key = a, .is_causal = true, .local_window = nn::LocalWindow{2, 1}};
  const Array plain = mha(x, x, x, o);
  mha.dropout.p = 1e-300;  // weights are made and dropped, but none is
  EXPECT_LE(apart(mha(x, x, x, o), plain), 1e-14);
  mha.dropout.p = 0.5;
  EXPECT_GE(apart(mha(x, x, x, o), plain), 1e-3);
  EXPECT_LE(apart(inference_mode(mha)(x, x, x, o), plain), 1e-15);
  EXPECT_THROW(mha(x, x, x), Error);  // for want of a key
}

TEST(Attention, SecondDerivatives) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const Array q = random::normal(a, {3, 2, 2}), k = random::normal(b, {4, 1, 2}),
              v = random::normal(c, {4, 1, 2});
  const auto f = [&](const Array& x) { return sum(square(nn::dot_product_attention(x, k, v))); };
  const auto g = [&](const Array& x) { return sum(square(plain_attention(x, k, v, {}, false))); };
  EXPECT_LE(apart(jit(hessian(f))(q), jit(hessian(g))(q)), 1e-13);
}

TEST(Attention, HalfPrecision) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const Array q = random::normal(a, {5, 2, 4}, bf16), k = random::normal(b, {6, 2, 4}, bf16),
              v = random::normal(c, {6, 2, 4}, bf16);
  const Array y = nn::dot_product_attention(q, k, v);
  EXPECT_EQ(y.dtype(), bf16);
  const Array want = nn::dot_product_attention(astype(q, f32), astype(k, f32), astype(v, f32));
  EXPECT_LE(apart(astype(y, f32), want), 0.02);  // weights and results are rounded to 8 bits
}

TEST(Attention, DecodingPieceByPieceIsTheWholeSequence) {
  const auto [a, b] = random::split<2>(random::key(0));
  for (std::int64_t kv_heads : {4, 2, 1}) {
    const nn::MultiheadAttention mha =
        nn::make_multihead_attention({.num_heads = 4, .query_size = 8, .num_kv_heads = kv_heads}, a);
    EXPECT_EQ(mha.key_proj.weight.shape(), (Shape{2 * kv_heads, 8}));
    const nn::RotaryPositionalEmbedding rope{.embedding_size = 2};
    const auto turned = [&](nn::AttentionHeads h, const Array& start) {
      const auto each = vmap([&](const Array& x, const Array& at) { return rope(x, at); },
                             {.in_axes = {1, {}}, .out_axes = 1});
      h.query = each(h.query, start);
      h.key = each(h.key, start);
      return h;
    };
    const Array x = random::normal(b, {6, 8});
    for (std::optional<nn::LocalWindow> window :
         {std::optional<nn::LocalWindow>(), std::optional(nn::LocalWindow{2, 0})}) {
      const Array whole =
          mha.attend(turned(mha.heads(x, x, x), 0), {.is_causal = true, .local_window = window});
      const auto step = jit([&](const Array& piece, const nn::AttentionCache& cache) {
        return mha.attend(turned(mha.heads(piece, piece, piece), cache.length), cache,
                          {.local_window = window});
      });
      nn::AttentionCache cache = mha.init_cache(6);
      for (const auto& [from, to] : {std::pair(0, 3), std::pair(3, 4), std::pair(4, 6)}) {
        const Array piece = x[range(from, to)];
        const auto [y, next] = step(piece, cache);
        EXPECT_LE(apart(y, whole[range(from, to)]), 1e-14);
        cache = next;
      }
      EXPECT_THROW(step(x[range(0, 1)], cache), Error);  // the cache is full
    }
  }
}

/// The derivatives of a layer's gradient, in all its arrays and its input, against differences.
template <class Layer>
void check_second(const char* name, const Layer& layer, const Shape& shape) {
  SCOPED_TRACE(name);
  const auto f = [](const Layer& l, const Array& v) { return sum(sin(Array(l(v)))); };
  assert_numerical_gradients(grad<0, 1>(f), std::tuple{layer, random::normal(random::key(8), shape)});
}

TEST(Models, SecondDerivatives) {
  const Array key = random::key(0);
  check_second("conv",
               nn::make_conv2d({.in = 2, .out = 2, .kernel_size = 2, .stride = {1, 2}, .padding = 1}, key),
               {2, 3, 4});
  check_second("conv_transpose",
               nn::make_conv_transpose1d({.in = 2, .out = 2, .kernel_size = 3, .stride = 2}, key), {2, 3});
  check_second("layer_norm", nn::make_layer_norm({.shape = {5}}), {5});
  check_second("rms_norm", nn::make_rms_norm({.shape = {5}}), {5});
  check_second("group_norm", nn::make_group_norm({.groups = 2, .channels = 4}), {4, 3});
  check_second("weight_norm", nn::make_weight_norm(nn::make_linear({.in = 3, .out = 2}, key)), {3});
  check_second("mlp", nn::make_mlp({.in = 3, .out = 2, .width = 4, .depth = 3, .scan = true}, key), {3});
  check_second("pools",
               nn::make_sequential(nn::MaxPool{.kernel_size = 2}, nn::AvgPool{.kernel_size = 2},
                                   nn::make_conv1d({.out = 1, .kernel_size = 2}, key)),
               {1, 6});
}

TEST(Models, ASummaryIsATable) {
  const nn::MLP model =
      nn::make_mlp({.in = 2, .out = 1, .width = 40, .depth = 2, .dtype = f32}, random::key(0));
  const nn::Summary summary = nn::summary(model);
  EXPECT_EQ(summary.parameters, 2 * 40 + 40 + 40 * 40 + 40 + 40 + 1);
  EXPECT_EQ(summary.bytes, 4 * summary.parameters);
  EXPECT_EQ(to_string(summary),
            "path              array       parameters  bytes\n"
            "layers[0].weight  f32[40,2]           80    320\n"
            "layers[0].bias    f32[40]             40    160\n"
            "layers[1].weight  f32[40,40]       1,600  6,400\n"
            "layers[1].bias    f32[40]             40    160\n"
            "layers[2].weight  f32[1,40]           40    160\n"
            "layers[2].bias    f32[1]               1      4\n"
            "total                              1,801  7,204\n");
  // Integers are no parameters, and stay what they are.
  const std::pair<nn::MLP, Array> more{model, arange(3)};
  EXPECT_EQ(nn::summary(more).parameters, summary.parameters);
  const auto half = nn::with_dtype(more, bf16);
  EXPECT_EQ(half.first.layers[1].weight.dtype(), bf16);
  EXPECT_EQ(half.second.dtype(), i64);
}

TEST(Models, LayersOfEveryFloatingDtype) {
  for (Dtype t : {f64, f32, bf16, f16}) {
    const Array key = random::key(0), x = ones({4}, t), image = ones({2, 5, 5}, t);
    EXPECT_EQ(nn::make_linear({.in = 4, .out = 3, .dtype = t}, key)(x).dtype(), t);
    EXPECT_EQ(nn::make_layer_norm({.shape = {4}, .dtype = t})(x).dtype(), t);
    EXPECT_EQ(nn::make_rms_norm({.shape = {4}, .dtype = t})(x).dtype(), t);
    EXPECT_EQ(nn::make_group_norm({.groups = 2, .channels = 4, .dtype = t})(x).dtype(), t);
    EXPECT_EQ(nn::make_gru_cell({.in = 4, .hidden = 4, .dtype = t}, key)(x, x).dtype(), t);
    const nn::LSTMCell lstm = nn::make_lstm_cell({.in = 4, .hidden = 4, .dtype = t}, key);
    EXPECT_EQ(lstm(x, lstm.init_state()).h.dtype(), t);
    EXPECT_EQ(nn::make_embedding({.count = 3, .size = 2, .dtype = t}, key)(Array(1)).dtype(), t);
    EXPECT_EQ(nn::RotaryPositionalEmbedding{.embedding_size = 4}(ones({3, 4}, t)).dtype(), t);
    EXPECT_EQ(nn::PReLU{}(x).dtype(), t);
    EXPECT_EQ(nn::Dropout{}(x, key).dtype(), t);
    const nn::ConvOptions conv{.in = 2, .out = 3, .kernel_size = 3, .dtype = t};
    EXPECT_EQ(nn::make_conv2d(conv, key)(image).dtype(), t);
    EXPECT_EQ(
        nn::make_conv_transpose2d({.in = 2, .out = 3, .kernel_size = 3, .dtype = t}, key)(image).dtype(), t);
    EXPECT_EQ(nn::AvgPool{.kernel_size = 2}(image).dtype(), t);
    EXPECT_EQ(nn::MaxPool{.kernel_size = 2}(image).dtype(), t);
    EXPECT_EQ(nn::AdaptiveAvgPool{.target_shape = 2}(image).dtype(), t);
    const nn::MultiheadAttention mha =
        nn::make_multihead_attention({.num_heads = 2, .query_size = 4, .dtype = t}, key);
    EXPECT_EQ(mha(ones({3, 4}, t), ones({3, 4}, t), ones({3, 4}, t)).dtype(), t);
  }
}

}  // namespace
