#pragma once

// Reductions over windows that slide along an array, and how windows are described.

#include <concepts>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis {

/// One number for all axes, or one for each: `3`, `{3, 5}`.
class PerAxis {
  APSIS_FIELDS(PerAxis, sizes_, same_)

 public:
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) PerAxis(I all) : sizes_{static_cast<std::int64_t>(all)} {}
  PerAxis(std::initializer_list<std::int64_t> each) : sizes_(each), same_(false) {}
  explicit PerAxis(const Dims& each) : sizes_(each.begin(), each.end()), same_(false) {}
  /// As many as there are axes. Throws, naming `where` and `what`, if another number of them is given, or
  /// one is less than `least`.
  Dims of(std::size_t axes, const char* where, const char* what, std::int64_t least, Loc loc) const;

 private:
  std::vector<std::int64_t> sizes_;
  bool same_ = true;
};

/// What stands around an array: a number for all sides, `{1, 2}` a number for both sides of each axis,
/// `{{0, 1}, {2, 2}}` numbers before and after for each axis (negative ones crop), or by name: "VALID"
/// (nothing), "SAME" (such that a result has as many entries as x, divided by the stride and rounded up; the
/// odd one is behind), "SAME_LOWER" (the odd one is in front).
class Padding {
  APSIS_FIELDS(Padding, kind_, low_, high_)

 public:
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Padding(I all)
      : kind_(Kind::All), low_{static_cast<std::int64_t>(all)}, high_(low_) {}
  Padding(std::initializer_list<std::int64_t> each) : kind_(Kind::Each), low_(each), high_(each) {}
  Padding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> each)
      : Padding(std::vector<std::pair<std::int64_t, std::int64_t>>(each)) {}
  explicit Padding(const std::vector<std::pair<std::int64_t, std::int64_t>>& each) : kind_(Kind::Each) {
    for (const auto& [low, high] : each) {
      low_.push_back(low);
      high_.push_back(high);
    }
  }
  /// Throws for another name.
  Padding(const char* name, Loc loc = Loc::here());

  /// The windows that are laid over an array.
  struct Windows {
    const Dims &sizes, &window, &strides;  ///< of the array, of a window (with its gaps), of its steps
  };
  /// Numbers before and after each axis. Throws, naming `where`, if there are more or fewer than axes.
  std::pair<Dims, Dims> of(const Windows& windows, const char* where, Loc loc) const;
  /// Whether "SAME" or "SAME_LOWER" was given, and which.
  bool is_same() const { return kind_ == Kind::Same || kind_ == Kind::SameLower; }
  bool is_same_lower() const { return kind_ == Kind::SameLower; }
  /// Whether "VALID" was given.
  bool is_valid() const { return kind_ == Kind::Valid; }

 private:
  enum class Kind : std::uint8_t { All, Each, Valid, Same, SameLower };
  Kind kind_;
  std::vector<std::int64_t> low_, high_;
};

/// Options of `reduce_window_max` and its kin: one number for all axes of the array, or one for each.
struct WindowOptions {
  PerAxis window = 1;    ///< sizes of the window
  PerAxis strides = 1;   ///< from one window to the next
  Padding padding = 0;   ///< by what leaves the result as it is: 0, or the least or greatest number
  PerAxis dilation = 1;  ///< d - 1 entries between those that count
  /// Between neighbours of the array, d - 1 entries as padding has.
  PerAxis base_dilation = 1;
};
/// The sum over every place of a window: one entry a place. Throws where numbers do not fit.
/// (jax.lax.reduce_window)
Array reduce_window_sum(const Array& x, const WindowOptions& options, Loc loc = Loc::here());
/// The largest entry; NaN wins. Of equal ones the first, in row-major order, has the derivative.
Array reduce_window_max(const Array& x, const WindowOptions& options, Loc loc = Loc::here());
/// The least entry, otherwise as reduce_window_max.
Array reduce_window_min(const Array& x, const WindowOptions& options, Loc loc = Loc::here());

}  // namespace apsis
