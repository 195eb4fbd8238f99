#pragma once

// NumPy's indexing, by value: nothing is changed in place.
//
//   x[0]   x[-1]   x(0, range(1, {}))   x(ellipsis, newaxis)   x[indices]
//   x.at(0).set(1.)   x.at(i, range({}, {}, 2)).add(v)

#include <concepts>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// An end of a range: a number, negative from the end, or `{}` for open.
struct Bound {
  std::int64_t value = 0;
  bool open = true;
  constexpr Bound() = default;
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) constexpr Bound(I i)
      : value(std::in_range<std::int64_t>(i) ? static_cast<std::int64_t>(i)
                                             : std::numeric_limits<std::int64_t>::max()),
        open(false) {}
};
/// A slice of an axis: see `range`.
struct Range {
  Bound start, stop;
  std::int64_t step = 1;
};
/// Python's `start:stop:step`. `range()` is the whole axis, `range(2, {})` all from 2 on, `range({}, {}, -1)`
/// backwards.
constexpr Range range(Bound start = {}, Bound stop = {}, std::int64_t step = 1) {
  return {start, stop, step};
}

/// The type of `ellipsis`.
struct Ellipsis {};
/// The type of `newaxis`.
struct NewAxis {};
/// Stands for as many whole axes as are left.
inline constexpr Ellipsis ellipsis{};
/// A new axis of size 1.
inline constexpr NewAxis newaxis{};

namespace detail {
template <class T>
concept PlaceInIndex = std::same_as<T, Range> || std::same_as<T, Ellipsis> || std::same_as<T, NewAxis>;
}
/// Refused: C++20 takes the comma of `x[ellipsis, 0]` for the operator, which leaves `x[0]`.
template <class First, class Next>
requires(detail::PlaceInIndex<First> || detail::PlaceInIndex<Next>) Range operator,(const First&,
                                                                                    const Next&) {
  static_assert(!std::same_as<First, First>, "x[a, b] is x[b] in C++20: write x(a, b) for several axes");
  return {};
}

/// One place in an index: an integer, a range, `ellipsis`, `newaxis`, an array of integers (traced or not),
/// or a concrete array of booleans. Integers out of bounds throw; entries of arrays are clamped when read and
/// dropped when written, as in JAX.
struct Index {
  enum class Kind : std::uint8_t { Integer, Range, Ellipsis, NewAxis, Array };
  Kind kind;
  Range range;
  Array array;
  Loc loc;

  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Index(I i, Loc loc_ = Loc::here())
      : kind(Kind::Integer), range{i, {}, 1}, loc(loc_) {}
  Index(const apsis::Range& r, Loc loc_ = Loc::here()) : kind(Kind::Range), range(r), loc(loc_) {}
  Index(Ellipsis, Loc loc_ = Loc::here()) : kind(Kind::Ellipsis), loc(loc_) {}
  Index(NewAxis, Loc loc_ = Loc::here()) : kind(Kind::NewAxis), loc(loc_) {}
  Index(const apsis::Array& a, Loc loc_ = Loc::here()) : kind(Kind::Array), array(a), loc(loc_) {}
};

/// What an entry of an index array that is out of bounds means: the nearest entry; reading, NaN (or the least
/// signed, the greatest unsigned integer, true); writing, nothing; or the entry that one comes to going round
/// the axis. Fill and Drop are the same: the first word suits reads. Promise says that no entry is out of
/// bounds (JAX: promise_in_bounds); if one is all the same, it means the nearest.
enum class IndexMode : std::uint8_t { Clip, Fill, Drop = Fill, Wrap, Promise };

/// What is said of the elements that an index names, not checked. (JAX: indices_are_sorted, unique_indices)
struct IndexPromises {
  bool sorted = false;  ///< in row-major order: changes nothing here
  bool unique = false;  ///< none is named twice: then multiply and divide have derivatives by what they take
};

/// What `x.at(…)` returns: x with the indexed elements replaced or combined. The values broadcast to the
/// indexed shape and convert to x's dtype; floating values are refused by integers and booleans. Where an
/// array names an element twice, `set` keeps the last, the others combine all.
class IndexUpdate {
 public:
  IndexUpdate(Array x, std::vector<Index> index)
      : x_(static_cast<Array&&>(x)), index_(static_cast<std::vector<Index>&&>(index)) {}
  /// The same elements, of which this is promised: `x.at(i).promise({.unique = true}).multiply(y)`.
  IndexUpdate promise(const IndexPromises& promises) const {
    IndexUpdate with = *this;
    with.promises_ = promises;
    return with;
  }
  Array get(IndexMode mode = IndexMode::Clip, Loc loc = Loc::here()) const;
  Array set(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  Array add(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  Array multiply(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  Array subtract(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  /// Integers become floating numbers, as by `/`. Where an element is named twice, it is divided by the
  /// product.
  Array divide(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  /// Of floating arrays. Where an element is named twice, its exponent is the product.
  Array power(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  /// The indexed elements become f(them), an array of their shape. One named twice is replaced once.
  template <class F>
  Array apply(const F& f, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const {
    return set(f(get(mode == IndexMode::Wrap ? mode : IndexMode::Clip, loc)), mode, loc);
  }
  Array min(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;
  Array max(const Array& values, IndexMode mode = IndexMode::Drop, Loc loc = Loc::here()) const;

 private:
  Array x_;
  std::vector<Index> index_;
  IndexPromises promises_;
};

/// Entries of an axis at integer positions; the result has the shape of `indices` in place of that axis.
Array take(const Array& x, const Array& indices, int axis, Loc loc = Loc::here());
/// Elements at integer positions in row-major order; the result has the shape of `indices`.
Array take(const Array& x, const Array& indices, Loc loc = Loc::here());
/// Entry [.., i, ..] of the result is x[.., indices[.., i, ..], ..]; the other axes are equal, or of size 1.
Array take_along_axis(const Array& x, const Array& indices, int axis, Loc loc = Loc::here());

namespace detail {
Array index_array(const Array& x, std::span<const Index> index, Loc loc);
/// What stands beside other indices: in their place of the user's source, not in this header.
template <class I>
Index index_beside(const I& index, Loc loc) {
  if constexpr (std::is_same_v<I, Index>)
    return index;
  else
    return Index(index, loc);
}
}  // namespace detail

template <class... I>
Array Array::operator()(const Index& first, const I&... rest) const {
  const Index all[] = {first, detail::index_beside(rest, first.loc)...};
  return detail::index_array(*this, all, first.loc);
}
template <class... I>
IndexUpdate Array::at(const Index& first, const I&... rest) const {
  return IndexUpdate(*this, {first, detail::index_beside(rest, first.loc)...});
}

}  // namespace apsis
