#include "ops/operands.hpp"

#include "core/convert.hpp"
#include "core/messages.hpp"
#include "ops/strided_copy.hpp"

namespace apsis::detail {
namespace {

WeakDtype dtype_of_array(const Array& a) { return {a.dtype(), a.weak()}; }

WeakDtype made_floating(const char* name, WeakDtype d, Loc loc) {
  check_dtype(name, real_dtypes, Aval(d.dtype, {}, d.weak), loc);
  if (is_floating(d.dtype)) return d;
  return {item_size(d.dtype) == 8 ? Dtype::F64 : Dtype::F32, d.weak};
}

Operands converted(const char* name, const Array& a, const Array& b, WeakDtype dtype, Loc loc) {
  Operands out{as_dtype(a, dtype), as_dtype(b, dtype)};
  if (a.shape() == b.shape()) return out;
  const Shape shapes[] = {a.shape(), b.shape()};
  Shape shape = broadcast_shapes(name, shapes, loc);
  out.a = broadcast_operand(out.a, shape);
  out.b = broadcast_operand(out.b, shape);
  return out;
}

}  // namespace

Array as_dtype(const Array& a, WeakDtype dtype) {
  if (dtype_of_array(a) == dtype) return a;
  if (!a.node()->literal) return lax::convert(a, dtype.dtype, dtype.weak);
  Array out = allocate(Aval(dtype.dtype, {}, dtype.weak));
  convert_elements(a.dtype(), data_of(a), dtype.dtype, mutable_data<char>(out), 1);
  out.node()->literal = true;
  return out;
}

Operands matched(const char* name, const Array& a, const Array& b, Loc loc) {
  if (a.is_empty() || b.is_empty()) fail(messages::empty_array, {}, loc);
  if (a.aval() == b.aval()) return {a, b};
  return converted(name, a, b, promote(dtype_of_array(a), dtype_of_array(b)), loc);
}

Operands matched_floating(const char* name, const Array& a, const Array& b, Loc loc) {
  return converted(name, a, b, made_floating(name, promote(dtype_of_array(a), dtype_of_array(b)), loc), loc);
}

Array floating(const char* name, const Array& a, Loc loc) {
  return as_dtype(a, made_floating(name, dtype_of_array(a), loc));
}

Array broadcast_operand(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  if (!a.node()->literal || current_trace()) return broadcast_last(a, shape);
  // Eager code with C++ scalars is common: the elements are written without an op.
  Array out = allocate(Aval(a.dtype(), shape, a.weak()));
  fill_elements(mutable_data<char>(out), data_of(a), out.size(), item_size(a.dtype()));
  return out;
}

Array truth(const Array& a) {
  if (a.dtype() == Dtype::Bool) return a;
  return lax::convert(a, Dtype::Bool);
}

void check_operand(const Op& op, DtypeSet allowed, const Array& a, Loc loc) {
  if (!op.of_complex || !is_complex(a.dtype())) check_dtype(op.name, allowed, a.aval(), loc);
}

Array bind_matched(const Op& op, DtypeSet allowed, const Array& a, const Array& b, Loc loc) {
  const Operands o = matched(op.name, a, b, loc);
  check_operand(op, allowed, o.a, loc);
  return bind1(op, {}, {o.a, o.b}, loc);
}

Array bind_floating(const Op& op, const Array& x, Loc loc) {
  if (op.of_complex && is_complex(x.dtype(loc))) return bind1(op, {}, {x}, loc);
  return bind1(op, {}, {floating(op.name, x, loc)}, loc);
}

Array bind_floating(const Op& op, const Array& x, const Array& y, Loc loc) {
  if (op.of_complex && (is_complex(x.dtype(loc)) || is_complex(y.dtype(loc))))
    return bind_matched(op, all_dtypes, x, y, loc);
  const Operands o = matched_floating(op.name, x, y, loc);
  return bind1(op, {}, {o.a, o.b}, loc);
}

}  // namespace apsis::detail
