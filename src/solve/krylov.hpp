// Iterations that solve linear systems by products with the operator alone.
#pragma once

#include "apsis/solve/linear_solve.hpp"
#include "solve/support.hpp"

namespace apsis::detail {

/// A linear map as a borrowed function.
class Apply {
 public:
  template <class F>
  Apply(const F& f)
      : f_(&f), run_([](const void* f, const Array& x) { return Array((*static_cast<const F*>(f))(x)); }) {}
  Array operator()(const Array& x) const { return run_(f_, x); }

 private:
  const void* f_;
  Array (*run_)(const void*, const Array&);
};

/// x with a·x = b, to where the residual is at most `enough`. b is about 1 in size.
Array conjugate_gradients(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
                          const LinearMethod& m);
Array bicgstab(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
               const LinearMethod& m);
Array gmres(const Apply& a, const Apply& precondition, const Array& b, const Array& enough,
            const LinearMethod& m);
/// x [columns] with the least |a·x - b|, to where |aᵀ·(a·x - b)| is at most `enough`. b is about 1 in size.
Array lsmr(const Apply& a, const Apply& transpose, const Array& b, const Array& enough,
           const LinearMethod& m);
/// What the residual of a solution may be.
Array allowed(const Array& b, const LinearMethod& m);

}  // namespace apsis::detail
