// announce_transform: an identity whose every rule says that it ran.

#include "apsis/debug/announce.hpp"

#include <cstdio>

#include "debug/identity.hpp"

namespace apsis {
namespace detail {

extern const Op announce_op;

namespace {

using debug::NameParams;

void say(const Params& params, const char* what, const Aval& aval) {
  std::printf("[announce_transform] %s: %s, %s\n", params.as<NameParams>().name.c_str(), what,
              to_string(aval).c_str());
  std::fflush(stdout);
}

void announce_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  // Under a trace that asks for shapes the op is being staged; others ask when they run it.
  if (const Trace* trace = current_trace())
    say(params, (std::string(trace->name()) + " stages").c_str(), in[0]);
  out.push_back(in[0]);
}

void announce_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  say(params, "run", in[0].aval());
  debug::copy_operand(params, in, out);
}

void announce_jvp(const JvpRule& r) {
  say(r.params, "derivative", r.primals[0].aval());
  r.outs[0] = bind1(announce_op, r.params, {r.primals[0]});
  r.out_tangents[0] = bind1(announce_op, r.params, {r.tangents[0]});
}

void announce_transpose(const TransposeRule& r) {
  say(r.params, "transpose", r.cotangents[0].aval());
  r.out[0].add(bind1(announce_op, r.params, {r.cotangents[0]}));
}

void announce_batch(const BatchRule& r) {
  say(r.params, "vmap", r.operands[0].aval());
  r.outs.push_back(bind1(announce_op, r.params, {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

}  // namespace

const Op announce_op = {
    .name = "announce",
    .kind = OpKind::Effect,
    .shape = announce_shape,
    .evaluate = announce_evaluate,
    .jvp = announce_jvp,
    .transpose = announce_transpose,
    .batch = announce_batch,
    .parse = parse_params<NameParams>,
};

}  // namespace detail

Array debug::announce_transform(const Array& x, const char* name, Loc loc) {
  return bind1(apsis::detail::announce_op, make_params(NameParams(name, loc)), {x}, loc);
}

}  // namespace apsis
