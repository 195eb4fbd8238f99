// Windows, convolutions, extremes and their places, segments, updates at places, and random draws.

#include <algorithm>
#include <cmath>

#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

std::size_t dim(const Shape& s, std::size_t axis) { return static_cast<std::size_t>(s[axis]); }

/// Entries of the first axis, each with the elements in it.
std::size_t entry_size(const Shape& s) { return static_cast<std::size_t>(s.product() / s[0]); }
Shape without_first(Shape s) {
  s.erase(0);
  return s;
}

bool choose_axes(Random&, const Shape& first, std::vector<double>&, Shapes&) { return !first.empty(); }
bool choose_two_alike(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {first};
  return !first.empty();
}
bool choose_entry_and_place(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  if (first.empty()) return false;
  others = {without_first(first), Shape{}};
  return true;
}
bool choose_place(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {Shape{}};
  return !first.empty();
}
bool choose_place_for_each(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  if (first.empty()) return false;
  others = {Shape{first[0]}};
  return true;
}

/// Of an array and a window of 2 by 2, with zeros around.
Tensor convolved(std::span<const Tensor> x, const Number& factor) {
  const std::int64_t rows = x[0].shape[0], columns = x[0].shape[1];
  Tensor r{Shape{rows + 1, columns + 1}, {}};
  for (std::int64_t i = 0; i <= rows; ++i)
    for (std::int64_t j = 0; j <= columns; ++j) {
      Number sum(0);
      for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t row = i - 1 + k / 2, column = j - 1 + k % 2;
        if (row >= 0 && row < rows && column >= 0 && column < columns)
          sum = sum + x[0].elements[static_cast<std::size_t>(row * columns + column)] *
                          x[1].elements[static_cast<std::size_t>(k)];
      }
      r.elements.push_back(factor * sum);
    }
  return r;
}

/// Calls of(the numbers of a line along the first axis) and makes an entry of each result.
template <class Line>
Tensor of_lines(const Tensor& x, const Line& of) {
  const std::size_t n = dim(x.shape, 0), size = entry_size(x.shape);
  std::vector<std::vector<Number>> results;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<Number> line;
    for (std::size_t k = 0; k < n; ++k) line.push_back(x.elements[k * size + i]);
    results.push_back(of(line));
  }
  Tensor r{x.shape, {}};
  r.shape[0] = static_cast<std::int64_t>(results[0].size());
  for (std::size_t k = 0; k < results[0].size(); ++k)
    for (std::size_t i = 0; i < size; ++i) r.elements.push_back(results[i][k]);
  return r;
}
Tensor without_axis(Tensor x) {
  x.shape.erase(0);
  return x;
}

/// Where the largest is; a rounding may decide among those nearly as large.
Number place_of_extreme(const std::vector<Number>& line, int sign) {
  std::size_t at = 0;
  const auto key = [&](std::size_t i) { return sign * line[i].value(); };
  for (std::size_t i = 1; i < line.size(); ++i)
    if (key(i) > key(at)) at = i;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (i != at && key(at) - key(i) <= 1e-9L * std::max(1.L, std::abs(key(at)))) account.ambiguous = true;
  return Number(static_cast<long double>(at));
}
bool above(const Number& x) {
  if (std::abs(x.value() - 0.2137L) < 1e-9L) account.ambiguous = true;
  return x.value() > 0.2137L;
}
Number larger(const Number& a, const Number& b) { return less(a, b) ? b : a; }
Number smaller(const Number& a, const Number& b) { return less(a, b) ? a : b; }

constexpr std::int64_t window = 2;
/// Combines each two neighbours along the first axis.
template <class Combine>
Tensor neighbours(const Tensor& x, const Combine& combine) {
  return of_lines(x, [&](const std::vector<Number>& line) {
    std::vector<Number> r;
    for (std::size_t k = 0; k + 1 < line.size(); ++k) r.push_back(combine(line[k], line[k + 1]));
    return r;
  });
}
bool choose_windows(Random&, const Shape& first, std::vector<double>&, Shapes&) {
  return !first.empty() && first[0] >= window;
}
WindowOptions windows_of(const Array& x) {
  Dims sizes = Dims::filled(x.shape().size(), 1);
  sizes[0] = window;
  return {.window = PerAxis(sizes)};
}

/// Entry `at` of the first axis becomes combine(it, value); beyond the axis nothing happens.
template <class Combine>
Tensor updated(Tensors x, const Combine& combine) {
  Tensor r = x[0];
  const auto at = static_cast<std::size_t>(as_index(x[2]));
  const std::size_t size = entry_size(r.shape);
  if (at < dim(r.shape, 0))
    for (std::size_t i = 0; i < size; ++i) {
      Number& e = r.elements[at * size + i];
      e = combine(e, x[1].elements[i]);
    }
  return r;
}

constexpr std::int64_t segments = 4;
template <class Combine>
Tensor by_segments(Tensors x, long double none, const Combine& combine) {
  const std::size_t size = entry_size(x[0].shape);
  Tensor r{x[0].shape, std::vector<Number>(segments * size, Number(none))};
  r.shape[0] = segments;
  for (std::size_t k = 0; k < dim(x[0].shape, 0); ++k) {
    const auto segment = static_cast<std::size_t>(as_index(x[1], k));
    if (segment >= segments) continue;
    for (std::size_t i = 0; i < size; ++i) {
      Number& e = r.elements[segment * size + i];
      e = combine(e, x[0].elements[k * size + i]);
    }
  }
  return r;
}

/// Numbers of a shape, drawn by a key that the program computes.
Array drawn(int kind, const Array& seed, const Shape& shape, Dtype t) {
  const Array key = random::key(seed);
  switch (kind) {
    case 0:
      return random::uniform(key, shape, t);
    case 1:
      return random::normal(key, shape, t);
    case 2:
      return random::exponential(key, shape, t);
    case 3:
      return random::gumbel(key, shape, t);
    case 4:
      return random::laplace(key, shape, t);
    case 5:
      return random::gamma(key, 2.5, shape, t);
    case 6:
      return random::beta(key, 2., 0.75, shape, t);
    case 7:
      return random::logistic(key, shape, t);
    case 8:
      return random::truncated_normal(key, -1, 2, shape, t);
    case 9:
      return astype(random::bernoulli(key, 0.3, shape), t);
    case 10:
      return astype(random::randint(key, shape, 0, 7), t);
    case 11:
      return astype(random::poisson(key, 2.5, shape), t);
    case 12:
      return astype(random::rademacher(key, shape), t);
    case 13:
      return random::binomial(key, 7., 0.4, shape, t);
    case 14:
      return reshape(astype(random::permutation(key, shape.product()), t), shape);
    case 15:
      return random::triangular(key, -1., 0.5, 2., shape, t);
    case 16:
      return astype(random::categorical(key, zeros({5}), -1, shape), t);
    default:
      return astype(random::geometric(random::fold_in(key, 7), 0.6, shape), t);
  }
}
constexpr std::int64_t distributions = 18;

Array shape_of_gamma(const Array& x) { return 1.25 + square(apsis::tanh(x)); }

/// The draw as a function of the parameter, whose probability stays: Newton's steps on the regularised
/// incomplete gamma function, from its series (DLMF 8.7.1).
Number moving_draw(const Number& a, long double draw) {
  const auto below = [](const Number& at, const Number& x) {
    const Number log_x = log(x);
    Number sum(0);
    for (int k = 0; k < 80; ++k) sum = sum + exp((at + Number(k)) * log_x - x - lgamma(at + Number(k + 1)));
    return sum;
  };
  const long double probability = below(Number(a.value()), Number(draw)).value();
  Number x(draw);
  for (int i = 0; i < 3; ++i) {
    const Number density = exp((a - Number(1)) * log(x) - x - lgamma(a));
    x = x - (below(a, x) - Number(probability)) / density;
  }
  return x;
}

const ArrayOp table[] = {
    {"argmax", choose_axes,
     [](Arrays x, Statics, const Array&) { return astype(argmax(x[0], {.axis = 0}), x[0].dtype()); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return without_axis(
           of_lines(x[0], [](const auto& line) { return std::vector<Number>{place_of_extreme(line, 1)}; }));
     }},
    {"argmin", choose_axes,
     [](Arrays x, Statics, const Array&) { return astype(argmin(x[0], {.axis = 0}), x[0].dtype()); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return without_axis(
           of_lines(x[0], [](const auto& line) { return std::vector<Number>{place_of_extreme(line, -1)}; }));
     }},
    {"all_above", choose_axes,
     [](Arrays x, Statics, const Array&) { return astype(all(x[0] > 0.2137, {.axis = 0}), x[0].dtype()); },
     false, nullptr,
     [](Tensors x, Statics) {
       return without_axis(of_lines(x[0], [](const auto& line) {
         return std::vector<Number>{Number(std::ranges::all_of(line, above))};
       }));
     }},
    {"any_above", choose_axes,
     [](Arrays x, Statics, const Array&) { return astype(any(x[0] > 0.2137, {.axis = 0}), x[0].dtype()); },
     false, nullptr,
     [](Tensors x, Statics) {
       return without_axis(of_lines(x[0], [](const auto& line) {
         return std::vector<Number>{Number(std::ranges::any_of(line, above))};
       }));
     }},
    {"cummin", choose_axes, [](Arrays x, Statics, const Array&) { return cummin(x[0], {.axis = 0}); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return of_lines(x[0], [](std::vector<Number> line) {
         for (std::size_t k = 1; k < line.size(); ++k) line[k] = smaller(line[k - 1], line[k]);
         return line;
       });
     }},
    {"cumlogsumexp", choose_axes,
     [](Arrays x, Statics, const Array&) { return cumlogsumexp(apsis::tanh(x[0]), {.axis = 0}); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return of_lines(x[0], [](std::vector<Number> line) {
         Number sum(0);
         for (Number& e : line) {
           sum = sum + exp(tanh(e));
           e = log(sum);
         }
         return line;
       });
     }},
    {"window_sum", choose_windows,
     [](Arrays x, Statics, const Array&) { return reduce_window_sum(x[0], windows_of(x[0])); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return neighbours(x[0], [](const Number& a, const Number& b) { return a + b; });
     }},
    {"window_max", choose_windows,
     [](Arrays x, Statics, const Array&) { return reduce_window_max(x[0], windows_of(x[0])); }, false,
     nullptr, [](Tensors x, Statics) { return neighbours(x[0], larger); }},
    {"window_min", choose_windows,
     [](Arrays x, Statics, const Array&) { return reduce_window_min(x[0], windows_of(x[0])); }, false,
     nullptr, [](Tensors x, Statics) { return neighbours(x[0], smaller); }},
    // With zeros around, so that the result has a row and a column more. All channels and features are of one
    // image and one window: so many that the op is met, but for the smallest images.
    {"convolution",
     [](Random&, const Shape& first, std::vector<double>&, Shapes& others) {
       others = {Shape{2, 2}};
       return first.size() == 2 && first.product() <= 64;
     },
     [](Arrays x, Statics, const Array&) {
       const Dtype dtype = x[0].dtype();
       const Array channels = reshape(astype(arange(8.) * 0.125, dtype), {1, 8, 1, 1}),
                   features = reshape(astype(arange(16.) * 0.0625 - 0.25, dtype), {16, 1, 1, 1});
       const Array kernel = features * x[1] * ones({1, 8, 1, 1}, x[1].dtype());
       return sum(conv_general_dilated(channels * x[0], kernel, {.padding = 1}), {.axis = {0, 1}});
     },
     false, nullptr, [](Tensors x, Statics) { return convolved(x, Number(3.5 * 3.5)); }},
    {"sorted_by", choose_two_alike, [](Arrays x, Statics, const Array&) { return sort(x, 0)[1]; }, false,
     nullptr,
     [](Tensors x, Statics) {
       Tensor r = x[1];
       const std::size_t n = dim(r.shape, 0), size = entry_size(r.shape);
       for (std::size_t i = 0; i < size; ++i) {
         std::vector<std::size_t> order;
         for (std::size_t k = 0; k < n; ++k) order.push_back(k * size + i);
         // Keys that are alike up to rounding stand in any order.
         const auto before = [&](std::size_t a, std::size_t b) {
           const long double gap = x[0].elements[a].value() - x[0].elements[b].value();
           if (a != b && std::abs(gap) < 1e-9L) account.ambiguous = true;
           return gap < 0;
         };
         std::ranges::stable_sort(order, before);
         for (std::size_t k = 0; k < n; ++k) r.elements[k * size + i] = x[1].elements[order[k]];
       }
       return r;
     }},
    {"top_two", choose_windows, [](Arrays x, Statics, const Array&) { return top_k(x[0], 2, 0).first; },
     false, nullptr,
     [](Tensors x, Statics) {
       return of_lines(x[0], [](std::vector<Number> line) {
         std::ranges::stable_sort(line, [](const Number& a, const Number& b) { return less(b, a); });
         line.resize(2);
         return line;
       });
     }},
    {"slice_at", choose_place,
     [](Arrays x, Statics, const Array&) {
       return dynamic_slice_in_dim(x[0], x[1], std::max<std::int64_t>(1, x[0].dim(0) - 1));
     },
     true},
    {"slice_written_at", choose_entry_and_place,
     [](Arrays x, Statics, const Array&) {
       return dynamic_update_slice_in_dim(x[0], expand_dims(x[1], 0), x[2]);
     },
     true},
    {"entry_going_round", choose_place,
     [](Arrays x, Statics, const Array&) { return x[0].at(x[1]).get(IndexMode::Wrap); }, true},
    {"entry_multiplied", choose_entry_and_place,
     [](Arrays x, Statics, const Array&) { return x[0].at(x[2]).multiply(x[1]); }, true, nullptr,
     [](Tensors x, Statics) { return updated(x, [](const Number& a, const Number& b) { return a * b; }); }},
    {"entry_raised", choose_entry_and_place,
     [](Arrays x, Statics, const Array&) {
       return apsis::stop_gradient(x[0]).at(x[2]).max(apsis::stop_gradient(x[1]));
     },
     true, nullptr,
     [](Tensors x, Statics) {
       Tensor r = updated(
           x, [](const Number& a, const Number& b) { return Number(std::max(a.value(), b.value())); });
       for (Number& e : r.elements) e = Number(e.value());
       return r;
     }},
    {"segment_sum", choose_place_for_each,
     [](Arrays x, Statics, const Array&) { return segment_sum(x[0], x[1], {.segments = segments}); }, true,
     nullptr,
     [](Tensors x, Statics) {
       return by_segments(x, 0, [](const Number& a, const Number& b) { return a + b; });
     }},

    {"times_draw",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes& others) {
       numbers = {static_cast<double>(random.below(distributions))};
       return choose_place(random, first, numbers, others);
     },
     [](Arrays x, Statics n, const Array&) {
       return x[0] * drawn(static_cast<int>(n[0]), x[1], x[0].shape(), x[0].dtype());
     },
     true, nullptr,
     [](Tensors x, Statics n) {
       const std::vector<double> draws =
           drawn(static_cast<int>(n[0]), array(as_index(x[1])), x[0].shape, f64).to_vector<double>();
       Tensor r = x[0];
       for (std::size_t i = 0; i < draws.size(); ++i) r.elements[i] = r.elements[i] * Number(draws[i]);
       return r;
     }},
    {"gamma_draw",
     [](Random&, const Shape& first, std::vector<double>&, Shapes& others) {
       others = {Shape{}};
       return first.product() <= 6;
     },
     [](Arrays x, Statics, const Array&) {
       return random::gamma(random::key(x[1]), shape_of_gamma(x[0]), x[0].shape(), x[0].dtype());
     },
     true, nullptr,
     [](Tensors x, Statics) {
       Tensor r = x[0];
       std::vector<double> parameters;
       for (Number& e : r.elements) {
         e = Number(1.25) + tanh(e) * tanh(e);
         parameters.push_back(static_cast<double>(e.value()));
       }
       const std::vector<double> draws =
           random::gamma(random::key(array(as_index(x[1]))), reshape(array(parameters), r.shape), r.shape)
               .to_vector<double>();
       for (std::size_t i = 0; i < draws.size(); ++i) r.elements[i] = moving_draw(r.elements[i], draws[i]);
       return r;
     }},
};

}  // namespace

std::span<const ArrayOp> fold_ops() { return table; }

}  // namespace apsis::compositions
