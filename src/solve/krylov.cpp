// CG, BiCGStab, GMRES and LSMR, with preconditioners on the left of CG and on the right of the others.

#include "solve/krylov.hpp"

namespace apsis::detail {

Array allowed(const Array& b, const LinearMethod& m) {
  return m.atol + std::max(m.rtol, 4 * finfo(b.dtype()).eps) * safe_norm(b);
}

namespace {
Array ratio(const Array& a, const Array& b) { return where(b == 0., 0., a / where(b == 0., 1., b)); }
}  // namespace

Array conjugate_gradients(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
                          const LinearMethod& m) {
  struct State {
    Array x, r, p, rz, steps;
  };
  const Array z0 = precondition(b);
  const State end =
      while_loop([&](const State& s) { return norm(s.r) > enough && s.rz != 0. && s.steps < m.max_steps; },
                 [&](const State& s) {
                   const Array ap = a(s.p), alpha = ratio(s.rz, dot(s.p, ap));
                   const Array r = s.r - alpha * ap, z = precondition(r), rz = dot(r, z);
                   return State{s.x + alpha * s.p, r, z + ratio(rz, s.rz) * s.p, rz, s.steps + 1};
                 },
                 State{zeros_like(b), b, z0, dot(b, z0), count_of(0)});
  return end.x;
}

Array bicgstab(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
               const LinearMethod& m) {
  struct State {
    Array x, r, shadow, p, rho, steps;
  };
  const State end = while_loop(
      [&](const State& s) { return norm(s.r) > enough && s.steps < m.max_steps; },
      [&](const State& s) {
        // Where the shadow has become orthogonal, begin again with the residual (Sleijpen and Fokkema 1993).
        const Array lost = abs(s.rho) <= finfo(b.dtype()).eps * norm(s.r) * norm(s.shadow);
        const Array shadow = where(lost, s.r, s.shadow), p = where(lost, s.r, s.p);
        const Array rho = where(lost, dot(s.r, s.r), s.rho);
        const Array ph = precondition(p), v = a(ph), alpha = ratio(rho, dot(shadow, v));
        const Array half = s.r - alpha * v, sh = precondition(half), t = a(sh);
        const Array omega = ratio(dot(t, half), dot(t, t));
        const Array r = half - omega * t, next = dot(shadow, r);
        const Array beta = ratio(next, rho) * ratio(alpha, omega);
        return State{s.x + alpha * ph + omega * sh, r, shadow, r + beta * (p - omega * v), next, s.steps + 1};
      },
      State{zeros_like(b), b, b, b, dot(b, b), count_of(0)});
  return end.x;
}

Array gmres(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
            const LinearMethod& m) {
  const std::int64_t k = std::min<std::int64_t>(m.restart, b.size());
  struct Arnoldi {
    Array basis, h, j;  // [k + 1, n], [k, k + 1]
  };
  struct State {
    Array x, r, steps;
  };
  const State end =
      while_loop([&](const State& s) { return norm(s.r) > enough && s.steps < m.max_steps; },
                 [&](const State& s) {
                   const Array size = norm(s.r), rows = arange(k + 1);
                   const Array first = where(expand_dims(rows == 0, 1), s.r / where(size > 0., size, 1.),
                                             zeros({k + 1, b.size()}, b.dtype()));
                   const Arnoldi made = while_loop(
                       [&](const Arnoldi& v) { return v.j < k; },
                       [&](const Arnoldi& v) {
                         // Orthogonal to those before, twice, which is enough (Giraud, Langou and Rozložník
                         // 2005).
                         Array w = a(precondition(v.basis[v.j]));
                         const Array once = matmul(v.basis, w);
                         w = w - matmul(once, v.basis);
                         const Array twice = matmul(v.basis, w);
                         w = w - matmul(twice, v.basis);
                         const Array length = norm(w), next = rows == v.j + 1;
                         // Within rounding of what is spanned there is no new direction: the rest stays 0.
                         const Array fresh = length > 10 * finfo(b.dtype()).eps * norm(once);
                         const Array unit = where(fresh, w / where(length > 0., length, 1.), 0.);
                         const Array column = once + twice + where(next && fresh, length, 0.);
                         return Arnoldi{where(expand_dims(next, 1), unit, v.basis),
                                        where(expand_dims(arange(k) == v.j, 1), column, v.h), v.j + 1};
                       },
                       Arnoldi{first, zeros({k, k + 1}, b.dtype()), count_of(0)});
                   const Array target = where(rows == 0, size, 0.);
                   const Array y = linalg::lstsq(transpose(made.h), astype(target, b.dtype())).x;
                   const Array x = s.x + precondition(matmul(y, made.basis[range(0, k)]));
                   return State{x, b - a(x), s.steps + 1};
                 },
                 State{zeros_like(b), b, count_of(0)});
  return end.x;
}

namespace {
/// The rotation that takes (a, b) to (r, 0): c, s, r.
struct Rotation {
  Array c, s, r;
};
Rotation rotation(const Array& a, const Array& b) {
  const Array r = sqrt(a * a + b * b);
  return {where(r == 0., 1., ratio(a, r)), ratio(b, r), r};
}
}  // namespace

// The names are those of Fong and Saunders, LSMR: an iterative algorithm for sparse least-squares problems,
// SIAM J. Sci. Comput. 33, 2011, section 2.8.
Array lsmr(const Apply& a, const Apply& transpose, const Array& b, const Array& enough,
           const LinearMethod& m) {
  struct State {
    Array x, u, v, h, h_bar, alpha, alpha_bar, zeta_bar, rho, rho_bar, c_bar, s_bar, steps;
  };
  const auto unit = [](const Array& w, const Array& length) { return w / where(length == 0., 1., length); };
  const Array beta = norm(b), u = unit(b, beta), w = transpose(u), alpha = norm(w), v = unit(w, alpha);
  const Array one = ones_like(alpha);
  const State end = while_loop(
      [&](const State& s) { return abs(s.zeta_bar) > enough && s.steps < m.max_steps; },
      [&](const State& s) {
        const Array along = a(s.v) - s.alpha * s.u, beta_next = norm(along), u_next = unit(along, beta_next);
        const Array back = transpose(u_next) - beta_next * s.v, alpha_next = norm(back);
        const Array v_next = unit(back, alpha_next);
        const Rotation first = rotation(s.alpha_bar, beta_next);
        const Array theta = first.s * alpha_next, theta_bar = s.s_bar * first.r;
        const Rotation second = rotation(s.c_bar * first.r, theta);
        const Array zeta = second.c * s.zeta_bar;
        const Array h_bar = s.h - ratio(theta_bar * first.r, s.rho * s.rho_bar) * s.h_bar;
        return State{s.x + ratio(zeta, first.r * second.r) * h_bar,
                     u_next,
                     v_next,
                     v_next - ratio(theta, first.r) * s.h,
                     h_bar,
                     alpha_next,
                     first.c * alpha_next,
                     -second.s * s.zeta_bar,
                     first.r,
                     second.r,
                     second.c,
                     second.s,
                     s.steps + 1};
      },
      State{zeros_like(v), u, v, v, zeros_like(v), alpha, alpha, alpha * beta, one, one, one, zeros_like(one),
            count_of(0)});
  return end.x;
}

}  // namespace apsis::detail
