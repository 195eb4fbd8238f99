#include <cstring>

#include "ir/graph.hpp"

namespace apsis::detail {
namespace {

void constant_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.empty());
  const auto& p = params.as<ConstantParams>();
  APSIS_ASSERT(p.dtype != Dtype::Bool || p.bits <= 1);
  out.push_back(Aval(AvalData{p.dtype, p.weak, ListKind::None, {}}));
}

void constant_evaluate(const Params& params, std::span<const Array>, std::span<Array> out) {
  const auto& p = params.as<ConstantParams>();
  const std::uint64_t bits[2] = {p.bits, p.high_bits};
  std::memcpy(mutable_data<char>(out[0]), bits, item_size(p.dtype));
  out[0].node()->literal = true;
}

}  // namespace

// Never differentiated or batched: it has no operands, so no tracer ever reaches it.
const Op constant_op = {
    .name = "constant",
    .kind = OpKind::Constant,
    .shape = constant_shape,
    .evaluate = constant_evaluate,
    .not_differentiable = "a literal has no operand",
    .parse = parse_params<ConstantParams>,
};

Array constant_value(const Params& params) {
  const auto& p = params.as<ConstantParams>();
  Array out = allocate(Aval(AvalData{p.dtype, p.weak, ListKind::None, {}}));
  constant_evaluate(params, {}, {&out, 1});
  return out;
}

}  // namespace apsis::detail
