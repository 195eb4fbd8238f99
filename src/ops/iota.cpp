#include <cstring>

#include "core/convert.hpp"
#include "ops/index_rules.hpp"

namespace apsis::detail {
namespace {

void iota_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.empty());
  const auto& p = params.as<IotaParams>();
  APSIS_ASSERT(p.axis >= 0 && p.axis < p.shape.rank());
  out.push_back(Aval(p.dtype, p.shape));
}

// 0, 1, … along the axis, as elements of the dtype.
std::vector<char> iota_elements(const IotaParams& p) {
  std::int64_t count = p.shape[static_cast<std::size_t>(p.axis)];
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i;
  std::vector<char> elements(numbers.size() * item_size(p.dtype));
  convert_elements(Dtype::I64, numbers.data(), p.dtype, elements.data(), numbers.size());
  return elements;
}

View iota_view(const IotaParams& p) {
  View view{p.shape, Dims::filled(p.shape.size(), 0), 0};
  view.strides[static_cast<std::size_t>(p.axis)] = 1;
  return view;
}

void iota_evaluate(const Params& params, std::span<const Array>, std::span<Array> out) {
  const auto& p = params.as<IotaParams>();
  copy_view(iota_view(p), iota_elements(p).data(), mutable_data<char>(out[0]), item_size(p.dtype));
}

void iota_emit(Emitter& e, const Params& params, std::span<const Aval>, std::span<const Value>,
               std::span<const Aval>, std::span<Value> out) {
  const auto& p = params.as<IotaParams>();
  std::vector<char> elements = iota_elements(p);
  View view = iota_view(p);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits,
                elements.data() +
                    static_cast<std::size_t>(view.at(static_cast<std::int64_t>(i))) * item_size(p.dtype),
                item_size(p.dtype));
    out[i] = e.constant(p.dtype, bits);
  }
}

}  // namespace

// No operands: never differentiated nor batched.
const Op iota_op = {
    .name = "iota",
    .kind = OpKind::Index,
    .shape = iota_shape,
    .evaluate = iota_evaluate,
    .emit_unrolled = iota_emit,
    .not_differentiable = "iota has no operand",
    .parse = parse_params<IotaParams>,
    .cheap = true,
};

}  // namespace apsis::detail
