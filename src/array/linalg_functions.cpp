// Products and functions of matrices, and matrices of a form.

#include <cmath>

#include "apsis/array/creation.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/scan.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "array/linalg_support.hpp"
#include "array/messages.hpp"

namespace apsis::linalg {
using namespace detail::arrays;

Array matrix_power(const Array& a, std::int64_t n, Loc loc) {
  const LocScope place(loc);
  check_rank("matrix_power", a.ndim() >= 2, "two axes or more", a);
  if (a.dim(-1) != a.dim(-2)) fail(messages::array_square, {"matrix_power", to_string(a.aval())});
  if (n == 0) return identity_like(a);
  Array square = n < 0 ? inv(a) : a, power;
  for (std::uint64_t left = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);;) {
    if (left % 2 == 1) power = power.is_empty() ? square : matmul(power, square);
    left /= 2;
    if (left == 0) return power;
    square = matmul(square, square);
  }
}

namespace {

/// Cormen et al., Introduction to Algorithms, section 14.2: where to split each product of neighbours.
class ChainOrder {
 public:
  explicit ChainOrder(const std::vector<Array>& matrices) : matrices_(matrices), count_(matrices.size()) {
    splits_.assign(count_ * count_, 0);
    std::vector<double> costs(count_ * count_, 0);
    const auto size = [&](std::size_t i) {
      return static_cast<double>(i < count_ ? matrices_[i].dim(0) : matrices_[count_ - 1].dim(1));
    };
    for (std::size_t length = 2; length <= count_; ++length)
      for (std::size_t first = 0; first + length <= count_; ++first) {
        const std::size_t last = first + length - 1;
        double& least = costs[first * count_ + last];
        least = HUGE_VAL;
        for (std::size_t split = first; split < last; ++split) {
          const double cost = costs[first * count_ + split] + costs[(split + 1) * count_ + last] +
                              size(first) * size(split + 1) * size(last + 1);
          if (cost >= least) continue;
          least = cost;
          splits_[first * count_ + last] = split;
        }
      }
  }
  Array product() const { return product(0, count_ - 1); }

 private:
  Array product(std::size_t first, std::size_t last) const {
    if (first == last) return matrices_[first];
    const std::size_t split = splits_[first * count_ + last];
    return matmul(product(first, split), product(split + 1, last));
  }

  const std::vector<Array>& matrices_;
  std::size_t count_;
  std::vector<std::size_t> splits_;
};

}  // namespace

Array multi_dot(std::span<const Array> arrays, Loc loc) {
  const LocScope place(loc);
  if (arrays.empty()) fail(messages::array_empty, {"multi_dot"});
  std::vector<Array> factors(arrays.begin(), arrays.end());
  const bool row = factors.front().ndim() == 1, column = factors.back().ndim() == 1;
  if (factors.size() < 2) fail(messages::array_few, {"multi_dot", "2 entries", "the list", "arrays"});
  if (row) factors.front() = expand_dims(factors.front(), 0);
  if (column) factors.back() = expand_dims(factors.back(), 1);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    check_rank("multi_dot", factors[i].ndim() == 2, "two axes, or one at either end of the list", arrays[i]);
    if (i > 0 && factors[i - 1].dim(1) != factors[i].dim(0))
      fail(messages::array_sizes, {"multi_dot", to_string(arrays[i - 1].aval()), to_string(arrays[i].aval()),
                                   "the last axis of the one is as long as the first of the other"});
  }
  const Array product = ChainOrder(factors).product();
  Shape shape;
  if (!row) shape.push_back(product.dim(0));
  if (!column) shape.push_back(product.dim(1));
  return reshape(product, shape);
}
Array multi_dot(std::initializer_list<Array> arrays, Loc loc) { return multi_dot(span_of(arrays), loc); }

namespace {

/// Padé's approximant of degree m = 13 or 7: its coefficients, from that of the constant on, and the bound of
/// norms up to which its backward error is below the unit roundoff (Higham 2005, table 2.3).
struct Pade {
  std::vector<double> b;
  double theta, roundoff;
  int degree() const { return static_cast<int>(b.size()) - 1; }
};
const Pade pade13{
    {64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000.,
     10559470521600., 670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.},
    4.25,
    0x1p-53};
const Pade pade7{
    {17297280., 8648640., 1995840., 277200., 25200., 1512., 56., 1.}, 3.925724783138660, 0x1p-24};

Array one_norm(const Array& a) { return matrix_norm(a, {.ord = 1}); }

/// ‖Aᵖ‖^(1/p), of Aᵖ.
Array root_of_norm(const Array& power, int p) { return pow(one_norm(power), 1. / p); }

/// How often A is halved (Al-Mohy and Higham 2009, algorithm 5.1 and equation 3.11): by the norms of its
/// powers, and by what is lost where those are small but A is not.
Array squarings(const Pade& pade, const Array& a, const Array& a4, const Array& a6) {
  const Array d6 = root_of_norm(a6, 6), d8 = root_of_norm(matmul(a4, a4), 8);
  Array eta = maximum(d6, d8);
  if (pade.degree() == 13) eta = minimum(eta, maximum(d8, root_of_norm(matmul(a4, a6), 10)));
  const auto at_least_0 = [](const Array& x) { return clip(x, 0., 2000.); };
  const Array first = at_least_0(ceil(log2(eta / pade.theta)));
  // ‖|A|^(2m+1)‖₁ is that of a row of ones times |A|, again and again.
  const int m = pade.degree(), p = 2 * m + 1;
  const Array scaled = abs(a) * expand_dims(expand_dims(exp2(-first), -1), -1);
  Array row = ones_like(part(scaled, a.ndim() - 2, 0, 1));
  for (int i = 0; i < p; ++i) row = matmul(row, scaled);
  double c = 1;  // (m!)² / ((2m)! (2m + 1)!)
  for (int i = 1; i <= m; ++i) c *= i;
  c *= c;
  for (int i = 1; i <= 2 * m; ++i) c /= static_cast<double>(i) * i;
  c /= p;
  const Array alpha = c * max(row, {.axis = {-2, -1}}) / one_norm(scaled);
  const Array more = at_least_0(ceil(log2(alpha / pade.roundoff) / (2. * m)));
  return first + where(isnan(more), zeros_like(more), more);
}

/// c[0] + c[1] A² + c[2] A⁴ + c[3] A⁶ of the given powers and coefficients of even or odd index.
Array even_sum(const Pade& pade, int first, const std::vector<Array>& powers, std::size_t from,
               std::size_t to) {
  Array sum;
  for (std::size_t i = from; i < to; ++i) {
    const Array term = pade.b[2 * i + static_cast<std::size_t>(first)] * powers[i - from];
    sum = sum.is_empty() ? term : sum + term;
  }
  return sum;
}

Array expm_of(const Array& a) {
  const Pade& pade = real_dtype(a.dtype()) == f64 ? pade13 : pade7;
  const Array a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a2, a4);
  const Array count = stop_gradient(squarings(pade, stop_gradient(a), stop_gradient(a4), stop_gradient(a6)));
  const Array scale = expand_dims(expand_dims(exp2(-count), -1), -1), scale2 = scale * scale,
              scale4 = scale2 * scale2;
  const std::vector<Array> powers{identity_like(a), a2 * scale2, a4 * scale4, a6 * (scale2 * scale4)},
      higher(powers.begin() + 1, powers.end());
  Array u = even_sum(pade, 1, powers, 0, 4), v = even_sum(pade, 0, powers, 0, 4);
  if (pade.degree() == 13) {
    u = u + matmul(powers[3], even_sum(pade, 1, higher, 4, 7));
    v = v + matmul(powers[3], even_sum(pade, 0, higher, 4, 7));
  }
  u = matmul(a * scale, u);
  const Array quotient = solve(v - u, v + u);
  struct State {
    Array left, power;
  };
  const auto squared = while_loop([](const State& s) { return any(s.left > 0); },
                                  [](const State& s) {
                                    const Array going = expand_dims(expand_dims(s.left > 0, -1), -1);
                                    return State{s.left - 1, where(going, matmul(s.power, s.power), s.power)};
                                  },
                                  State{count, quotient});
  return squared.power;
}

}  // namespace

Array expm(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array x = square_matrices("expm", a);
  if (x.size() == 0) return x;
  const Array wide = item_size(x.dtype()) == 2 ? astype(x, f32) : x;
  const Array y = expm_of(wide);
  return y.dtype() == x.dtype() ? y : astype(y, x.dtype());
}

Array block_diag(std::span<const Array> arrays, Loc loc) {
  const LocScope place(loc);
  if (arrays.empty()) fail(messages::array_empty, {"block_diag"});
  std::vector<Array> blocks = promoted(arrays), rows;
  std::int64_t columns = 0, before = 0;
  for (Array& b : blocks) {
    check_rank("block_diag", b.ndim() <= 2, "at most two axes", b);
    b = atleast_2d(b);
    columns += b.dim(1);
  }
  for (const Array& b : blocks) {
    rows.push_back(pad(b, {0, before}, {0, columns - before - b.dim(1)}));
    before += b.dim(1);
  }
  return concatenate(rows, 0);
}
Array block_diag(std::initializer_list<Array> arrays, Loc loc) { return block_diag(span_of(arrays), loc); }

// Entry i, j is number i - j, counted from the first of c to its last or backwards through r.
Array toeplitz(const Array& c, const Array& r, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {c, r.is_empty() ? conj(c) : r};
  for (const Array& x : given) check_rank("toeplitz", x.ndim() >= 1, "an axis or more", x);
  const std::vector<Array> lines = promoted(given);
  const std::int64_t m = c.dim(-1), n = given[1].dim(-1);
  Shape shapes[] = {c.shape(), given[1].shape()};
  for (Shape& s : shapes) s.resize(s.size() - 1);
  const Shape leading = common_shape("toeplitz", shapes);
  const auto whole = [&](const Array& line) {
    Shape shape = leading;
    shape.push_back(line.dim(-1));
    return broadcast_to(line, shape);
  };
  const Array column = whole(lines[0]), row = whole(lines[1]);
  const int axis = column.ndim() - 1;
  const Array behind = n > 0 ? part(row, axis, 1, n) : row;
  const Array all = concatenate({flip(behind, axis), column}, axis);  // number i - j is at i - j + n - 1
  const Array places = expand_dims(arange(m), 1) - arange(n) + (n - 1);
  return take(all, places, axis);
}

EighResult eigh_tridiagonal(const Array& diagonal, const Array& below, Loc loc) {
  const LocScope place(loc);
  for (const Array& x : {diagonal, below})
    check_rank("eigh_tridiagonal", x.ndim() >= 1, "an axis or more", x);
  const std::int64_t n = diagonal.dim(-1);
  if (below.dim(-1) != n - 1)
    fail(messages::array_sizes, {"eigh_tridiagonal", to_string(diagonal.aval()), to_string(below.aval()),
                                 "they are [.., n] and [.., n - 1]"});
  const Array row = expand_dims(arange(n), 1), column = arange(n);
  Dims end = Dims::filled(below.shape().size(), 0);
  end[end.size() - 1] = 1;
  const Array next = pad(below, Dims::filled(below.shape().size(), 0), end);
  const Array lower = where(row == column + 1, expand_dims(next, -2), 0);  // which eigh reads alone
  return eigh(where(row == column, expand_dims(diagonal, -2), lower), {.symmetrize_input = false});
}

}  // namespace apsis::linalg

// Where F commutes with T, F's diagonal p follows from those before.
apsis::Array apsis::detail::function_of_triangle(const linalg::SchurResult& schur, const Array& values) {
  const Array& t = schur.t;
  const std::int64_t n = t.dim(-1);
  const Array offset = arange(n) - expand_dims(arange(n), 1), strict = triu(t, 1);
  const auto differences = [](const Array& x) { return expand_dims(x, -2) - expand_dims(x, -1); };
  const Array start = where(offset == 0, expand_dims(values, -2), zeros_like(t));
  const Array gaps = differences(linalg::diagonal(t)), first = strict * differences(values);
  const Array f = fori_loop(
      1, n,
      [&](const Array& p, const Array& known) {
        const Array above = triu(known, 1), sums = first + matmul(strict, above) - matmul(above, strict);
        return where(offset == p, where(gaps == 0, sums, sums / where(gaps == 0, 1, gaps)), known);
      },
      start);
  return matmul(matmul(schur.z, f), arrays::adjoint(schur.z));
}
