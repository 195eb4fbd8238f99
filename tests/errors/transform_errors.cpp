#include <apsis/apsis.hpp>

#include <thread>

#include "apsis/core/op.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

// An op of which only the shape is known.
const Op bare{
    .name = "bare",
    .kind = OpKind::Elementwise,
    .shape = [](const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out = {in[0]}; }};
Array bare_op(const Array& x) { return bind1(bare, {}, {x}); }

// As above, but linear: it is its own derivative, and lacks a transpose.
const Op forward_only{
    .name = "forward_only",
    .kind = OpKind::Elementwise,
    .shape = [](const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out = {in[0]}; },
    .evaluate = [](const Params&, std::span<const Array> in, std::span<Array> out) { out[0] = in[0]; },
    .jvp =
        [](const JvpRule& r) {
          r.outs[0] = bind1(forward_only, {}, {r.primals[0]});
          r.out_tangents[0] = bind1(forward_only, {}, {r.tangents[0]});
        }};

const auto square_of = [](const Array& x) { return x * x; };
const Array xs = array({1., 2., 3.});

}  // namespace

struct Nested {
  std::int64_t depth;
  Array operator()(const Array& x) const { return depth == 0 ? x : 2. * jit(Nested{depth - 1})(x); }
};
APSIS_PROVOKES(
    trace_depth,
    "[jit] 1000 functions are traced within each other, and there is no room for more; a function that "
    "calls a transformed copy of itself needs an end: repeat with `fori_loop` or `scan`, or trace on a "
    "thread with a larger stack",
    jit(Nested{5000})(Array(1.)))

APSIS_PROVOKES(loss_not_scalar,
               "[grad] the function must return one real scalar, got f64[3]; reduce it (sum, mean), or use "
               "jacrev for functions with many results",
               grad(square_of)(xs))

APSIS_PROVOKES(loss_complex,
               "[grad] the function must return one real scalar, got c128[]; take real(…), imag(…) or abs(…) "
               "of it, or differentiate holomorphic(f), whose derivative is complex",
               grad([](const Array& x) { return sum(complex(x, x)); })(xs))

APSIS_PROVOKES(
    loss_not_floating,
    "[grad] the function must return one real scalar, got i64[]: numbers that are not floating have "
    "no derivative; convert them with astype, or write 1. instead of 1",
    grad([](const Array& x) { return sum(astype(x, i64)); })(xs))

APSIS_PROVOKES(
    argument_not_floating,
    "[grad] argument 0 is i64[], but what one differentiates by must hold a floating array: integers "
    "have no derivative; write 3. instead of 3, or convert with astype",
    grad([](const Array& x) { return sum(x * x); })(3))

APSIS_PROVOKES(
    result_not_floating,
    "[jacfwd] the function returns i64[3], nothing floating: integers have no derivative; write 3. "
    "instead of 3, or convert with astype",
    jacfwd([](const Array& x) { return astype(x, i64); })(xs))

APSIS_PROVOKES(
    complex_jacobian,
    "[jacfwd] an argument of the function is c128[3]: of complex numbers only holomorphic functions "
    "have one derivative; differentiate with respect to the real and the imaginary part, or take "
    "jvp(f, z, v), which is f'(z) v where f is holomorphic, or jacfwd or jacrev of holomorphic(f)",
    jacfwd([](const Array& z) { return abs(z); })(astype(xs, c128)))

APSIS_PROVOKES(holomorphic_result,
               "[holomorphic] a result of the function is f64[]: give a function with complex results, and "
               "take grad of one with real results without `holomorphic`",
               grad(holomorphic([](const Array& z) { return sum(abs(z)); }))(astype(xs, c128)))

APSIS_PROVOKES(tangent_mismatch,
               "[jvp] the tangent of argument 0 is f64[], but argument 0 is f64[3]: shapes and dtypes must "
               "agree",
               jvp(square_of, xs, array(1.)))

APSIS_PROVOKES(
    vmap_axis,
    "[vmap] axis 1 is out of range for argument 0, which is f64[3]; map another axis, or none ({})",
    vmap(square_of, {.in_axes = {1}})(xs))

APSIS_PROVOKES(vmap_sizes,
               "[vmap] argument 1 has 2 lanes, but argument 0 has 3: all mapped axes must be equally long",
               vmap([](const Array& a, const Array& b) { return a * b; })(xs, array({1., 2.})))

APSIS_PROVOKES(vmap_nothing,
               "[vmap] no argument is mapped, so the number of lanes is unknown; map at least one array, or "
               "give axis_size",
               vmap(square_of, {.in_axes = {{}}})(xs))

APSIS_PROVOKES(vmap_out_mapped,
               "[vmap] result differs from lane to lane, but out_axes says it is not mapped; give it an axis",
               vmap(square_of, {.out_axes = {}})(xs))

APSIS_PROVOKES(vmap_out_axis, "[vmap] out axis 2 of result is out of range for its 1 axes",
               vmap(square_of, {.out_axes = 2})(xs))

APSIS_PROVOKES(vmap_in_axes, "[vmap] in_axes has 2 entries for 1 arguments; give one an argument",
               vmap(square_of, {.in_axes = {0, 0}})(xs))

// Kept outside the function that made it, a traced value outlives its trace.
static const std::string leak_place = std::string(__FILE__) + ":" + std::to_string(__LINE__ + 3);
static Array leak() {
  Array kept;
  grad([&kept](const Array& x) { return kept = x * x; })(array(2.));
  return kept;
}
APSIS_PROVOKES(leaked_tracer,
               "[add] a traced value (f64[]) was used after its derivative had ended: it was made at " +
                   leak_place +
                   ". Return it from the transformed function instead of keeping it in a variable outside",
               leak() + 1.)

APSIS_PROVOKES(not_concrete,
               "[bool] the value of a traced array is not known here: bool[] has no value while vmap runs. "
               "Use `where`, `cond` or `while_loop` for decisions that depend on values, or move the test "
               "out of the transformed function",
               vmap([](const Array& x) { return x > 0. ? x : -x; })(xs))

static const std::string foreign_place = std::string(__FILE__) + ":" + std::to_string(__LINE__ + 2);
static Array use_elsewhere() {
  return grad([](const Array& x) {
    std::exception_ptr error;
    std::thread([&] {
      try {
        x + 1.;
      } catch (...) {
        error = std::current_exception();
      }
    }).join();
    std::rethrow_exception(error);
    return x;
  })(array(2.));
}
APSIS_PROVOKES(foreign_thread,
               "[add] a traced value (f64[]) made at " + foreign_place +
                   " on another thread was used here: a function is traced on one thread; pass concrete "
                   "arrays between threads",
               use_elsewhere())

APSIS_PROVOKES_WITHOUT_PLACE(no_evaluate, "[bare] cannot run outside a compiled program", bare_op(xs))

APSIS_PROVOKES(no_jvp, "[bare] has no derivative rule: none was given when the op was defined",
               grad([](const Array& x) { return sum(bare_op(x)); })(xs))

APSIS_PROVOKES(no_batch, "[bare] has no batching rule, so vmap cannot go through it",
               vmap([](const Array& x) { return bare_op(x); })(xs))

APSIS_PROVOKES(no_transpose,
               "[forward_only] has no transpose rule, so reverse mode cannot go through it; use forward mode "
               "(jvp, jacfwd), or a custom rule",
               grad([](const Array& x) { return sum(bind1(forward_only, {}, {x})); })(xs))

APSIS_PROVOKES(compiled_argument,
               "[compiled] argument 0 was f64[3] when this program was compiled, and is f64[2] now; convert "
               "it, or compile again",
               lower(square_of, xs).compile()(array({1., 2.})))

APSIS_PROVOKES(
    compiled_static,
    "[compiled] the program was compiled for another static value or structure (argument 1: static "
    "int 2 → 3); pass the same, or compile again",
    lower([](const Array& x, int n) { return x * n; }, xs, 2).compile()(xs, 3))

APSIS_PROVOKES(
    max_traces,
    "[assert_max_traces] one trace too many of `step`, of which 1 trace is allowed: n: static int 2 → 3; "
    "pass an Array to make it dynamic",
    auto f = jit(assert_max_traces([](const Array& x, int n) { return x * n; }, 1,
                                   {.name = "step", .arguments = "x, n"}));
    f(xs, 2); f(xs, 2); f(xs, 3))

APSIS_PROVOKES(compiled_traced,
               "[compiled] argument 0 is traced: a compiled program cannot be transformed; transform the "
               "function, then compile",
               grad([](const Array& x) { return sum(lower(square_of, xs).compile()(x)); })(xs))

APSIS_PROVOKES(
    jit_entries,
    "[jit] max_entries = 0 cannot be; at least one signature is kept with its program: give 1 or more",
    jit(square_of, {.max_entries = 0}))

APSIS_PROVOKES(
    vmap_axis_size,
    "[vmap] axis_size = -2 cannot be; give the number of lanes, 0 or more, or -1 to have it told by "
    "the arguments",
    vmap(square_of, {.axis_size = -2})(xs))

APSIS_PROVOKES(compile_lanes,
               "[compile] lanes = 3 cannot be; choose a power of two up to 64, or 0 for as many as a vector "
               "register holds",
               lower(square_of, xs).compile({.lanes = 3}))

APSIS_PROVOKES(compile_level,
               "[compile] level = 4 cannot be; choose 0 to 3, or -1 to have it decided by the program",
               jit(square_of, {.compile = {.level = 4}}))

APSIS_PROVOKES(
    given_up,
    "[add] this Array (f64[3]) was given up: it was moved into a compiled call, which may have used its "
    "memory for results; use the result, or pass it without std::move",
    Array x = array({1., 2., 3.});
    jit([](const Array& v) { return v * 2.; })(std::move(x)); x + 1.)

APSIS_PROVOKES(compile_captures,
               "[lower] the function uses traced values from outside, so it has no program of its own; pass "
               "them as arguments",
               grad([](const Array& x) {
                 return sum(lower([&x](const Array& y) { return x * y; }, xs).compile()(xs));
               })(xs))

APSIS_PROVOKES(
    linear_structure,
    "[vjp] the tree given (the second) has another structure than what it is for (the first): `value` "
    "is a sequence of 2 in the first, a sequence of 1 in the second; pass one like the result of the "
    "function, or, to a push-forward, like its argument",
    auto [y, pull] = vjp(
        [](const Array& x) {
          return std::vector<Array>{x, x};
        },
        xs);
    pull({xs}))

APSIS_PROVOKES(
    function_not_linear,
    "[linear_transpose] the function is not linear: `sin` of it is not, so there is no transpose; give "
    "a linear function, or the derivative of this one (linearize, vjp)",
    linear_transpose([](const Array& x) { return 2. * sin(x); }, xs))

APSIS_PROVOKES(pattern_empty,
               "[SparsePattern] it is empty: make one by SparsePattern(rows, columns, row_starts, "
               "column_indices), SparsePattern::of or jacobian_sparsity",
               sparse_operator({}, array({1.})))

APSIS_PROVOKES(pattern_fault, "[SparsePattern] column_indices[1] is 2, and must be from 1 to 1",
               SparsePattern(1, 2, {0, 2}, {0, 2}))

APSIS_PROVOKES(
    pattern_matrix,
    "[SparsePattern] of takes a matrix whose elements are known now, got f64[2]; in compiled functions "
    "make the pattern outside",
    SparsePattern::of(array({0., 1.})))

APSIS_PROVOKES(sparsity_argument, "[jacobian_sparsity] takes derivatives by a floating array, got i64[2]",
               jacobian_sparsity([](const Array& x) { return x; }, arange(2)))

APSIS_PROVOKES(sparsity_result, "[jacobian_sparsity] the function must return a floating array, got i64[2]",
               jacobian_sparsity([](const Array& x) { return astype(x, i64); }, array({1., 2.})))
