#pragma once

#include <vector>

#include "apsis/tree/type.hpp"

namespace apsis::detail {

/// Whether each leaf of a tree is there.
std::vector<bool> presence(ConstTreeRef tree);

}  // namespace apsis::detail
