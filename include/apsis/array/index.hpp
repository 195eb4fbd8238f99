#pragma once

// Positions in arrays, and choosing by them, as in jax.numpy.

#include <array>
#include <optional>

#include "apsis/ops/index.hpp"

namespace apsis {

/// x with x[.., indices[.., i, ..], ..] = values[.., i, ..]: what `take_along_axis` reads, written.
Array put_along_axis(const Array& x, const Array& indices, const Array& values, int axis,
                     Loc loc = Loc::here());
/// The choice of the first condition that holds, elementwise; `otherwise` where none does. Throws unless
/// there are as many choices as conditions.
Array select(std::span<const Array> conditions, std::span<const Array> choices, const Array& otherwise = 0,
             Loc loc = Loc::here());
Array select(std::initializer_list<Array> conditions, std::initializer_list<Array> choices,
             const Array& otherwise = 0, Loc loc = Loc::here());

/// Elementwise cases[which]: `which` is an integer, the nearest one if there is no such case, or a boolean
/// for two cases, false for the first. All broadcast. Throws for a boolean and other numbers of cases.
/// (jax.lax.select_n)
Array select_n(const Array& which, std::span<const Array> cases, Loc loc = Loc::here());
Array select_n(const Array& which, std::initializer_list<Array> cases, Loc loc = Loc::here());

/// A piece of `piecewise`: a constant, or a function of an array, which must live through the call.
class Piece {
 public:
  template <class T>
  requires std::is_convertible_v<const T&, Array> Piece(const T& constant) : value_(constant) {}
  template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&> Piece(const F& f)
      : function_(&f),
        call_([](const void* g, const Array& x) -> Array { return (*static_cast<const F*>(g))(x); }) {}
  Piece(Array (*f)(const Array&, Loc)) : plain_(f) {}
  /// What stands where the piece does, for arguments x.
  Array at(const Array& x, Loc loc) const {
    if (plain_) return plain_(x, loc);
    return call_ ? call_(function_, x) : value_;
  }

 private:
  Array value_;
  const void* function_ = nullptr;
  Array (*call_)(const void*, const Array&) = nullptr;
  Array (*plain_)(const Array&, Loc) = nullptr;
};
/// A function in pieces: `piecewise(x, {left, right}, {f, 2., g})` is f(x) where the condition `left` holds,
/// 2 where `right` does (where several hold, the last counts), and g(x) elsewhere: 0, if there is no piece
/// for it. Functions are applied to all of x, element by element; what is not chosen leaves no trace, in
/// derivatives either. The result has x's dtype. Throws for other numbers of pieces, and for conditions that
/// are not boolean.
Array piecewise(const Array& x, std::initializer_list<Array> conditions, std::initializer_list<Piece> pieces,
                Loc loc = Loc::here());

/// What an index that is out of bounds means: the nearest one, or one modulo the size.
enum class OutOfBounds : std::uint8_t { Clip, Wrap };
/// Of the choice that an integer names, its element at this place.
Array choose(const Array& which, std::span<const Array> choices, OutOfBounds mode = OutOfBounds::Clip,
             Loc loc = Loc::here());
Array choose(const Array& which, std::initializer_list<Array> choices, OutOfBounds mode = OutOfBounds::Clip,
             Loc loc = Loc::here());

/// Options of `take`.
struct TakeOptions {
  std::optional<int> axis = {};          ///< without, among all elements in row-major order
  OutOfBounds mode = OutOfBounds::Clip;  ///< clipped ones that are negative are the first
  /// A scalar that stands where there is no such entry; negative indices count from the end then.
  Array fill_value = {};
};
/// Entries of an axis at integer positions; the result has the shape of `indices` in place of that axis.
Array take(const Array& x, const Array& indices, const TakeOptions& options, Loc loc = Loc::here());

/// Vectors of indices, the i-th along axis i: x(a, b) of `ix_({a, b})` is a grid of rows and columns.
std::vector<Array> ix_(std::initializer_list<Array> vectors, Loc loc = Loc::here());
/// The indices of the diagonal of an array of `ndim` axes of size n.
std::vector<Array> diag_indices(std::int64_t n, int ndim = 2, Loc loc = Loc::here());
/// The indices of the diagonal of an array of equal sizes.
std::vector<Array> diag_indices_from(const Array& x, Loc loc = Loc::here());
/// Rows and columns on and below the k-th diagonal of an n × m matrix; m = n if it is negative.
std::array<Array, 2> tril_indices(std::int64_t n, int k = 0, std::int64_t m = -1, Loc loc = Loc::here());
/// Rows and columns on and above the k-th diagonal of an n × m matrix; m = n if it is negative.
std::array<Array, 2> triu_indices(std::int64_t n, int k = 0, std::int64_t m = -1, Loc loc = Loc::here());
/// tril_indices of a matrix' sizes.
std::array<Array, 2> tril_indices_from(const Array& x, int k = 0, Loc loc = Loc::here());
/// triu_indices of a matrix' sizes.
std::array<Array, 2> triu_indices_from(const Array& x, int k = 0, Loc loc = Loc::here());

/// The index along each axis of the elements with these row-major numbers; numbers out of bounds are
/// clipped.
std::vector<Array> unravel_index(const Array& numbers, const Shape& shape, Loc loc = Loc::here());
/// The row-major number of the elements at these indices, one array an axis.
Array ravel_multi_index(std::span<const Array> indices, const Shape& shape,
                        OutOfBounds mode = OutOfBounds::Clip, Loc loc = Loc::here());
Array ravel_multi_index(std::initializer_list<Array> indices, const Shape& shape,
                        OutOfBounds mode = OutOfBounds::Clip, Loc loc = Loc::here());

}  // namespace apsis
