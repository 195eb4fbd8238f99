#pragma once

// What a program needs to add ops of its own; not part of apsis.hpp. An op is one constant with static
// storage: its name and its rules, plain functions.
//
//   void cube_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out.push_back(in[0]);
//   } void cube_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) { … } void
//   cube_jvp(const JvpRule& r) { … } const Op cube_op = {.name = "my.cube", .kind = OpKind::Elementwise,
//   .shape = cube_shape, …}; Array cube(const Array& x, Loc loc = Loc::here()) { return bind1(cube_op, {},
//   {x}, loc); }
//
// Rules that are left out are refused where they are needed, naming op and rule. docs/howto/own_ops.md goes
// through a whole op.

#include "apsis/core/emitter.hpp"
#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis {

/// Makes an op known by its name, so that programs in text form that hold it can be read. It needs a `parse`
/// rule if it has parameters. Safe to call twice, and from any thread. Throws if another op has the name.
void register_op(const Op& op, Loc loc = Loc::here());

}  // namespace apsis
