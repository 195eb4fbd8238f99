// Ops on long arrays as loops of users have them: read and written at places that a counter or the data say,
// sliced, gathered, scattered, summed. None makes elements grow by much, whatever its operands.

#include <algorithm>
#include <numeric>

#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

std::int64_t whole_number(double x) { return static_cast<std::int64_t>(x); }

/// The place i·n[0] + n[1], modulo the length of the axis if n[2] says so. Without it, places beyond the end
/// occur: those read are clamped, those written dropped.
Array place_of(const Array& i, Statics n, std::int64_t length) {
  Array at = i;
  if (n[0] != 1) at = at * whole_number(n[0]);
  if (n[1] != 0) at = at + whole_number(n[1]);
  return n[2] != 0 ? at % length : at;
}
Shape shape_from(Statics n) {
  Shape shape;
  for (double size : n) shape.push_back(whole_number(size));
  return shape;
}
std::int64_t length_of(const Array& x) { return x.shape()[0]; }

/// As many places on end as `like` has rows.
Array run_of(const Array& i, Statics n, const Array& x, std::int64_t count) {
  return place_of(i, n, length_of(x)) + arange(count);
}
/// Places n[0] apart, round the end.
Array scattered(const Array& i, Statics n, const Array& x, std::int64_t count) {
  return (arange(count) * whole_number(n[0]) + i) % length_of(x);
}
Range range_of(Statics n) { return range(whole_number(n[0]), whole_number(n[1]), whole_number(n[2])); }

/// x with its rows at places combined with those of `values`; `places` are those that Apsis itself reads.
template <class Places, class Combine>
Tensor combined(Tensors in, Places&& places, Combine&& combine) {
  Tensor r = in[0];
  const Array numbers = reshape(arange(r.shape.product()), r.shape);
  std::size_t k = 0;
  for (std::int64_t at : places(numbers).template to_vector<std::int64_t>()) {
    if (at >= 0) {
      Number& e = r.elements[static_cast<std::size_t>(at)];
      e = combine(e, in[1].elements[k % in[1].elements.size()]);
    }
    ++k;
  }
  return r;
}
Number plus(const Number& a, const Number& b) { return a + b; }
Number times(const Number& a, const Number& b) { return a * b; }
Array read(const Array& x, const Array& at) { return x.at(at).get(IndexMode::Fill); }

Number total(const Tensor& x) { return std::accumulate(x.elements.begin(), x.elements.end(), Number(0)); }
Number part(const Tensor& x) { return Number(1 / static_cast<long double>(x.elements.size())); }
Tensor scalar(const Number& x) { return {{}, {x}}; }
double inverse_size(const Array& x) { return 1 / static_cast<double>(x.size()); }

template <class F>
Tensor each(const Tensor& x, F&& f) {
  Tensor r = x;
  for (Number& e : r.elements) e = f(e);
  return r;
}
const ArrayOp table[] = {
    // One row at a place: operands (array, row, place).
    {"set_i", nullptr,
     [](Arrays x, Statics n, const Array&) { return x[0].at(place_of(x[2], n, length_of(x[0]))).set(x[1]); },
     true},
    {"add_i", nullptr,
     [](Arrays x, Statics n, const Array&) { return x[0].at(place_of(x[2], n, length_of(x[0]))).add(x[1]); },
     true, nullptr,
     [](Tensors x, Statics n) {
       const Array i = array(as_index(x[2]));
       return combined(
           x, [&](const Array& a) { return read(a, place_of(i, n, length_of(a))); }, plus);
     }},
    {"multiply_i", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return x[0].at(place_of(x[2], n, length_of(x[0]))).multiply(x[1]);
     },
     true, nullptr,
     [](Tensors x, Statics n) {
       const Array i = array(as_index(x[2]));
       return combined(
           x, [&](const Array& a) { return read(a, place_of(i, n, length_of(a))); }, times);
     }},
    {"read_i", nullptr,
     [](Arrays x, Statics n, const Array&) { return x[0](place_of(x[1], n, length_of(x[0]))); }, true},

    // Several on end: operands (array, rows, place); the number of rows read is n[3].
    {"set_slice_i", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return x[0].at(run_of(x[2], n, x[0], length_of(x[1]))).set(x[1]);
     },
     true},
    {"add_slice_i", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return x[0].at(run_of(x[2], n, x[0], length_of(x[1]))).add(x[1]);
     },
     true, nullptr,
     [](Tensors x, Statics n) {
       const Array i = array(as_index(x[2]));
       return combined(
           x, [&](const Array& a) { return read(a, run_of(i, n, a, x[1].shape[0])); }, plus);
     }},
    {"slice_i", nullptr,
     [](Arrays x, Statics n, const Array&) { return x[0](run_of(x[1], n, x[0], whole_number(n[3]))); }, true},

    // Several apart, the same one perhaps more than once.
    {"gather_i", nullptr,
     [](Arrays x, Statics n, const Array&) { return x[0](scattered(x[1], n, x[0], whole_number(n[1]))); },
     true},
    {"scatter_add_i", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return x[0].at(scattered(x[2], n, x[0], length_of(x[1]))).add(x[1]);
     },
     true, nullptr,
     [](Tensors x, Statics n) {
       const Array i = array(as_index(x[2]));
       return combined(
           x, [&](const Array& a) { return read(a, scattered(i, n, a, x[1].shape[0])); }, plus);
     }},
    {"scatter_set_i", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return x[0].at(scattered(x[2], n, x[0], length_of(x[1]))).set(x[1]);
     },
     true},

    // A range that is known: operands (array, one element).
    {"set_range", nullptr, [](Arrays x, Statics n, const Array&) { return x[0].at(range_of(n)).set(x[1]); }},
    {"add_range", nullptr, [](Arrays x, Statics n, const Array&) { return x[0].at(range_of(n)).add(x[1]); },
     false, nullptr,
     [](Tensors x, Statics n) {
       return combined(
           x, [&](const Array& a) { return a(range_of(n)); }, plus);
     }},
    {"rolled", nullptr, [](Arrays x, Statics n, const Array&) { return roll(x[0], whole_number(n[0]), 0); }},

    // Elementwise.
    {"plus", nullptr, [](Arrays x, Statics n, const Array&) { return x[0] + n[0]; }, false, nullptr,
     [](Tensors x, Statics n) { return each(x[0], [&](const Number& e) { return e + Number(n[0]); }); }},
    {"times", nullptr, [](Arrays x, Statics n, const Array&) { return n[0] * x[0]; }, false, nullptr,
     [](Tensors x, Statics n) { return each(x[0], [&](const Number& e) { return e * Number(n[0]); }); }},
    {"half_of_each", nullptr, [](Arrays x, Statics, const Array&) { return 0.5 * x[0] + 0.5 * x[1]; }, false,
     [](Numbers x) { return Number(0.5L) * x[0] + Number(0.5L) * x[1]; }},
    {"lifted", nullptr, [](Arrays x, Statics, const Array&) { return x[0] + 0.125 * apsis::sin(x[1]); },
     false, [](Numbers x) { return x[0] + Number(0.125L) * sin(x[1]); }},
    {"plus_scalar", nullptr, [](Arrays x, Statics, const Array&) { return x[0] + x[1]; }, false, nullptr,
     [](Tensors x, Statics) { return each(x[0], [&](const Number& e) { return e + x[1].elements[0]; }); }},
    {"times_tame", nullptr, [](Arrays x, Statics, const Array&) { return x[0] * apsis::cos(x[1]); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return each(x[0], [&](const Number& e) { return e * cos(x[1].elements[0]); });
     }},
    {"chosen_above", nullptr,
     [](Arrays x, Statics n, const Array&) { return where(x[0] > n[0], 0.75 * x[0], x[1]); }, false, nullptr,
     [](Tensors x, Statics n) {
       Tensor r = x[0];
       for (std::size_t i = 0; i < r.elements.size(); ++i) {
         Number& e = r.elements[i];
         e = less(Number(n[0]), e) ? Number(0.75L) * e : x[1].elements[i];
       }
       return r;
     }},

    // Under a condition, that a scalar is above n[0]: the derivative of the first is NaN where it does not
    // hold, and the second chooses another value there.
    {"steep_if", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return 0.5 * apsis::sqrt(where(x[1] > n[0], 1., factor_of_unchosen()) * (1.25 + x[0] * x[0]));
     },
     false, nullptr,
     [](Tensors x, Statics n) {
       const bool holds = less(Number(n[0]), x[1].elements[0]);
       return each(x[0], [&](const Number& e) {
         return holds ? Number(0.5L) * sqrt(Number(1.25L) + e * e) : Number(0);
       });
     }},
    {"chosen_if", nullptr, [](Arrays x, Statics n, const Array&) { return where(x[2] > n[0], x[0], x[1]); },
     false, nullptr, [](Tensors x, Statics n) { return less(Number(n[0]), x[2].elements[0]) ? x[0] : x[1]; }},

    // To a scalar, or from one.
    {"mean", nullptr, [](Arrays x, Statics, const Array&) { return mean(x[0]); }, false, nullptr,
     [](Tensors x, Statics) { return scalar(total(x[0]) * part(x[0])); }},
    {"mean_product", nullptr,
     [](Arrays x, Statics, const Array&) { return sum(x[0] * x[1]) * inverse_size(x[0]); }, false, nullptr,
     [](Tensors x, Statics) {
       Number sum(0);
       for (std::size_t i = 0; i < x[0].elements.size(); ++i) sum = sum + x[0].elements[i] * x[1].elements[i];
       return scalar(sum * part(x[0]));
     }},
    {"dot_product", nullptr,
     [](Arrays x, Statics, const Array&) { return dot(ravel(x[0]), ravel(x[1])) * inverse_size(x[0]); },
     false, nullptr,
     [](Tensors x, Statics) {
       Number sum(0);
       for (std::size_t i = 0; i < x[0].elements.size(); ++i) sum = sum + x[0].elements[i] * x[1].elements[i];
       return scalar(sum * part(x[0]));
     }},
    {"largest", nullptr, [](Arrays x, Statics, const Array&) { return max(x[0]); }, false, nullptr,
     [](Tensors x, Statics) {
       Number most = x[0].elements[0];
       for (const Number& e : x[0].elements)
         if (less(most, e)) most = e;
       return scalar(most);
     }},
    {"running_mean", nullptr,
     [](Arrays x, Statics, const Array&) {
       return cumsum(x[0], {.axis = 0}) * (1 / static_cast<double>(length_of(x[0])));
     },
     false, nullptr,
     [](Tensors x, Statics) {
       Tensor r = x[0];
       const auto rows = static_cast<std::size_t>(r.shape[0]), row = r.elements.size() / rows;
       for (std::size_t i = row; i < r.elements.size(); ++i)
         r.elements[i] = r.elements[i - row] + r.elements[i];
       return each(r, [&](const Number& e) { return e * Number(1 / static_cast<long double>(rows)); });
     }},
    {"summary",  // a few elements, and all of them in a mean
     nullptr,
     [](Arrays x, Statics, const Array&) {
       const Array flat = ravel(x[0]);
       const std::int64_t n = flat.size();
       return stack({mean(flat), flat[0], flat[n / 2], flat[n - 1]});
     },
     false, nullptr,
     [](Tensors x, Statics) {
       const auto& e = x[0].elements;
       return Tensor{{4}, {total(x[0]) * part(x[0]), e[0], e[e.size() / 2], e.back()}};
     }},
    {"spread",  // numbers: first and step of a ramp, then the shape
     nullptr,
     [](Arrays x, Statics n, const Array&) {
       const Shape shape = shape_from(n.subspan(2));
       return astype(reshape(n[0] + n[1] * arange(static_cast<double>(shape.product())), shape),
                     x[0].dtype()) *
              x[0];
     },
     false, nullptr,
     [](Tensors x, Statics n) {
       Tensor r{shape_from(n.subspan(2)), {}};
       for (std::int64_t i = 0; i < r.shape.product(); ++i)
         r.elements.push_back(Number(n[0] + n[1] * static_cast<double>(i)) * x[0].elements[0]);
       return r;
     }},
};

}  // namespace

double& factor_of_unchosen() {
  static double factor = 0;
  return factor;
}

std::span<const ArrayOp> buffer_ops() { return table; }

}  // namespace apsis::compositions
