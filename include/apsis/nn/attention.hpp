#pragma once

#include <optional>
#include <utility>

#include "apsis/nn/dropout.hpp"
#include "apsis/nn/linear.hpp"

namespace apsis::nn {

/// How far a query sees: keys from `left` places before it to `right` places behind it.
struct LocalWindow {
  std::int64_t left = 0, right = 0;
};

/// Options of `dot_product_attention`.
struct AttentionOptions {
  Array bias = {};         ///< added to the logits; broadcasts to [B, N, T, S]
  Array mask = {};         ///< booleans that broadcast to [B, N, T, S]: whether a query sees a key
  Array scale = {};        ///< of the logits; without, 1/√H
  bool is_causal = false;  ///< query i sees keys 0 … i
  Array query_seq_lengths = {},
        key_value_seq_lengths = {};  ///< integers [B]: what lies behind does not count
  std::optional<LocalWindow> local_window = {};
};
/// softmax(scale · query keyᵀ + bias) value for each head: query [B, T, N, H], key and value [B, S, K, H] →
/// [B, T, N, H], all without B, too. N is a multiple of K: as many query heads share a key head. (The last
/// axis of value may have another size, which the result has then.) A query that sees no key sees all alike.
/// The softmax is computed in f32 or more; queries are taken in blocks, so that the memory grows linearly
/// with the sequence, also for the gradient. Throws where shapes do not fit. (jax.nn.dot_product_attention)
Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const AttentionOptions& options = {}, Loc loc = Loc::here());

/// The inputs of attention, a vector for each place and head.
struct AttentionHeads {
  Array query;       ///< [T, num_heads, qk_size]
  Array key, value;  ///< [S, num_kv_heads, qk_size or vo_size]
};
/// Keys and values of the places before, for decoding a sequence piece by piece.
struct AttentionCache {
  Array key, value;  ///< [capacity, num_kv_heads, size]
  Array length;      ///< i64: how many places are filled
};
/// Options of a call of MultiheadAttention.
struct MultiheadOptions {
  Array mask = {};  ///< booleans [T, S], or [num_heads, T, S]: whether a query sees a key
  Array key = {};   ///< for dropout
  bool is_causal = false;
  std::optional<LocalWindow> local_window = {};
};

/// Attention of several heads (Vaswani et al. 2017): projections, dot_product_attention, and a projection.
/// Between them, heads may be changed, as by rotary embeddings:
///
///   nn::AttentionHeads h = mha.heads(x, x, x);
///   h.query = vmap(rope, {.in_axes = 1, .out_axes = 1})(h.query);
///   h.key = vmap(rope, {.in_axes = 1, .out_axes = 1})(h.key);
///   Array y = mha.attend(h, {.is_causal = true});
struct MultiheadAttention {
  Linear query_proj, key_proj, value_proj, output_proj;
  Dropout dropout = {.p = 0.};  ///< of the weights of keys
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;  ///< fewer: several query heads share one

  /// query [T, query_size], key_ [S, key_size], value [S, value_size] → [T, output_size]. Throws for other
  /// shapes, and in training with dropout for want of a key.
  Array operator()(const Array& query, const Array& key_, const Array& value,
                   const MultiheadOptions& options = {}, Loc loc = Loc::here()) const;

  /// The projections.
  AttentionHeads heads(const Array& query, const Array& key_, const Array& value,
                       Loc loc = Loc::here()) const;
  /// What follows.
  Array attend(const AttentionHeads& heads, const MultiheadOptions& options = {},
               Loc loc = Loc::here()) const;

  /// Room for a sequence of at most `capacity` places.
  AttentionCache init_cache(std::int64_t capacity, Loc loc = Loc::here()) const;
  /// Attention of the next T places, which see themselves and those before: [T, output_size], and the cache
  /// with their keys and values. Throws when the cache is full (in compiled code, when the program runs).
  std::pair<Array, AttentionCache> attend(const AttentionHeads& heads, const AttentionCache& cache,
                                          const MultiheadOptions& options = {}, Loc loc = Loc::here()) const;
};
/// Options of `make_multihead_attention`. Sizes that are 0 are as those before: key, value and output as
/// query_size, qk and vo as query_size / num_heads.
struct MultiheadAttentionOptions {
  std::int64_t num_heads = 1, query_size = 1;
  std::int64_t num_kv_heads = 0;  ///< 0: num_heads
  std::int64_t key_size = 0, value_size = 0, output_size = 0, qk_size = 0, vo_size = 0;
  bool use_query_bias = false, use_key_bias = false, use_value_bias = false, use_output_bias = false;
  double dropout_p = 0;
  Dtype dtype = f64;
};
/// Throws if a size is not positive, or num_kv_heads does not divide num_heads.
MultiheadAttention make_multihead_attention(const MultiheadAttentionOptions& options, const Array& key,
                                            Loc loc = Loc::here());

}  // namespace apsis::nn
