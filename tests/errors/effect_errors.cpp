#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const auto host = [](const Array& x) { return x * 2.; };

// Outside of the macro, within which compilers count lines in two ways.
constexpr int line_of_leak = __LINE__ + 1;
Array leak(Array& kept, const Array& x) { return kept = sin(x), x; }

}  // namespace

APSIS_PROVOKES(callback_count,
               "[callback] \"callback\" returned 2 arrays, declared were 1: the tree it was given as being "
               "like its result "
               "has another structure",
               pure_callback(
                   [](const Array& x) {
                     return std::vector<Array>{x, x};
                   },
                   std::vector<Array>{array(0.)})(array(1.)))

APSIS_PROVOKES(callback_result,
               "[callback] array 0 of the result of \"table\" is f64[2], declared was f64[3]; convert it, or "
               "declare what it "
               "returns",
               pure_callback(host, zeros({3}), {.name = "table"})(array({1., 2.})))

APSIS_PROVOKES(callback_derivative,
               "[callback] \"callback\" has no derivative: a function of the host cannot be differentiated; "
               "give it one with "
               "custom_jvp, or put stop_gradient around its arguments",
               grad(pure_callback(host, array(0.)))(array(1.)))

APSIS_PROVOKES(
    callback_ordered,
    "[callback] \"callback\" is ordered, and lanes have no one order, so vmap cannot go over it; leave out "
    ".ordered, or call it outside of the vmap",
    vmap([](const Array& x) {
      auto write = io_callback([](const Array&) {}, IoCallbackOptions{.ordered = true});
      return while_loop([](const Array& y) { return y < 3.; },
                        [&](const Array& y) { return write(y), y + 1.; }, x);
    })(array({1., 2.})))

APSIS_PROVOKES(callback_vmap,
               "[callback] \"callback\" was made with VmapMethod::Refuse; choose how vmap calls it: "
               "Sequential, ExpandDims "
               "or BroadcastAll",
               vmap(pure_callback(host, array(0.), {.vmap_method = VmapMethod::Refuse}))(array({1., 2.})))

APSIS_PROVOKES(effect_again,
               "[linearize] the derivative of a loop or branch computes its body again, and needs there what "
               "a callback with "
               "effects (io_callback) returned: it would be called twice; use pure_callback, or "
               "stop_gradient on what the "
               "body makes of its result",
               grad([](const Array& x) {
                 auto next = io_callback([](const Array& i) { return i * 1.; }, array(0.));
                 return fori_loop(
                     0, 3, [&](const Array& i, const Array& c) { return c * c * next(i * 1.); }, x);
               })(array(2.)))

APSIS_PROVOKES(print_format,
               "[debug::print] the format \"{} {}\" has more places than there are arguments (1)",
               debug::print("{} {}", array(1.)))

APSIS_PROVOKES(backward_nan, "[backward_nan] the cotangent that came back to \"x\" has a NaN: nan",
               grad([](const Array& x) { return sqrt(debug::backward_nan(x) * 0.); })(array(1.)))

APSIS_PROVOKES(tracers_leaked,
               "[check_leaks] 1 traced values outlive their transformation, and can only fail where they are "
               "used; the first "
               "is f64[], made at " __FILE__ ":" +
                   std::to_string(line_of_leak) + ": return results instead of storing them",
               {
                 Array kept;
                 auto f = [&kept](const Array& x) { return leak(kept, x); };
                 debug::check_leaks(jit(f))(array(1.));
               })
