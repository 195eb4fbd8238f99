#include <algorithm>
#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/control/error_if.hpp"
#include "apsis/nn/attention.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/vmap.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {
namespace {

constexpr const char* name = "MultiheadAttention";

/// A layer of each row.
Array rows(const Linear& layer, const Array& x) {
  const Array y = matmul(x, transpose(layer.weight));
  return layer.bias.is_empty() ? y : y + layer.bias;
}

/// [sequence, heads, size].
Array projected(const Linear& layer, const Array& x, std::int64_t heads) {
  check_input(name, x, {-1, layer.weight.dim(1)});
  check_divides(name, "features of a projection", layer.weight.dim(0), "heads", heads);
  return reshape(rows(layer, x), {x.dim(0), heads, layer.weight.dim(0) / heads});
}

/// Dropout acts on the weights themselves, so that they have to be there: [T, heads, size].
Array dropped_attention(const MultiheadAttention& layer, const AttentionHeads& h, const Array& mask,
                        const Array& key) {
  if (key.is_empty()) fail(messages::dropout_key, {});
  const std::int64_t group = layer.num_heads / layer.num_kv_heads;
  auto for_each_query = [&](const Array& x) {
    const Array heads = transpose(x, {1, 0, 2});
    return group == 1 ? heads : repeat(heads, group, 0);
  };
  const Array query = transpose(h.query, {1, 0, 2}), keys = for_each_query(h.key);
  const Dtype wide = promote_types(query.dtype(), f32);
  Array logits = matmul(query, swapaxes(keys, 1, 2)) / std::sqrt(static_cast<double>(query.dim(2)));
  logits = astype(logits, wide);
  if (!mask.is_empty()) logits = where(mask, logits, Array(-0.7 * finfo(wide).max, wide));
  const Array weights = vmap([&](const Array& w, const Array& k) { return layer.dropout(w, k); })(
      astype(softmax(logits), query.dtype()), random::split(key, layer.num_heads));
  return transpose(matmul(weights, for_each_query(h.value)), {1, 0, 2});
}

/// Of places `at` [T, 1] and keys [1, S].
Array window_mask(const LocalWindow& window, const Array& at, const Array& keys) {
  return logical_and(at <= keys + window.left, at >= keys - window.right);
}

/// Throws unless a mask has booleans that broadcast to [heads, T, S].
void check_mask(const Array& mask, std::int64_t heads, std::int64_t t, std::int64_t s) {
  if (mask.is_empty()) return;
  const std::int64_t wanted[] = {heads, t, s};
  bool fits = mask.dtype() == boolean && mask.ndim() <= 3;
  for (int axis = 1; fits && axis <= mask.ndim(); ++axis)
    fits = mask.dim(-axis) == 1 || mask.dim(-axis) == wanted[3 - axis];
  if (!fits)
    fail(messages::attention_mask,
         {to_string(mask.aval()), to_string(Shape{t, s}), to_string(Shape{heads, t, s})});
}

Array both(const Array& a, const Array& b) { return a.is_empty() ? b : b.is_empty() ? a : logical_and(a, b); }

}  // namespace

AttentionHeads MultiheadAttention::heads(const Array& query, const Array& key_, const Array& value,
                                         Loc loc) const {
  const LocScope place(loc);
  AttentionHeads h{projected(query_proj, query, num_heads), projected(key_proj, key_, num_kv_heads),
                   projected(value_proj, value, num_kv_heads)};
  check_input(name, value, {key_.dim(0), value.dim(1)});
  return h;
}

Array MultiheadAttention::attend(const AttentionHeads& h, const MultiheadOptions& o, Loc loc) const {
  const LocScope place(loc);
  const std::int64_t t = h.query.dim(0), s = h.key.dim(0);
  check_mask(o.mask, num_heads, t, s);
  Array y;
  if (!dropout.inference && dropout.p.value > 0) {
    const Array at = iota({t, 1}, 0), keys = iota({1, s}, 1);
    Array mask = o.mask;
    if (o.is_causal) mask = both(mask, keys <= at);
    if (o.local_window) mask = both(mask, window_mask(*o.local_window, at, keys));
    y = dropped_attention(*this, h, mask, o.key);
  } else {
    y = dot_product_attention(h.query, h.key, h.value,
                              {.mask = o.mask, .is_causal = o.is_causal, .local_window = o.local_window});
  }
  return rows(output_proj, reshape(y, {t, num_heads * h.value.dim(2)}));
}

Array MultiheadAttention::operator()(const Array& query, const Array& key_, const Array& value,
                                     const MultiheadOptions& options, Loc loc) const {
  return attend(heads(query, key_, value, loc), options, loc);
}

AttentionCache MultiheadAttention::init_cache(std::int64_t capacity, Loc loc) const {
  const LocScope place(loc);
  auto room = [&](const Linear& layer) {
    return zeros({capacity, num_kv_heads, layer.weight.dim(0) / num_kv_heads}, layer.weight.dtype());
  };
  return {room(key_proj), room(value_proj), zeros({}, i64)};
}

std::pair<Array, AttentionCache> MultiheadAttention::attend(const AttentionHeads& h,
                                                            const AttentionCache& cache,
                                                            const MultiheadOptions& o, Loc loc) const {
  const LocScope place(loc);
  const std::int64_t t = h.query.dim(0), capacity = cache.key.dim(0);
  check_mask(o.mask, num_heads, t, capacity);
  error_if(cache.length + t > capacity, messages::attention_cache, {Array(capacity), Array(t), cache.length});
  const Array at = cache.length + iota({t}, 0);
  const AttentionCache next{cache.key.at(at).set(h.key), cache.value.at(at).set(h.value), cache.length + t};
  const Array places = expand_dims(at, 1), keys = iota({1, capacity}, 1);
  Array mask = both(o.mask, keys <= places);
  if (o.local_window) mask = both(mask, window_mask(*o.local_window, places, keys));
  return {attend({h.query, next.key, next.value}, {.mask = mask, .key = o.key}, loc), next};
}

MultiheadAttention make_multihead_attention(const MultiheadAttentionOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "make_multihead_attention";
  check_size(where, "num_heads", o.num_heads);
  check_size(where, "query_size", o.query_size);
  auto or_else = [](std::int64_t size, std::int64_t other) { return size == 0 ? other : size; };
  const std::int64_t kv_heads = or_else(o.num_kv_heads, o.num_heads);
  const std::int64_t qk = or_else(o.qk_size, o.query_size / o.num_heads);
  const std::int64_t vo = or_else(o.vo_size, o.query_size / o.num_heads);
  const std::int64_t out = or_else(o.output_size, o.query_size);
  check_size(where, "num_kv_heads", kv_heads);
  check_divides(where, "num_heads", o.num_heads, "num_kv_heads", kv_heads);
  check_size(where, "qk_size", qk);
  check_size(where, "vo_size", vo);
  const auto [query_key, key_key, value_key, output_key] = random::split<4>(key);
  auto linear = [&](std::int64_t in, std::int64_t features, bool bias, const Array& with) {
    return make_linear({.in = in, .out = features, .use_bias = bias, .dtype = o.dtype}, with);
  };
  return {linear(o.query_size, o.num_heads * qk, o.use_query_bias, query_key),
          linear(or_else(o.key_size, o.query_size), kv_heads * qk, o.use_key_bias, key_key),
          linear(or_else(o.value_size, o.query_size), kv_heads * vo, o.use_value_bias, value_key),
          linear(o.num_heads * vo, out, o.use_output_bias, output_key),
          Dropout{.p = o.dropout_p},
          o.num_heads,
          kv_heads};
}

}  // namespace apsis::nn
