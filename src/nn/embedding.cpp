#include "apsis/nn/embedding.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {

Array Embedding::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  if (x.ndim() != 0 || !is_integer(x.dtype())) fail(messages::embedding_index, {to_string(x.aval())});
  return weight[x];
}

Embedding make_embedding(const EmbeddingOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  check_size("make_embedding", "count", o.count, 0);
  check_size("make_embedding", "size", o.size, 0);
  return {o.weight_init(key, {o.count, o.size}, o.dtype)};
}

// Angles are computed in f64 whatever x is: far positions would lose theirs.
Array RotaryPositionalEmbedding::operator()(const Array& x, const Array& start, Loc loc) const {
  const LocScope place(loc);
  check_size("RotaryPositionalEmbedding", "embedding_size", embedding_size, 0);
  check_divides("RotaryPositionalEmbedding", "embedding_size", embedding_size, "parts", 2);
  check_input("RotaryPositionalEmbedding", x, {-1, embedding_size});
  check_input("RotaryPositionalEmbedding", start, {});
  const std::int64_t half = embedding_size / 2;
  const Array exponents = astype(iota({1, half}, 1), f64) * (2. / static_cast<double>(embedding_size));
  const Array places = astype(iota({x.dim(0), 1}, 0), f64) + astype(start, f64);
  const Array angles = places * pow(theta.value, -exponents);
  const Array cosine = astype(cos(angles), x.dtype()), sine = astype(sin(angles), x.dtype());
  const Array first = x(ellipsis, range({}, half)), second = x(ellipsis, range(half, {}));
  return concatenate({first * cosine - second * sine, second * cosine + first * sine}, 1);
}
Array RotaryPositionalEmbedding::operator()(const Array& x, Loc loc) const { return (*this)(x, 0, loc); }

Array PReLU::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  return where(x >= 0, x, negative_slope * x);
}

}  // namespace apsis::nn
