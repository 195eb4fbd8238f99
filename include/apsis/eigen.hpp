#pragma once

// Matrices of Eigen and arrays, without a copy where their memory allows it. For those who have Eigen 3.3 or
// later; not part of apsis.hpp.
//
//   Eigen::VectorXd y = as_eigen<double>(a).fullPivLu().solve(as_eigen_vector<double>(b));
//   Array x = array_of(y);

#if __has_include(<Eigen/Core>)

#include <complex>
#include <Eigen/Core>

#include "apsis/core/array.hpp"
#include "apsis/core/strided.hpp"

namespace apsis {

namespace detail {
/// The dtype of Eigen's scalars.
template <class T>
struct EigenElement : dtype_of_type<T> {};
template <>
struct EigenElement<std::complex<float>> : dtype_of_type<complex64> {};
template <>
struct EigenElement<std::complex<double>> : dtype_of_type<complex128> {};
/// The elements, checked to be of this dtype.
template <class T>
const T* eigen_elements(const Array& x, Loc loc) {
  if constexpr (Element<T>)
    return x.span<T>(loc).data();
  else if constexpr (sizeof(T) == sizeof(complex64))
    return reinterpret_cast<const T*>(x.span<complex64>(loc).data());
  else
    return reinterpret_cast<const T*>(x.span<complex128>(loc).data());
}
}  // namespace detail

/// Matrices whose rows lie one after the other, as those of arrays do.
template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Vectors.
template <class T>
using EigenVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// An array [m, n] as a matrix, in place: valid while the array lives. T is the type of its elements,
/// std::complex for complex ones. Throws for another dtype or number of axes, and where there is no value
/// yet, under jit and vmap.
template <class T>
Eigen::Map<const EigenMatrix<T>> as_eigen(const Array& x, Loc loc = Loc::here()) {
  if (x.ndim(loc) != 2) detail::fail_eigen(x, "two axes", loc);
  return {detail::eigen_elements<T>(x, loc), x.dim(0), x.dim(1)};
}
/// An array [n] as a vector, in place, otherwise as `as_eigen`.
template <class T>
Eigen::Map<const EigenVector<T>> as_eigen_vector(const Array& x, Loc loc = Loc::here()) {
  if (x.ndim(loc) != 1) detail::fail_eigen(x, "one axis", loc);
  return {detail::eigen_elements<T>(x, loc), x.size()};
}
/// What is in no variable does not live long enough.
template <class T>
void as_eigen(Array&&, Loc = Loc::here()) = delete;
template <class T>
void as_eigen_vector(Array&&, Loc = Loc::here()) = delete;

/// An array of the elements of a matrix or of an expression: [m, n], of vectors [n].
template <class Derived>
Array array_of(const Eigen::DenseBase<Derived>& m, Loc loc = Loc::here()) {
  using T = typename Derived::Scalar;
  const EigenMatrix<T> rows = m.derived();
  StridedView view{rows.data(), detail::EigenElement<T>::value, {rows.rows(), rows.cols()}, {rows.cols(), 1}};
  if constexpr (Derived::IsVectorAtCompileTime) view.shape = {rows.size()}, view.strides = {1};
  return array(view, loc);
}
/// The elements of a matrix or vector in place: it must outlive the array, and must not change. Matrices must
/// have their rows one after the other (Eigen::RowMajor).
template <class Derived>
Array view_of(const Eigen::PlainObjectBase<Derived>& m) {
  using T = typename Derived::Scalar;
  static_assert(
      Derived::IsRowMajor || Derived::IsVectorAtCompileTime,
      "view_of takes matrices with Eigen::RowMajor: columns that lie one after the other are no array; "
      "use array_of, which copies");
  StridedView view{m.data(), detail::EigenElement<T>::value, {m.rows(), m.cols()}, {m.cols(), 1}};
  if constexpr (Derived::IsVectorAtCompileTime) view.shape = {m.size()}, view.strides = {1};
  return adopt(
      view, [](void*) {}, nullptr);
}

}  // namespace apsis

#endif
