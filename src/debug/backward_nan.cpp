// backward_nan: an identity whose tangent is another identity, whose transpose looks at the cotangent.

#include "apsis/debug/backward_nan.hpp"

#include "apsis/control/error_if.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "debug/identity.hpp"
#include "debug/messages.hpp"

namespace apsis {
namespace detail {

extern const Op backward_nan_op, nan_probe_op;

namespace {

using debug::NameParams;

void backward_nan_jvp(const JvpRule& r) {
  r.outs[0] = r.primals[0];
  r.out_tangents[0] = bind1(nan_probe_op, r.params, {r.tangents[0]});
}

template <const Op& op>
void map_operand(const BatchRule& r) {
  r.outs.push_back(bind1(op, r.params, {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

void nan_probe_jvp(const JvpRule& r) {
  r.outs[0] = bind1(nan_probe_op, r.params, {r.primals[0]});
  r.out_tangents[0] = bind1(nan_probe_op, r.params, {r.tangents[0]});
}

void nan_probe_transpose(const TransposeRule& r) {
  const auto& p = r.params.as<NameParams>();
  const Array& cotangent = r.cotangents[0];
  std::string text = messages::backward_nan.text;
  text.replace(text.find("{0}"), 3, p.name);
  text.replace(text.find("{1}"), 3, "{0}");
  error_if(any(isnan(cotangent)), Message{messages::backward_nan.id, text.c_str()}, {cotangent}, p.loc());
  r.out[0].add(cotangent);
}

}  // namespace

const Op backward_nan_op = {
    .name = "backward_nan",
    .kind = OpKind::Effect,
    .shape = debug::same_shape,
    .evaluate = debug::copy_operand,
    .jvp = backward_nan_jvp,
    .batch = map_operand<backward_nan_op>,
    .parse = parse_params<NameParams>,
};
const Op nan_probe_op = {
    .name = "nan_probe",
    .kind = OpKind::Effect,
    .shape = debug::same_shape,
    .evaluate = debug::copy_operand,
    .jvp = nan_probe_jvp,
    .transpose = nan_probe_transpose,
    .batch = map_operand<nan_probe_op>,
    .parse = parse_params<NameParams>,
};

}  // namespace detail

Array debug::backward_nan(const Array& x, const char* name, Loc loc) {
  return bind1(apsis::detail::backward_nan_op, make_params(NameParams(name, loc)), {x}, loc);
}

}  // namespace apsis
