#pragma once

// The loops of a contraction: over the results, several of them in flight, around a loop over the contracted
// elements.

#include "codegen/emit/loop_nest.hpp"
#include "codegen/emit/lowering.hpp"

namespace apsis::detail {

struct Contraction {
  Shape shape;  // of the result
  Access a, b;  // at k = 0, as views of that shape
  Sink result;
  std::int64_t step_a, step_b, count;  // along k
  Dtype compute;                       // what is added up; the result is rounded from it

  /// Whether it is added up in the chains of ops/dot_order.hpp.
  bool in_chains() const;
};

/// How many rows of the result meet the same columns of b at a time, in registers of so many bytes; 1: they
/// do not.
std::int64_t rows_together(const Lowering& lowering, const Contraction& contraction);
/// Whether the rows of a come from memory, one after the other.
bool asks_for_rows(const Contraction& contraction);
/// The elements of a row that they are taken for at once.
int columns_together(const Lowering& lowering, const Contraction& contraction);

void write_contraction(Lowering& lowering, const Contraction& contraction);
/// The same as a call of a function that all equal ones of the program share: there is one a layer of a
/// network, in each stage of a solver.
void call_contraction(Lowering& lowering, const Contraction& contraction);

}  // namespace apsis::detail
