// Functions of one number whose derivative is another function.
#pragma once

#include <utility>

#include "apsis/control/custom.hpp"

namespace apsis::special::detail {

/// value(x), with slope(x) as its derivative, in derivatives of higher order, too.
template <Array (*value)(const Array&), Array (*slope)(const Array&)>
Array with_slope(const Array& x) {
  return custom_jvp([](const Array& v) { return value(v); },
                    [](const Array& v, const Array& dv) {
                      return std::pair{with_slope<value, slope>(v), dv * slope(v)};
                    })(x);
}

}  // namespace apsis::special::detail
