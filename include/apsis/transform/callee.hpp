#pragma once

#include <span>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/type.hpp"

namespace apsis::detail {

/// How an error calls the arrays of a list: a borrowed function from index to path.
struct LeafNames {
  const void* context = nullptr;
  std::string (*name)(const void* context, std::size_t i) = nullptr;
  /// `argument 0.layers[1].weight`, or `array 3` where there is no tree.
  std::string operator()(std::size_t i) const {
    return name ? name(context, i) : "array " + std::to_string(i);
  }
};

/// A tree and what an error calls it; without a name it is `argument i`, i counting the trees without one.
struct NamedTree {
  ConstTreeRef tree;
  const char* name;
};
/// The path of leaf `i`, counting the leaves that are there: those that are not empty, or, where the leaves
/// have been taken out of the trees, those marked `present`.
std::string path_among(std::span<const NamedTree> trees, std::size_t i,
                       const std::vector<bool>* present = nullptr);
/// Of the leaves of one tree, which must outlive the result.
LeafNames names_of(const NamedTree& tree);

/// A borrowed function on flat arrays: what the templates at the edge hand to the compiled core.
struct Callee {
  void* context;
  void (*run)(void* context, std::span<const Array> in, std::vector<Array>& out);
  LeafNames inputs, results;
  std::vector<Array> operator()(std::span<const Array> in) const {
    std::vector<Array> out;
    run(context, in, out);
    return out;
  }
};

/// Of a callable `(std::span<const Array>) → std::vector<Array>`, which must outlive the Callee. If it can
/// tell paths (`input_path(i)`, `result_path(i)`), errors name arrays by them.
template <class F>
Callee callee_of(F& f) {
  Callee callee{const_cast<void*>(static_cast<const void*>(&f)),
                [](void* context, std::span<const Array> in, std::vector<Array>& out) {
                  out = (*static_cast<F*>(context))(in);
                },
                {},
                {}};
  if constexpr (requires { f.input_path(std::size_t{}); }) {
    callee.inputs = {
        &f, [](const void* context, std::size_t i) { return static_cast<const F*>(context)->input_path(i); }};
    callee.results = {&f, [](const void* context, std::size_t i) {
                        return static_cast<const F*>(context)->result_path(i);
                      }};
  }
  return callee;
}

}  // namespace apsis::detail
