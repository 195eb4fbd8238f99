// error_if: errors raised by the values of a program, in eager and in compiled code.

#include "apsis/control/error_if.hpp"

#include <algorithm>

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"
#include "control/messages.hpp"
#include "ops/lax.hpp"
#include "transform/batch.hpp"

namespace apsis {
namespace detail {

extern const Op error_if_op;

namespace {

struct ErrorIfParams {
  std::vector<std::string> ids, texts;
  static void each(auto& self, auto&& visit) {
    visit("ids", self.ids);
    visit("texts", self.texts);
  }
};

void error_if_shape(const Params&, std::span<const Aval> in, std::vector<Aval>&) {
  if (in[0].dtype() != Dtype::I64) fail(messages::error_code, {to_string(in[0])});
}

void error_if_evaluate(const Params& params, std::span<const Array> in, std::span<Array>) {
  auto codes = in[0].span<std::int64_t>();
  auto failed = [](std::int64_t code) { return code != 0; };
  auto first = std::ranges::find_if(codes, failed);
  if (first == codes.end()) return;
  const auto& p = params.as<ErrorIfParams>();
  auto row = static_cast<std::size_t>(
                 std::clamp<std::int64_t>(*first, 1, static_cast<std::int64_t>(p.texts.size()))) -
             1;
  std::string text = p.texts[row];
  if (in[0].ndim() > 0)
    text += " (" + std::to_string(std::ranges::count_if(codes, failed)) + " of " +
            std::to_string(codes.size()) + " lanes failed, the first is lane " +
            std::to_string(first - codes.begin()) + ")";
  throw Error(p.ids[row], text);
}

void error_if_batch(const BatchRule& r) { bind(error_if_op, r.params, {r.operands.data(), 1}, {}); }

}  // namespace

const Op error_if_op = {
    .name = "error_if",
    .kind = OpKind::Effect,
    .effect = true,
    .shape = error_if_shape,
    .evaluate = error_if_evaluate,
    .batch = error_if_batch,
    .not_differentiable = "it has no result",
    .parse = parse_params<ErrorIfParams>,
};

}  // namespace detail

void error_if_code(const Array& code, std::initializer_list<Message> messages) {
  detail::ErrorIfParams p;
  for (const Message& m : messages) {
    p.ids.push_back(m.id);
    p.texts.push_back(m.text);
  }
  Array operand = code.dtype() == Dtype::I64 ? code : detail::lax::convert(code, Dtype::I64);
  bind(detail::error_if_op, make_params(p), {&operand, 1}, {});
}

void error_if(const Array& condition, const Message& message) {
  if (condition.dtype() != Dtype::Bool) fail(messages::error_condition, {to_string(condition.aval())});
  error_if_code(detail::lax::convert(condition, Dtype::I64), {message});
}

}  // namespace apsis
