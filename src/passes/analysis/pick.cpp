#include "passes/analysis/pick.hpp"

namespace apsis::detail {
namespace {

/// An index for each axis that has several places, of one shape.
void check_indices(const Dims& axes, const Shape& array, std::span<const Aval> indices) {
  APSIS_ASSERT(indices.size() == axes.size() && !indices.empty());
  for (const Aval& i : indices) APSIS_ASSERT(i.dtype() == Dtype::I64 && i.shape() == indices[0].shape());
  for (std::size_t d = 0; d < array.size(); ++d)
    APSIS_ASSERT(axes.contains(static_cast<std::int64_t>(d)) || array[d] == 1);
}

void pick_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  check_indices(params.as<PickParams>().axes, in[0].shape(), in.subspan(1));
  out.push_back(Aval(in[0].dtype(), in[1].shape(), in[0].weak()));
}

void put_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  check_indices(params.as<PutParams>().at.axes, in[0].shape(), in.subspan(2));
  APSIS_ASSERT(in[1].shape() == in[2].shape() && in[1].dtype() == in[0].dtype());
  out.push_back(Aval(in[0].dtype(), in[0].shape(), in[0].weak() && in[1].weak()));
}

}  // namespace

const Op pick_op = {
    .name = "pick",
    .kind = OpKind::Index,
    .shape = pick_shape,
    .not_differentiable = "it is made after all derivatives",
    .fused_read = FusedRead::AtIndices,
};

const Op put_op = {
    .name = "put",
    .kind = OpKind::Index,
    .shape = put_shape,
    .not_differentiable = "it is made after all derivatives",
    .fused_read = FusedRead::AtIndices,
    .updates = 0,
    .written = 1,
};

}  // namespace apsis::detail
