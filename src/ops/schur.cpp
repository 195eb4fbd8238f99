// A = Z·T·Zᴴ, and what it serves for: Hessenberg's form on the way to it, Sylvester's equation and square
// roots.

#include "ops/complex.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {
namespace {

template <const Op& op>
void two_squares_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices(op.name, in[0]);
  APSIS_ASSERT(Matrices(in[0].shape()).m == Matrices(in[0].shape()).n);
  out.push_back(Aval(in[0].dtype(), in[0].shape()));
  out.push_back(Aval(in[0].dtype(), in[0].shape()));
}

/// Two square factors of each matrix: factor(n, first, second) finds them, column by column, from A in
/// `first`; false if there are none.
template <class Factor>
void two_squares(std::span<const Array> in, std::span<Array> out, const Factor& factor) {
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape());
    const std::int64_t n = sizes.n, size = n * n;
    if (n == 0) return;
    const T* a = elements_of<T>(from[0]);
    T *first = mutable_data<T>(to[0]), *second = mutable_data<T>(to[1]);
    Scratch<T> left(static_cast<std::size_t>(size)), right(static_cast<std::size_t>(size));
    lapack::Work<T> work;
    for (std::int64_t i = 0; i < sizes.count; ++i, a += size, first += size, second += size) {
      transpose_into(a, n, n, left.data());
      if (all_finite(a, size) && factor(n, left.data(), right.data(), work)) {
        transpose_into(left.data(), n, n, first);
        transpose_into(right.data(), n, n, second);
      } else {
        fill_nan(first, size);
        fill_nan(second, size);
      }
    }
  });
}

template <const Op& op>
void no_derivative(const JvpRule&) {
  fail(messages::factors_not_unique, {op.name});
}

lapack::Int as_int(std::int64_t n) { return static_cast<lapack::Int>(n); }

void schur_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  two_squares(in, out, [](std::int64_t n, auto* t, auto* z, auto& work) {
    return lapack::gees(as_int(n), t, z, work) == 0;
  });
}

void hessenberg_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  two_squares(in, out, [](std::int64_t n, auto* h, auto* q, auto& work) {
    if (lapack::gehrd(as_int(n), h, q, work) != 0) return false;
    for (std::int64_t j = 0; j < n; ++j)  // the reflections were there
      for (std::int64_t i = j + 2; i < n; ++i) h[j * n + i] = 0;
    return true;
  });
}

// sylvester

enum Operand : std::size_t { left, right, constant };

void sylvester_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 3);
  for (const Aval& a : in) {
    check_matrices("sylvester", a);
    APSIS_ASSERT(a.dtype() == in[0].dtype());
  }
  const Matrices c(in[constant].shape());
  APSIS_ASSERT(in[left].shape() == with_matrices(in[constant].shape(), {c.m, c.m}));
  APSIS_ASSERT(in[right].shape() == with_matrices(in[constant].shape(), {c.n, c.n}));
  out.push_back(in[constant]);
}

/// One equation A·X + X·B = C (R. H. Bartels and G. W. Stewart, Solution of the matrix equation AX + XB = C,
/// 1972). Row by row it is Bᵀ·Xᵀ + Xᵀ·Aᵀ = Cᵀ column by column.
template <class T>
class Sylvester {
 public:
  Sylvester(std::int64_t m, std::int64_t n)
      : m_(as_int(m)),
        n_(as_int(n)),
        a_(square(m)),
        of_a_(square(m)),
        b_(square(n)),
        of_b_(square(n)),
        half_(static_cast<std::size_t>(m * n)),
        x_(half_.size()) {}

  bool solve(const T* a, const T* b, const T* c, T* result) {
    using lapack::Op;
    T* const x = x_.data();
    std::copy_n(c, x_.size(), half_.data());
    std::copy_n(a, a_.size(), a_.data());
    std::copy_n(b, b_.size(), b_.data());
    const bool factored = all_finite(a, m_ * m_) && all_finite(b, n_ * n_) && all_finite(c, m_ * n_) &&
                          lapack::gees(m_, a_.data(), of_a_.data(), for_a_) == 0 &&
                          lapack::gees(n_, b_.data(), of_b_.data(), for_b_) == 0;
    if (!factored) return false;
    lapack::gemm(Op::Adjoint, Op::None, n_, m_, n_, of_b_.data(), half_.data(), x);
    std::copy_n(x, x_.size(), half_.data());
    lapack::gemm(Op::None, Op::None, n_, m_, m_, half_.data(), of_a_.data(), x);
    lapack::Real<T> scale = 1;
    if (lapack::trsyl(n_, m_, b_.data(), a_.data(), x, scale) != 0) return false;
    lapack::gemm(Op::None, Op::None, n_, m_, n_, of_b_.data(), x, half_.data());
    lapack::gemm(Op::None, Op::Adjoint, n_, m_, m_, half_.data(), of_a_.data(), x);
    std::transform(x, x + x_.size(), result, [scale](const T& e) { return scale == 1 ? e : e / scale; });
    return true;
  }

 private:
  static Scratch<T> square(std::int64_t n) { return Scratch<T>(static_cast<std::size_t>(n * n)); }

  lapack::Int m_, n_;
  Scratch<T> a_, of_a_, b_, of_b_, half_, x_;
  lapack::Work<T> for_a_, for_b_;
};

void sylvester_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[constant].shape());
    const std::int64_t m = sizes.m, n = sizes.n;
    if (m * n == 0) return;
    Sylvester<T> equation(m, n);
    const T *a = elements_of<T>(from[left]), *b = elements_of<T>(from[right]),
            *c = elements_of<T>(from[constant]);
    T* x = mutable_data<T>(to[0]);
    for (std::int64_t i = 0; i < sizes.count; ++i, a += m * m, b += n * n, c += m * n, x += m * n)
      if (!equation.solve(a, b, c, x)) fill_nan(x, m * n);
  });
}

// A dX + dX B = dC - dA X - X dB.
void sylvester_jvp(const JvpRule& r) {
  const Array x = r.outs[0] = bind_all(sylvester_op, r.params, r.primals)[0];
  Array change = r.tangents[constant];
  const auto take = [&](const Array& product) {
    change = change.is_empty() ? lax::neg(product) : lax::sub(change, product);
  };
  if (const Array& da = r.tangents[left]; !da.is_empty()) take(lax::matrix_product(da, x));
  if (const Array& db = r.tangents[right]; !db.is_empty()) take(lax::matrix_product(x, db));
  r.out_tangents[0] = bind1(sylvester_op, r.params, {r.primals[left], r.primals[right], change});
}

void sylvester_transpose(const TransposeRule& r) {
  if (r.out[left].is_linear() || r.out[right].is_linear()) fail(messages::not_linear, {"sylvester"});
  if (r.cotangents[0].is_empty()) return;
  r.out[constant].add(bind1(
      sylvester_op, r.params,
      {lax::matrix_transpose(r.operands[left]), lax::matrix_transpose(r.operands[right]), r.cotangents[0]}));
}

// sqrtm

void sqrtm_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1 && is_complex(in[0].dtype()));
  check_matrices("sqrtm", in[0]);
  APSIS_ASSERT(Matrices(in[0].shape()).m == Matrices(in[0].shape()).n);
  out.push_back(Aval(in[0].dtype(), in[0].shape()));
}

/// The upper triangular root of upper triangular T, column by column, in its place (Å. Björck and S.
/// Hammarling, A Schur method for the square root of a matrix, 1983).
template <class T>
void root_of_triangle(std::int64_t n, T* t) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return t[j * n + i]; };
  for (std::int64_t j = 0; j < n; ++j) {
    at(j, j) = std::sqrt(at(j, j));
    for (std::int64_t i = j - 1; i >= 0; --i) {
      T rest = at(i, j);
      for (std::int64_t k = i + 1; k < j; ++k) rest -= at(i, k) * at(k, j);
      at(i, j) = rest == T{} ? T{} : rest / (at(i, i) + at(j, j));
    }
    for (std::int64_t i = j + 1; i < n; ++i) at(i, j) = T{};
  }
}

// Of Aᵀ, column by column, the root is that of A row by row.
void sqrtm_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    if constexpr (!std::is_same_v<T, lapack::Real<T>>) {
      using lapack::Op;
      const Matrices sizes(from[0].shape());
      const std::int64_t n = sizes.n, size = n * n;
      if (n == 0) return;
      const T* a = elements_of<T>(from[0]);
      T* x = mutable_data<T>(to[0]);
      Scratch<T> t(static_cast<std::size_t>(size)), z(t.size()), half(t.size());
      lapack::Work<T> work;
      for (std::int64_t i = 0; i < sizes.count; ++i, a += size, x += size) {
        std::copy_n(a, size, t.data());
        if (!all_finite(a, size) || lapack::gees(as_int(n), t.data(), z.data(), work) != 0) {
          fill_nan(x, size);
          continue;
        }
        root_of_triangle(n, t.data());
        lapack::gemm(Op::None, Op::None, as_int(n), as_int(n), as_int(n), z.data(), t.data(), half.data());
        lapack::gemm(Op::None, Op::Adjoint, as_int(n), as_int(n), as_int(n), half.data(), z.data(), t.data());
        std::copy_n(t.data(), size, x);
      }
    }
  });
}

// X dX + dX X = dA.
void sqrtm_jvp(const JvpRule& r) {
  const Array x = r.outs[0] = bind1(sqrtm_op, {}, {r.primals[0]});
  r.out_tangents[0] = bind1(sylvester_op, {}, {x, x, r.tangents[0]});
}

}  // namespace

const Op schur_op = {
    .name = "schur",
    .kind = OpKind::Index,
    .shape = two_squares_shape<schur_op>,
    .evaluate = schur_evaluate,
    .jvp = no_derivative<schur_op>,
    .batch = batch_matrices<schur_op>,
};

const Op hessenberg_op = {
    .name = "hessenberg",
    .kind = OpKind::Index,
    .shape = two_squares_shape<hessenberg_op>,
    .evaluate = hessenberg_evaluate,
    .jvp = no_derivative<hessenberg_op>,
    .batch = batch_matrices<hessenberg_op>,
};

const Op sylvester_op = {
    .name = "sylvester",
    .kind = OpKind::Index,
    .shape = sylvester_shape,
    .evaluate = sylvester_evaluate,
    .jvp = sylvester_jvp,
    .transpose = sylvester_transpose,
    .batch = batch_matrices<sylvester_op>,
};

const Op sqrtm_op = {
    .name = "sqrtm",
    .kind = OpKind::Index,
    .shape = sqrtm_shape,
    .evaluate = sqrtm_evaluate,
    .jvp = sqrtm_jvp,
    .batch = batch_matrices<sqrtm_op>,
};

}  // namespace apsis::detail
