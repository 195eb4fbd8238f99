#include "passes/pipeline.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "passes/block_rows.hpp"
#include "passes/drop_unit_axes.hpp"
#include "passes/error_sites.hpp"
#include "passes/fuse_loops.hpp"
#include "passes/group_error_checks.hpp"
#include "passes/hoist_invariants.hpp"
#include "passes/hoist_products.hpp"
#include "passes/inline_calls.hpp"
#include "passes/join_pads.hpp"
#include "passes/join_updates.hpp"
#include "passes/keep_views.hpp"
#include "passes/lift_elements.hpp"
#include "passes/lift_numbers.hpp"
#include "passes/lift_repeats.hpp"
#include "passes/loop_dce.hpp"
#include "passes/pick_elements.hpp"
#include "passes/push_gathers.hpp"
#include "passes/push_pads.hpp"
#include "passes/push_slices.hpp"
#include "passes/push_transposes.hpp"
#include "passes/scan_runs.hpp"
#include "passes/share_repeats.hpp"
#include "passes/slice_windows.hpp"
#include "passes/split_at_joins.hpp"
#include "passes/split_columns.hpp"
#include "passes/split_phases.hpp"
#include "passes/spread_extrema.hpp"
#include "passes/turn_loop_matrices.hpp"
#include "passes/turn_products.hpp"

namespace apsis::detail {
namespace {

/// Slices of concatenations are smaller ones, which may be read in the same way again.
GraphRef take_joins_apart(const Graph& graph) {
  constexpr int most_times = 4;
  GraphRef current = push_slices(graph);
  for (int i = 0; i < most_times; ++i) {
    const GraphRef made = split_at_joins(*current);
    if (made == current) break;
    current = push_slices(*made);
  }
  return current;
}

// A pass may rely on what those before it did, and keeps it.
constexpr Pass table[] = {
    // Loops with a bound get the numbers that their errors are told by. First: the numbers are those of the
    // traced program, which names the places in the user's source.
    {"number_error_sites", number_error_sites},
    // Carries and records that nothing reads go, so that what follows sees what loops are for.
    {"remove_dead_carries", remove_dead_carries},
    // Loops of functions stand beside those of their callers,
    {"inline_calls_with_loops", inline_calls_with_loops},
    // and become one with them where they do the same.
    {"fuse_loops", fuse_loops},
    // What is the same in every iteration is computed once. After fusion: a loop that is hoisted out of
    // another is no longer beside its copy.
    {"hoist_invariants", hoist_invariants},
    // What is computed of numbers is a number, repeated. After it was left where it is.
    {"lift_numbers", lift_numbers},
    // Products of single entries become one product of all. After what is constant in a loop is known.
    {"hoist_products", hoist_products},
    // Long computations of single numbers are made for all iterations, before or after the loop.
    {"lift_elements", lift_elements},
    // Running sums of lanes are loops.
    {"scan_runs", scan_runs},
    // Products come in the order of axes in which they are read.
    {"turn_products", turn_products},
    // Arrays that are replaced in large part are put together,
    {"join_updates", join_updates},
    // and gathers of windows.
    {"slice_windows", slice_windows},
    // Gradients of columns are, too.
    {"join_pads", join_pads},
    // What is read of columns put side by side is computed column by column.
    {"split_columns", split_columns},
    // What is read of arrays with others between their elements is computed for each of these by itself.
    // Before slices are pushed: it reads slices.
    {"split_phases", split_phases},
    // What is read at several concatenations is computed part by part, of slices, and of arrays of which
    // slices are read no more than these is made.
    {"take_joins_apart", take_joins_apart},
    // Of what few rows are gathered of, no more is computed. After slices of rows are gathered.
    {"push_gathers", push_gathers},
    // Of what is padded and added up, products with numbers become part of the sum. After sums are cropped.
    {"push_pads", push_pads},
    // Places of extrema become part of loops, too. After slices are pushed: the entries are slices.
    {"spread_extrema", spread_extrema},
    // Transposes of what is computed are computed of transposes. Before views are kept: it makes others.
    {"push_transposes", push_transposes},
    // What is the same for repeated elements is computed once,
    {"lift_repeats", lift_repeats},
    // and the rest in shapes that need no copies of views.
    {"keep_views", keep_views},
    // Columns that this made, and others, are vectors.
    {"drop_unit_axes", drop_unit_axes},
    // Gathers and scatters of single elements become part of loops.
    {"pick_elements", pick_elements},
    // Rows that are reduced and read again go through memory once. After all that makes loops over elements.
    {"block_rows", block_rows},
    // What loops multiply by is copied into the order of reading before them. After all that moves views.
    {"turn_loop_matrices", turn_loop_matrices},
    // One test for each group of checks. It splits the program where values are computed again for errors.
    {"group_error_checks", group_error_checks},
    // What is there several times is compiled once. Last: no pass looks into what is called.
    {"share_repeats", share_repeats},
};

/// Whether `list` is "all" or has the name among its names with commas between.
bool names(std::string_view list, std::string_view name) {
  if (list == "all") return true;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

std::span<const Pass> passes() { return table; }

GraphRef run_passes(const Graph& graph) {
  const char* printed = std::getenv("APSIS_PRINT_PASSES");
  GraphRef current(&graph);
  for (const Pass& pass : table) {
    current = pass.run(*current);
    if (printed && names(printed, pass.name))
      std::fprintf(stderr, "-- after %s\n%s\n", pass.name, to_string(*current).c_str());
  }
  return current;
}

}  // namespace apsis::detail
