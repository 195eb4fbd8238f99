#include <algorithm>
#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/control/checkpoint.hpp"
#include "apsis/control/map.hpp"
#include "apsis/nn/attention.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {
namespace {

/// With leading axes of size 1, to four.
Array four_axes(Array x) {
  while (!x.is_empty() && x.ndim() < 4) x = expand_dims(x, 0);
  return x;
}

/// B batch, T queries, S keys, K heads of keys, G queries that share one, H and V sizes of keys and values.
struct Sizes {
  std::int64_t b, t, s, k, g, h, v;
};

/// What is the same for all queries. Heads come before places, those that share a key together.
struct Keys {
  Array key, value;  ///< [B K, H, S], [B K, S, V]
  Array scale;
  Array lengths;  ///< [B]: of keys; or empty
};
/// Some of the queries.
struct Rows {
  Array query;       ///< [B, K, G, R, H]
  Array bias, mask;  ///< [1 or B, 1 or K, 1 or G, 1 or R, 1 or S]; or empty
  Array places;      ///< i64[R, 1]: which queries these are
};

void require(bool fits, const char* what, const Array& x, const std::string& wanted, Loc loc) {
  if (!fits) fail(messages::attention_shape, {what, to_string(x.aval()), wanted}, loc);
}

/// Heads [K, G] in the place of their product, or of 1.
Array grouped(const Array& x, const Sizes& n) {
  if (x.is_empty()) return x;
  Shape shape = x.shape();
  shape.insert(1, shape[1] == 1 ? 1 : n.k);
  if (shape[2] != 1) shape[2] = n.g;
  return reshape(x, shape);
}

void check_against(const char* what, const Array& x, const Shape& whole, Loc loc) {
  if (x.is_empty()) return;
  bool fits = x.ndim() == 4;
  for (std::size_t i = 0; fits && i < 4; ++i) fits = x.shape()[i] == 1 || x.shape()[i] == whole[i];
  require(fits, what, x, "what broadcasts to " + to_string(whole), loc);
}

/// A boolean for each query and key [.., R, S]; empty where each sees each.
Array seen(const Rows& rows, const Keys& keys, const Sizes& n, const AttentionOptions& o) {
  Array mask = rows.mask;
  auto also = [&mask](const Array& more) { mask = mask.is_empty() ? more : logical_and(mask, more); };
  const Array at = iota({1, n.s}, 1);
  if (o.is_causal) also(at <= rows.places);
  if (o.local_window)
    also(logical_and(rows.places <= at + o.local_window->left, rows.places >= at - o.local_window->right));
  if (!keys.lengths.is_empty()) also(at < reshape(keys.lengths, {n.b, 1, 1, 1, 1}));
  if (!o.query_seq_lengths.is_empty()) also(rows.places < reshape(o.query_seq_lengths, {n.b, 1, 1, 1, 1}));
  return mask;
}

/// The results of some queries: [B, K, G, R, V].
Array attended(const Rows& rows, const Keys& keys, const Sizes& n, const AttentionOptions& o) {
  const std::int64_t r = rows.query.dim(3);
  const Dtype wide = promote_types(rows.query.dtype(), f32);
  const Array query = reshape(rows.query, {n.b * n.k, n.g * r, n.h});
  Array logits = matmul(astype(query, wide), astype(keys.key, wide)) * keys.scale;
  logits = reshape(logits, {n.b, n.k, n.g, r, n.s});
  if (!rows.bias.is_empty()) logits = astype(logits + rows.bias, wide);
  const Array mask = seen(rows, keys, n, o);
  // A finite number: a query that sees no key has equal weights and no NaN.
  if (!mask.is_empty()) logits = where(mask, logits, Array(-0.7 * finfo(wide).max, wide));
  const Array weights = astype(softmax(logits), keys.value.dtype());
  const Array y = matmul(reshape(weights, {n.b * n.k, n.g * r, n.s}), keys.value);
  return reshape(y, {n.b, n.k, n.g, r, n.v});
}

/// How many queries are taken at once: all, unless their logits are many.
std::int64_t rows_at_once(const Sizes& n) {
  constexpr std::int64_t few = 1 << 17;
  if (n.t * n.s <= 2 * few) return n.t;
  return std::clamp<std::int64_t>(few / n.s, 16, n.t);
}

/// Queries from `first` on, `count` of them, as blocks along a new first axis if `size` is given.
Array block_of(const Array& x, int axis, std::int64_t first, std::int64_t count, std::int64_t size = 0) {
  if (x.is_empty() || x.dim(axis) == 1) return x;
  std::vector<Index> index(static_cast<std::size_t>(axis), Index(range()));
  index.emplace_back(range(first, first + count));
  const Array part = IndexUpdate(x, index).get();
  if (size == 0) return part;
  Shape shape = part.shape();
  shape[static_cast<std::size_t>(axis)] = size;
  shape.insert(static_cast<std::size_t>(axis), count / size);
  return moveaxis(reshape(part, shape), axis, 0);
}

Rows rows_of(const Rows& all, std::int64_t first, std::int64_t count, std::int64_t size = 0) {
  return {block_of(all.query, 3, first, count, size), block_of(all.bias, 3, first, count, size),
          block_of(all.mask, 3, first, count, size), block_of(all.places, 0, first, count, size)};
}

/// Block after block of queries; the gradient computes each block's logits again.
Array in_blocks(const Rows& all, const Keys& keys, const Sizes& n, const AttentionOptions& o) {
  const std::int64_t size = rows_at_once(n), whole = n.t / size * size;
  if (size == n.t) return attended(all, keys, n, o);
  const auto block = checkpoint([&](const Rows& rows, const Keys& of) { return attended(rows, of, n, o); });
  // What all blocks share is no array of entries to go through.
  Rows blocks = rows_of(all, 0, whole, size);
  const Array bias = all.bias, mask = all.mask;
  const bool one_bias = !bias.is_empty() && bias.dim(3) == 1, one_mask = !mask.is_empty() && mask.dim(3) == 1;
  if (one_bias) blocks.bias = {};
  if (one_mask) blocks.mask = {};
  Array y = sequential_map(
      [&](const Rows& entry) {
        Rows rows = entry;
        if (one_bias) rows.bias = bias;
        if (one_mask) rows.mask = mask;
        return block(rows, keys);
      },
      blocks);
  y = reshape(moveaxis(y, 0, 3), {n.b, n.k, n.g, whole, n.v});
  if (whole == n.t) return y;
  return concatenate({y, block(rows_of(all, whole, n.t - whole), keys)}, 3);
}

}  // namespace

Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const AttentionOptions& options, Loc loc) {
  const LocScope place(loc);
  require(key.ndim() == 3 || key.ndim() == 4, "key", key, "[B, S, K, H] or [S, K, H]", loc);
  require(query.ndim() == key.ndim(), "query", query, "as many axes as key", loc);
  require(value.ndim() == key.ndim(), "value", value, "as many axes as key", loc);
  const Array q = four_axes(query), k = four_axes(key), v = four_axes(value);
  const std::int64_t heads = q.dim(2), of_keys = k.dim(2);
  require(of_keys > 0 && heads % of_keys == 0, "query", query,
          "a multiple of the key's " + std::to_string(of_keys) + " heads", loc);
  const Sizes n{k.dim(0), q.dim(1), k.dim(1), of_keys, heads / of_keys, k.dim(3), v.dim(3)};
  require(q.dim(0) == n.b && q.dim(3) == n.h, "query", query, "the batch and last size of key", loc);
  require(v.dim(0) == n.b && v.dim(1) == n.s && v.dim(2) == n.k, "value", value, "the sizes of key", loc);

  AttentionOptions o = options;
  const Shape whole{n.b, heads, n.t, n.s};
  o.bias = four_axes(o.bias);
  o.mask = four_axes(o.mask);
  check_against("bias", o.bias, whole, loc);
  check_against("mask", o.mask, whole, loc);
  if (!o.mask.is_empty()) require(o.mask.dtype() == boolean, "mask", o.mask, "booleans", loc);
  for (const Array& lengths : {o.query_seq_lengths, o.key_value_seq_lengths})
    if (!lengths.is_empty())
      require(lengths.shape() == Shape{n.b} && is_integer(lengths.dtype()), "a length", lengths,
              "integers [" + std::to_string(n.b) + "]", loc);

  Shape shape = query.shape();
  shape[shape.size() - 1] = n.v;
  if (n.s == 0 || n.t == 0 || n.b == 0) return zeros(shape, value.dtype());
  const Dtype wide = promote_types(q.dtype(), f32);
  const Array scale =
      o.scale.is_empty() ? Array(1 / std::sqrt(static_cast<double>(n.h)), wide) : astype(o.scale, wide);
  const Keys keys{reshape(transpose(k, {0, 2, 3, 1}), {n.b * n.k, n.h, n.s}),
                  reshape(transpose(v, {0, 2, 1, 3}), {n.b * n.k, n.s, n.v}), scale, o.key_value_seq_lengths};
  const Rows rows{transpose(reshape(q, {n.b, n.t, n.k, n.g, n.h}), {0, 2, 3, 1, 4}), grouped(o.bias, n),
                  grouped(o.mask, n), iota({n.t, 1}, 0)};
  Array y = transpose(in_blocks(rows, keys, n, o), {0, 3, 1, 2, 4});
  if (!o.query_seq_lengths.is_empty())
    y = where(reshape(iota({1, n.t}, 1) < expand_dims(o.query_seq_lengths, 1), {n.b, n.t, 1, 1, 1}), y, 0);
  return reshape(y, shape);
}

}  // namespace apsis::nn
