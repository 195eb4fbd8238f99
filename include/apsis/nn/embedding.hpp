#pragma once

#include "apsis/nn/initializers.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::nn {

/// A vector for each of the integers 0, 1, ….
struct Embedding {
  Array weight;  ///< [count, size]
  /// x: an integer scalar → [size]. An integer out of bounds means the nearest row; negative ones count from
  /// the end. Throws for another shape or dtype.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// Options of `make_embedding`.
struct EmbeddingOptions {
  std::int64_t count = 1, size = 1;
  Initializer weight_init = initializers::normal(1);
  Dtype dtype = f64;
};
/// Throws if a number is negative.
Embedding make_embedding(const EmbeddingOptions& options, const Array& key, Loc loc = Loc::here());

/// Positions in a sequence as rotations of pairs of entries: scalar products of two rows depend on their
/// distance (Su et al., RoFormer, 2021).
struct RotaryPositionalEmbedding {
  std::int64_t embedding_size = 2;  ///< even
  Static<double> theta = 10'000.;   ///< the slowest wave has a length of about 2π theta
  /// x: [sequence, embedding_size] → the same shape and dtype; `start` is the position of the first row.
  /// Throws for another shape, and for an odd size.
  Array operator()(const Array& x, const Array& start, Loc loc = Loc::here()) const;
  /// From position 0 on.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// max(x, 0) + negative_slope · min(x, 0), whose slope is learnt (He et al. 2015).
struct PReLU {
  Array negative_slope = 0.25;  ///< broadcasts to x
  /// Any shape.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

}  // namespace apsis::nn
