#pragma once

// What lives longer than it should, or at all.

#include "apsis/core/watch.hpp"
#include "apsis/transform/transformed.hpp"

namespace apsis::debug {

namespace detail {
void report_leaks(const apsis::detail::TracerWatch& watch, Loc loc);
}

/// What `check_leaks` returns; see there.
template <class F>
struct CheckLeaks : apsis::detail::Transformed<CheckLeaks<F>, F> {
  F f;
  Loc loc;
  CheckLeaks(F function, Loc where) : f(static_cast<F&&>(function)), loc(where) {}
  template <class... A>
  auto call(const A&... args) const {
    apsis::detail::TracerWatch watch;
    auto result = f(args...);
    detail::report_leaks(watch, loc);
    return result;
  }
};

/// `f`, whose calls throw at their end if a traced value made in the call outlives its transformation (stored
/// in a variable outside, say), naming its shape and the place where it was made. Otherwise such a value is
/// reported when it is used, or never.
template <class F>
CheckLeaks<F> check_leaks(F f, Loc loc = Loc::here()) {
  return {static_cast<F&&>(f), loc};
}

/// While one lives, `live_arrays` knows the arrays that are made in the process. Making arrays is slower
/// meanwhile.
class TrackArrays {
  apsis::detail::ArrayWatch watch_;
};

/// An array that holds memory.
struct LiveArray {
  Dtype dtype;
  Shape shape;
  std::size_t bytes;
};
/// The concrete arrays made since the first TrackArrays that are still there, in the order of their making.
std::vector<LiveArray> live_arrays();

}  // namespace apsis::debug
