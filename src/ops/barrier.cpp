// optimization_barrier: the identity on any number of arrays, which no rewriting looks through.

#include "apsis/ops/barrier.hpp"

#include <algorithm>
#include <cstring>

#include "apsis/core/emitter.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {
extern const Op optimization_barrier_op;
namespace {

void barrier_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  out.assign(in.begin(), in.end());
}

void barrier_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (std::size_t bytes = in[i].aval().bytes())
      std::memcpy(mutable_data<char>(out[i]), data_of(in[i]), bytes);
}

void barrier_emit(Emitter&, const Params&, std::span<const Aval>, std::span<const Value> in,
                  std::span<const Aval>, std::span<Value> out) {
  std::ranges::copy(in, out.begin());
}

/// Fences what is there of `values`, in its place.
void fence(std::span<const Array> values, std::span<Array> out) {
  std::vector<Array> there;
  for (const Array& a : values)
    if (!a.is_empty()) there.push_back(a);
  there = barrier(there, {});
  for (std::size_t i = 0, next = 0; i < values.size(); ++i)
    if (!values[i].is_empty()) out[i] = there[next++];
}

// The primals have a fence of their own: a tangent program must not hold them back.
void barrier_jvp(const JvpRule& r) {
  fence(r.primals, r.outs);
  fence(r.tangents, r.out_tangents);
}

void barrier_transpose(const TransposeRule& r) {
  std::vector<Array> fenced(r.cotangents.size());
  fence(r.cotangents, fenced);
  for (std::size_t i = 0; i < fenced.size(); ++i) r.out[i].add(fenced[i]);
}

void barrier_batch(const BatchRule& r) {
  r.outs = barrier(r.operands, {});
  r.out_axes.assign(r.axes.begin(), r.axes.end());
}

}  // namespace

std::vector<Array> barrier(std::span<const Array> values, Loc loc) {
  std::vector<Array> out(values.size());
  if (!values.empty()) bind(optimization_barrier_op, {}, values, out, loc);
  return out;
}

const Op optimization_barrier_op = {
    .name = "optimization_barrier",
    .kind = OpKind::Index,
    .shape = barrier_shape,
    .evaluate = barrier_evaluate,
    .jvp = barrier_jvp,
    .transpose = barrier_transpose,
    .batch = barrier_batch,
    .emit_unrolled = barrier_emit,
    .moves = true,
};

}  // namespace apsis::detail
