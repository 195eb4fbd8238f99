// Products of complex numbers along an axis, by doubling: log₂ n passes over the array.

#include "ops/complex_running.hpp"

#include "ops/complex.hpp"
#include "ops/reduce_params.hpp"
#include "ops/running.hpp"

namespace apsis::detail {

void cumprod_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<CumulativeParams>();
  const std::int64_t n = in[0].shape()[static_cast<std::size_t>(p.axis)];
  Array z = in[0];
  const auto entries = [&](std::int64_t start, std::int64_t limit) {
    return run_entries(z, p.axis, p.reverse, start, limit);
  };
  for (std::int64_t step = 1; step < n; step *= 2)
    z = run_of(entries(0, step), lax::mul(entries(step, n), entries(0, n - step)), p.axis, p.reverse);
  out[0] = z;
}

void cumsum_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (in.size() == 1) return on_each_part(cumsum_op, params, in, out);
  const auto& p = params.as<CumulativeParams>();
  const std::int64_t n = in[0].shape()[static_cast<std::size_t>(p.axis)];
  Array sums = in[0],
        factors = in[1];  // `factors`: by which what lies `step` entries before counts, from entry `step` on
  const auto entries = [&](const Array& x, std::int64_t start, std::int64_t limit) {
    return run_entries(x, p.axis, p.reverse, start, limit);
  };
  for (std::int64_t step = 1; step < n; step *= 2) {
    const Array before = lax::mul(factors, entries(sums, 0, n - step));
    sums = run_of(entries(sums, 0, step), lax::add(entries(sums, step, n), before), p.axis, p.reverse);
    if (2 * step < n) factors = lax::mul(entries(factors, step, n - step), entries(factors, 0, n - 2 * step));
  }
  out[0] = sums;
}

void reduce_prod_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const Dims& axes = params.as<ReduceParams>().axes;
  Dims order;
  Shape line;
  std::int64_t n = 1;
  for (std::int64_t axis = 0; axis < in[0].ndim(); ++axis) {
    const std::int64_t size = in[0].shape()[static_cast<std::size_t>(axis)];
    if (axes.contains(axis)) {
      n *= size;
    } else {
      order.push_back(axis);
      line.push_back(size);
    }
  }
  const Shape result = line;
  for (std::int64_t axis : axes) order.push_back(axis);
  if (n == 0) {
    out[0] = lax::full(result, in[0].dtype(), 1, in[0].weak());
    return;
  }
  const std::int64_t last = line.rank();
  line.push_back(n);
  Array z = lax::reshape(lax::transpose(in[0], order), line);
  const auto entries = [&](std::int64_t start, std::int64_t limit) {
    return run_entries(z, last, false, start, limit);
  };
  for (; n > 1; n -= n / 2) {
    const std::int64_t half = n / 2;
    const Array products = lax::mul(entries(0, half), entries(half, 2 * half));
    z = n % 2 == 0 ? products : run_of(products, entries(n - 1, n), last, false);
  }
  out[0] = lax::reshape(z, result);
}

}  // namespace apsis::detail
