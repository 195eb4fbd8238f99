#pragma once

// Equal programs share compiled code, whatever lines of the user's source they come from. So what may fail as
// it runs is numbered in code, and the program of the caller says which place has the number.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program with the loops that have a bound numbered, in regions too.
GraphRef number_error_sites(const Graph& graph);
/// The place of the loop that has this number in an equal program; not known if there is none.
Loc place_of_site(const Graph& graph, std::int64_t site);

}  // namespace apsis::detail
