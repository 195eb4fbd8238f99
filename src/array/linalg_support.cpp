#include "array/linalg_support.hpp"

#include "apsis/array/creation.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/complex.hpp"
#include "array/messages.hpp"

namespace apsis::detail::arrays {

Array matrices(const char* where, const Array& a) {
  check_rank(where, a.ndim() >= 2, "two axes or more", a);
  return inexact(a);
}

Array square_matrices(const char* where, const Array& a) {
  const Array x = matrices(where, a);
  if (x.dim(-1) != x.dim(-2)) fail(messages::array_square, {where, to_string(a.aval())});
  return x;
}

Equation equation(const char* where, const Array& a, const Array& b) {
  check_rank(where, b.ndim() >= 1, "an axis or more as right side", b);
  const Array given[] = {matrices(where, a), b};
  if (a.dim(-2) != b.dim(b.ndim() == 1 ? 0 : -2)) {
    const bool vectors = b.ndim() + 1 == a.ndim() && b.dim(-1) == a.dim(-2);
    fail(messages::array_sizes,
         {where, to_string(a.aval()), to_string(b.aval()),
          vectors ? "both need as many rows; vectors, one a matrix, are given as expand_dims(b, -1)"
                  : "both need as many rows"});
  }
  std::vector<Array> pair = promoted_inexact(given);
  return {pair[0], pair[1]};
}

Shape leading_shape(const char* where, const Array& a, const Array& b) {
  Shape shapes[] = {a.shape(), b.shape()};
  for (Shape& s : shapes) s.resize(s.size() - 2);
  return common_shape(where, shapes);
}

Array with_leading(const Array& a, Shape leading) {
  leading.push_back(a.dim(-2));
  leading.push_back(a.dim(-1));
  return a.shape() == leading ? a : broadcast_to(a, leading);
}

Array adjoint(const Array& a) { return conj(matrix_transpose(a)); }

Dtype real_dtype(Dtype d) { return d == c128 ? f64 : d == c64 ? f32 : d; }

Array identity_like(const Array& a) { return broadcast_to(eye(a.dim(-1), -1, 0, a.dtype()), a.shape()); }

}  // namespace apsis::detail::arrays
