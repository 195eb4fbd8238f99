#pragma once

// The ops as plain functions, without promotion or implicit broadcasting: what rules are written with. Each
// binds one op.

#include <span>

#include "apsis/core/op.hpp"

namespace apsis::detail::lax {

// Elementwise: equal shapes and dtypes.
Array add(const Array& a, const Array& b);
Array sub(const Array& a, const Array& b);
Array mul(const Array& a, const Array& b);
Array div(const Array& a, const Array& b);
Array neg(const Array& a);
/// a·b + c, rounded once.
Array fma(const Array& a, const Array& b, const Array& c);
/// `condition` is boolean, of the same shape.
Array select(const Array& condition, const Array& if_true, const Array& if_false);
Array convert(const Array& a, Dtype dtype, bool weak = false);
/// The identity, with a zero derivative.
Array stop_gradient(const Array& a);
Array eq(const Array& a, const Array& b);
Array ne(const Array& a, const Array& b);
Array lt(const Array& a, const Array& b);
Array le(const Array& a, const Array& b);
Array gt(const Array& a, const Array& b);
Array ge(const Array& a, const Array& b);
Array logical_and(const Array& a, const Array& b);
Array logical_or(const Array& a, const Array& b);
Array logical_not(const Array& a);

// Views.
/// Axis i of `a` becomes axis `axes[i]` of the result; the other axes of `shape` are new; axes of size 1 may
/// stretch.
Array broadcast_in_dim(const Array& a, const Shape& shape, const Dims& axes);
Array reshape(const Array& a, const Shape& shape);
/// Axis i of the result is axis `permutation[i]` of `a`.
Array transpose(const Array& a, const Dims& permutation);
Array slice(const Array& a, const Dims& start, const Dims& limit, const Dims& stride = {});
Array reverse(const Array& a, const Dims& axes);
/// Moves one axis to another place.
Array move_axis(const Array& a, int from, int to);
/// Inserts or removes an axis of size 1.
Array expand_axis(const Array& a, int axis);
Array squeeze_axis(const Array& a, int axis);

// Others.
/// All elements equal; `value` is a literal of the program.
Array full(const Shape& shape, Dtype dtype, double value, bool weak = false);
Array full_like(const Aval& aval, double value);
Array iota(Dtype dtype, const Shape& shape, int axis);
Array reduce_sum(const Array& a, const Dims& axes);
Array reduce_max(const Array& a, const Dims& axes);
Array reduce_min(const Array& a, const Dims& axes);
Array reduce_and(const Array& a, const Dims& axes);
Array reduce_or(const Array& a, const Dims& axes);
Array concatenate(std::span<const Array> parts, int axis);
/// Negative `low` or `high` crop. `interior` puts that many copies of `value` between neighbours.
Array pad(const Array& a, const Array& value, const Dims& low, const Dims& high, const Dims& interior = {});
/// `starts`: one i64 scalar an axis, clamped so that the slice lies inside.
Array dynamic_slice(const Array& a, std::span<const Array> starts, const Shape& sizes);
Array dynamic_update_slice(const Array& a, const Array& update, std::span<const Array> starts);
/// The entry at `index` (i64 scalar, clamped) along axis 0, that axis removed; and its functional
/// replacement.
Array dynamic_index(const Array& a, const Array& index);
Array dynamic_update_index(const Array& a, const Array& entry, const Array& index);
/// Contraction as in JAX: batch axes, then free axes of a, then of b.
Array dot_general(const Array& a, const Array& b, const Dims& contract_a, const Dims& contract_b,
                  const Dims& batch_a = {}, const Dims& batch_b = {});

}  // namespace apsis::detail::lax
