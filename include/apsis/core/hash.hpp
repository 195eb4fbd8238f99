#pragma once

// An Array has no hash and no order: its value may not be known yet when they are asked for, and equal values
// may be computed differently. Key containers by something static, or compare with tree_equal.

#include <string>

#include "apsis/core/array.hpp"

template <>
struct std::hash<apsis::Array> {
  hash() = delete;
  std::size_t operator()(const apsis::Array&) const;  ///< not deleted too: one error is enough
};
template <>
struct std::less<apsis::Array> {
  bool operator()(const apsis::Array&, const apsis::Array&) const = delete;
};
