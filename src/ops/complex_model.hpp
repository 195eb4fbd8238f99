#pragma once

// Complex numbers over a model of arithmetic (`math/model.hpp`), and what texts for real and complex numbers
// alike say where the two differ.

#include <type_traits>
#include <utility>

namespace apsis::detail {

/// The model whose numbers are two of M's. No product or sum on the way leaves the range where the numbers
/// themselves are far from its ends.
template <class M>
struct ComplexModel {
  using Scalar = typename M::Scalar;
  using Part = typename M::F;
  using I = typename M::I;
  using B = typename M::B;
  struct F {
    Part re, im;
  };

  M parts;

  F constant(Scalar x) const { return {parts.constant(x), parts.constant(0)}; }
  I integer(auto x) const { return parts.integer(x); }
  F add(F x, F y) const { return {parts.add(x.re, y.re), parts.add(x.im, y.im)}; }
  F neg(F x) const { return {parts.neg(x.re), parts.neg(x.im)}; }
  F mul(F x, F y) const {
    return {parts.fma(parts.neg(x.im), y.im, parts.mul(x.re, y.re)),
            parts.fma(x.im, y.re, parts.mul(x.re, y.im))};
  }
  /// x·y + z, two multiply-adds a part.
  F fma(F x, F y, F z) const {
    return {parts.fma(parts.neg(x.im), y.im, parts.fma(x.re, y.re, z.re)),
            parts.fma(x.im, y.re, parts.fma(x.re, y.im, z.im))};
  }
  B and_(B x, B y) const { return parts.and_(x, y); }
  B eq(F x, F y) const { return parts.and_(parts.eq(x.re, y.re), parts.eq(x.im, y.im)); }
  B eq(I x, I y) const { return parts.eq(x, y); }
  F select(B c, F x, F y) const { return {parts.select(c, x.re, y.re), parts.select(c, x.im, y.im)}; }
  I select(B c, I x, I y) const { return parts.select(c, x, y); }

  void exchange_rows(I pivot, int k, int rows, int from, int columns, F* x) const requires requires(Part* p) {
    parts.exchange_rows(pivot, k, rows, from, columns, p);
  }
  { parts.exchange_rows(pivot, k, rows, 2 * from, 2 * columns, reinterpret_cast<Part*>(x)); }
};

namespace small {

template <class M>
inline constexpr bool is_complex_model = false;
template <class M>
inline constexpr bool is_complex_model<ComplexModel<M>> = true;

/// The model of a number's parts.
template <class M>
[[gnu::always_inline]] inline const auto& part_model(const M& m) {
  if constexpr (is_complex_model<M>)
    return m.parts;
  else
    return m;
}
template <class M>
using PartOf = typename std::remove_cvref_t<decltype(part_model(std::declval<const M&>()))>::F;

template <class M>
[[gnu::always_inline]] inline PartOf<M> real_part(const M&, const typename M::F& x) {
  if constexpr (is_complex_model<M>)
    return x.re;
  else
    return x;
}
template <class M>
[[gnu::always_inline]] inline typename M::F from_real(const M& m, const PartOf<M>& x) {
  if constexpr (is_complex_model<M>)
    return {x, m.parts.constant(0)};
  else
    return x;
}
template <class M>
[[gnu::always_inline]] inline typename M::F conj(const M& m, const typename M::F& x) {
  if constexpr (is_complex_model<M>)
    return {x.re, m.parts.neg(x.im)};
  else
    return x;
}
template <class M>
[[gnu::always_inline]] inline typename M::F times_real(const M& m, const typename M::F& x,
                                                       const PartOf<M>& y) {
  if constexpr (is_complex_model<M>)
    return {m.parts.mul(x.re, y), m.parts.mul(x.im, y)};
  else
    return m.mul(x, y);
}
template <class M>
[[gnu::always_inline]] inline typename M::F over_real(const M& m, const typename M::F& x,
                                                      const PartOf<M>& y) {
  if constexpr (is_complex_model<M>)
    return {m.parts.div(x.re, y), m.parts.div(x.im, y)};
  else
    return m.div(x, y);
}
/// What pivots are chosen by: |x|, and |re| + |im| as in LAPACK.
template <class M>
[[gnu::always_inline]] inline PartOf<M> pivot_size(const M& m, const typename M::F& x) {
  if constexpr (is_complex_model<M>)
    return m.parts.add(m.parts.abs(x.re), m.parts.abs(x.im));
  else
    return m.abs(x);
}
/// sum + |x|².
template <class M>
[[gnu::always_inline]] inline PartOf<M> plus_square(const M& m, const typename M::F& x,
                                                    const PartOf<M>& sum) {
  if constexpr (is_complex_model<M>)
    return m.parts.fma(x.im, x.im, m.parts.fma(x.re, x.re, sum));
  else
    return m.fma(x, x, sum);
}

/// What several numbers are divided by.
template <class M>
struct Divisor {
  Divisor(const M&, const typename M::F& x) : x_(x) {}
  [[gnu::always_inline]] inline typename M::F under(const M& m, const typename M::F& x) const {
    return m.div(x, x_);
  }

 private:
  typename M::F x_;
};
/// By the quotient of the divisor's parts, the smaller by the larger (R. L. Smith, Algorithm 116,
/// Communications of the ACM 5, 1962).
template <class M>
struct Divisor<ComplexModel<M>> {
  using F = typename ComplexModel<M>::F;
  [[gnu::always_inline]] inline Divisor(const ComplexModel<M>& m, const F& x)
      : turned_(m.parts.lt(m.parts.abs(x.re), m.parts.abs(x.im))) {
    const F near = turned(m, x);
    ratio_ = m.parts.div(near.im, near.re);
    length_ = m.parts.fma(near.im, ratio_, near.re);
  }
  [[gnu::always_inline]] inline F under(const ComplexModel<M>& m, const F& x) const {
    const F near = turned(m, x);
    const auto re = m.parts.div(near.re, length_), im = m.parts.div(near.im, length_);
    return {m.parts.fma(im, ratio_, re), m.parts.fma(m.parts.neg(re), ratio_, im)};
  }

 private:
  /// Times -i where the divisor's imaginary part is the larger one.
  [[gnu::always_inline]] inline F turned(const ComplexModel<M>& m, const F& x) const {
    return m.select(turned_, {x.im, m.parts.neg(x.re)}, x);
  }
  typename M::B turned_;
  typename M::F ratio_, length_;
};

}  // namespace small
}  // namespace apsis::detail
