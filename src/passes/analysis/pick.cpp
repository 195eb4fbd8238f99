#include "passes/analysis/pick.hpp"

namespace apsis::detail {
namespace {

void pick_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<PickParams>();
  APSIS_ASSERT(in.size() == p.axes.size() + 1 && in.size() > 1);
  for (std::size_t k = 1; k < in.size(); ++k)
    APSIS_ASSERT(in[k].dtype() == Dtype::I64 && in[k].shape() == in[1].shape());
  for (std::size_t d = 0; d < in[0].shape().size(); ++d)
    APSIS_ASSERT(p.axes.contains(static_cast<std::int64_t>(d)) || in[0].shape()[d] == 1);
  out.push_back(Aval(in[0].dtype(), in[1].shape(), in[0].weak()));
}

}  // namespace

const Op pick_op = {
    .name = "pick",
    .kind = OpKind::Index,
    .shape = pick_shape,
    .not_differentiable = "it is made after all derivatives",
    .fused_read = FusedRead::AtIndices,
};

}  // namespace apsis::detail
