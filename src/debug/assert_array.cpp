#include "apsis/debug/assert_array.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "debug/assert.hpp"

namespace apsis {
namespace detail {
namespace {

std::atomic<bool> enabled{true};

std::string to_text(const Extent& extent) {
  switch (extent.kind()) {
    case Extent::Kind::Any:
      return "any";
    case Extent::Kind::Axes:
      return "...";
    case Extent::Kind::Named:
      return extent.name();
    case Extent::Kind::Lengths:
      break;
  }
  std::vector<std::string> lengths;
  for (std::int64_t n : extent.lengths()) lengths.push_back(std::to_string(n));
  return lengths.size() == 1 ? lengths[0] : "(" + listed(lengths) + ")";
}

std::string to_text(const ShapePattern& pattern) {
  std::string text = "[";
  for (const Extent& e : pattern) {
    if (text.size() > 1) text += ", ";
    text += to_text(e);
  }
  return text + "]";
}

/// Why a shape does not fit, or nothing. Binds names in `names`.
std::optional<std::string> misfit(const Shape& shape, const ShapePattern& pattern, Dimensions& names) {
  auto is_axes = [](const Extent& e) { return e.kind() == Extent::Kind::Axes; };
  const auto axes = std::ranges::find_if(pattern, is_axes);
  const std::size_t before = static_cast<std::size_t>(axes - pattern.begin());
  const std::size_t fixed = pattern.size() - (axes != pattern.end());
  if (axes == pattern.end() ? shape.size() != fixed : shape.size() < fixed)
    return "it has " + std::to_string(shape.size()) + " axes, not " +
           (axes == pattern.end() ? std::to_string(fixed) : std::to_string(fixed) + " or more");
  for (std::size_t i = 0, e = 0; e < pattern.size(); ++e) {
    if (e == before) {
      i += shape.size() - fixed;
      continue;
    }
    const Extent& extent = pattern[e];
    const std::int64_t length = shape[i++];
    const std::string axis =
        "axis " + std::to_string(i - 1) + " is " + std::to_string(length) + " long, not ";
    if (extent.kind() == Extent::Kind::Lengths &&
        std::ranges::find(extent.lengths(), length) == extent.lengths().end())
      return axis + to_text(extent);
    if (extent.kind() != Extent::Kind::Named) continue;
    if (const std::int64_t* known = names.find(extent.name()); !known)
      names.set(extent.name(), length);
    else if (*known != length)
      return axis + std::to_string(*known) + ", which " + extent.name() + " is";
  }
  return {};
}

template <class Value, class Show>
void assert_all_equal(const char* assertion, std::initializer_list<Array> arrays, const Value& value,
                      const Show& show, const AssertOptions& options, Loc loc) {
  if (!enabled) return;
  for (std::size_t i = 1; i < arrays.size(); ++i) {
    const Array &first = arrays.begin()[0], &other = arrays.begin()[i];
    if (!(value(first) == value(other)))
      fail_assertion(assertion, options.message,
                     "array 0 has " + show(first) + ", array " + std::to_string(i) + " has " + show(other),
                     loc);
  }
}

std::string shape_text(const Array& x) { return "shape " + to_string(x.shape()); }

void need_axes(const char* assertion, std::initializer_list<Array> arrays, int count,
               const AssertOptions& options, Loc loc) {
  std::size_t number = 0;
  for (const Array& x : arrays) {
    if (x.ndim() < count)
      fail_assertion(assertion, options.message,
                     "array " + std::to_string(number) + " has " + shape_text(x) + ", which has no " +
                         std::to_string(count) + " axes",
                     loc);
    ++number;
  }
}

Shape part(const Array& x, int first, int count) {
  return Shape(x.shape().data() + first, static_cast<std::size_t>(count));
}

bool is_of_kind(Dtype d, DtypeKind kind) {
  switch (kind) {
    case DtypeKind::Bool:
      return d == Dtype::Bool;
    case DtypeKind::Integer:
      return is_integer(d);
    case DtypeKind::SignedInteger:
      return is_signed_integer(d);
    case DtypeKind::UnsignedInteger:
      return is_unsigned_integer(d);
    case DtypeKind::Floating:
      return is_floating(d);
    case DtypeKind::Complex:
      return is_complex(d);
    case DtypeKind::Inexact:
      return is_inexact(d);
  }
  return false;
}

}  // namespace

void fail_assertion(const char* assertion, std::string_view message, const std::string& what, Loc loc) {
  fail(messages::assertion, {assertion, message.empty() ? "" : std::string(message) + ": ", what}, loc);
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) text += i + 1 == items.size() ? " or " : ", ";
    text += items[i];
  }
  return text;
}

}  // namespace detail

using namespace detail;

void enable_asserts(bool on) { enabled = on; }
bool asserts_enabled() { return enabled; }

std::int64_t Dimensions::operator[](const DimensionName& name) const {
  const std::int64_t* length = find(name.name);
  if (!length) fail(messages::unknown_dimension, {std::string(name.name)}, name.loc);
  return *length;
}
Shape Dimensions::shape(std::initializer_list<std::string_view> names, Loc loc) const {
  Shape shape;
  for (std::string_view name : names) shape.push_back((*this)[{name, loc}]);
  return shape;
}
void Dimensions::set(std::string_view name, std::int64_t length) {
  for (auto& [known, value] : lengths_)
    if (known == name) {
      value = length;
      return;
    }
  lengths_.emplace_back(name, length);
}
const std::int64_t* Dimensions::find(std::string_view name) const {
  for (const auto& [known, value] : lengths_)
    if (known == name) return &value;
  return nullptr;
}

void assert_shape(const Array& x, const ShapePattern& pattern, const AssertOptions& options, Loc loc) {
  Dimensions names;
  assert_shape(x, pattern, names, options, loc);
}
void assert_shape(const Array& x, const ShapePattern& pattern, Dimensions& dimensions,
                  const AssertOptions& options, Loc loc) {
  if (!enabled) return;
  Dimensions names = dimensions;
  if (auto why = misfit(x.shape(), pattern, names))
    fail_assertion("assert_shape", options.message,
                   "shape " + to_string(x.shape()) + " is not " + to_text(pattern) + ": " + *why, loc);
  dimensions = std::move(names);
}

void assert_equal_shape(std::initializer_list<Array> arrays, const AssertOptions& options, Loc loc) {
  assert_all_equal(
      "assert_equal_shape", arrays, [](const Array& x) { return x.shape(); }, shape_text, options, loc);
}
void assert_equal_shape(std::initializer_list<Array> arrays, const std::vector<int>& axes,
                        const AssertOptions& options, Loc loc) {
  if (!enabled) return;
  for (int axis : axes) {
    need_axes("assert_equal_shape", arrays, axis < 0 ? -axis : axis + 1, options, loc);
    assert_all_equal(
        "assert_equal_shape", arrays, [axis](const Array& x) { return x.dim(axis); },
        [axis](const Array& x) {
          return shape_text(x) + ", axis " + std::to_string(axis) + ": " + std::to_string(x.dim(axis));
        },
        options, loc);
  }
}
void assert_equal_shape_prefix(std::initializer_list<Array> arrays, int count, const AssertOptions& options,
                               Loc loc) {
  if (!enabled) return;
  need_axes("assert_equal_shape_prefix", arrays, count, options, loc);
  assert_all_equal(
      "assert_equal_shape_prefix", arrays, [count](const Array& x) { return part(x, 0, count); }, shape_text,
      options, loc);
}
void assert_equal_shape_suffix(std::initializer_list<Array> arrays, int count, const AssertOptions& options,
                               Loc loc) {
  if (!enabled) return;
  need_axes("assert_equal_shape_suffix", arrays, count, options, loc);
  assert_all_equal(
      "assert_equal_shape_suffix", arrays,
      [count](const Array& x) { return part(x, x.ndim() - count, count); }, shape_text, options, loc);
}

void assert_rank(const Array& x, const std::vector<int>& ranks, const AssertOptions& options, Loc loc) {
  if (!enabled || std::ranges::find(ranks, x.ndim()) != ranks.end()) return;
  std::vector<std::string> wanted;
  for (int r : ranks) wanted.push_back(std::to_string(r));
  fail_assertion("assert_rank", options.message,
                 shape_text(x) + " has " + std::to_string(x.ndim()) + " axes, not " + listed(wanted), loc);
}
void assert_equal_rank(std::initializer_list<Array> arrays, const AssertOptions& options, Loc loc) {
  assert_all_equal(
      "assert_equal_rank", arrays, [](const Array& x) { return x.ndim(); }, shape_text, options, loc);
}

void assert_size(const Array& x, const std::vector<std::int64_t>& sizes, const AssertOptions& options,
                 Loc loc) {
  if (!enabled || std::ranges::find(sizes, x.size()) != sizes.end()) return;
  std::vector<std::string> wanted;
  for (std::int64_t n : sizes) wanted.push_back(std::to_string(n));
  fail_assertion("assert_size", options.message,
                 shape_text(x) + " has " + std::to_string(x.size()) + " elements, not " + listed(wanted),
                 loc);
}
void assert_equal_size(std::initializer_list<Array> arrays, const AssertOptions& options, Loc loc) {
  assert_all_equal(
      "assert_equal_size", arrays, [](const Array& x) { return x.size(); }, shape_text, options, loc);
}

LengthBound at_least(std::int64_t length) { return {length, std::numeric_limits<std::int64_t>::max()}; }
LengthBound at_most(std::int64_t length) { return {0, length}; }

void assert_axis_dimension(const Array& x, int axis, const LengthBound& length, const AssertOptions& options,
                           Loc loc) {
  if (!enabled) return;
  need_axes("assert_axis_dimension", {x}, axis < 0 ? -axis : axis + 1, options, loc);
  const std::int64_t found = x.dim(axis);
  if (found >= length.low && found <= length.high) return;
  const bool open = length.high == std::numeric_limits<std::int64_t>::max();
  const std::string wanted = length.low == length.high ? std::to_string(length.low)
                             : open                    ? "at least " + std::to_string(length.low)
                                                       : "at most " + std::to_string(length.high);
  fail_assertion("assert_axis_dimension", options.message,
                 shape_text(x) + ": axis " + std::to_string(axis) + " is " + std::to_string(found) +
                     " long, not " + wanted,
                 loc);
}

void assert_broadcastable(const Array& x, const Shape& shape, const AssertOptions& options, Loc loc) {
  if (!enabled) return;
  const Shape& own = x.shape();
  bool fits = own.size() <= shape.size();
  for (std::size_t i = 0; fits && i < own.size(); ++i) {
    const std::int64_t n = own[own.size() - 1 - i];
    fits = n == 1 || n == shape[shape.size() - 1 - i];
  }
  if (!fits)
    fail_assertion("assert_broadcastable", options.message,
                   shape_text(x) + " cannot be broadcast to " + to_string(shape), loc);
}

void assert_divisible(std::int64_t number, std::int64_t divisor, const AssertOptions& options, Loc loc) {
  if (!enabled || (divisor != 0 && number % divisor == 0)) return;
  fail_assertion("assert_divisible", options.message,
                 std::to_string(number) + " is not divisible by " + std::to_string(divisor), loc);
}

void assert_dtype(const Array& x, const std::vector<Dtype>& dtypes, const AssertOptions& options, Loc loc) {
  if (!enabled || std::ranges::find(dtypes, x.dtype()) != dtypes.end()) return;
  std::vector<std::string> wanted;
  for (Dtype d : dtypes) wanted.emplace_back(name_of(d));
  fail_assertion("assert_dtype", options.message, to_string(x.aval()) + " is not " + listed(wanted), loc);
}
void assert_dtype(const Array& x, DtypeKind kind, const AssertOptions& options, Loc loc) {
  if (!enabled || is_of_kind(x.dtype(), kind)) return;
  constexpr const char* names[] = {"bool",     "an integer", "a signed integer",   "an unsigned integer",
                                   "floating", "complex",    "floating or complex"};
  fail_assertion("assert_dtype", options.message,
                 to_string(x.aval()) + " is not " + names[static_cast<std::size_t>(kind)], loc);
}

}  // namespace apsis
