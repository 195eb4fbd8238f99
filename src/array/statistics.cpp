#include "apsis/array/statistics.hpp"

#include <algorithm>

#include "apsis/array/convolution.hpp"
#include "apsis/array/creation.hpp"
#include "apsis/array/product.hpp"
#include "apsis/array/reduce.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/sort.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// Σⱼ a[i + j] v[j] where v, the shorter one, lies inside of a with zeros around it.
Array sliding_product(const Array& a, const Array& v, std::int64_t before, std::int64_t after) {
  const std::int64_t n = before + a.size() + after - v.size() + 1;
  // Few terms are one loop over slices, and so are those of the derivatives.
  constexpr std::int64_t few = 32;
  if (v.size() <= few) {
    const Array padded = pad(a, {before}, {after});
    Array total = padded[range(0, n)] * v[0];
    for (std::int64_t j = 1; j < v.size(); ++j) total = total + padded[range(j, n + j)] * v[j];
    return total;
  }
  // More are a product of matrices: so many results side by side are a row, and rows of as many entries meet
  // v at as many places. Entries are channels, so that derivatives are such products, too.
  constexpr std::int64_t together = 16;
  const std::int64_t rows = (n + together - 1) / together, window = (v.size() + 2 * together - 2) / together;
  std::vector<Array> places;
  for (std::int64_t r = 0; r < together; ++r)
    places.push_back(pad(v, {r}, {window * together - v.size() - r}));
  const Array kernel = reshape(stack(places, 1), {window, together, together});
  const std::int64_t entries = (rows + window - 1) * together;
  const Array lines =
      reshape(pad(a, {before}, {entries - before - a.size()}), {1, entries / together, together});
  const Array results =
      conv_general_dilated(lines, kernel, {.padding = "VALID", .dimensions = {"NWC", "WIO", "NWC"}});
  return reshape(results, {rows * together})[range(0, n)];
}

void check_vectors(const char* where, const Array& a, const Array& b) {
  check_rank(where, a.ndim() == 1, "one axis", a);
  check_rank(where, b.ndim() == 1, "one axis", b);
  for (const Array& x : {a, b})
    if (x.size() == 0) fail(messages::array_few, {where, "1 entry", "axis 0", to_string(x.aval())});
}

/// NumPy's: as many entries before as the mode keeps of the full convolution, of a kernel of m entries.
std::pair<std::int64_t, std::int64_t> margins(ConvolveMode mode, std::int64_t m) {
  if (mode == ConvolveMode::Full) return {m - 1, m - 1};
  if (mode == ConvolveMode::Valid) return {0, 0};
  return {m / 2, m - m / 2 - 1};
}

}  // namespace

Array convolve(const Array& a, const Array& v, ConvolveMode mode, Loc loc) {
  const LocScope place(loc);
  check_vectors("convolve", a, v);
  const Array given[] = {a, v};
  std::vector<Array> operands = promoted(given);
  if (operands[0].size() < operands[1].size()) std::swap(operands[0], operands[1]);
  const auto [before, after] = margins(mode, operands[1].size());
  return sliding_product(operands[0], flip(operands[1]), before, after);
}

// Complex entries of `v` are conjugated. The longer operand slides otherwise, so that the result is the
// reverse.
Array correlate(const Array& a, const Array& v, ConvolveMode mode, Loc loc) {
  const LocScope place(loc);
  check_vectors("correlate", a, v);
  const Array given[] = {a, v};
  std::vector<Array> operands = promoted(given);
  operands[1] = conj(operands[1]);
  const auto [before, after] = margins(mode, std::min(a.size(), v.size()));
  if (a.size() >= v.size()) return sliding_product(operands[0], operands[1], before, after);
  return flip(sliding_product(operands[1], operands[0], before, after));
}

namespace {

/// The variables as rows.
Array as_rows(const char* where, const Array& x, bool rows) {
  check_rank(where, x.ndim() <= 2, "at most two axes", x);
  const Array matrix = atleast_2d(x);
  return rows || x.ndim() < 2 ? matrix : matrix_transpose(matrix);
}

void check_observations(const Array& weights, std::int64_t n, const Array& x) {
  if (weights.ndim() != 1 || weights.size() != n)
    fail(messages::array_sizes,
         {"cov", to_string(x.aval()), "weights " + to_string(weights.aval()), "give one an observation"});
}

}  // namespace

Array cov(const Array& x, const CovOptions& options, Loc loc) {
  const LocScope place(loc);
  Array rows = inexact(as_rows("cov", x, options.rows));
  if (!options.y.is_empty()) rows = concatenate({rows, inexact(as_rows("cov", options.y, options.rows))});
  const std::int64_t n = rows.dim(1);
  const Dtype dtype = rows.dtype();
  Array weights;
  if (!options.fweights.is_empty()) {
    check_observations(options.fweights, n, x);
    check_dtype("cov", is_integer(options.fweights.dtype()), "integers as fweights", options.fweights);
    weights = astype(options.fweights, dtype);
  }
  if (!options.aweights.is_empty()) {
    check_observations(options.aweights, n, x);
    const Array amounts = astype(options.aweights, dtype);
    weights = weights.is_empty() ? amounts : weights * amounts;
  }
  Array divisor, centred, weighted;
  if (weights.is_empty()) {
    centred = weighted = rows - mean(rows, {.axis = 1, .keepdims = true});
    divisor = Array(static_cast<double>(n) - options.ddof, dtype);
  } else {
    const Array total = sum(weights);
    centred = rows - expand_dims(matvec(rows, weights) / total, 1);
    weighted = centred * weights;
    divisor = options.aweights.is_empty()
                  ? total - options.ddof
                  : total - options.ddof * sum(weights * astype(options.aweights, dtype)) / total;
  }
  return squeeze(matmul(weighted, transpose(conj(centred))) / divisor);
}

Array corrcoef(const Array& x, const CorrcoefOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array c = cov(x, {.y = options.y, .rows = options.rows});
  if (c.ndim() == 0) return c / c;
  const Array deviation = sqrt(real(diagonal(c)));
  const Array r = c / expand_dims(deviation, 1) / deviation;
  if (!is_complex(r.dtype())) return clip(r, -1, 1);
  return complex(clip(real(r), -1, 1), clip(imag(r), -1, 1));
}

Array histogram_bin_edges(const Array& x, const HistogramOptions& options, Loc loc) {
  const LocScope place(loc);
  const Dtype dtype = inexact(x.dtype());
  if (!options.edges.is_empty()) {
    check_rank("histogram", options.edges.ndim() == 1, "one axis as edges", options.edges);
    return astype(options.edges, dtype);
  }
  check_count("histogram", options.bins);
  const bool none = x.size() == 0;
  const Array low = astype(!options.low.is_empty() ? options.low : none ? Array(0.) : min(x), dtype);
  const Array high = astype(!options.high.is_empty() ? options.high : none ? Array(1.) : max(x), dtype);
  const Array same = low == high;
  return linspace(where(same, low - 0.5, low), where(same, high + 0.5, high), options.bins + 1);
}

std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array values = ravel(inexact(x)), edges = histogram_bin_edges(values, options);
  Array weights = ones_like(values);
  if (!options.weights.is_empty()) {
    if (options.weights.shape() != x.shape())
      fail(messages::array_sizes, {"histogram", to_string(x.aval()),
                                   "weights " + to_string(options.weights.aval()), "give one an element"});
    weights = ravel(inexact(options.weights));
  }
  const std::int64_t bins = edges.size() - 1;
  // 0: below the first edge; what is on the last edge is in the last bin; NaN is past all.
  const Array bin = where(values == edges[-1], bins, searchsorted(edges, values, true));
  Array counts = part(zeros({bins + 1}, weights.dtype()).at(bin).add(weights), 0, 1, {});
  if (options.density) counts = counts / diff(edges) / sum(counts);
  return {counts, edges};
}

namespace {

/// The edges along axis `i` of d axes of points.
Array edges_along(const Array& coordinates, std::size_t i, std::size_t d, const HistogramddOptions& o) {
  const auto own = [d](std::size_t count, const std::string& what) {
    if (count != 1 && count != d)
      fail(messages::array_sizes, {"histogramdd", std::to_string(count) + " " + what,
                                   std::to_string(d) + " axes", "give one for all, or one an axis"});
    return count == 1;
  };
  const auto bound = [&](const Array& all, const char* what) {
    if (all.is_empty() || all.ndim() == 0) return all;
    check_rank("histogramdd", all.ndim() == 1, "one axis as bounds", all);
    return Array(all[own(static_cast<std::size_t>(all.size()), what) ? 0 : static_cast<std::int64_t>(i)]);
  };
  HistogramOptions along{.low = bound(o.low, "lower bounds"), .high = bound(o.high, "upper bounds")};
  if (!o.edges.empty())
    along.edges = o.edges[own(o.edges.size(), "vectors of edges") ? 0 : i];
  else
    along.bins = o.bins[own(o.bins.size(), "numbers of bins") ? 0 : i];
  return histogram_bin_edges(coordinates, along);
}

}  // namespace

std::pair<Array, std::vector<Array>> histogramdd(const Array& points, const HistogramddOptions& options,
                                                 Loc loc) {
  const LocScope place(loc);
  check_rank("histogramdd", points.ndim() == 2, "two axes as points", points);
  const Array x = inexact(points);
  const std::int64_t n = x.dim(0), d = x.dim(1);
  Array weights = ones({n}, x.dtype());
  if (!options.weights.is_empty()) {
    if (options.weights.shape() != Shape{n})
      fail(messages::array_sizes, {"histogramdd", to_string(points.aval()),
                                   "weights " + to_string(options.weights.aval()), "give one a point"});
    weights = inexact(options.weights);
  }
  std::vector<Array> edges;
  Array bin = zeros({n}, i64);  // row-major, of the bins and what is below and above them
  Shape sizes;
  for (std::int64_t i = 0; i < d; ++i) {
    const Array at = x(range(), i);
    edges.push_back(edges_along(at, static_cast<std::size_t>(i), static_cast<std::size_t>(d), options));
    const std::int64_t bins = edges.back().size() - 1;
    bin = bin * (bins + 2) + where(at == edges.back()[-1], bins, searchsorted(edges.back(), at, true));
    sizes.push_back(bins + 2);
  }
  Array counts = reshape(zeros({sizes.product()}, weights.dtype()).at(bin).add(weights), sizes);
  for (int i = 0; i < static_cast<int>(d); ++i) counts = part(counts, i, 1, -1);
  if (options.density) {
    counts = counts / sum(counts);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const Shape ones_but_own =
          with_size_at(Dims::filled(sizes.size(), 1), static_cast<int>(i), sizes[i] - 2);
      counts = counts / reshape(diff(edges[i]), ones_but_own);
    }
  }
  return {counts, edges};
}

Histogram2d histogram2d(const Array& x, const Array& y, const HistogramddOptions& options, Loc loc) {
  const LocScope place(loc);
  check_rank("histogram2d", x.ndim() == 1, "one axis", x);
  auto [counts, edges] = histogramdd(stack({x, y}, 1), options);
  return {counts, edges[0], edges[1]};
}

Array digitize(const Array& x, const Array& bins, bool right, Loc loc) {
  const LocScope place(loc);
  check_rank("digitize", bins.ndim() == 1, "one axis as bins", bins);
  const std::int64_t n = bins.size();
  if (n == 0) return zeros(x.shape(), i64);
  const Array up = searchsorted(bins, x, !right), down = n - searchsorted(flip(bins), x, !right);
  return where(bins[-1] >= bins[0], up, down);
}

}  // namespace apsis
