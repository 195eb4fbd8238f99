#pragma once

// An Array has no hash: its value may not be known yet when the hash is asked for, and equal values may be computed
// differently. Key containers by something static, or compare with tree_equal.

#include <string>

#include "apsis/core/array.hpp"

template <>
struct std::hash<apsis::Array> {
  hash() = delete;
  std::size_t operator()(const apsis::Array&) const = delete;
};
