#pragma once

// What a model is made of.
//
//   std::cout << nn::summary(model);

#include <string>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/map.hpp"
#include "apsis/tree/path.hpp"

namespace apsis::nn {

/// One array of a model.
struct SummaryRow {
  std::string path;  ///< `layers[0].weight`
  Shape shape;
  Dtype dtype;
  std::int64_t parameters;  ///< elements, if the dtype is floating or complex; otherwise 0
  std::int64_t bytes;
};
/// The arrays of a model, and their sums.
struct Summary {
  std::vector<SummaryRow> rows;
  std::int64_t parameters = 0, bytes = 0;
};
/// As a table.
std::string to_string(const Summary& summary);
/// The same on a stream.
template <apsis::detail::TextStream Stream>
Stream& operator<<(Stream& stream, const Summary& summary) {
  stream << to_string(summary).c_str();
  return stream;
}

namespace detail {
Summary summarise(const std::vector<std::string>& paths, const std::vector<Array>& leaves);
Array floating_as(const Array& a, Dtype dtype);
}  // namespace detail

/// The arrays of any tree; empty ones are left out.
template <class Model>
Summary summary(const Model& model) {
  return detail::summarise(tree_paths(model), tree_leaves(model));
}

/// The model with its floating arrays of another dtype: to train in f32, or compute in bf16. Others stay.
template <class Model>
Model with_dtype(const Model& model, Dtype dtype, Loc loc = Loc::here()) {
  const LocScope place(loc);
  return tree_map([dtype](const Array& a) { return detail::floating_as(a, dtype); }, model);
}

}  // namespace apsis::nn
