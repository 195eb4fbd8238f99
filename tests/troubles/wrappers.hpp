#pragma once

// What the tests of the troubles share.

#include <functional>

#include "ir/graph.hpp"
#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {

/// Any function of an array and a static number, its type erased, so that compositions can be made at run
/// time.
class Function {
 public:
  template <class F>
  requires(!std::is_same_v<F, Function>) Function(F f) : f_(std::move(f)) {}
  Array operator()(const Array& x, int n) const { return f_(x, n); }

 private:
  std::function<Array(const Array&, int)> f_;
};

}  // namespace apsis::testing
