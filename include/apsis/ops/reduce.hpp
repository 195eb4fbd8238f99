#pragma once

// Reductions over axes: `sum(x)`, `sum(x, {.axis = 0})`, `max(x, {.axis = {0, -1}, .keepdims = true})`.
// Without axes, over all. The order of a sum is fixed by the number of its elements alone, so results do not
// depend on the machine.

#include <concepts>
#include <optional>

#include "apsis/core/array.hpp"

namespace apsis {

/// All axes, one, or several; negative ones count from the end.
struct Axes {
  Dims list;
  bool all = true;
  Axes() = default;
  Axes(int axis) : list{axis}, all(false) {}
  Axes(std::initializer_list<std::int64_t> axes) : list(axes), all(axes.size() == 0) {}
  Axes(Dims axes) : list(static_cast<Dims&&>(axes)), all(false) {}
};

/// A bool, and no number: in `sum(x, {0, 1})` the 1 would else say whether axis 0 stays. Several axes are
/// `sum(x, {.axis = {0, 1}})`.
class KeepDims {
 public:
  constexpr KeepDims(std::same_as<bool> auto keep) : keep_(keep) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) KeepDims(Number several_axes_are_written_as_dot_axis_equals_braces)
  = delete;
  constexpr operator bool() const { return keep_; }

 private:
  bool keep_;
};

/// Options of reductions. Each says below which of the last three it takes; the others it refuses.
struct ReduceOptions {
  Axes axis = {};
  KeepDims keepdims = false;        ///< the reduced axes stay, with size 1
  Array where = {};                 ///< booleans that broadcast to the array: only these elements count
  Array initial = {};               ///< a scalar that is reduced with the elements
  std::optional<Dtype> dtype = {};  ///< to compute in, and of the result
};

/// Options of `var` and `std_`.
struct VarianceOptions {
  Axes axis = {};
  KeepDims keepdims = false;
  double ddof = 0;                  ///< the divisor is the number of elements less this
  Array where = {};                 ///< booleans that broadcast to the array: only these elements count
  std::optional<Dtype> dtype = {};  ///< to compute in, and of the result: floating
};

/// Options of cumulative sums and their kin.
struct CumulativeOptions {
  Axes axis = {};        ///< one; without, over all elements in row-major order
  bool reverse = false;  ///< from the last entry to the first
};

// All throw for an axis that is not there or is named twice, and for an option that they do not take.

/// Booleans and integers are added up as i64 or u64. Empty: 0. Takes `where`, `initial` and `dtype` (as
/// booleans: whether any is not 0).
Array sum(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// Booleans and integers are multiplied as i64 or u64. Empty: 1. Takes `where`, `initial` and `dtype`.
Array prod(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// Integers become floating. Empty: NaN. Takes `where` and a floating `dtype`.
Array mean(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// The mean squared deviation from the mean. NaN where the divisor is not positive.
Array var(const Array& x, const VarianceOptions& options = {}, Loc loc = Loc::here());
/// sqrt(var(x)).
Array std_(const Array& x, const VarianceOptions& options = {}, Loc loc = Loc::here());
/// NaN wins. Equal maxima share the derivative evenly. Takes `initial` and, with it, `where`; without
/// `initial` throws over an empty axis.
Array max(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
Array min(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());  ///< As max.
/// Whether all (any) elements are not 0. Empty: true (false). Takes `where`.
Array all(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
Array any(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());  ///< As all.
/// The place of the first maximum (minimum) along one axis, or among all elements in row-major order; the
/// first NaN wins. i64. Throws over an empty axis, and for more than one.
Array argmax(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
Array argmin(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());  ///< As argmax.
/// The Euclidean length: sqrt(sum(x²)).
Array norm(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// log(sum(exp(x))) without overflow. Takes `where`.
Array logsumexp(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());

/// Running sums along one axis, added up in blocks of 4096. Same shape and dtype; booleans count as i64.
Array cumsum(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());
/// Running products, otherwise as cumsum.
Array cumprod(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());
/// The largest of the entries up to each, otherwise as cumsum.
Array cummax(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());
/// The least of the entries up to each, otherwise as cumsum.
Array cummin(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());

namespace detail {
/// Which options a reduction takes beside the axes.
struct TakenOptions {
  bool where = false, initial = false, dtype = false;
  bool floating = false;       ///< `dtype` must be floating
  bool needs_initial = false;  ///< nothing has no value: `where` goes with `initial`
};
/// Throws, naming `name`, for options that are not taken or do not fit x.
void check_options(const char* name, const Array& x, const ReduceOptions& options, TakenOptions taken,
                   Loc loc);
}  // namespace detail

}  // namespace apsis
