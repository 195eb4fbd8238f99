#include "diffeq/brownian_bridge.hpp"

#include <cmath>
#include <vector>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"

namespace apsis::detail {
namespace {

/// h and k of [0, t] where [0, s] and [s, t] are known (Chen's relation).
PathValue joined(const PathLeaf& leaf, const PathValue& before, const Array& s, const Array& t,
                 const PathValue& more) {
  PathValue v{.w = before.w + more.w};
  if (leaf.areas == 0) return v;
  const Array bridge = leaf.of(t) * before.w - leaf.of(s) * v.w;
  v.h = before.h + more.h + 0.5 * bridge;
  if (leaf.areas > 1)
    v.k = before.k + more.k + leaf.of((t - s) / 2.) * before.h - leaf.of(s / 2.) * more.h +
          leaf.of((t - 2. * s) / 12.) * bridge;
  return v;
}

/// The factor L of a covariance L Lᵀ of three numbers, row by row; what rounding makes negative is 0.
struct Factor {
  Array ww, hw, hh, kw, kh, kk;
};
Factor factor_of(const Array& ww, const Array& wh, const Array& wk, const Array& hh, const Array& hk,
                 const Array& kk) {
  const auto root = [](const Array& x) { return sqrt(maximum(x, 0.)); };
  const auto quotient = [](const Array& a, const Array& b) {
    return where(b > 0., a / where(b > 0., b, 1.), 0.);
  };
  Factor f;
  f.ww = root(ww);
  f.hw = quotient(wh, f.ww);
  f.kw = quotient(wk, f.ww);
  f.hh = root(hh - f.hw * f.hw);
  f.kh = quotient(hk - f.kw * f.hw, f.hh);
  f.kk = root(kk - f.kw * f.kw - f.kh * f.kh);
  return f;
}

}  // namespace

PathNode PathLeaf::root(const Array& key) const {
  const Array keys = random::split(key, 2 + areas);
  PathNode n{.key = keys[0], .w = none(), .dw = draw(keys[1])};
  if (areas > 0) n.h = none(), n.dh = draw(keys[2]) / of(std::sqrt(12.));
  if (areas > 1) n.k = none(), n.dk = draw(keys[3]) / of(std::sqrt(720.));
  return n;
}

PathDraws PathLeaf::draws(const PathNode& n) const {
  const Array middle = random::fold_in(n.key, std::int64_t{1});
  if (areas == 0) return {draw(middle)};
  const Array keys = random::split(middle, 1 + areas);
  return {draw(keys[0]), draw(keys[1]), areas > 1 ? draw(keys[2]) : Array()};
}

Array PathLeaf::packed(const PathNode& n, const PathDraws& drawn) const {
  std::vector<Array> parts{n.w, n.dw, drawn.z};
  if (areas > 0) parts.insert(parts.end(), {n.h, n.dh, drawn.x1});
  if (areas > 1) parts.insert(parts.end(), {n.k, n.dk, drawn.x2});
  return stack(parts);
}
std::pair<PathNode, PathDraws> PathLeaf::unpacked(const Array& key, const Array& row) const {
  std::pair<PathNode, PathDraws> out{{.key = key, .w = row[0], .dw = row[1]}, {.z = row[2]}};
  auto& [n, drawn] = out;
  if (areas > 0) n.h = row[3], n.dh = row[4], drawn.x1 = row[5];
  if (areas > 1) n.k = row[6], n.dk = row[7], drawn.x2 = row[8];
  return out;
}

/// One half of an interval [s, u] of length su. Both halves have the same part of what is known of the whole,
/// and opposite parts of what is drawn. (Foster, Numerical approximations for stochastic differential
/// equations, thesis, Oxford 2020, theorem 6.1.6; with K by theorem 3.4 of arXiv:2405.06464.)
PathNode PathLeaf::half(const PathNode& n, const PathDraws& drawn, const Array& s, const Array& su,
                        const Array& right) const {
  const Array st = su / 2.;
  const auto side = [&](const Array& even, const Array& odd) { return where(right, even - odd, even + odd); };
  PathValue first;  // of the left half
  PathNode child{.key = random::fold_in(n.key, where(right, std::int64_t{0}, std::int64_t{2}))};
  if (areas == 0) {
    const Array even = 0.5 * n.dw, odd = of(sqrt(su) / 2.) * drawn.z;
    first.w = even + odd;
    child.dw = side(even, odd);
  } else if (areas == 1) {
    const Array z = drawn.z * of(sqrt(su) / 4.), x = drawn.x1 * of(sqrt(su / 12.));
    const Array even_w = n.dw / 2., odd_w = of(3. / (2. * su)) * n.dh + z;
    const Array even_h = n.dh / 8. - of(su / 4.) * z, odd_h = of(su / 4.) * x;
    first = {even_w + odd_w, even_h + odd_h};
    child.dw = side(even_w, odd_w), child.dh = side(even_h, odd_h);
  } else {
    const Array z = drawn.z * of(sqrt(su / 16.)), x1 = drawn.x1 * of(sqrt(su / 768.)),
                x2 = drawn.x2 * of(sqrt(su / 2880.));
    const Array even_w = n.dw / 2., odd_w = of(3. / (2. * su)) * n.dh + z;
    const Array even_h = n.dh / 8. - of(st / 2.) * z, odd_h = of(15. / (8. * su)) * n.dk + of(st) * x1;
    const Array even_k = n.dk / 32. - of(su * su / 8.) * x1, odd_k = of(su * su / 4.) * x2;
    first = {even_w + odd_w, even_h + odd_h, even_k + odd_k};
    child.dw = side(even_w, odd_w), child.dh = side(even_h, odd_h), child.dk = side(even_k, odd_k);
  }
  const PathValue middle_value = joined(*this, {n.w, n.h, n.k}, s, s + st, first);
  child.w = where(right, middle_value.w, n.w);
  if (areas > 0) child.h = where(right, middle_value.h, n.h);
  if (areas > 1) child.k = where(right, middle_value.k, n.k);
  return child;
}

/// The path at r, in an interval [s, u] of length su of the last level, given what is known of it. (Foster's
/// thesis, theorem 6.1.4; with K by theorem 3.7 of arXiv:2405.06464.)
PathValue PathLeaf::at(const PathNode& n, const Array& s, const Array& su, const Array& r) const {
  const Array sr = maximum(r - s, 0.), ru = maximum(su - sr, 0.);
  const Array p = sr / su, q = ru / su;  // where r is between the ends
  PathValue more;
  if (areas == 0) {
    more.w = of(p) * n.dw + of(sqrt(sr * ru / su)) * draw(n.key);
  } else if (areas == 1) {
    const Array keys = random::split(n.key, 2);
    const Array x1 = draw(keys[0]), x2 = draw(keys[1]);
    const Array p3 = p * p * p, q3 = q * q * q, d = sqrt(p3 + q3);
    const Array scale = sqrt(su * p * q) / (2. * d), a = scale * p3, b = scale * q3;
    more.w = of(p) * n.dw + of(6. * p * q / su) * n.dh + of(2. * (a + b)) * x1;
    more.h = of(p3) * n.dh - of(su * a) * x1 + of(su * sqrt(su * 3. * p3 * q3) / (6. * d)) * x2;
  } else {
    const Array keys = random::split(n.key, 3);
    const Array x = draw(keys[0]), y = draw(keys[1]), z = draw(keys[2]);
    const Array p2 = p * p, p3 = p2 * p, p5 = p3 * p2, q2 = q * q, pq = p * q, odd = p - q;
    const Factor f = factor_of(su * pq * (odd * odd * odd * odd + 4. * p2 * q2),
                               -0.5 * su * p3 * q * (p2 - 3. * pq + 6. * q2), su / 12. * p2 * p2 * q * odd,
                               su / 12. * p * (1. - p3 * (p2 + 2. * pq + 16. * q2)), -su / 24. * q * p5,
                               su / 720. * p * (1. - p5));
    more.w =
        of(p) * n.dw + of(6. * pq / su) * n.dh + of(120. * pq * (0.5 - p) / (su * su)) * n.dk + of(f.ww) * x;
    more.h = of(sr) * (of(p2 / su) * (n.dh + of(30. * q / su) * n.dk) + of(f.hw) * x + of(f.hh) * y);
    more.k = of(sr * sr) * (of(p3 / (su * su)) * n.dk + of(f.kw) * x + of(f.kh) * y + of(f.kk) * z);
  }
  return joined(*this, {n.w, n.h, n.k}, s, r, more);
}

}  // namespace apsis::detail
