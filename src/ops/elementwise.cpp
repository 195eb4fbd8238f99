#include "ops/elementwise.hpp"

#include "core/convert.hpp"
#include "ops/index_rules.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

const char* describe(DtypeSet set) {
  switch (set) {
    case bool_dtypes:
      return "booleans";
    case signed_dtypes:
      return "signed integers";
    case integer_dtypes:
      return "integers";
    case float_dtypes:
      return "floating dtypes";
    case bit_dtypes:
      return "booleans and integers";
    case number_dtypes:
      return "integers and floating dtypes";
    case signed_dtypes | float_dtypes:
      return "signed integers and floating dtypes";
    default:
      return "other dtypes";
  }
}

}  // namespace

void check_dtype(const char* name, DtypeSet allowed, const Aval& aval, Loc loc) {
  if (contains(allowed, aval.dtype())) return;
  if (is_complex(aval.dtype())) fail(messages::complex_not_supported, {name, to_string(aval)}, loc);
  fail(messages::dtype_not_supported, {name, describe(allowed), to_string(aval)}, loc);
}

Aval elementwise_aval(const char* name, std::size_t arity, DtypeSet allowed, bool predicate,
                      std::span<const Aval> in) {
  if (in.size() != arity)
    fail(messages::wrong_operand_count, {name, std::to_string(arity), std::to_string(in.size())});
  bool weak = in[0].weak();
  for (std::size_t i = 1; i < arity; ++i) {
    if (in[i] == in[0]) continue;
    if (in[i].dtype() != in[0].dtype() || !(in[i].shape() == in[0].shape()))
      fail(messages::operands_differ, {name, to_string(in[0]), to_string(in[i])});
    weak = weak && in[i].weak();
  }
  check_dtype(name, allowed, in[0]);
  if (predicate) return Aval(Dtype::Bool, in[0].shape());
  return weak == in[0].weak() ? in[0] : Aval(in[0].dtype(), in[0].shape(), weak);
}

std::vector<Array> batch_operands(const BatchRule& r) {
  std::vector<Array> moved;
  for (std::size_t i = 0; i < r.operands.size(); ++i)
    moved.push_back(batched_front(r.operands[i], r.axes[i], r.size));
  return moved;
}

bool fold_literals(GraphBuilder& builder, const Op& op, const Params& params,
                   std::span<const ValueId> operands, std::span<ValueId> results) {
  std::vector<Array> values;
  for (ValueId v : operands) {
    const Eqn* e = builder.definition(v);
    if (!e || e->op->kind != OpKind::Constant) return false;
    values.push_back(constant_value(e->params));
  }
  std::vector<Aval> in, out;
  for (const Array& a : values) in.push_back(a.aval());
  op.shape(params, in, out);
  Array result = allocate(out[0]);
  op.evaluate(params, values, {&result, 1});
  results[0] = builder.constant(result);
  return true;
}

std::optional<double> literal_number(const GraphBuilder& builder, ValueId v) {
  ValueId scalar = v;
  if (builder.aval(v).rank() > 0 && !find_splat(builder, v, scalar)) return {};
  const Eqn* e = builder.definition(scalar);
  if (!e || e->op->kind != OpKind::Constant || is_complex(builder.aval(v).dtype())) return {};
  Array literal = constant_value(e->params);
  double number;
  convert_elements(literal.dtype(), data_of(literal), Dtype::F64, &number, 1);
  return number;
}

bool is_literal(const GraphBuilder& builder, ValueId v, double value) {
  return literal_number(builder, v) == value;
}

}  // namespace apsis::detail
