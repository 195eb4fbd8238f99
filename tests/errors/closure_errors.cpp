#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const Array xs = array({1., 2., 3.});
struct Scaled {
  Array x;
  int power = 1;
};
using Map = Closure<Array(Array)>;
Map doubled() {
  return closure_convert([](const Array& x) { return xs * x; }, xs);
}

}  // namespace

APSIS_PROVOKES(closure_empty,
               "[Closure] this closure holds no program: make it by closure_convert, or load it", Map()(xs))

APSIS_PROVOKES(closure_argument,
               "[Closure] argument 0 was f64[3] when this closure was converted, and is f64[2] now; convert "
               "it, or convert the function again for these arguments",
               doubled()(array({1., 2.})))

APSIS_PROVOKES(closure_structure,
               "[Closure] the arguments have another structure than those this closure was converted for, "
               "which are the first: `arguments[0].power` is `int` 1 in the first, `int` 2 in the second; "
               "convert the function again for these arguments",
               closure_convert([](const Scaled& s) { return s.x * s.power; }, Scaled{xs})(Scaled{xs, 2}))

APSIS_PROVOKES(
    closure_capture_count,
    "[Closure] there are 0 captures, but the program takes 1: change their values, not their number", {
      Map f = doubled();
      f.captures.clear();
      f(xs);
    })

APSIS_PROVOKES(closure_text,
               "[Closure] the program takes 2 arrays and returns 1, but the arguments and captures are 1 "
               "arrays and the result 1; give the captures it was saved with, and its signature",
               Map::from_text(doubled().text(), {}))

APSIS_PROVOKES(combine_lengths,
               "[associative_scan] the entries differ in number along the axis: elems.first has 3, "
               "elems.second has 2; cut them to one length",
               associative_scan([](const std::pair<Array, Array>& a,
                                   const std::pair<Array, Array>&) { return a; },
                                std::pair{xs, array({1., 2.})}))

APSIS_PROVOKES(combine_mismatch,
               "[associative_scan] f must return what it got: elems was f64[1], and is f64[] in the result; "
               "write f entry by entry along the axis, or pass vmap(f)",
               associative_scan([](const Array& a, const Array& b) { return sum(a + b); }, xs))

APSIS_PROVOKES(combine_structure,
               "[associative_scan] f must return the structure it got: 2 arrays went in, 1 came out",
               associative_scan([](const std::vector<Array>& a,
                                   const std::vector<Array>&) { return std::vector{a[0]}; },
                                std::vector{xs, xs}))

APSIS_PROVOKES(
    residual_mismatch,
    "[vjp] value 0 that the linear program kept is f64[3], but it was made for f64[]: what vjp and "
    "linearize return under vmap has an axis more; call it under vmap too",
    vmap([](const Array& x) { return vjp([](const Array& y) { return sin(y); }, x).second; })(xs)(array(1.)))

APSIS_PROVOKES(
    captures_changed,
    "[step] this function would be another program if it were traced again: the array v1 of its "
    "program, which it uses from outside, was [1. 2. 3.] and is [2. 4. 6.] now. What a function "
    "captures by reference is read when it is traced; pass it as an argument, or make it a field of "
    "a struct",
    {
      Array factor = xs;
      auto step = jit([&](const Array& x) { return x * factor; }, {.name = "step"});
      step(xs);
      factor = 2. * xs;
      CheckCaptures check;
      step(xs);
    })
