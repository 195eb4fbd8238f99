#include "compositions/ops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

std::size_t dim(const Shape& s, std::size_t axis) { return static_cast<std::size_t>(s[axis]); }
std::size_t count(const Shape& s) { return static_cast<std::size_t>(s.product()); }
int whole_number(double x) { return static_cast<int>(x); }

/// Rows of an axis: the elements before, along and behind it.
struct Extents {
  std::size_t outer = 1, along, inner = 1;
  Extents(const Shape& s, std::size_t axis) : along(dim(s, axis)) {
    for (std::size_t i = 0; i < axis; ++i) outer *= dim(s, i);
    for (std::size_t i = axis + 1; i < s.size(); ++i) inner *= dim(s, i);
  }
  std::size_t at(std::size_t o, std::size_t k, std::size_t i) const { return (o * along + k) * inner + i; }
};

bool choose_axis(Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
  if (first.empty()) return false;
  numbers = {static_cast<double>(random.below(first.rank()))};
  return true;
}
bool choose_two_along_axis(Random& random, const Shape& first, std::vector<double>& numbers, Shapes& others) {
  others = {first};
  return first.product() < 100 && first.rank() < 4 && choose_axis(random, first, numbers, others);
}

/// Combines the elements along the axis numbers[0] from the first on.
template <class Combine>
Tensor folded(const Tensor& x, Statics numbers, Combine&& combine) {
  const auto axis = static_cast<std::size_t>(numbers[0]);
  const Extents e(x.shape, axis);
  Tensor r{x.shape, {}};
  r.shape.erase(axis);
  for (std::size_t o = 0; o < e.outer; ++o)
    for (std::size_t i = 0; i < e.inner; ++i) {
      Number sum = x.elements[e.at(o, 0, i)];
      for (std::size_t k = 1; k < e.along; ++k) sum = combine(sum, x.elements[e.at(o, k, i)]);
      r.elements.push_back(sum);
    }
  return r;
}
Number larger(const Number& a, const Number& b) { return less(a, b) ? b : a; }
Number smaller(const Number& a, const Number& b) { return less(a, b) ? a : b; }

/// Each element along the axis numbers[0] combined with those before it.
template <class Combine>
Tensor cumulative(const Tensor& x, Statics numbers, Combine&& combine) {
  Tensor r = x;
  const Extents e(r.shape, static_cast<std::size_t>(numbers[0]));
  for (std::size_t o = 0; o < e.outer; ++o)
    for (std::size_t k = 1; k < e.along; ++k)
      for (std::size_t i = 0; i < e.inner; ++i)
        r.elements[e.at(o, k, i)] = combine(r.elements[e.at(o, k - 1, i)], r.elements[e.at(o, k, i)]);
  return r;
}
Tensor sorted(std::span<const Tensor> in, Statics numbers) {
  Tensor r = in[0];
  const Extents e(r.shape, static_cast<std::size_t>(numbers[0]));
  for (std::size_t o = 0; o < e.outer; ++o)
    for (std::size_t i = 0; i < e.inner; ++i) {
      std::vector<Number> row;
      for (std::size_t k = 0; k < e.along; ++k) row.push_back(r.elements[e.at(o, k, i)]);
      std::ranges::stable_sort(row, less);
      for (std::size_t k = 0; k < e.along; ++k) r.elements[e.at(o, k, i)] = row[k];
    }
  return r;
}
Tensor product(std::span<const Tensor> in, Statics) {  // of a matrix or vector and a matrix or vector
  const Tensor &a = in[0], &b = in[1];
  const std::size_t n = dim(b.shape, 0), rows = count(a.shape) / n, columns = count(b.shape) / n;
  Tensor r{a.shape, std::vector<Number>(rows * columns)};
  r.shape.erase(a.shape.size() - 1);
  if (b.shape.size() == 2) r.shape.push_back(b.shape[1]);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < n; ++k)
        r.elements[i * columns + j] =
            r.elements[i * columns + j] + a.elements[i * n + k] * b.elements[k * columns + j];
  return r;
}
Tensor added_at(std::span<const Tensor> in, Statics) {
  Tensor r = in[0];
  const auto at = static_cast<std::size_t>(as_index(in[2]));
  const std::size_t row = in[1].elements.size();
  if (at < dim(r.shape, 0))
    for (std::size_t i = 0; i < row; ++i)
      r.elements[at * row + i] = r.elements[at * row + i] + in[1].elements[i];
  return r;
}

Shape without_first(const Shape& s) {
  Shape r = s;
  r.erase(0);
  return r;
}
bool choose_row(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  if (first.empty()) return false;
  others = {Shape{}};
  return true;
}
bool choose_row_and_value(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  if (first.empty()) return false;
  others = {without_first(first), Shape{}};
  return true;
}

const ArrayOp table[] = {
    elementwise<1>(
        "neg", [](Arrays x, Statics, const Array&) { return -x[0]; }, [](Numbers x) { return -x[0]; }),
    elementwise<1>(
        "sin", [](Arrays x, Statics, const Array&) { return apsis::sin(x[0]); },
        [](Numbers x) { return sin(x[0]); }),
    elementwise<1>(
        "cos", [](Arrays x, Statics, const Array&) { return apsis::cos(x[0]); },
        [](Numbers x) { return cos(x[0]); }),
    elementwise<1>(
        "tanh", [](Arrays x, Statics, const Array&) { return apsis::tanh(x[0]); },
        [](Numbers x) { return tanh(x[0]); }),
    elementwise<1>(
        "exp_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::exp(apsis::tanh(x[0])); },
        [](Numbers x) { return exp(tanh(x[0])); }),
    elementwise<1>(
        "logistic", [](Arrays x, Statics, const Array&) { return logistic(x[0]); },
        [](Numbers x) { return reciprocal(Number(1) + exp(-x[0])); }),
    elementwise<1>(
        "log_of_square", [](Arrays x, Statics, const Array&) { return apsis::log(1.5 + square(x[0])); },
        [](Numbers x) { return log(Number(1.5) + x[0] * x[0]); }),
    elementwise<1>(
        "log1p_of_square", [](Arrays x, Statics, const Array&) { return log1p(x[0] * x[0]); },
        [](Numbers x) { return log(Number(1) + x[0] * x[0]); }),
    elementwise<1>(
        "root", [](Arrays x, Statics, const Array&) { return apsis::sqrt(1.25 + x[0] * x[0]); },
        [](Numbers x) { return sqrt(Number(1.25) + x[0] * x[0]); }),
    elementwise<1>(
        "tan_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::tan(apsis::tanh(x[0])); },
        [](Numbers x) { return sin(tanh(x[0])) / cos(tanh(x[0])); }),
    elementwise<1>(
        "sinh_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::sinh(apsis::tanh(x[0])); },
        [](Numbers x) { return (exp(tanh(x[0])) - exp(-tanh(x[0]))) / Number(2); }),
    elementwise<1>(
        "cosh_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::cosh(apsis::tanh(x[0])); },
        [](Numbers x) { return (exp(tanh(x[0])) + exp(-tanh(x[0]))) / Number(2); }),
    elementwise<1>(
        "expm1_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::expm1(apsis::tanh(x[0])); },
        [](Numbers x) { return exp(tanh(x[0])) - Number(1); }),
    elementwise<1>(
        "exp2_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::exp2(apsis::tanh(x[0])); },
        [](Numbers x) { return exp(tanh(x[0]) * Number(std::log(2.L))); }),
    elementwise<1>(
        "log2_of_square", [](Arrays x, Statics, const Array&) { return apsis::log2(1.5 + square(x[0])); },
        [](Numbers x) { return log(Number(1.5) + x[0] * x[0]) / Number(std::log(2.L)); }),
    elementwise<1>(
        "asinh_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::asinh(apsis::tanh(x[0])); },
        [](Numbers x) { return log(tanh(x[0]) + sqrt(Number(1) + tanh(x[0]) * tanh(x[0]))); }),
    elementwise<1>(
        "atanh_of_tanh",
        [](Arrays x, Statics, const Array&) { return apsis::atanh(0.5 * apsis::tanh(x[0])); },
        [](Numbers x) { return log((Number(2) + tanh(x[0])) / (Number(2) - tanh(x[0]))) / Number(2); }),
    elementwise<1>(
        "asin_of_tanh", [](Arrays x, Statics, const Array&) { return apsis::asin(0.5 * apsis::tanh(x[0])); },
        [](Numbers x) { return atan(tanh(x[0]) / sqrt(Number(4) - tanh(x[0]) * tanh(x[0]))); }),
    elementwise<1>(
        "acosh_of_square", [](Arrays x, Statics, const Array&) { return apsis::acosh(1.5 + square(x[0])); },
        [](Numbers x) {
          const Number y = Number(1.5) + x[0] * x[0];
          return log(y + sqrt(y * y - Number(1)));
        }),
    elementwise<1>(
        "atan", [](Arrays x, Statics, const Array&) { return apsis::atan(x[0]); },
        [](Numbers x) { return atan(x[0]); }),
    elementwise<1>(
        "erf", [](Arrays x, Statics, const Array&) { return apsis::erf(x[0]); },
        [](Numbers x) { return erf(x[0]); }),
    elementwise<1>(
        "inverse_root", [](Arrays x, Statics, const Array&) { return rsqrt(1.25 + square(x[0])); },
        [](Numbers x) { return reciprocal(sqrt(Number(1.25) + x[0] * x[0])); }),
    elementwise<1>(
        "cube_root", [](Arrays x, Statics, const Array&) { return apsis::cbrt(1.25 + square(x[0])); },
        [](Numbers x) { return exp(log(Number(1.25) + x[0] * x[0]) / Number(3)); }),
    elementwise<1>(
        "abs", [](Arrays x, Statics, const Array&) { return apsis::abs(x[0]); },
        [](Numbers x) { return larger(x[0], -x[0]); }),
    elementwise<1>(
        "stop_gradient", [](Arrays x, Statics, const Array&) { return apsis::stop_gradient(x[0]); },
        [](Numbers x) { return Number(x[0].value()); }),
    elementwise<2>(
        "add", [](Arrays x, Statics, const Array&) { return x[0] + x[1]; },
        [](Numbers x) { return x[0] + x[1]; }),
    elementwise<2>(
        "sub", [](Arrays x, Statics, const Array&) { return x[0] - x[1]; },
        [](Numbers x) { return x[0] - x[1]; }),
    elementwise<2>(
        "mul", [](Arrays x, Statics, const Array&) { return x[0] * x[1]; },
        [](Numbers x) { return x[0] * x[1]; }),
    elementwise<2>(
        "div", [](Arrays x, Statics, const Array&) { return x[0] / (1.5 + x[1] * x[1]); },
        [](Numbers x) { return x[0] / (Number(1.5) + x[1] * x[1]); }),
    elementwise<2>(
        "pow",
        [](Arrays x, Statics, const Array&) { return apsis::pow(1.25 + x[0] * x[0], apsis::tanh(x[1])); },
        [](Numbers x) { return exp(log(Number(1.25) + x[0] * x[0]) * tanh(x[1])); }),
    elementwise<2>(
        "maximum", [](Arrays x, Statics, const Array&) { return maximum(x[0], x[1]); },
        [](Numbers x) { return larger(x[0], x[1]); }),
    elementwise<2>(
        "minimum", [](Arrays x, Statics, const Array&) { return minimum(x[0], x[1]); },
        [](Numbers x) { return smaller(x[0], x[1]); }),
    elementwise<2>(
        "atan2", [](Arrays x, Statics, const Array&) { return apsis::atan2(x[0], 1.5 + square(x[1])); },
        [](Numbers x) { return atan(x[0] / (Number(1.5) + x[1] * x[1])); }),
    elementwise<2>(
        "hypot", [](Arrays x, Statics, const Array&) { return apsis::hypot(x[0], 1.5 + square(x[1])); },
        [](Numbers x) {
          const Number y = Number(1.5) + x[1] * x[1];
          return sqrt(x[0] * x[0] + y * y);
        }),
    elementwise<2>(
        "logaddexp",
        [](Arrays x, Statics, const Array&) { return logaddexp(apsis::tanh(x[0]), apsis::tanh(x[1])); },
        [](Numbers x) { return log(exp(tanh(x[0])) + exp(tanh(x[1]))); }),
    elementwise<3>(
        "fma", [](Arrays x, Statics, const Array&) { return fma(x[0], x[1], x[2]); },
        [](Numbers x) { return x[0] * x[1] + x[2]; }),
    elementwise<3>(
        "choose", [](Arrays x, Statics, const Array&) { return where(x[0] < x[1], x[1], x[2]); },
        [](Numbers x) { return less(x[0], x[1]) ? x[1] : x[2]; }),

    {"sum", choose_axis,
     [](Arrays x, Statics n, const Array&) { return sum(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr,
     [](std::span<const Tensor> x, Statics n) {
       return folded(x[0], n, [](const Number& a, const Number& b) { return a + b; });
     }},
    {"prod", choose_axis,
     [](Arrays x, Statics n, const Array&) { return prod(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr,
     [](std::span<const Tensor> x, Statics n) {
       return folded(x[0], n, [](const Number& a, const Number& b) { return a * b; });
     }},
    {"max", choose_axis,
     [](Arrays x, Statics n, const Array&) { return max(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr, [](std::span<const Tensor> x, Statics n) { return folded(x[0], n, larger); }},
    {"min", choose_axis,
     [](Arrays x, Statics n, const Array&) { return min(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr, [](std::span<const Tensor> x, Statics n) { return folded(x[0], n, smaller); }},
    {"logsumexp", choose_axis,
     [](Arrays x, Statics n, const Array&) {
       return logsumexp(apsis::tanh(x[0]), {.axis = whole_number(n[0])});
     },
     false, nullptr,
     [](std::span<const Tensor> x, Statics n) {
       Tensor powers = x[0];
       for (Number& e : powers.elements) e = exp(tanh(e));
       Tensor r = folded(powers, n, [](const Number& a, const Number& b) { return a + b; });
       for (Number& e : r.elements) e = log(e);
       return r;
     }},
    {"total", like_first<1>, [](Arrays x, Statics, const Array&) { return sum(x[0]); }, false, nullptr,
     [](std::span<const Tensor> x, Statics) {
       return Tensor{{}, {std::accumulate(x[0].elements.begin(), x[0].elements.end(), Number(0))}};
     }},
    {"cumsum", choose_axis,
     [](Arrays x, Statics n, const Array&) { return cumsum(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr,
     [](std::span<const Tensor> x, Statics n) {
       return cumulative(x[0], n, [](const Number& a, const Number& b) { return a + b; });
     }},
    {"cumprod", choose_axis,
     [](Arrays x, Statics n, const Array&) { return cumprod(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr,
     [](std::span<const Tensor> x, Statics n) {
       return cumulative(x[0], n, [](const Number& a, const Number& b) { return a * b; });
     }},
    {"cummax", choose_axis,
     [](Arrays x, Statics n, const Array&) { return cummax(x[0], {.axis = whole_number(n[0])}); }, false,
     nullptr, [](std::span<const Tensor> x, Statics n) { return cumulative(x[0], n, larger); }},
    {"sort", choose_axis, [](Arrays x, Statics n, const Array&) { return sort(x[0], whole_number(n[0])); },
     false, nullptr, sorted},
    {"matmul",
     [](Random& random, const Shape& first, std::vector<double>&, Shapes& others) {
       if (first.empty() || first.rank() > 2) return false;
       others = {Shape{first.back()}};
       if (random.chance(50)) others[0].push_back(1 + random.below(3));
       return true;
     },
     [](Arrays x, Statics, const Array&) { return matmul(x[0], x[1]); }, false, nullptr, product},
    {"add_at", choose_row_and_value, [](Arrays x, Statics, const Array&) { return x[0].at(x[2]).add(x[1]); },
     true, nullptr, added_at},

    {"reshape",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       if (random.chance(40)) {
         numbers = {static_cast<double>(first.product())};
       } else {
         numbers.assign(first.begin(), first.end());
         if (random.chance(50))
           std::ranges::reverse(numbers);
         else if (first.rank() < 3)
           numbers.insert(numbers.begin() + random.below(first.rank() + 1), 1);
       }
       return true;
     },
     [](Arrays x, Statics n, const Array&) {
       Shape shape;
       for (double d : n) shape.push_back(static_cast<std::int64_t>(d));
       return reshape(x[0], shape);
     }},
    {"transpose",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       for (std::int64_t i = 0; i < first.rank(); ++i)
         numbers.insert(numbers.begin() + random.below(i + 1), static_cast<double>(i));
       return first.rank() > 1;
     },
     [](Arrays x, Statics n, const Array&) {
       Dims axes;
       for (double axis : n) axes.push_back(static_cast<std::int64_t>(axis));
       return transpose(x[0], Axes(axes));
     }},
    {"slice",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       for (std::int64_t n : first) {
         const std::int64_t start = random.below(n), stop = start + 1 + random.below(n - start);
         numbers.insert(numbers.end(), {static_cast<double>(start), static_cast<double>(stop),
                                        static_cast<double>(1 + random.below(2))});
       }
       return !first.empty();
     },
     [](Arrays x, Statics n, const Array&) {
       std::vector<Index> index;
       for (std::size_t i = 0; i < n.size(); i += 3)
         index.push_back(range(whole_number(n[i]), whole_number(n[i + 1]), whole_number(n[i + 2])));
       return detail::index_array(x[0], index, {});
     }},
    {"flip", choose_axis, [](Arrays x, Statics n, const Array&) { return flip(x[0], {whole_number(n[0])}); }},
    {"roll", choose_axis,
     [](Arrays x, Statics n, const Array&) { return roll(x[0], 1, whole_number(n[0])); }},
    {"repeat",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes& others) {
       return first.product() < 50 && choose_axis(random, first, numbers, others);
     },
     [](Arrays x, Statics n, const Array&) { return repeat(x[0], 2, whole_number(n[0])); }},
    {"rot90", [](Random&, const Shape& first, std::vector<double>&, Shapes&) { return first.rank() > 1; },
     [](Arrays x, Statics, const Array&) { return rot90(x[0]); }},
    {"diagonal", [](Random&, const Shape& first, std::vector<double>&, Shapes&) { return first.rank() > 1; },
     [](Arrays x, Statics, const Array&) { return diagonal(x[0]); }},
    {"spread_out",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       for (int i = 0; i < first.rank(); ++i) numbers.push_back(static_cast<double>(random.below(2)));
       return !first.empty() && first.product() < 50;
     },
     [](Arrays x, Statics n, const Array& fill) {
       const Dims none = Dims::filled(n.size(), 0);
       Dims between;
       for (double d : n) between.push_back(static_cast<std::int64_t>(d));
       return pad(x[0], none, none, between, fill);
     }},
    {"concatenate", choose_two_along_axis,
     [](Arrays x, Statics n, const Array&) { return concatenate(x, whole_number(n[0])); }},
    {"stack", choose_two_along_axis,
     [](Arrays x, Statics n, const Array&) { return stack(x, whole_number(n[0])); }},
    {"broadcast",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       numbers = {static_cast<double>(1 + random.below(4))};
       return first.product() < 50 && first.rank() < 3;
     },
     [](Arrays x, Statics n, const Array&) {
       Shape shape = x[0].shape();
       shape.insert(0, static_cast<std::int64_t>(n[0]));
       return broadcast_to(x[0], shape);
     }},
    {"take",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       if (first.empty()) return false;
       for (std::int64_t i = 0, n = 1 + random.below(4); i < n; ++i)
         numbers.push_back(static_cast<double>(random.below(first[0])));
       return true;
     },
     [](Arrays x, Statics n, const Array&) {
       return take(x[0], array(std::vector<std::int64_t>(n.begin(), n.end())), 0);
     }},
    {"pad",
     [](Random& random, const Shape& first, std::vector<double>& numbers, Shapes&) {
       for (int i = 0; i < 2 * first.rank(); ++i) numbers.push_back(static_cast<double>(random.below(2)));
       return !first.empty() && first.product() < 50;
     },
     [](Arrays x, Statics n, const Array& fill) {
       Dims low, high;
       for (std::size_t i = 0; i < n.size(); i += 2) {
         low.push_back(static_cast<std::int64_t>(n[i]));
         high.push_back(static_cast<std::int64_t>(n[i + 1]));
       }
       return pad(x[0], low, high, fill);
     }},
    {"row", choose_row, [](Arrays x, Statics, const Array&) { return x[0](x[1]); }, true},
    {"set_row", choose_row_and_value, [](Arrays x, Statics, const Array&) { return x[0].at(x[2]).set(x[1]); },
     true},
    {"gather",
     [](Random& random, const Shape& first, std::vector<double>&, Shapes& others) {
       others = {Shape{1 + random.below(4)}};
       return !first.empty() && first.product() < 100;
     },
     [](Arrays x, Statics, const Array&) { return take(x[0], x[1], 0); }, true},
};

}  // namespace

std::span<const ArrayOp> array_ops() { return table; }

const ArrayOp* find_array_op(std::string_view name) {
  for (std::span<const ArrayOp> ops : {std::span<const ArrayOp>(table), algebra_ops(), spectral_ops(),
                                       function_ops(), fold_ops(), buffer_ops(), integer_ops()})
    for (const ArrayOp& op : ops)
      if (op.name == name) return &op;
  return nullptr;
}

Array run(const ArrayOp& op, std::span<const Array> in, std::span<const double> numbers) {
  if (!op.indexed) return op.run(in, numbers, 0.);
  std::vector<Array> operands(in.begin(), in.end());
  operands.back() = as_index(operands.back());
  return op.run(operands, numbers, 0.);
}

Tensor evaluate(const ArrayOp& op, std::span<const Tensor> in, std::span<const double> numbers) {
  if (op.whole) return op.whole(in, numbers);
  if (!op.element) return moved(op, in, numbers);
  Tensor r{in[0].shape, {}};
  for (std::size_t e = 0; e < in[0].elements.size(); ++e) {
    Number operands[3];
    for (std::size_t i = 0; i < in.size(); ++i) operands[i] = in[i].elements[e];
    r.elements.push_back(op.element({operands, in.size()}));
  }
  return r;
}

Tensor moved(const ArrayOp& op, std::span<const Tensor> in, Statics numbers) {
  std::vector<Array> operands;
  std::vector<Number> elements;
  const std::size_t data = in.size() - op.indexed;
  for (std::size_t i = 0; i < data; ++i) {
    const auto first = static_cast<std::int64_t>(elements.size()), n = in[i].shape.product();
    operands.push_back(reshape(arange(first, first + n), in[i].shape));
    elements.insert(elements.end(), in[i].elements.begin(), in[i].elements.end());
  }
  if (op.indexed) {
    std::vector<std::int64_t> at;
    for (std::size_t i = 0; i < in[data].elements.size(); ++i) at.push_back(as_index(in[data], i));
    operands.push_back(reshape(array(at), in[data].shape));
  }
  const Array sources = op.run(operands, numbers, -1);
  Tensor r{sources.shape(), {}, in[0].index};
  for (std::int64_t s : sources.to_vector<std::int64_t>())
    r.elements.push_back(s < 0 ? Number(0) : elements[static_cast<std::size_t>(s)]);
  return r;
}

Array places(const Array& x) { return astype(floor(abs(x) * 3. + 0.2137), i64); }

std::int64_t place(const Number& x) {
  const long double scaled = std::abs(x.value()) * 3 + 0.2137L, nearest = std::round(scaled);
  if (std::abs(scaled - nearest) < 1e-9L * std::max(1.L, scaled)) account.ambiguous = true;
  return static_cast<std::int64_t>(std::floor(scaled));
}

Array as_index(const Array& x) { return is_integer(x.dtype()) ? x : places(x); }
std::int64_t as_index(const Tensor& x, std::size_t element) {
  const Number& n = x.elements[element];
  return x.index ? static_cast<std::int64_t>(n.value()) : place(n);
}

}  // namespace apsis::compositions
