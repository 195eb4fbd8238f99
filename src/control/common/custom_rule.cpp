#include "control/common/custom_rule.hpp"

#include <algorithm>

#include "apsis/base/keep_library.hpp"
#include "control/common/messages.hpp"
#include "ops/lax.hpp"
#include "ops/program_array.hpp"

namespace apsis::detail {

ErasedRule::~ErasedRule() = default;

bool tracing() { return current_trace() != nullptr; }

void CustomParts::check_captures(const char* op, const char* marked_as, const std::vector<bool>& mask) const {
  bool any = false;
  for (std::int64_t i = 0; i < own; ++i) any |= mask[static_cast<std::size_t>(i)];
  for (std::int64_t i = own + arguments; i < own + arguments + captures; ++i)
    any |= mask[static_cast<std::size_t>(i)];
  if (any) fail(messages::custom_captured, {op, marked_as});
}

GraphRef closed(const GraphRef& graph, std::span<const Array> captured, const char* name) {
  if (captured.empty()) return graph;
  for (const Array& a : captured)
    if (is_tracer(a) || a.aval().is_list()) fail(messages::custom_late_capture, {name, to_string(a.aval())});
  std::vector<Aval> avals = input_avals(*graph);
  avals.resize(avals.size() - captured.size());
  return rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> args(in.begin(), in.end());
    for (const Array& a : captured) args.push_back(program_array(a));
    return interpret(*graph, args);
  });
}

CustomBinding bind_custom(const CustomCall& call, const char* name, std::span<const Array> consts) {
  // The rules are of the same code.
  keep_library(reinterpret_cast<const void*>(call.function.run));
  CustomBinding b;
  std::vector<Aval> avals = avals_of(call.leaves);
  b.argument_avals.assign(avals.begin() + static_cast<std::ptrdiff_t>(call.own), avals.end());
  Staged staged = stage(call.function, avals, name, call.loc);
  for (const Array& a : consts)
    if (std::ranges::none_of(b.consts, [&](const Array& c) { return c.node() == a.node(); }))
      b.consts.push_back(a);
  b.operands.assign(call.leaves.begin(), call.leaves.end());
  append(b.operands, staged.captures);
  std::size_t used = b.operands.size();
  append(b.operands, b.consts);
  b.parts = {static_cast<std::int64_t>(call.own), static_cast<std::int64_t>(b.argument_avals.size()),
             static_cast<std::int64_t>(staged.captures.size()), static_cast<std::int64_t>(b.consts.size())};
  b.region = staged.graph;
  if (!b.consts.empty()) {
    b.region = rewire(avals_of(b.operands),
                      [&](std::span<const Array> in) { return interpret(*staged.graph, in.first(used)); });
  }
  return b;
}

void fill_zero_tangents(std::span<const Aval> avals, std::span<Array> tangents) {
  for (std::size_t i = 0; i < avals.size(); ++i)
    if (tangents[i].is_empty() && is_inexact(avals[i].dtype())) tangents[i] = lax::full_like(avals[i], 0);
}

Array fitted_to(const Array& value, const Aval& want, const char* op, const char* what, std::size_t i) {
  if (value.shape() == want.shape()) {
    if (value.dtype() == want.dtype()) return value;
    if (value.weak() && promote({value.dtype(), true}, {want.dtype(), false}).dtype == want.dtype())
      return lax::convert(value, want.dtype(), want.weak());
  }
  fail(messages::custom_result, {op, what, std::to_string(i), to_string(value.aval()), to_string(want)});
}

void check_count(const char* op, const char* what, std::size_t got, std::size_t want) {
  if (got != want) fail(messages::custom_count, {op, what, std::to_string(got), std::to_string(want)});
}

}  // namespace apsis::detail
