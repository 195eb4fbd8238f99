#pragma once

// Derivatives whose elements depend on few others each, term by term.
// For solvers of the library, not part of apsis.hpp.

#include <cstdint>
#include <memory>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/transform/callee.hpp"

namespace apsis::detail {

/// Element i of it is coefficient[i] times element columns[i] of a vector; nothing where that is -1.
struct LinearTerm {
  Array coefficient;
  std::shared_ptr<const std::vector<std::int64_t>> columns;
};

/// The derivative of f at the vector x, a vector of the same dtype: its elements are sums of those of the
/// terms, in which no place occurs twice. Each operation of the derivative is run once a term, and gives the
/// bits that it would in a product of the derivative with a unit vector. Empty: the derivative does more than
/// move elements and add multiples of them, or it has too many terms.
std::vector<LinearTerm> linear_terms_call(const Callee& f, const Array& x, Loc loc);

}  // namespace apsis::detail
