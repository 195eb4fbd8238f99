#pragma once

// Equations with delays: the slope depends on states of the past.
//
//   auto field = [](const Array& t, const Array& y, const Past<Array>& past) { return -past(t - 1.); };
//   auto before = [](const Array& t) { return ones_like(t); };
//   auto sol = diffeqsolve(DelayTerm{field, before, {1.}}, Tsit5{}, 0., 5., {}, 1., {…});

#include <span>
#include <vector>

#include "apsis/base/loc.hpp"
#include "apsis/core/array.hpp"
#include "apsis/diffeq/times.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {
namespace detail {

/// Finds the leaves of a state of the past, at a time t, for a slope at the time `now`.
struct PastLookup {
  const void* context = nullptr;
  std::vector<Array> (*at)(const void* context, const Array& t, const Array& now, Loc loc) = nullptr;
};
/// A DelayTerm on leaves; null for terms of other kinds.
struct FlatDelays {
  std::vector<Array> (*slope)(const void* context, const Array& t, std::span<const Array> y,
                              const PastLookup& past) = nullptr;
  std::vector<Array> (*history)(const void* context, const Array& t) = nullptr;
  Array delays = {};
};

}  // namespace detail

/// The states before the one of which a vector field is the slope, as a function of the time.
template <class Y>
class Past {
 public:
  Past(const detail::PastLookup& lookup, const Array& now, const Y& like)
      : lookup_(lookup), now_(now), like_(like) {}
  /// The state at t, by the history where that is before t0, by dense output behind. Throws, when it runs, if
  /// t is later than the shortest delay allows.
  Y operator()(const Array& t, Loc loc = Loc::here()) const {
    return detail::with_leaves(like_, lookup_.at(lookup_.context, t, now_, loc));
  }

 private:
  const detail::PastLookup& lookup_;
  const Array& now_;
  const Y& like_;
};

/// y' = vector_field(t, y, past), where past(t - delay) is the state a constant delay before (Bellen,
/// Zennaro, Numerical Methods for Delay Differential Equations, 2003: the method of steps). No step is longer
/// than the shortest delay. Where the history meets the solution its derivatives jump, and again each delay
/// later, in a derivative one higher: steps end there (see ClipStepSizeController::jump_ts), as long as the
/// solver's order tells. Takes any solver of whole equations; all steps are kept while it runs, with room for
/// max_steps. The solve is differentiable in the delays and in what the history is made of, too.
template <class F, class H>
struct DelayTerm {
  F vector_field;
  H history;     ///< history(t): the state before t0; y0 is the one at t0, which may be another
  Times delays;  ///< all of them, in any order, above 0; in a solve that goes back they lie ahead
};
template <class F, class H>
DelayTerm(F, H, Times) -> DelayTerm<F, H>;

}  // namespace apsis
