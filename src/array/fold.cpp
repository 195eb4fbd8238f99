#include "apsis/array/fold.hpp"

#include "apsis/ops/convert.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"
#include "array/windows.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

using Arrays = std::vector<Array>;

/// `combine` on two lists, which keeps shapes and dtypes.
class Combine {
 public:
  Combine(const char* where, const detail::Callee& combine) : where_(where), combine_(combine) {}
  Arrays operator()(const Arrays& a, const Arrays& b) const {
    Arrays both = a;
    both.insert(both.end(), b.begin(), b.end());
    Arrays out = combine_(both);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool same = i < out.size() && out[i].shape() == a[i].shape() && out[i].dtype() == a[i].dtype();
      if (!same)
        fail(messages::fold_changes, {where_, combine_.inputs(i), to_string(a[i].aval()),
                                      i < out.size() ? to_string(out[i].aval()) : "nothing"});
    }
    return out;
  }

 private:
  const char* where_;
  const detail::Callee& combine_;
};

/// The scalars that reductions begin with, in the dtypes of the arrays, all of one shape.
Arrays checked_starts(const char* where, std::span<const Array> xs, std::span<const Array> init) {
  if (xs.empty()) fail(messages::array_empty, {where});
  if (init.size() != xs.size())
    fail(messages::array_sizes,
         {where, std::to_string(xs.size()) + " arrays",
          "an init of " + std::to_string(init.size()) + " arrays", "give one scalar an array"});
  Arrays starts;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].shape() != xs[0].shape())
      fail(messages::array_sizes, {where, to_string(xs[0].aval()), to_string(xs[i].aval()),
                                   "arrays that are reduced together have one shape"});
    check_rank(where, init[i].ndim() == 0, "no axes as init", init[i]);
    starts.push_back(init[i].dtype() == xs[i].dtype() ? init[i] : astype(init[i], xs[i].dtype()));
  }
  return starts;
}

/// Entries [first, last) with a step, along axis 0 of each.
Arrays entries(const Arrays& xs, std::int64_t first, std::int64_t last, std::int64_t step) {
  Arrays out;
  for (const Array& x : xs) out.push_back(part(x, 0, first, last, step));
  return out;
}

}  // namespace

std::vector<Array> detail::reduce_call(const Callee& combine, std::span<const Array> xs,
                                       std::span<const Array> init, const Axes& axes, Loc loc) {
  const LocScope place(loc);
  Arrays all = checked_starts("reduce", xs, init);
  const Dims along = checked_axes("reduce", axes, xs[0]);
  const Combine together("reduce", combine);
  Arrays left;
  for (const Array& x : xs) left.push_back(moveaxis(joined_last(x, along), -1, 0));
  std::int64_t n = left[0].dim(0);
  for (; n > 1; n = (n + 1) / 2) {
    Arrays pairs = together(entries(left, 0, n - n % 2, 2), entries(left, 1, n, 2));
    if (n % 2 == 1)
      for (std::size_t i = 0; i < pairs.size(); ++i)
        pairs[i] = concatenate({pairs[i], part(left[i], 0, n - 1, n)});
    left = pairs;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Shape shape = left[i].shape();
    shape.erase(0);
    all[i] = broadcast_to(all[i], shape);
    if (n > 0) left[i] = reshape(left[i], shape);
  }
  return n == 0 ? all : together(all, left);
}

std::vector<Array> detail::reduce_window_call(const Callee& combine, std::span<const Array> xs,
                                              std::span<const Array> init, const WindowOptions& options,
                                              Loc loc) {
  const LocScope place(loc);
  const Arrays starts = checked_starts("reduce_window", xs, init);
  const Combine together("reduce_window", combine);
  const Arrays folded = fold_windows("reduce_window", xs, starts, options, loc, together);
  Arrays all;
  for (std::size_t i = 0; i < folded.size(); ++i) all.push_back(broadcast_to(starts[i], folded[i].shape()));
  return together(all, folded);
}

}  // namespace apsis
