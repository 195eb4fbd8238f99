#pragma once

// Gradients of matrices that all lanes share. On the way back each iteration adds outer products to a carry
// of the lane, carry[i, j] += Σ_s left_s[i] · right_s[j], and does nothing else with it. A carry so large is
// read and written once for many iterations, when the vectors of some are kept: the sums then go tile by
// tile, each element in the order it had.

#include <vector>

#include "codegen/emit/loop_nest.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

struct OuterSum {
  struct Term {
    std::size_t left, right;  // of OuterSums::vectors
  };
  std::size_t carry;
  std::vector<Term> terms;  // in the order they are added
  bool onto_carry;          // fma(last, …, fma(first, carry)); else carry + fma(last, …, first)
};

struct OuterSums {
  GraphRef
      body;  // the loop's, but for the sums: these carries stay as they are, the vectors are further outputs
  std::vector<OuterSum> sums;
  std::vector<Aval> vectors;
};

/// Takes the outer products out of a loop's body, of carries with more than `smallest` elements.
/// `first_carry`: the body's input that carry 0 is. The body of the result is null if there are none.
OuterSums split_outer_sums(const Graph& body, std::size_t first_carry, std::size_t carries,
                           std::int64_t smallest);

/// Where the arrays are that `write_outer_sum` works on: `lanes` copies of each element, and the vectors of
/// an iteration `stride` bytes after those of the one before.
struct OuterArrays {
  Pointer carry, vectors;
  std::vector<std::int64_t> offsets;  // of the vectors, in bytes
  std::int64_t stride;
  Value iterations;  // at least one
  int lanes;
};
void write_outer_sum(Builder& b, const OuterSum& sum, const Aval& carry, const OuterArrays& arrays);

}  // namespace apsis::detail
