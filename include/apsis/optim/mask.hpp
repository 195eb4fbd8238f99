#pragma once

// Which leaves of the parameters a transformation is for.

#include <string>

#include "apsis/core/array.hpp"
#include "apsis/tree/fields.hpp"

namespace apsis::optim {

/// A choice of leaves by a function without captures: `[](const Array& leaf) { return leaf.ndim() > 1; }`, or
/// `[](const Array& leaf, const std::string& path) { return path.ends_with("weight"); }`. Paths are those of
/// `tree_paths`. The function may ask for shape and dtype, not for values. By default all leaves are chosen.
class Mask {
 public:
  Mask() = default;
  template <class F>
  requires(std::is_invocable_v<const F&, const Array&>&& std::is_convertible_v<F, bool (*)(const Array&)>)
      Mask(F by_leaf)
      : by_leaf_(by_leaf) {}
  template <class F>
  requires(std::is_invocable_v<const F&, const Array&, const std::string&>&&
               std::is_convertible_v<F, bool (*)(const Array&, const std::string&)>) Mask(F by_path)
      : by_path_(by_path) {}
  /// Whether it chooses all leaves.
  bool is_all() const { return !by_leaf_ && !by_path_; }
  /// Whether it chooses a leaf.
  bool operator()(const Array& leaf, const std::string& path) const {
    return by_leaf_ ? by_leaf_(leaf) : !by_path_ || by_path_(leaf, path);
  }

 private:
  bool (*by_leaf_)(const Array&) = nullptr;
  bool (*by_path_)(const Array&, const std::string&) = nullptr;
  APSIS_FIELDS(Mask, by_leaf_, by_path_)
};

}  // namespace apsis::optim
