// Which method a linear solve takes, and where its derivatives come from: direct methods are those of linalg,
// which have their own; iterations go through custom_linear_solve.

#include "apsis/solve/linear_solve.hpp"

#include <cmath>

#include "apsis/control/error_if.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/transform/vmap.hpp"
#include "solve/krylov.hpp"
#include "solve/sparse.hpp"

namespace apsis::detail {
namespace {

using Kind = LinearMethod::Kind;

const char* name_of_kind(Kind kind) {
  constexpr const char* names[] = {"Auto",     "Diagonal", "Banded", "Triangular", "LU",
                                   "Cholesky", "QR",       "SVD",    "SparseLU",   "CG",
                                   "NormalCG", "BiCGStab", "GMRES",  "LSMR"};
  return names[static_cast<std::size_t>(kind)];
}
bool is_iteration(Kind kind) { return kind >= Kind::CG; }
/// Those of the normal equations.
bool is_normal(Kind kind) { return kind == Kind::NormalCG || kind == Kind::LSMR; }

LinearMethod automatic(const LinearOperator& a) {
  const LinearTags& tags = a.tags();
  if (a.rows() < a.columns()) return method_of(linear::SVD{});
  if (a.rows() > a.columns()) return {Kind::QR};
  if (a.is_diagonal()) return {Kind::Diagonal};
  if (a.is_banded() || (a.is_sparse() && band_order(a.pattern()).is_narrow())) return {Kind::Banded};
  if (a.is_sparse() && has_sparse_lu()) return {Kind::SparseLU};
  if (tags.lower_triangular || tags.upper_triangular) return {Kind::Triangular};
  if (tags.positive_definite && a.is_written_out()) return {Kind::Cholesky};
  if (tags.positive_definite) return method_of(linear::CG{});
  return {Kind::LU};
}

void check(const LinearOperator& a, const Array& b, const LinearMethod& m, const LinearOptions& options,
           Loc loc) {
  if (a.is_empty()) fail(messages::operator_none, {}, loc);
  if (b.is_empty() || b.shape() != Shape{a.rows()})
    fail(messages::linear_solver_right,
         {b.is_empty() ? "empty" : to_string(b.aval()), size_of(a), std::to_string(a.rows())}, loc);
  check_operand("linear_solve", "b", b, a.dtype(), loc);
  auto refuse = [&](bool bad, const char* why) {
    if (bad) fail(messages::linear_solver_kind, {name_of_kind(m.kind), size_of(a), why}, loc);
  };
  const bool square = a.rows() == a.columns();
  const LinearTags& tags = a.tags();
  refuse(!square && m.kind != Kind::QR && m.kind != Kind::SVD && !is_normal(m.kind),
         "it takes square ones; take QR, SVD or NormalCG");
  refuse(m.kind == Kind::QR && a.rows() < a.columns(), "it has fewer rows than columns; take SVD");
  refuse(m.kind == Kind::Diagonal && !a.is_diagonal(), "make it by diagonal_operator");
  refuse(m.kind == Kind::Banded && !a.is_banded() && !a.is_sparse(),
         "make it by tridiagonal_operator or banded_operator");
  refuse(m.kind == Kind::SparseLU && !a.is_sparse(), "make it by sparse_operator or sparse_jacobian");
  if (m.kind == Kind::SparseLU) require_sparse_lu(has_sparse_lu(), loc);
  refuse(m.kind == Kind::Triangular && !tags.lower_triangular && !tags.upper_triangular,
         "tag it lower_triangular or upper_triangular");
  refuse((m.kind == Kind::Cholesky || m.kind == Kind::CG) && !tags.positive_definite,
         "tag it positive_definite, if it is");
  if (is_iteration(m.kind)) {
    const char* name = name_of_kind(m.kind);
    auto require = [&](bool good, const char* option, const std::string& value, const char* must) {
      if (!good) fail(messages::linear_solver_option, {std::string(name) + "." + option, value, must}, loc);
    };
    require(m.rtol >= 0 && std::isfinite(m.rtol), "rtol", to_text(m.rtol), "0 or more");
    require(m.atol >= 0 && std::isfinite(m.atol), "atol", to_text(m.atol), "0 or more");
    require(m.max_steps >= 1, "max_steps", std::to_string(m.max_steps), "1 or more");
    require(m.kind != Kind::GMRES || m.restart >= 1, "restart", std::to_string(m.restart), "1 or more");
  }
  const LinearOperator& p = options.preconditioner;
  if (p.is_empty()) return;
  refuse(!is_iteration(m.kind) || is_normal(m.kind), "it takes no preconditioner");
  if (p.rows() != a.rows() || p.columns() != a.columns() || p.dtype() != a.dtype())
    fail(messages::linear_solver_preconditioner, {size_and_dtype(p), size_and_dtype(a)}, loc);
}

Array direct(const LinearOperator& a, const Array& b, const LinearMethod& m) {
  const LinearTags& tags = a.tags();
  switch (m.kind) {
    case Kind::Diagonal:
      return b / a.diagonal();
    case Kind::Banded:
      return a.is_sparse() ? band_solve(a, band_order(a.pattern()), b)
                           : linalg::solve_banded(a.bandwidths(), a.bands(), b);
    case Kind::Triangular:
      return linalg::solve_triangular(a.as_matrix(), b,
                                      {.lower = tags.lower_triangular, .unit_diagonal = tags.unit_diagonal});
    case Kind::Cholesky:
      return linalg::cho_solve(linalg::cho_factor(a.as_matrix(), {.lower = true}), b);
    case Kind::QR: {
      const auto [q, r] = linalg::qr(a.as_matrix());
      return linalg::solve_triangular(r, matmul(b, q));
    }
    case Kind::SparseLU:
      return sparse_lu_solve(a, b);
    case Kind::SVD:
      return linalg::lstsq(a.as_matrix(), b, {.rtol = m.rtol}).x;
    default:
      return linalg::solve(a.as_matrix(), b);
  }
}

/// An iteration, by the map it is given: the operator, or its transpose in derivatives.
Array iterate(const LinearOperator& a, const Array& b, const LinearMethod& m, const LinearOperator& inverse) {
  const bool symmetric = m.kind == Kind::CG || m.kind == Kind::NormalCG;
  auto solve_by = [&](const LinearOperator& preconditioner) {
    return [&m, preconditioner](const auto& map, const Array& right) {
      auto precondition = [&](const Array& x) {
        return preconditioner.is_empty() ? x : preconditioner.mv(x);
      };
      const Apply apply(map), before(precondition);
      const Array unit = unit_of(right), scaled = right / unit, enough = allowed(right, m) / unit;
      return unit * (m.kind == Kind::BiCGStab ? bicgstab(apply, before, scaled, enough, m)
                     : m.kind == Kind::GMRES  ? gmres(apply, before, scaled, enough, m)
                                              : conjugate_gradients(apply, before, scaled, enough, m));
    };
  };
  auto map = [&](const Array& x) { return m.kind == Kind::NormalCG ? a.transpose().mv(a.mv(x)) : a.mv(x); };
  if (symmetric) return custom_linear_solve(map, b, solve_by(inverse), {.symmetric = true});
  return custom_linear_solve(map, b, solve_by(inverse),
                             solve_by(inverse.is_empty() ? inverse : inverse.transpose()));
}

/// LSMR, with the derivatives of the normal equations.
Array least_squares_by(const LinearOperator& a, const Array& b, const LinearMethod& m) {
  const LinearOperator transposed = a.transpose();
  const auto gradient = [&](const Array& x) { return transposed.mv(a.mv(x) - b); };
  const auto solve = [&](const auto&, const Array&) {
    const auto map = [&](const Array& x) { return a.mv(x); };
    const auto back = [&](const Array& x) { return transposed.mv(x); };
    const Array unit = unit_of(b), enough = allowed(transposed.mv(b), m) / unit;
    return unit * lsmr(Apply(map), Apply(back), b / unit, enough, m);
  };
  const auto tangent = [&](const auto& slope, const Array& right) {
    const auto same = [](const Array& x) { return x; };
    const Array unit = unit_of(right), enough = allowed(right, m) / unit;
    return unit * conjugate_gradients(Apply(slope), Apply(same), right / unit, enough, m);
  };
  return custom_root(gradient, zeros({a.columns()}, b.dtype()), solve, tangent);
}

}  // namespace

LinearSolution linear_solve_by(const LinearOperator& a, const Array& b, const LinearMethod& given,
                               const LinearOptions& options, Loc loc) {
  const LocScope place(loc);
  if (!a.is_empty() && b.ndim() == 2 && b.dim(0) == a.rows()) {
    const auto one = [&](const Array& column) { return linear_solve_by(a, column, given, options, loc); };
    LinearSolution all = vmap(one)(transpose(b));
    all.value = transpose(all.value);
    return all;
  }
  const LinearMethod m = given.kind == Kind::Auto ? automatic(a) : given;
  check(a, b, m, options, loc);
  const Array right = astype(b, a.dtype());
  if (!is_iteration(m.kind)) {
    const Array x = direct(a, right, m), missed = !all(isfinite(x));
    if (options.throw_) error_if(missed, messages::linear_not_finite, {}, loc);
    return {x, safe_norm(a.mv(x) - right), code_if(missed, NonlinearResult::MaxStepsReached)};
  }
  const bool normal = is_normal(m.kind);
  const Array target = normal ? a.transpose().mv(right) : right;
  const Array x =
      m.kind == Kind::LSMR ? least_squares_by(a, right, m) : iterate(a, target, m, options.preconditioner);
  const Array left = a.mv(x) - right, residual = safe_norm(normal ? a.transpose().mv(left) : left);
  // The residual that iterations carry drifts from this one by rounding.
  const Array enough = 10. * allowed(target, m), missed = !(residual <= enough && isfinite(residual));
  if (options.throw_)
    error_if(missed, messages::linear_not_solved, {stop_gradient(residual), stop_gradient(enough)}, loc);
  return {x, residual, code_if(missed, NonlinearResult::MaxStepsReached)};
}

}  // namespace apsis::detail

namespace apsis {

linalg::SlogdetResult slogdet(const LinearOperator& a, Loc loc) {
  const LocScope place(loc);
  if (a.is_empty()) fail(messages::operator_none, {}, loc);
  if (a.rows() != a.columns()) fail(messages::determinant_not_square, {detail::size_of(a)}, loc);
  const LinearTags& tags = a.tags();
  const auto by_diagonal = [](const Array& d) {
    return linalg::SlogdetResult{prod(sign(d)), sum(log(abs(d)))};
  };
  if (a.is_diagonal()) return by_diagonal(a.diagonal());
  const Array matrix = a.as_matrix();
  if (tags.unit_diagonal && (tags.lower_triangular || tags.upper_triangular))
    return {ones({}, a.dtype()), zeros({}, a.dtype())};
  if (tags.lower_triangular || tags.upper_triangular) return by_diagonal(linalg::diagonal(matrix));
  if (tags.positive_definite)
    return {ones({}, a.dtype()), 2. * sum(log(linalg::diagonal(linalg::cholesky(matrix))))};
  return linalg::slogdet(matrix);
}

}  // namespace apsis
