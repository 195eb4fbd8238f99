// Assertions about values are written once, as programs: run at once where there are values, or staged behind
// an `error_if`.

#include "apsis/debug/assert_value.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "apsis/control/error_if.hpp"
#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/tree/equal.hpp"
#include "apsis/tree/path.hpp"
#include "debug/assert.hpp"

namespace apsis {
namespace detail {
namespace {

/// What an assertion on values is: its name, where it was written, what the caller says.
struct Assertion {
  const char* name;
  std::string_view message;
  Loc loc;
  [[noreturn]] void fail(const std::string& what) const { fail_assertion(name, message, what, loc); }
  /// What a failure says, for later.
  std::string text(const std::string& what) const {
    try {
      fail(what);
    } catch (const Error& error) {
      return error.what();
    }
  }
};

std::string path_of(const TreeLeaves& tree, std::size_t leaf) { return leaf_path(tree.tree, leaf, {}); }

std::string index_text(const Shape& shape, std::int64_t flat) {
  Shape at = shape;
  for (std::size_t k = shape.size(); k-- > 0; flat /= shape[k]) at[k] = flat % shape[k];
  return to_string(at);
}

std::string element_text(const Array& x, std::int64_t flat) {
  return to_string(reshape(x, {x.size()})[flat]);
}

/// What an element is not, with `{2}`, `{3}` … for values: those of the operands at its place. `distance`:
/// how far off all elements are.
struct Expected {
  const char* text;
  std::vector<Array> (*values)(std::span<const Array> operands, const Array& at) = nullptr;
  Array (*distance)(std::span<const Array> operands) = nullptr;
};

Array element(const Array& x, const Array& at) { return reshape(x, {x.size()})[at]; }

/// Along each axis, the place of an element counted in row-major order.
Array place_of(const Shape& shape, Array at) {
  std::vector<Array> places(shape.size());
  for (std::size_t k = shape.size(); k-- > 0; at = floor_divide(at, shape[k]))
    places[k] = remainder(at, shape[k]);
  return places.empty() ? at : stack(places);
}

/// Throws where `wrong(operands)`, of the first operand's shape, holds for an element: now, if there are
/// values, or when the program runs.
template <class Wrong>
void require_elements(const Assertion& assertion, const std::string& path, std::vector<Array> operands,
                      const Wrong& wrong, const Expected& expected) {
  if (operands[0].size() == 0) return;
  std::vector<Array> values;
  for (const Array& a : operands)
    if (Array v = concrete_value(a); !v.is_empty()) values.push_back(v);
  std::optional<TraceScope> at_once;
  if (values.size() == operands.size()) {
    operands = values;
    at_once.emplace(nullptr);
  }
  const Array& x = operands[0];
  const Array bad = wrong(operands);
  if (at_once && !any(bad).template item<bool>()) return;
  const Array at = argmax(reshape(astype(bad, Dtype::I8), {x.size()}));
  std::vector<Array> shown{place_of(x.shape(), at), element(x, at)};
  if (expected.values)
    for (const Array& v : expected.values(operands, at)) shown.push_back(v);
  shown.resize(4, shown[1]);  // what the text does not name is not shown
  const Array distance = expected.distance ? expected.distance(operands) : shown[1];
  std::string what = (path.empty() && x.ndim() == 0 ? "the value" : path) + (x.ndim() > 0 ? "{0:,}" : "") +
                     " is {1}" + expected.text;
  if (x.size() > 1)
    what += " ({4} of " + std::to_string(x.size()) + " elements are not as required" +
            (expected.distance ? ", the largest difference is {5})" : ")");
  const std::string text = assertion.text(what);
  error_if(any(bad), Message{messages::assertion.id, text.c_str()},
           {shown[0], shown[1], shown[2], shown[3], sum(astype(bad, Dtype::I64)), distance}, Loc{});
}

Array both_nan(const Array& a, const Array& b) { return logical_and(isnan(a), isnan(b)); }
Array same(const Array& a, const Array& b) {
  return is_inexact(a.dtype()) ? logical_or(a == b, both_nan(a, b)) : a == b;
}

/// As the widest dtype of its kind, in which differences are exact enough.
Array widened(const Array& a) { return astype(a, is_complex(a.dtype()) ? Dtype::C128 : Dtype::F64); }

Array largest_difference(std::span<const Array> v) {
  const Array a = widened(v[0]), b = widened(v[1]);
  return max(where(same(a, b), 0., abs(a - b)));
}

constexpr Expected not_other{
    ", not {2}",
    [](std::span<const Array> v, const Array& at) { return std::vector<Array>{element(v[1], at)}; },
    largest_difference};

void need_structure(const Assertion& assertion, const TreeLeaves& a, const TreeLeaves& b) {
  if (std::string difference = structure_difference(a.tree, b.tree, {}); !difference.empty())
    assertion.fail(difference);
  for (std::size_t i = 0; i < a.leaves.size(); ++i)
    if (a.leaves[i].is_empty() != b.leaves[i].is_empty())
      assertion.fail(path_of(a, i) + " is empty in the " + (a.leaves[i].is_empty() ? "first" : "second") +
                     " alone");
}

template <class Value, class Show>
void need_equal(const Assertion& assertion, const TreeLeaves& a, const TreeLeaves& b, const Value& value,
                const Show& show) {
  for (std::size_t i = 0; i < a.leaves.size(); ++i) {
    if (a.leaves[i].is_empty() || value(a.leaves[i]) == value(b.leaves[i])) continue;
    const std::string path = path_of(a, i);
    assertion.fail((path.empty() ? "" : path + ": ") + "the first has " + show(a.leaves[i]) +
                   ", the second " + show(b.leaves[i]));
  }
}

void need_shapes(const Assertion& assertion, const TreeLeaves& a, const TreeLeaves& b) {
  need_equal(
      assertion, a, b, [](const Array& x) { return x.shape(); },
      [](const Array& x) { return "shape " + to_string(x.shape()); });
}
void need_dtypes(const Assertion& assertion, const TreeLeaves& a, const TreeLeaves& b) {
  need_equal(
      assertion, a, b, [](const Array& x) { return x.dtype(); },
      [](const Array& x) { return "dtype " + std::string(name_of(x.dtype())); });
}

/// Floats of one format in their order, as integers: neighbours differ by one, zeros of both signs are 0.
std::int64_t float_order(const unsigned char* bytes, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, size);
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

}  // namespace

void assert_trees_agree(TreeAspect aspect, const TreeLeaves& a, const TreeLeaves& b,
                        const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  constexpr const char* names[] = {"assert_trees_equal_structure", "assert_trees_equal_shapes",
                                   "assert_trees_equal_dtypes", "assert_trees_equal_shapes_and_dtypes",
                                   "assert_trees_equal_sizes"};
  const Assertion assertion{names[static_cast<std::size_t>(aspect)], options.message, loc};
  need_structure(assertion, a, b);
  if (aspect == TreeAspect::Shapes || aspect == TreeAspect::ShapesAndDtypes) need_shapes(assertion, a, b);
  if (aspect == TreeAspect::Dtypes || aspect == TreeAspect::ShapesAndDtypes) need_dtypes(assertion, a, b);
  if (aspect == TreeAspect::Sizes)
    need_equal(
        assertion, a, b, [](const Array& x) { return x.size(); },
        [](const Array& x) { return std::to_string(x.size()) + " elements"; });
}

void assert_trees_close(const TreeLeaves& a, const TreeLeaves& b, const CloseOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  const Assertion assertion{"assert_trees_close", options.message, loc};
  need_structure(assertion, a, b);
  need_shapes(assertion, a, b);
  const double rtol = options.rtol, atol = options.atol;
  auto far = [=](std::span<const Array> v) {
    const Array x = widened(v[0]), y = widened(v[1]);
    // A difference that is NaN is far, and so is all but itself from an infinity.
    const Array near = logical_and(isfinite(y), abs(x - y) <= atol + rtol * abs(y));
    return !logical_or(same(x, y), near);
  };
  for (std::size_t i = 0; i < a.leaves.size(); ++i)
    if (!a.leaves[i].is_empty())
      require_elements(assertion, path_of(a, i), {a.leaves[i], b.leaves[i]}, far, not_other);
}

void assert_trees_equal(const TreeLeaves& a, const TreeLeaves& b, const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  const Assertion assertion{"assert_trees_equal", options.message, loc};
  need_structure(assertion, a, b);
  need_shapes(assertion, a, b);
  need_dtypes(assertion, a, b);
  auto differs = [](std::span<const Array> v) { return !same(v[0], v[1]); };
  for (std::size_t i = 0; i < a.leaves.size(); ++i)
    if (!a.leaves[i].is_empty())
      require_elements(assertion, path_of(a, i), {a.leaves[i], b.leaves[i]}, differs, not_other);
}

void assert_trees_close_ulp(const TreeLeaves& a, const TreeLeaves& b, const UlpOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  const Assertion assertion{"assert_trees_close_ulp", options.message, loc};
  need_structure(assertion, a, b);
  need_shapes(assertion, a, b);
  need_dtypes(assertion, a, b);
  TraceScope at_once(nullptr);
  for (std::size_t i = 0; i < a.leaves.size(); ++i) {
    if (a.leaves[i].is_empty()) continue;
    const Array x = concrete_value(a.leaves[i]), y = concrete_value(b.leaves[i]);
    if (x.is_empty() || y.is_empty()) fail(messages::assertion_values, {assertion.name}, loc);
    const std::vector<bool> equal = same(x, y).to_vector<bool>();
    const Dtype dtype = x.dtype();
    const std::size_t parts = is_complex(dtype) ? 2 : 1, size = item_size(dtype) / parts;
    const std::vector<bool> nan = is_inexact(dtype) ? logical_or(isnan(x), isnan(y)).to_vector<bool>()
                                                    : std::vector<bool>(equal.size(), true);
    for (std::size_t k = 0; k < equal.size(); ++k) {
      if (equal[k]) continue;
      std::uint64_t apart = 0;
      for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t at = (k * parts + p) * size;
        const std::int64_t u = float_order(static_cast<const unsigned char*>(data_of(x)) + at, size);
        const std::int64_t v = float_order(static_cast<const unsigned char*>(data_of(y)) + at, size);
        const std::uint64_t distance = static_cast<std::uint64_t>(u) - static_cast<std::uint64_t>(v);
        apart = std::max(apart, u > v ? distance : -distance);
      }
      if (!nan[k] && apart <= static_cast<std::uint64_t>(options.ulps)) continue;
      const auto at = static_cast<std::int64_t>(k);
      assertion.fail(
          (x.ndim() ? path_of(a, i) + index_text(x.shape(), at)
                    : path_of(a, i) + (path_of(a, i).empty() ? "the value" : "")) +
          " is " + element_text(x, at) + ", not " + element_text(y, at) +
          (nan[k] ? ""
                  : ": " + std::to_string(apart) + " floats apart, not " + std::to_string(options.ulps)));
    }
  }
}

void assert_tree_finite(const TreeLeaves& tree, const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  const Assertion assertion{"assert_tree_finite", options.message, loc};
  auto wild = [](std::span<const Array> v) { return !isfinite(v[0]); };
  for (std::size_t i = 0; i < tree.leaves.size(); ++i)
    if (!tree.leaves[i].is_empty() && is_inexact(tree.leaves[i].dtype()))
      require_elements(assertion, path_of(tree, i), {tree.leaves[i]}, wild, {", which is not finite"});
}

void assert_tree_full(const TreeLeaves& tree, const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  for (std::size_t i = 0; i < tree.leaves.size(); ++i)
    if (tree.leaves[i].is_empty())
      fail_assertion("assert_tree_full", options.message, "leaf `" + path_of(tree, i) + "` is empty", loc);
}

void assert_tree_shape_part(const TreeLeaves& tree, const Shape& part, bool prefix,
                            const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  for (std::size_t i = 0; i < tree.leaves.size(); ++i) {
    if (tree.leaves[i].is_empty()) continue;
    const Shape& shape = tree.leaves[i].shape();
    const bool long_enough = shape.size() >= part.size();
    const std::int64_t* from = long_enough ? (prefix ? shape.begin() : shape.end() - part.size()) : nullptr;
    if (long_enough && Shape(from, part.size()) == part) continue;
    fail_assertion(prefix ? "assert_tree_shape_prefix" : "assert_tree_shape_suffix", options.message,
                   path_of(tree, i) + " has shape " + to_string(shape) + ", which does not " +
                       (prefix ? "begin" : "end") + " with " + to_string(part),
                   loc);
  }
}

}  // namespace detail

using namespace detail;

namespace {

template <class Wrong>
void assert_elements(const char* name, const Array& x, const Wrong& wrong, const char* expected,
                     const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  require_elements(Assertion{name, options.message, loc}, {}, {x},
                   [&](std::span<const Array> v) { return wrong(v[0]); }, {expected});
}

}  // namespace

void assert_positive(const Array& x, const AssertOptions& options, Loc loc) {
  assert_elements(
      "assert_positive", x, [](const Array& v) { return !(v > 0); }, ", not above 0", options, loc);
}
void assert_non_negative(const Array& x, const AssertOptions& options, Loc loc) {
  assert_elements(
      "assert_non_negative", x, [](const Array& v) { return !(v >= 0); }, ", not 0 or above", options, loc);
}
void assert_negative(const Array& x, const AssertOptions& options, Loc loc) {
  assert_elements(
      "assert_negative", x, [](const Array& v) { return !(v < 0); }, ", not below 0", options, loc);
}
void assert_in(const Array& x, const Array& low, const Array& high, const AssertOptions& options, Loc loc) {
  if (!asserts_enabled()) return;
  require_elements(Assertion{"assert_in", options.message, loc}, {}, {x, low, high},
                   [](std::span<const Array> v) { return !logical_and(v[0] >= v[1], v[0] <= v[2]); },
                   {", not in [{2}, {3}]", [](std::span<const Array> v, const Array&) {
                      return std::vector<Array>{v[1], v[2]};
                    }});
}

}  // namespace apsis
