// Ops on integers and booleans, of one element (counts, places) and of whole buffers in every integer dtype.
// Those of buffers stay below `bound`, so that the smallest dtype holds them.

#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

constexpr std::int64_t bound = 60;  // twice that is an i8

std::int64_t whole_number(double x) { return static_cast<std::int64_t>(x); }
std::int64_t value_of(const Number& e) { return static_cast<std::int64_t>(e.value()); }
Number number_of(std::int64_t n) { return Number(static_cast<long double>(n)); }

template <class F>
Tensor each(const Tensor& x, F&& f) {
  Tensor r = x;
  for (Number& e : r.elements) e = f(e);
  return r;
}
/// Of two of the same shape, integers.
template <class F>
Tensor each_of_two(Tensors x, F&& f) {
  Tensor r = x[0];
  for (std::size_t i = 0; i < r.elements.size(); ++i)
    r.elements[i] = number_of(f(value_of(x[0].elements[i]), value_of(x[1].elements[i])));
  return r;
}
Tensor counted(const Tensor& x, long double factor, long double offset) {
  return each(x, [&](const Number& e) { return Number(factor * e.value() + offset); });
}
/// Rows of x. Places are below `bound`; the dtype of some holds no larger numbers.
Array rows_at(const Array& at, const Array& x) {
  const std::int64_t rows = x.shape()[0];
  return rows < bound ? at % rows : at;
}
Tensor integer(std::int64_t n) { return {{}, {number_of(n)}, true}; }

const ArrayOp table[] = {
    // Of one element or more.
    {"index_of", nullptr, [](Arrays x, Statics, const Array&) { return as_index(x[0]); }, false, nullptr,
     [](Tensors x, Statics) {
       Tensor r{x[0].shape, {}, true};
       for (std::size_t i = 0; i < x[0].elements.size(); ++i)
         r.elements.push_back(Number(static_cast<long double>(as_index(x[0], i))));
       return r;
     }},
    {"next_index", nullptr, [](Arrays x, Statics n, const Array&) { return x[0] + whole_number(n[0]); },
     false, nullptr, [](Tensors x, Statics n) { return counted(x[0], 1, n[0]); }},
    {"twice_index", nullptr, [](Arrays x, Statics n, const Array&) { return 2 * x[0] + whole_number(n[0]); },
     false, nullptr, [](Tensors x, Statics n) { return counted(x[0], 2, n[0]); }},
    {"modulo", nullptr, [](Arrays x, Statics n, const Array&) { return x[0] % whole_number(n[0]); }, false,
     nullptr,
     [](Tensors x, Statics n) {
       return each(x[0], [&](const Number& e) {
         return Number(static_cast<long double>(static_cast<std::int64_t>(e.value()) % whole_number(n[0])));
       });
     }},
    {"quarter",  // operands: one that has the dtype wanted, the integer
     nullptr, [](Arrays x, Statics, const Array&) { return astype(x[1], x[0].dtype()) * 0.25; }, false,
     nullptr,
     [](Tensors x, Statics) {
       Tensor r = counted(x[1], 0.25L, 0);
       r.index = false;
       return r;
     }},

    // Of buffers. What makes one says the dtype by its number.
    {"integers_of", nullptr,
     [](Arrays x, Statics n, const Array&) {
       return astype(as_index(x[0]) % bound, static_cast<Dtype>(whole_number(n[0])));
     },
     false, nullptr,
     [](Tensors x, Statics) {
       Tensor r{x[0].shape, {}, true};
       for (std::size_t i = 0; i < x[0].elements.size(); ++i)
         r.elements.push_back(number_of(as_index(x[0], i) % bound));
       return r;
     }},
    {"like_integers",  // an integer in the dtype of others, the second operand
     nullptr, [](Arrays x, Statics, const Array&) { return astype(x[0] % bound, x[1].dtype()); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return each(x[0], [](const Number& e) { return number_of(value_of(e) % bound); });
     }},
    {"widened", nullptr, [](Arrays x, Statics, const Array&) { return astype(x[0], i64); }, false, nullptr,
     [](Tensors x, Statics) { return x[0]; }},
    {"plus_bounded", nullptr,
     [](Arrays x, Statics n, const Array&) { return (x[0] + whole_number(n[0])) % bound; }, false, nullptr,
     [](Tensors x, Statics n) {
       return each(x[0],
                   [&](const Number& e) { return number_of((value_of(e) + whole_number(n[0])) % bound); });
     }},
    {"sum_bounded", nullptr, [](Arrays x, Statics, const Array&) { return (x[0] + x[1]) % bound; }, false,
     nullptr,
     [](Tensors x, Statics) {
       return each_of_two(x, [](std::int64_t a, std::int64_t b) { return (a + b) % bound; });
     }},
    {"larger_integers", nullptr, [](Arrays x, Statics, const Array&) { return maximum(x[0], x[1]); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return each_of_two(x, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
     }},
    {"bits_of_both", nullptr, [](Arrays x, Statics, const Array&) { return x[0] & x[1]; }, false, nullptr,
     [](Tensors x, Statics) { return each_of_two(x, [](std::int64_t a, std::int64_t b) { return a & b; }); }},
    {"total_of", nullptr,
     [](Arrays x, Statics n, const Array&) { return astype(sum(x[0]), i64) % whole_number(n[0]); }, false,
     nullptr,
     [](Tensors x, Statics n) {
       std::int64_t total = 0;
       for (const Number& e : x[0].elements) total += value_of(e);
       return integer(total % whole_number(n[0]));
     }},
    {"place_of_largest", nullptr, [](Arrays x, Statics, const Array&) { return argmax(x[0]); }, false,
     nullptr,
     [](Tensors x, Statics) {
       std::size_t at = 0;
       for (std::size_t i = 1; i < x[0].elements.size(); ++i) {
         if (less(x[0].elements[at], x[0].elements[i])) at = i;
       }
       // Equal here, these may differ by a rounding elsewhere.
       const long double most = x[0].elements[at].value();
       for (std::size_t i = 0; i < x[0].elements.size(); ++i)
         if (i != at && x[0].elements[i].value() == most) account.ambiguous = true;
       return integer(static_cast<std::int64_t>(at));
     }},

    // Masks.
    {"mask_above", nullptr, [](Arrays x, Statics n, const Array&) { return x[0] > n[0]; }, false, nullptr,
     [](Tensors x, Statics n) {
       Tensor r{x[0].shape, {}, true};
       for (const Number& e : x[0].elements) r.elements.push_back(number_of(less(Number(n[0]), e)));
       return r;
     }},
    {"mask_other", nullptr, [](Arrays x, Statics, const Array&) { return !x[0]; }, false, nullptr,
     [](Tensors x, Statics) {
       return each(x[0], [](const Number& e) { return number_of(1 - value_of(e)); });
     }},
    {"mask_differ", nullptr, [](Arrays x, Statics, const Array&) { return x[0] != x[1]; }, false, nullptr,
     [](Tensors x, Statics) {
       return each_of_two(x, [](std::int64_t a, std::int64_t b) { return std::int64_t{a != b}; });
     }},
    {"chosen_by",  // the mask, one value, the other: real numbers or integers
     nullptr, [](Arrays x, Statics, const Array&) { return where(x[0], x[1], x[2]); }, false, nullptr,
     [](Tensors x, Statics) {
       Tensor r = x[2];
       for (std::size_t i = 0; i < r.elements.size(); ++i)
         if (value_of(x[0].elements[i]) != 0) r.elements[i] = x[1].elements[i];
       return r;
     }},

    // Buffers of places: into the first axis of another one.
    {"taken", nullptr, [](Arrays x, Statics, const Array&) { return x[0](rows_at(x[1], x[0])); }, true},
    {"added_at", nullptr,
     [](Arrays x, Statics, const Array&) { return x[0].at(rows_at(x[2], x[0])).add(x[1]); }, true, nullptr,
     [](Tensors x, Statics) {
       Tensor r = x[0];
       const auto rows = static_cast<std::size_t>(r.shape[0]);
       for (std::size_t i = 0; i < x[2].elements.size(); ++i) {
         Number& e = r.elements[static_cast<std::size_t>(value_of(x[2].elements[i])) % rows];
         e = e + x[1].elements[i];
       }
       return r;
     }},
    {"set_at", nullptr,
     [](Arrays x, Statics, const Array&) { return x[0].at(rows_at(x[2], x[0])).set(x[1]); }, true},
};

}  // namespace

std::span<const ArrayOp> integer_ops() { return table; }

}  // namespace apsis::compositions
