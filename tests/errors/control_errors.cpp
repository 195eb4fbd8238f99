#include <apsis/apsis.hpp>

#include "apsis/core/op.hpp"
#include "codegen/builder/load.hpp"
#include "codegen/compile/compile.hpp"
#include "core/memory.hpp"
#include "core/sizes.hpp"
#include "errors/provoke.hpp"
#include "ir/graph.hpp"

using namespace apsis;

namespace {

const auto identity = [](const Array& x) { return x; };
const auto for_ever = [](const Array&) { return true; };
struct Counter {
  Array value;
  int kind = 0;
};

}  // namespace

APSIS_PROVOKES(
    carry_mismatch,
    "[while_loop] the body must return the carry with the shapes and dtypes it got: carry is f64[2] on "
    "entry and f64[] on return; make the body return what it got, or start from a carry of that shape and "
    "dtype",
    while_loop([](const Array& x) { return sum(x) < 10.; }, [](const Array& x) { return sum(x); },
               array({1., 2.})))

APSIS_PROVOKES(condition_not_bool,
               "[while_loop] the condition must return one boolean scalar, got f64[]; compare, or reduce "
               "with all(…) or any(…)",
               while_loop(identity, identity, array(1.)))

APSIS_PROVOKES(branch_mismatch,
               "[cond] all branches must return equal shapes and dtypes: result is f64[2] in branch 0 and "
               "f64[] in branch 1",
               cond(
                   Array(true), identity, [](const Array& x) { return sum(x); }, array({1., 2.})))

APSIS_PROVOKES(lax_loop_reverse,
               "[while_loop] reverse mode cannot go through a loop of kind Lax, which keeps no tape; use the "
               "default kind, or Loop::Bounded with max_steps, or forward mode (jvp, jacfwd)",
               grad([](const Array& x) {
                 return while_loop([](const Array& y) { return y < 10.; },
                                   [](const Array& y) { return y * 2.; }, x, {.kind = Loop::Lax});
               })(array(1.)))

APSIS_PROVOKES(max_steps_exceeded,
               "[while_loop] the condition still held after max_steps = 5 iterations; raise max_steps, or "
               "make the loop end",
               while_loop(for_ever, identity, array(1.), {.max_steps = 5}))

APSIS_PROVOKES(scan_length,
               "[scan] the xs differ in length: xs.first is 2, xs.second is 3; cut them to one length",
               scan(
                   [](const Array& c, const std::pair<Array, Array>& x) {
                     return std::pair{c + x.first * x.second, Nothing{}};
                   },
                   array(0.), std::pair{array({1., 2.}), array({1., 2., 3.})}))

APSIS_PROVOKES(static_carry,
               "[while_loop] the body must return the carry with the structure it got (the first) and not "
               "another (the second): `carry.kind` is `int` 0 in the first, `int` 1 in the second; make what "
               "changes from one iteration to the next an Array",
               while_loop([](const Counter&) { return Array(true); },  // said before the loop runs
                          [](const Counter& c) {
                            return Counter{c.value + 1., c.kind + 1};
                          },
                          Counter{array(0.)}))

APSIS_PROVOKES(negative_bound,
               "[while_loop] max_steps is -3; give the most iterations there may be, or -1 for no bound",
               while_loop(for_ever, identity, array(1.), {.max_steps = -3}))

APSIS_PROVOKES(
    range_bounds,
    "[fori_loop] the bounds must be integer scalars, got ~i64[] and f64[]; convert them with astype",
    fori_loop(
        0, array(3.), [](const Array&, const Array& x) { return x; }, array(1.)))

APSIS_PROVOKES(branch_structure,
               "[cond] the branches return different static values or empty arrays: these are part of the "
               "program; make them Arrays",
               cond(
                   Array(true),
                   [](const Array& x) {
                     return Counter{x, 0};
                   },
                   [](const Array& x) {
                     return Counter{x, 1};
                   },
                   array(1.)))

APSIS_PROVOKES(
    bounded_without_bound,
    "[while_loop] a loop of kind Bounded needs max_steps; give it, or use the default kind, or Loop::Lax for "
    "forward mode only, which need none",
    while_loop(for_ever, identity, array(1.), {.kind = Loop::Bounded}))

APSIS_PROVOKES(scan_no_length, "[scan] without xs the number of iterations is unknown; give {.length = n}",
               scan(
                   [](const Array& c, Nothing) {
                     return std::pair{c, Nothing{}};
                   },
                   array(0.), Nothing{}))

APSIS_PROVOKES(scan_scalar,
               "[scan] the xs are scanned along axis 0, but xs is a scalar (f64[]); capture it in the body "
               "instead",
               scan(
                   [](const Array& c, const Array& x) {
                     return std::pair{c + x, Nothing{}};
                   },
                   array(0.), array(1.)))

APSIS_PROVOKES(
    predicate_not_bool,
    "[cond] the predicate must be a boolean scalar, got f64[]; compare, or reduce with all(…) or any(…)",
    cond(array(1.), identity, identity, array(1.)))

APSIS_PROVOKES(index_not_integer, "[switch_] the index must be an integer scalar, got f64[]",
               switch_(array(1.), std::tuple{identity, identity}, array(1.)))

APSIS_PROVOKES(error_condition,
               "[error_if] the condition must be boolean, got f64[]; compare, or reduce with any(…)",
               error_if(array(1.), Message{"own", "text"}))

APSIS_PROVOKES_WITHOUT_PLACE(error_code, "[error_if_code] the code must be i64, got f64[]", {
  Array code = array(1.);
  bind(*detail::find_op("error_if"), {}, {&code, 1}, {});
})

APSIS_PROVOKES_WITHOUT_PLACE(
    region_operands, "[call] the region takes 1 values, got 2",
    detail::parse_graph("(a: f64[]) {\n"
                        "  b: f64[] = call{name=\"f\", region=(x: f64[]) { return x }}(a, a)\n"
                        "  return b\n}"))

APSIS_PROVOKES_WITHOUT_PLACE(
    region_operand_aval, "[call] value 0 of the region is f64[], got f64[2]",
    detail::parse_graph("(a: f64[2]) {\n"
                        "  b: f64[] = call{name=\"f\", region=(x: f64[]) { return x }}(a)\n"
                        "  return b\n}"))

// A scan that multiplies its carry with itself: no tangent loop is like this, so its rule is asked directly.
APSIS_PROVOKES_WITHOUT_PLACE(
    loop_not_transposable, "[scan] this loop is not linear in its carry, so it has no transpose", {
      detail::GraphRef graph = detail::parse_graph(
          "(a: f64[]) {\n"
          "  b: f64[] = scan{consts=0, carries=1, length=2, reverse=false, body=(c: f64[]) { d: f64[] = "
          "mul(c, "
          "c) return d }}(a)\n"
          "  return b\n}");
      const detail::Eqn& scan = graph->eqns()[0];
      Array cotangent = array(1.);
      Array operand;
      Accumulator out(false, cotangent.aval());
      scan.op->transpose({scan.params, {&operand, 1}, {&cotangent, 1}, {&out, 1}});
    })

APSIS_PROVOKES_WITHOUT_PLACE(
    list_limit,
    "[while_loop] what loops record for the backward pass outgrew the limit of " +
        std::to_string(detail::list_limit()) +
        " bytes, nine tenths of the memory; give a loop `checkpoints` or `checkpoint_bytes`, or take "
        "fewer steps",
    {
      detail::ListStore store(4096);
      store.grow(*store.make(64), 1000);
    })

APSIS_PROVOKES(
    no_memory_for_program,
    "[jit] memory ran out as a compiled program ran: it needs 256 TiB beside its results and what loops "
    "record, and this process may use " +
        detail::bytes_text(static_cast<double>(detail::machine_memory())) +
        " in all; the largest value of the program is f64[17592186044416] (128 TiB), made here; make it "
        "smaller, or work through it in parts",
    jit([](const Array& x) { return sum(cumsum(x * arange(std::int64_t(1) << 44))); })(array(1.)))

APSIS_PROVOKES(checkpoints,
               "[while_loop] checkpoints is 1 and checkpoint_bytes 0: give at least 2 states or a positive "
               "number of bytes, or 0 for a tape without bound",
               while_loop(for_ever, identity, array(1.), {.checkpoints = 1}))

APSIS_PROVOKES(
    cancelled,
    "[call] the call was stopped from outside, by its CancelToken or by Ctrl-C, before its results "
    "were complete; call again after CancelToken::reset",
    {
      CancelToken token;
      CancelScope scope(token);
      token.cancel();
      while_loop(for_ever, identity, array(1.));
    })

APSIS_PROVOKES_WITHOUT_PLACE(
    no_code_generator,
    "[jit] the module that compiles could not be loaded from nowhere.so: nowhere.so: cannot open "
    "shared object file: No such file or directory. Install libapsis_llvm.so next to libapsis.so, "
    "and the LLVM library it was built with",
    detail::load_code_generator("nowhere.so"))

APSIS_PROVOKES(
    progress_interval,
    "[progress] every_seconds is -1.000000 and every_steps 0: intervals must not be negative; 0 is "
    "for none",
    while_loop([](const Array& x) { return x < 3.; }, [](const Array& x) { return x + 1.; }, array(0.),
               {.progress = {.every_seconds = -1.}}))

APSIS_PROVOKES(progress_scalar, "[progress] steps must be a scalar, got f64[2]; report a sum or a minimum",
               report_progress({.every_steps = 1}, array({1., 2.})))

APSIS_PROVOKES(
    scan_negative_length,
    "[scan] length is -5; give the number of iterations, 0 or more, or leave it out where there are xs",
    scan(
        [](const Array& c, Nothing) {
          return std::pair{c, Nothing{}};
        },
        array(0.), Nothing{}, {.length = -5}))

APSIS_PROVOKES(
    no_branches,
    "[switch_] there are no branches to choose from: the list of functions is empty; give at least one",
    switch_(0, std::vector<Array (*)(const Array&)>{}, array(1.)))

APSIS_PROVOKES(scan_unroll, "[scan] unroll = 0: give the number of iterations that are one, 1 or more",
               scan(
                   [](const Array& c, const Array& x) {
                     return std::pair{c + x, x};
                   },
                   0., array({1., 2.}), {.unroll = 0}))
