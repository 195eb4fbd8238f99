// Layers against Equinox: outputs and gradients for the same weights, compiled and batched.

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace {

using namespace apsis;
using namespace apsis::testing;

/// Takes a case's inputs one after the other.
struct Reader {
  Inputs x;
  std::size_t next = 0;
  Array take() { return x[next++]; }
  Array take_if(bool there) { return there ? take() : Array(); }
};
double real(const Case& c, const std::string& key) { return std::stod(c.text.at(key)); }

nn::Linear linear_of(Reader& r, bool bias) {
  Array weight = r.take();
  return {weight, r.take_if(bias)};
}

Arrays linear(const Case& c, Inputs x) {
  Reader r{x};
  nn::Linear layer = linear_of(r, flag(c, "bias"));
  layer.scalar_in = flag(c, "scalar_in");
  layer.scalar_out = flag(c, "scalar_out");
  return {layer(r.take())};
}

Arrays mlp(const Case& c, Inputs x) {
  Reader r{x};
  nn::MLP model{{}, nn::tanh, nn::sigmoid, flag(c, "scan")};
  if (number(c, "depth") == 0) model.final_activation = nn::identity;
  const std::int64_t layers = model.scan ? 2 : number(c, "depth");
  for (std::int64_t i = 0; i <= layers; ++i)
    model.layers.push_back(linear_of(r, flag(c, i == layers ? "final" : "bias")));
  return {model(r.take())};
}

template <class Norm>
Arrays whole_norm(const Case& c, Inputs x) {
  Reader r{x};
  Norm norm{r.take_if(flag(c, "weight")), {}, numbers(c, "shape"), 1e-4};
  norm.bias = r.take_if(flag(c, "bias"));
  return {norm(r.take())};
}
Arrays group_norm(const Case& c, Inputs x) {
  Reader r{x};
  nn::GroupNorm norm{r.take_if(flag(c, "affine")), {}, number(c, "groups"), 1e-4};
  norm.bias = r.take_if(flag(c, "affine"));
  return {norm(r.take())};
}

Arrays batch_norm(const Case& c, Inputs x) {
  Reader r{x};
  nn::BatchNorm norm = nn::make_batch_norm({.eps = 1e-4, .momentum = 0.9, .channelwise_affine = false});
  norm.weight = r.take_if(flag(c, "affine"));
  norm.bias = r.take_if(flag(c, "affine"));
  norm.mode = c.text.at("mode") == "ema" ? nn::BatchNormMode::Ema : nn::BatchNormMode::Batch;
  norm.inference = flag(c, "inference");
  nn::BatchNormState state{r.take(), {}, {}};
  state.variance = r.take();
  state.count = r.take();
  norm.channels = state.mean.size();
  using Result = std::pair<Array, nn::BatchNormState>;
  const auto batched = vmap([&](const Array& sample, const nn::BatchNormState& s) { return norm(sample, s); },
                            {.in_axes = {0, {}}, .out_axes = Result{0, {}}, .axis_name = "batch"});
  const auto [y, next] = batched(r.take(), state);
  return {y, next.mean, next.variance};
}

template <class Layer>
Arrays spectral(const Case& c, Reader r) {
  Layer layer{r.take()};
  layer.bias = r.take();
  nn::SpectralNorm<Layer> norm{layer, static_cast<int>(number(c, "iterations"))};
  norm.inference = flag(c, "inference");
  nn::SpectralNormState state{r.take(), {}};
  state.v = r.take();
  const auto [y, next] = norm(r.take(), state);
  return {y, next.u, next.v};
}
Arrays spectral_norm(const Case& c, Inputs x) {
  return flag(c, "conv") ? spectral<nn::Conv>(c, {x}) : spectral<nn::Linear>(c, {x});
}
Arrays weight_norm(const Case& c, Inputs x) {
  Reader r{x};
  nn::WeightNorm<nn::Linear> norm{linear_of(r, true)};
  norm.g = r.take();
  if (number(c, "axis") < 0)
    norm.axis = {};
  else
    norm.axis = static_cast<int>(number(c, "axis"));
  return {norm(r.take())};
}

Arrays gru(const Case& c, Inputs x) {
  Reader r{x};
  nn::GRUCell cell{r.take()};
  cell.weight_hh = r.take();
  cell.bias = r.take_if(flag(c, "bias"));
  cell.bias_n = r.take_if(flag(c, "bias"));
  const Array in = r.take();
  return {cell(in, r.take())};
}
Arrays lstm(const Case& c, Inputs x) {
  Reader r{x};
  nn::LSTMCell cell{r.take()};
  cell.weight_hh = r.take();
  cell.bias = r.take_if(flag(c, "bias"));
  const Array in = r.take();
  nn::LSTMState state{r.take(), {}};
  state.c = r.take();
  const nn::LSTMState next = cell(in, state);
  return {next.h, next.c};
}

// f64 within 1e-12 and f32 within 1e-5 of the larger of the value and a tenth of the greatest: sums of tens
// of terms in other orders.
Function layer(Arrays (*run)(const Case&, Inputs)) { return {run, 1e-12, 1e-5}; }

TEST(Layers, AsEquinox) {
  check_golden("nn_layers",
               {{"linear", layer(linear)},
                {"mlp", layer(mlp)},
                {"layer_norm", layer(whole_norm<nn::LayerNorm>)},
                {"rms_norm", layer(whole_norm<nn::RMSNorm>)},
                {"group_norm", layer(group_norm)},
                {"batch_norm", layer(batch_norm)},
                {"spectral_norm", layer(spectral_norm)},
                {"weight_norm", layer(weight_norm)},
                {"gru", layer(gru)},
                {"lstm", layer(lstm)},
                {"embedding", layer([](const Case&, Inputs x) { return Arrays{nn::Embedding{x[0]}(x[1])}; })},
                {"rope", layer([](const Case& c, Inputs x) {
                   return Arrays{nn::RotaryPositionalEmbedding{x[0].dim(1), real(c, "theta")}(x[0])};
                 })},
                {"prelu", layer([](const Case&, Inputs x) { return Arrays{nn::PReLU{x[0]}(x[1])}; })},
                {"dropout", layer([](const Case& c, Inputs x) {
                   return Arrays{nn::Dropout{.p = real(c, "p")}(x[0], x[1])};
                 })}});
}

Arrays sequential(const Case&, Inputs x) {
  Reader r{x};
  const nn::Linear first = linear_of(r, true);
  nn::LayerNorm norm{r.take(), {}, {5}};
  norm.bias = r.take();
  const nn::Linear last = linear_of(r, true);
  return {nn::make_sequential(first, nn::Lambda{nn::silu}, norm, nn::Identity{}, last)(r.take())};
}
Arrays dropped(const Case& c, Inputs x) {
  Reader r{x};
  const nn::Linear first = linear_of(r, true), last = linear_of(r, true);
  const auto model = nn::make_sequential(first, nn::Dropout{.p = 0.4}, nn::tanh, nn::Dropout{.p = 0.2}, last);
  const Array sample = r.take();
  return {c.name == "used" ? inference_mode(model)(sample) : model(sample, r.take())};
}
/// A BatchNorm and a SpectralNorm in a row, over a batch of samples.
Arrays stateful(const Case& c, Inputs x) {
  Reader r{x};
  const nn::Linear first = linear_of(r, true);
  nn::BatchNorm norm = nn::make_batch_norm({.channels = 4, .eps = 1e-4, .momentum = 0.9});
  norm.weight = r.take();
  norm.bias = r.take();
  const auto model = inference_mode(
      nn::make_sequential(first, norm, nn::tanh, nn::SpectralNorm{linear_of(r, true)}), flag(c, "inference"));
  using State = nn::state_t<std::decay_t<decltype(model)>>;
  State state;
  std::get<1>(state) = {r.take(), r.take(), Array(3)};
  std::get<3>(state) = {r.take(), r.take()};
  const auto [y, next] =
      vmap(model, {.in_axes = {0, {}}, .out_axes = std::pair<Array, State>{0, {}}, .axis_name = "batch"})(
          r.take(), state);
  return {y, std::get<1>(next).mean, std::get<1>(next).variance, std::get<3>(next).u, std::get<3>(next).v};
}
Arrays shared(const Case&, Inputs x) {
  Reader r{x};
  const nn::Embedding embedding{r.take()};
  const auto tied = nn::make_shared(
      std::pair(embedding, nn::Linear{embedding.weight, r.take()}),
      [](auto& m) -> Array& { return m.second.weight; }, [](const auto& m) { return m.first.weight; });
  const auto [look_up, out] = tied();
  return {out(tanh(look_up(r.take())))};
}

TEST(Layers, CompositionsAsEquinox) {
  check_golden("nn_compositions", {{"sequential", layer(sequential)},
                                   {"dropped", layer(dropped)},
                                   {"used", layer(dropped)},
                                   {"stateful", layer(stateful)},
                                   {"shared", layer(shared)}});
}

Padding padding_of(const Case& c) {
  const auto name = c.text.find("padding");
  if (name != c.text.end()) return Padding(name->second.c_str());
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  const Dims low = dims(c, "low"), high = dims(c, "high");
  for (std::size_t i = 0; i < low.size(); ++i) pairs.emplace_back(low[i], high[i]);
  return Padding(pairs);
}
PerAxis per_axis(const Case& c, const std::string& key) { return PerAxis(dims(c, key)); }

template <class Layer>
Layer conv_of(const Case& c, Reader& r) {
  Layer conv{r.take()};
  conv.bias = r.take_if(flag(c, "bias"));
  conv.stride = per_axis(c, "stride");
  conv.padding = padding_of(c);
  conv.dilation = per_axis(c, "dilation");
  conv.groups = number(c, "groups");
  const std::string mode = c.text.at("mode");
  conv.padding_mode = mode == "REFLECT"     ? nn::PaddingMode::Reflect
                      : mode == "REPLICATE" ? nn::PaddingMode::Replicate
                      : mode == "CIRCULAR"  ? nn::PaddingMode::Circular
                                            : nn::PaddingMode::Zeros;
  return conv;
}
Arrays conv(const Case& c, Inputs x) {
  Reader r{x};
  const nn::Conv layer = conv_of<nn::Conv>(c, r);
  return {layer(r.take())};
}
Arrays conv_transpose(const Case& c, Inputs x) {
  Reader r{x};
  nn::ConvTranspose layer = conv_of<nn::ConvTranspose>(c, r);
  layer.output_padding = per_axis(c, "output_padding");
  return {layer(r.take())};
}
template <class Pool>
Arrays pool(const Case& c, Inputs x) {
  return {Pool{per_axis(c, "kernel"), per_axis(c, "stride"), padding_of(c), flag(c, "ceil")}(x[0])};
}
template <class Pool>
Arrays adaptive_pool(const Case& c, Inputs x) {
  return {Pool{per_axis(c, "target")}(x[0])};
}

TEST(Layers, ConvolutionsAsEquinox) {
  check_golden("nn_convolutions", {{"conv", layer(conv)},
                                   {"conv_transpose", layer(conv_transpose)},
                                   {"avg_pool", layer(pool<nn::AvgPool>)},
                                   {"max_pool", layer(pool<nn::MaxPool>)},
                                   {"adaptive_avg_pool", layer(adaptive_pool<nn::AdaptiveAvgPool>)},
                                   {"adaptive_max_pool", layer(adaptive_pool<nn::AdaptiveMaxPool>)}});
}

Arrays dot_product(const Case& c, Inputs x) {
  Reader r{x, 3};
  nn::AttentionOptions o{.is_causal = flag(c, "causal")};
  std::istringstream operands(c.text.at("operands"));
  for (std::string name; operands >> name;) {
    Array& into = name == "bias"                ? o.bias
                  : name == "mask"              ? o.mask
                  : name == "query_seq_lengths" ? o.query_seq_lengths
                                                : o.key_value_seq_lengths;
    into = r.take();
  }
  if (c.text.contains("scale")) o.scale = real(c, "scale");
  const auto window = numbers(c, "window");
  if (!window.empty()) o.local_window = {window[0], window[1]};
  return {nn::dot_product_attention(x[0], x[1], x[2], o)};
}
Arrays multihead(const Case& c, Inputs x) {
  Reader r{x};
  const bool bias = flag(c, "bias");
  nn::MultiheadAttention layer{linear_of(r, bias)};
  for (nn::Linear* projection : {&layer.key_proj, &layer.value_proj, &layer.output_proj})
    *projection = linear_of(r, bias);
  layer.num_heads = layer.num_kv_heads = number(c, "heads");
  layer.dropout.p = real(c, "p");
  const Array query = r.take(), key = r.take(), value = r.take();
  nn::MultiheadOptions o;
  std::istringstream operands(c.text.at("operands"));
  for (std::string name; operands >> name;) (name == "mask" ? o.mask : o.key) = r.take();
  return {layer(query, key, value, o)};
}

TEST(Layers, AttentionAsJaxAndEquinox) {
  check_golden("nn_attention",
               {{"dot_product_attention", layer(dot_product)},
                // (The bias of the keys adds the same to all logits of a query: it has no effect.)
                {"multihead_attention", {multihead, 1e-12, 1e-5, false, 1.}}});
}

}  // namespace
