#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const auto identity = [](const Array& x) { return x; };

}  // namespace

APSIS_PROVOKES(unknown_axis,
               "[psum] no vmap around this has an axis named \"k\"; axes in scope: j, i; name it where it is "
               "mapped, as in "
               "vmap(f, {.axis_name = \"k\"})",
               vmap(vmap([](const Array& x) { return psum(x, "k"); }, {.axis_name = "j"}),
                    {.axis_name = "i"})(ones({2, 3})))

APSIS_PROVOKES(
    axis_name_taken,
    "[vmap] the axis name \"i\" is in use by a vmap around this one; give each axis a name of its own",
    vmap(vmap(identity, {.axis_name = "i"}), {.axis_name = "i"})(ones({2, 3})))

APSIS_PROVOKES(one_axis_only, "[ppermute] works over one named axis, got 2; apply it once for each",
               ppermute(array(1.), {"i", "j"}, {{0, 1}}))

APSIS_PROVOKES(collective_axis, "[all_gather] axis 2 is out of range for f64[]",
               vmap([](const Array& x) { return all_gather(x, "i", {.axis = 2}); },
                    {.axis_name = "i"})(ones({2})))

APSIS_PROVOKES(collective_size,
               "[all_to_all] axis 0 of f64[3] must hold one entry for each of the 2 lanes of axis \"i\"",
               vmap([](const Array& x) { return all_to_all(x, "i", 0, 0); },
                    {.axis_name = "i"})(ones({2, 3})))

APSIS_PROVOKES(permutation,
               "[ppermute] the pair from lane 0 to lane 2 does not fit: lanes of \"i\" go from 0 up to 2, "
               "excluded, and each "
               "may be source once and target once",
               vmap(
                   [](const Array& x) {
                     return ppermute(x, "i", {{0, 2}});
                   },
                   {.axis_name = "i"})(ones({2})))

APSIS_PROVOKES(unvmap_not_bool, "[unvmap_any] needs booleans, got f64[]; compare first",
               unvmap_any(array(1.)))

APSIS_PROVOKES(lockstep_tape,
               "[while_loop] the lanes of axis \"i\" work together in a loop that they leave at different "
               "times: vmap cannot "
               "go over its reverse mode; differentiate around the vmap, as in grad(vmap(f)), or let a "
               "collective decide in "
               "the condition, such as pmax(error, \"i\") > tol",
               vmap(grad([](const Array& x) {
                      return while_loop([](const Array& y) { return y < 9.; },
                                        [](const Array& y) { return y + psum(y, "i"); }, x);
                    }),
                    {.axis_name = "i"})(array({1., 2.})))

APSIS_PROVOKES(
    sum_of_tapes,
    "[grad] a loop, or a batch of loops, that goes back through a tape made outside of it has no "
    "reverse mode, as where a loop's body calls the pull-back that vjp gave; call vjp in the body, "
    "or take forward mode: jvp or jacfwd",
    grad([](const Array& x) {
      auto [y, pull] = vjp(
          [](const Array& p) {
            return while_loop([](const Array& a) { return a < 4.; },
                              [](const Array& a) { return 1.3 * a + 0.1 * sin(a); }, p);
          },
          x);
      return fori_loop(
          0, 3, [&, back = pull](const Array&, const Array& z) { return std::get<0>(back(sin(z))); }, y);
    })(array(1.)))

APSIS_PROVOKES(lockstep_effect,
               "[while_loop] the lanes of axis \"i\" work together in a loop that they leave at different "
               "times, and which "
               "has effects (checks, callbacks, prints): lanes that have ended would repeat them; let a "
               "collective decide in "
               "the condition, or move the effect out of the loop",
               vmap(
                   [](const Array& x) {
                     return while_loop([](const Array& y) { return y < 9.; },
                                       [](const Array& y) {
                                         error_if(y < 0., Message{"own", "negative"});
                                         return y + psum(y, "i");
                                       },
                                       x);
                   },
                   {.axis_name = "i"})(array({1., 2.})))

APSIS_PROVOKES(branch_effect,
               "[cond] the lanes of axis \"i\" choose different branches, work together in one of them, and "
               "a branch has "
               "effects (checks, callbacks, prints): all would have to run all branches; move the collective "
               "or the effect "
               "out of the branches",
               vmap(
                   [](const Array& x) {
                     auto checked = [](const Array& v) {
                       error_if(v < 0., Message{"own", "negative"});
                       return psum(v, "i");
                     };
                     return cond(x > 1., checked, identity, x);
                   },
                   {.axis_name = "i"})(array({1., 2.})))
