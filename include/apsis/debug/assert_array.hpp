#pragma once

// Assertions about shapes, ranks, sizes and dtypes. They look at what is known while a function is traced:
// they cost nothing when a compiled program runs, and hold under every transformation.
//
//   assert_shape(x, {32, any_length, "features"});       // a number, any, a name
//   assert_shape(x, {ellipsis, {1, 3}});                  // any leading axes; one of several lengths
//   Dimensions dims;                                      // names mean the same in all assertions that share
//   it assert_shape(x, {"batch", "in"}, dims); assert_shape(weight, {"in", "out"}, dims);

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/ops/index.hpp"

namespace apsis {

/// Turns all assertions of this room on or off, in every thread; they are on at first. Assertions in programs
/// that are compiled already stay as they were when those were traced.
void enable_asserts(bool on = true);
/// Turns all assertions of this room off, in every thread.
inline void disable_asserts() { enable_asserts(false); }
/// Whether assertions are on.
bool asserts_enabled();

/// What an assertion says first when it fails: what the caller knows about the array.
struct AssertOptions {
  std::string_view message = {};
};

/// The type of `any_length`.
struct AnyLength {};
/// In a pattern: one axis of any length.
inline constexpr AnyLength any_length{};

/// One entry of a shape pattern.
class Extent {
 public:
  /// An axis of this length.
  template <std::integral I>
  Extent(I length) : kind_(Kind::Lengths), lengths_{static_cast<std::int64_t>(length)} {}
  /// An axis of one of these lengths.
  Extent(std::initializer_list<std::int64_t> lengths) : kind_(Kind::Lengths), lengths_(lengths) {}
  Extent(AnyLength) : kind_(Kind::Any) {}
  /// Any number of axes; once in a pattern.
  Extent(Ellipsis) : kind_(Kind::Axes) {}
  /// An axis as long as all others of this name.
  Extent(const char* name) : kind_(Kind::Named), name_(name) {}

  enum class Kind : std::uint8_t { Lengths, Any, Axes, Named };
  Kind kind() const { return kind_; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  const std::string& name() const { return name_; }

 private:
  Kind kind_;
  std::vector<std::int64_t> lengths_;
  std::string name_;
};
/// `{3, any_length, ellipsis, "n"}`.
using ShapePattern = std::vector<Extent>;

/// A name in `dims[name]`, with the place where it was written: an operator has no room for it.
struct DimensionName {
  std::string_view name;
  Loc loc;
  template <class T>
  requires(std::is_convertible_v<const T&, std::string_view>)
      DimensionName(const T& text, Loc l = Loc::here())
      : name(text), loc(l) {}
};

/// Lengths by name. A name that an assertion meets for the first time takes the length it finds there.
class Dimensions {
 public:
  Dimensions() = default;
  Dimensions(std::initializer_list<std::pair<std::string, std::int64_t>> lengths) : lengths_(lengths) {}
  /// The length of a name. Throws if it has none.
  std::int64_t operator[](const DimensionName& name) const;
  /// The lengths of several names: dims.shape({"batch", "in"}).
  Shape shape(std::initializer_list<std::string_view> names, Loc loc = Loc::here()) const;
  /// Sets a name's length.
  void set(std::string_view name, std::int64_t length);
  /// Its length, or null.
  const std::int64_t* find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::int64_t>> lengths_;
};

/// Throws unless x's shape fits the pattern; names count within it. `what` it was and the first axis that
/// does not fit are named.
void assert_shape(const Array& x, const ShapePattern& pattern, const AssertOptions& options = {},
                  Loc loc = Loc::here());
/// The same; names count in all assertions with these dimensions. Those of a pattern that fails are not
/// bound.
void assert_shape(const Array& x, const ShapePattern& pattern, Dimensions& dimensions,
                  const AssertOptions& options = {}, Loc loc = Loc::here());

/// Throws unless all have the same shape; or the same lengths along the given axes (counted from the end when
/// negative), whatever else they have.
void assert_equal_shape(std::initializer_list<Array> arrays, const AssertOptions& options = {},
                        Loc loc = Loc::here());
void assert_equal_shape(std::initializer_list<Array> arrays, const std::vector<int>& axes,
                        const AssertOptions& options = {}, Loc loc = Loc::here());
/// The same of the first `count` axes.
void assert_equal_shape_prefix(std::initializer_list<Array> arrays, int count,
                               const AssertOptions& options = {}, Loc loc = Loc::here());
/// The same of the last `count` axes.
void assert_equal_shape_suffix(std::initializer_list<Array> arrays, int count,
                               const AssertOptions& options = {}, Loc loc = Loc::here());

/// Throws unless x has one of these numbers of axes: `assert_rank(x, {1, 2})`.
void assert_rank(const Array& x, const std::vector<int>& ranks, const AssertOptions& options = {},
                 Loc loc = Loc::here());
inline void assert_rank(const Array& x, int rank, const AssertOptions& options = {}, Loc loc = Loc::here()) {
  assert_rank(x, std::vector<int>{rank}, options, loc);
}
/// Throws unless x has no axes.
inline void assert_scalar(const Array& x, const AssertOptions& options = {}, Loc loc = Loc::here()) {
  assert_rank(x, 0, options, loc);
}
/// Throws unless all have the same number of axes.
void assert_equal_rank(std::initializer_list<Array> arrays, const AssertOptions& options = {},
                       Loc loc = Loc::here());

/// Throws unless x has one of these numbers of elements.
void assert_size(const Array& x, const std::vector<std::int64_t>& sizes, const AssertOptions& options = {},
                 Loc loc = Loc::here());
/// Throws unless all have the same number of elements.
void assert_equal_size(std::initializer_list<Array> arrays, const AssertOptions& options = {},
                       Loc loc = Loc::here());

/// A condition on a length: a number, or `at_least(2)` and its like.
struct LengthBound {
  std::int64_t low, high;  ///< inclusive
  LengthBound(std::int64_t least, std::int64_t most) : low(least), high(most) {}
  template <std::integral I>
  LengthBound(I exactly) : low(static_cast<std::int64_t>(exactly)), high(low) {}
};
/// Lengths of this number or more.
LengthBound at_least(std::int64_t length);
/// Lengths of this number or less.
LengthBound at_most(std::int64_t length);
/// Lengths above this number.
inline LengthBound more_than(std::int64_t length) { return at_least(length + 1); }
/// Lengths below this number.
inline LengthBound less_than(std::int64_t length) { return at_most(length - 1); }
/// Throws unless x has the axis (counted from the end when negative) and its length is as required.
void assert_axis_dimension(const Array& x, int axis, const LengthBound& length,
                           const AssertOptions& options = {}, Loc loc = Loc::here());

/// Throws unless x can be broadcast to the shape.
void assert_broadcastable(const Array& x, const Shape& shape, const AssertOptions& options = {},
                          Loc loc = Loc::here());
/// Throws unless `number` is a multiple of `divisor`.
void assert_divisible(std::int64_t number, std::int64_t divisor, const AssertOptions& options = {},
                      Loc loc = Loc::here());

/// The kinds of dtypes that `assert_dtype` takes.
enum class DtypeKind : std::uint8_t {
  Bool,
  Integer,
  SignedInteger,
  UnsignedInteger,
  Floating,
  Complex,
  Inexact
};
/// Throws unless x has one of these dtypes: `assert_dtype(x, {f32, f64})`.
void assert_dtype(const Array& x, const std::vector<Dtype>& dtypes, const AssertOptions& options = {},
                  Loc loc = Loc::here());
inline void assert_dtype(const Array& x, Dtype dtype, const AssertOptions& options = {},
                         Loc loc = Loc::here()) {
  assert_dtype(x, std::vector<Dtype>{dtype}, options, loc);
}
/// Throws unless x's dtype is of this kind.
void assert_dtype(const Array& x, DtypeKind kind, const AssertOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
