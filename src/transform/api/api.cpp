// The flat functions behind the public templates of grad, jvp, linearize, vmap and the Jacobians.

#include <algorithm>

#include "apsis/transform/holomorphic.hpp"
#include "apsis/transform/jacobian.hpp"
#include "apsis/transform/jvp.hpp"
#include "apsis/transform/linear_transpose.hpp"
#include "apsis/transform/vmap.hpp"
#include "ir/text.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/linearize.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {
namespace {

/// The static part of a LinearProgram: a `Linear` without residuals, and the avals of results that do not
/// depend on the inputs.
struct LinearData {
  GraphRef graph;
  std::vector<bool> in_mask, out_mask;
  std::vector<Aval> in_avals, out_avals;
};
const LinearData& linear_data(const void* value) { return *static_cast<const LinearData*>(value); }

const StaticObjectType linear_type{
    "linear program",
    [](const void* a, const void* b) {
      const LinearData &x = linear_data(a), &y = linear_data(b);
      return x.graph == y.graph && x.in_mask == y.in_mask && x.out_mask == y.out_mask &&
             x.in_avals == y.in_avals && x.out_avals == y.out_avals;
    },
    [](const void* value) { return signature_text(*linear_data(value).graph); },
    [](void* value) { delete static_cast<LinearData*>(value); }};

Linear with_residuals(const LinearData& data, std::span<const Array> residuals, const char* name) {
  Linear linear{data.graph, {residuals.begin(), residuals.end()}, data.in_mask, data.out_mask};
  std::size_t first = data.graph->input_count() - residuals.size();
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const Aval& want = data.graph->aval(static_cast<ValueId>(first + i));
    if (residuals[i].dtype() != want.dtype() || residuals[i].shape() != want.shape())
      fail(messages::residual_mismatch,
           {name, std::to_string(i), to_string(residuals[i].aval()), to_string(want)});
  }
  return linear;
}

/// Zeros where a derivative exists but is zero.
void fill_zeros(std::vector<Array>& values, std::span<const Aval> avals, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].is_empty() && wanted[i] && is_inexact(avals[i].dtype()))
      values[i] = lax::full_like(avals[i], 0);
}

void keep_inexact(std::vector<bool>& mask, std::span<const Array> leaves) {
  for (std::size_t i = 0; i < leaves.size(); ++i) mask[i] = mask[i] && is_inexact(leaves[i].dtype());
}

void check_like(const Array& value, const Aval& want, const char* name, const char* what,
                const LeafNames& names, std::size_t i, Loc loc) {
  if (value.is_empty()) return;
  if (value.shape() != want.shape() || (value.dtype() != want.dtype() && !value.weak()))
    fail(messages::tangent_mismatch, {name, what, names(i), to_string(value.aval()), to_string(want)}, loc);
}

/// A weakly typed cotangent or tangent takes the dtype it is for.
Array fitted(const Array& value, const Aval& want) {
  return value.is_empty() || value.dtype() == want.dtype() ? value : lax::convert(value, want.dtype());
}

}  // namespace

std::vector<Array> LinearProgram::push(std::span<const Array> tangents, const LeafNames& names,
                                       Loc loc) const {
  const LocScope place(loc);
  const LinearData& data = linear_data(program_.value());
  std::vector<Array> fit;
  for (std::size_t i = 0; i < tangents.size() && i < data.in_avals.size(); ++i) {
    check_like(tangents[i], data.in_avals[i], "linearize", "tangent", names, i, {});
    fit.push_back(fitted(tangents[i], data.in_avals[i]));
  }
  fit.resize(data.in_avals.size());  // what is not there is zero
  std::vector<Array> out = push_forward(with_residuals(data, residuals_, "linearize"), fit);
  fill_zeros(out, data.out_avals, std::vector<bool>(out.size(), true));
  return out;
}
std::vector<Array> LinearProgram::pull(std::span<const Array> cotangents, const LeafNames& names,
                                       Loc loc) const {
  const LocScope place(loc);
  const LinearData& data = linear_data(program_.value());
  std::vector<Array> fit;
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    check_like(cotangents[i], data.out_avals[i], "vjp", "cotangent", names, i, {});
    fit.push_back(fitted(cotangents[i], data.out_avals[i]));
  }
  std::vector<Array> out = pull_back(with_residuals(data, residuals_, "vjp"), fit);
  fill_zeros(out, data.in_avals, data.in_mask);
  return out;
}

namespace {
/// Whether it is weak matters to nobody here.
std::string plain_text(const Aval& aval) { return to_string(Aval(aval.dtype(), aval.shape())); }
}  // namespace

void check_floating(const LeafNames& names, std::span<const Array> leaves, std::size_t begin, std::size_t end,
                    int number, const char* transformation, Loc loc) {
  std::string what;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_inexact(leaves[i].dtype())) return;
    if (i - begin < 3) what += (i == begin ? "" : ", ") + names(i) + " is " + plain_text(leaves[i].aval());
  }
  if (end - begin > 3) what += ", …";
  if (end == begin)
    what = (number < 0 ? "the arguments hold" : "argument " + std::to_string(number) + " holds") +
           std::string(" no array");
  fail(messages::argument_not_floating, {transformation, what}, loc);
}

LinearizedCall linearize_call(const Callee& callee, std::span<const Array> leaves,
                              std::vector<bool> differentiate, Loc loc) {
  const LocScope place(loc);
  keep_inexact(differentiate, leaves);
  Linearized r = linearize(callee, leaves, differentiate, loc);
  Linear& linear = r.linear;
  auto* data = new LinearData{std::move(linear.graph), std::move(linear.in_mask), std::move(linear.out_mask),
                              avals_of(leaves), avals_of(r.outs)};
  StaticObject program = StaticObject::intern(linear_type, data->graph->hash(), data);
  return {std::move(r.outs), LinearProgram(std::move(linear.residuals), std::move(program))};
}

namespace {

/// Refuses a program that is not linear in its inputs, at once and not when the transpose is called: by
/// transposing it, for nothing else.
void check_linear(const Staged& staged, std::size_t inputs, Loc loc) {
  const Graph& graph = *staged.graph;
  std::vector<bool> linear(graph.input_count(), false);
  std::fill_n(linear.begin(), inputs, true);
  const Linear program{staged.graph, staged.captures, linear,
                       std::vector<bool>(graph.outputs().size(), true)};
  std::vector<Aval> outs;
  for (ValueId v : graph.outputs()) outs.push_back(graph.aval(v));
  const auto pull = [&](std::span<const Array> cotangents) {
    std::vector<Array> given(cotangents.begin(), cotangents.end());
    for (Array& a : given)
      if (!is_inexact(a.dtype())) a = Array();
    pull_back(program, given);
    return std::vector<Array>();
  };
  try {
    stage_with(pull, outs, "linear_transpose", loc);
  } catch (const Error& error) {
    const std::string_view id = error.id(), text = error.what();
    if (id != "no_transpose" && id != "not_linear") throw;
    const std::string op(text.substr(1, text.find(']') - 1));
    for (const Eqn& e : graph.eqns())
      if (e.op->name == op) loc = e.loc;
    fail(messages::function_not_linear, {op}, loc);
  }
}

}  // namespace

LinearProgram linear_program(const Callee& callee, std::span<const Array> leaves, const char* name, Loc loc) {
  const LocScope place(loc);
  std::vector<Aval> avals = avals_of(leaves), out_avals;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!is_inexact(avals[i].dtype()))
      fail(messages::linear_argument, {name, callee.inputs(i), to_string(avals[i])}, loc);
  Staged staged = stage(callee, avals, name, loc);
  check_linear(staged, avals.size(), loc);
  for (ValueId v : staged.graph->outputs()) out_avals.push_back(staged.graph->aval(v));
  auto* data = new LinearData{staged.graph, std::vector<bool>(avals.size(), true),
                              std::vector<bool>(out_avals.size(), true), avals, out_avals};
  StaticObject program = StaticObject::intern(linear_type, data->graph->hash(), data);
  return LinearProgram(std::move(staged.captures), std::move(program));
}

GradientCall gradient_call(const Callee& callee, std::span<const Array> leaves,
                           std::vector<bool> differentiate, const char* name, Loc loc) {
  const LocScope place(loc);
  keep_inexact(differentiate, leaves);
  Linearized r = linearize(callee, leaves, differentiate, loc);
  if (r.outs.empty() || r.outs[0].ndim() != 0)
    fail(messages::loss_not_scalar, {name, r.outs.empty() ? "nothing" : to_string(r.outs[0].aval())}, loc);
  if (const Dtype dtype = r.outs[0].dtype(); !is_floating(dtype))
    fail(is_complex(dtype) ? messages::loss_complex : messages::loss_not_floating,
         {name, to_string(r.outs[0].aval())}, loc);
  std::vector<Array> cotangents(r.outs.size());
  cotangents[0] = literal(r.outs[0].dtype(), 1);
  GradientCall result{r.outs, pull_back(r.linear, cotangents)};
  fill_zeros(result.gradients, avals_of(leaves), differentiate);
  return result;
}

JvpCall jvp_call(const Callee& callee, std::span<const Array> leaves, std::span<const Array> tangents,
                 Loc loc) {
  const LocScope place(loc);
  std::vector<Array> fit(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!is_inexact(leaves[i].dtype())) continue;
    check_like(tangents[i], leaves[i].aval(), "jvp", "tangent", callee.inputs, i, loc);
    fit[i] = fitted(tangents[i], leaves[i].aval());
  }
  JvpResult r = jvp(callee, leaves, fit, loc);
  fill_zeros(r.tangents, avals_of(r.outs), std::vector<bool>(r.outs.size(), true));
  return {std::move(r.outs), std::move(r.tangents)};
}

namespace {

Array one_hot_basis(const Aval& aval) {
  std::int64_t n = aval.size();
  Array rows = lax::iota(Dtype::I64, {n, n}, 0), columns = lax::iota(Dtype::I64, {n, n}, 1);
  Shape shape = aval.shape();
  shape.insert(0, n);
  return lax::reshape(lax::convert(lax::eq(rows, columns), aval.dtype()), shape);
}

Shape joined(const Shape& a, const Shape& b) {
  Shape out = a;
  for (std::int64_t d : b) out.push_back(d);
  return out;
}

}  // namespace

JacobianCall jacobian_call(const Callee& callee, std::span<const Array> leaves,
                           std::vector<bool> differentiate, bool forward, const char* name, Loc loc,
                           bool holomorphic) {
  const LocScope place(loc);
  keep_inexact(differentiate, leaves);
  Linearized r = linearize(callee, leaves, differentiate, loc);
  std::vector<Aval> in_avals = avals_of(leaves), out_avals = avals_of(r.outs);
  if (std::ranges::none_of(out_avals, [](const Aval& a) { return is_inexact(a.dtype()); }))
    fail(messages::result_not_floating, {name, out_avals.empty() ? "no array" : plain_text(out_avals[0])},
         loc);
  std::size_t ins = leaves.size(), outs = r.outs.size();
  for (std::size_t i = 0; i < outs && holomorphic; ++i)
    if (!is_complex(out_avals[i].dtype())) fail(messages::holomorphic_result, {to_string(out_avals[i])}, loc);
  for (std::size_t i = 0; i < ins && forward && !holomorphic; ++i)
    if (differentiate[i] && is_complex(in_avals[i].dtype()))
      fail(messages::complex_jacobian, {name, "an argument", to_string(in_avals[i])}, loc);
  for (std::size_t i = 0; i < outs && !forward; ++i)
    if (is_complex(out_avals[i].dtype()))
      fail(messages::complex_jacobian, {name, "a result", to_string(out_avals[i])}, loc);
  JacobianCall result{r.outs, std::vector<Array>(ins * outs)};
  // Forward: one batch of tangents an input; reverse: one batch of cotangents an output.
  for (std::size_t s = 0; s < (forward ? ins : outs); ++s) {
    const Aval& seed = forward ? in_avals[s] : out_avals[s];
    if (!is_inexact(seed.dtype()) || (forward && !differentiate[s])) continue;
    auto map = [&](std::span<const Array> lane) {
      std::vector<Array> seeds(forward ? ins : outs);
      seeds[s] = lane[0];
      std::vector<Array> found = forward ? push_forward(r.linear, seeds) : pull_back(r.linear, seeds);
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].is_empty()) found[i] = lax::full_like(forward ? out_avals[i] : in_avals[i], 0);
      return found;
    };
    if (seed.size() == 0) {
      for (std::size_t i = 0; i < (forward ? outs : ins); ++i) {
        const std::size_t out = forward ? i : s, in = forward ? s : i;
        if (!differentiate[in] || !is_inexact(out_avals[out].dtype())) continue;
        const Shape shape = joined(out_avals[out].shape(), in_avals[in].shape());
        result.blocks[out * ins + in] =
            lax::full(shape, (forward ? out_avals[out] : in_avals[in]).dtype(), 0);
      }
      continue;
    }
    Array basis = one_hot_basis(seed);
    int axis = 0;
    BatchResult found = batch(callee_of(map), seed.size(), {&basis, 1}, {&axis, 1});
    for (std::size_t i = 0; i < found.outs.size(); ++i) {
      std::size_t out = forward ? i : s, in = forward ? s : i;
      if (!differentiate[in] || !is_inexact(out_avals[out].dtype())) continue;
      Array block = with_axis(found.outs[i], found.axes[i], forward ? out_avals[out].rank() : 0, seed.size());
      result.blocks[out * ins + in] =
          lax::reshape(block, joined(out_avals[out].shape(), in_avals[in].shape()));
    }
  }
  return result;
}

Array join_blocks(std::span<const Array> blocks, std::span<const std::int64_t> heights,
                  std::span<const std::int64_t> widths) {
  std::vector<Array> lines;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    std::vector<Array> line;
    for (std::size_t j = 0; j < widths.size(); ++j) {
      const Array& block = blocks[i * widths.size() + j];
      if (!block.is_empty()) line.push_back(lax::reshape(block, {heights[i], widths[j]}));
    }
    if (!line.empty()) lines.push_back(line.size() == 1 ? line[0] : lax::concatenate(line, 1));
  }
  if (lines.empty()) fail(messages::jacobian_empty, {});
  return lines.size() == 1 ? lines[0] : lax::concatenate(lines, 0);
}

Array real_of_holomorphic(const Array& result, Loc loc) {
  if (!is_complex(result.dtype(loc))) fail(messages::holomorphic_result, {to_string(result.aval())}, loc);
  return real(result, loc);
}

void fail_other_tree(const char* name, ConstTreeRef expected, ConstTreeRef given, Loc loc) {
  fail(messages::linear_structure, {name, structure_difference(expected, given, "value")}, loc);
}

void fail_in_axes(std::size_t given, std::size_t arguments, Loc loc) {
  fail(messages::vmap_in_axes, {std::to_string(given), std::to_string(arguments)}, loc);
}

std::vector<Array> vmap_call(const Callee& callee, std::span<const Array> leaves, std::span<const int> axes,
                             const VmapOptions& options, Loc loc) {
  const LocScope place(loc);
  const std::string& axis_name = options.axis_name;
  if (!axis_name.empty() && find_axis(axis_name)) fail(messages::axis_name_taken, {axis_name}, loc);
  std::int64_t size = options.axis_size;
  if (size < -1) fail(messages::vmap_axis_size, {std::to_string(size)}, loc);
  std::vector<int> places(axes.begin(), axes.end());
  std::size_t first = leaves.size();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (axes[i] == not_mapped) {
      places[i] = -1;
      continue;
    }
    int rank = leaves[i].ndim();
    places[i] = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (places[i] < 0 || places[i] >= rank)
      fail(messages::vmap_axis, {std::to_string(axes[i]), callee.inputs(i), to_string(leaves[i].aval())},
           loc);
    std::int64_t n = leaves[i].shape()[static_cast<std::size_t>(places[i])];
    if (size >= 0 && n != size)
      fail(messages::vmap_sizes,
           {callee.inputs(i), std::to_string(n),
            first < leaves.size() ? callee.inputs(first) + " has" : "axis_size says", std::to_string(size)},
           loc);
    if (first == leaves.size()) first = i;
    size = n;
  }
  if (size < 0) fail(messages::vmap_nothing, {}, loc);
  BatchResult r = batch(callee, {size, axis_name}, leaves, places, loc, options.loops);
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    int to = options.out_axes.of(i);
    if (to == not_mapped) {
      if (r.axes[i] >= 0) fail(messages::vmap_out_mapped, {callee.results(i)}, loc);
      continue;
    }
    int rank = r.outs[i].ndim() + (r.axes[i] >= 0 ? 0 : 1);
    if (to < -rank || to >= rank)
      fail(messages::vmap_out_axis, {std::to_string(to), callee.results(i), std::to_string(rank)}, loc);
    r.outs[i] = with_axis(r.outs[i], r.axes[i], to < 0 ? to + rank : to, size);
  }
  return r.outs;
}

}  // namespace apsis::detail
