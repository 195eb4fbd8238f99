#pragma once

#include <span>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// A borrowed function on flat arrays: what the templates at the edge hand to the compiled core.
struct Callee {
  void* context;
  void (*run)(void* context, std::span<const Array> in, std::vector<Array>& out);
  std::vector<Array> operator()(std::span<const Array> in) const {
    std::vector<Array> out;
    run(context, in, out);
    return out;
  }
};

/// Of a callable `(std::span<const Array>) → std::vector<Array>`, which must outlive the Callee.
template <class F>
Callee callee_of(F& f) {
  return {const_cast<void*>(static_cast<const void*>(&f)),
          [](void* context, std::span<const Array> in, std::vector<Array>& out) {
            out = (*static_cast<F*>(context))(in);
          }};
}

}  // namespace apsis::detail
