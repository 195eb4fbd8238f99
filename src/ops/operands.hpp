#pragma once

// What the public elementwise functions do with their operands before they bind: promote dtypes, broadcast
// shapes.

#include "ops/arguments.hpp"
#include "ops/elementwise.hpp"

namespace apsis::detail {

struct Operands {
  Array a, b;
};

/// As another dtype; C++ scalars at once, without an op.
Array as_dtype(const Array& a, WeakDtype dtype);
/// Of the common dtype and shape.
Operands matched(const char* name, const Array& a, const Array& b, Loc loc);
/// So, with integers made floating. Throws for complex.
Operands matched_floating(const char* name, const Array& a, const Array& b, Loc loc);
/// Integers made floating as in JAX: 64-bit ones f64, others f32. Throws for complex.
Array floating(const char* name, const Array& a, Loc loc);
/// Whether each element is not 0.
Array truth(const Array& a);
/// `a` broadcast to a shape it is known to broadcast to.
Array broadcast_operand(const Array& a, const Shape& shape);
/// Refuses dtypes outside the set, unless they are complex and the op has a rule for those.
void check_operand(const Op& op, DtypeSet allowed, const Array& a, Loc loc);
/// One op on two operands as the user gave them, refused outside `allowed`.
Array bind_matched(const Op& op, DtypeSet allowed, const Array& a, const Array& b, Loc loc);
/// One op of floating-point numbers on operands as the user gave them.
Array bind_floating(const Op& op, const Array& x, Loc loc);
Array bind_floating(const Op& op, const Array& x, const Array& y, Loc loc);

}  // namespace apsis::detail
