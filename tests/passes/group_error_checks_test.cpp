// Errors apart from the program: how many tests are left of its checks, and that what they find stays the
// same.

#include "passes/group_error_checks.hpp"

#include <gtest/gtest.h>

#include "codegen/plan/in_place.hpp"
#include "control/common/regions.hpp"
#include "ir/effects.hpp"
#include "ops/lax.hpp"
#include "ops/table.hpp"
#include "transform/checks.hpp"
#include "transform/checks/op_checks.hpp"

namespace apsis::detail {
namespace {

using testing::staged_call;

template <class F, class... A>
GraphRef checked(const F& f, const Checks& checks, const A&... args) {
  return group_error_checks(*with_checks(*staged_call(f, args...).graph, checks));
}

int count(const Graph& graph, const Op& op) {
  int n = 0;
  for (const Eqn& e : graph.eqns()) {
    n += e.op == &op;
    each_region(e.params, [&](const Graph& region) { n += e.op == &raise_when_op ? 0 : count(region, op); });
  }
  return n;
}

const Graph& raised_by(const Graph& graph) {
  for (const Eqn& e : graph.eqns())
    if (e.op == &raise_when_op) return *e.params.as<RaiseWhenParams>().region;
  ADD_FAILURE() << "nothing is raised in\n" << to_string(graph);
  return graph;
}

TEST(DeferErrors, LeaveProgramsWithoutErrorsAlone) {
  const GraphRef graph = staged_call([](const Array& x) { return sin(x); }, array(1.)).graph;
  EXPECT_EQ(group_error_checks(*graph).get(), graph.get());
}

TEST(DeferErrors, OneTestIsLeftOfAChain) {
  const auto chain = [](const Array& x, const Array& y) {
    return tanh(x * y + 0.5) * exp(-y) / sqrt(abs(x));
  };
  const Array x = linspace(1., 2., 100);
  const GraphRef graph = checked(chain, {.nan = true}, x, x);
  verify(*graph);
  EXPECT_EQ(count(*graph, ne_op), 1) << to_string(*graph);
  EXPECT_EQ(count(*graph, reduce_or_op), 1);
  EXPECT_EQ(count(*graph, raise_when_op), 1);
  EXPECT_EQ(count(*graph, error_if_op), 0);
  EXPECT_EQ(count(raised_by(*graph), error_if_op), 8);
}

TEST(DeferErrors, WhatStopsANanIsTestedBefore) {
  const auto stops = [](const Array& x) { return where(log(x) > 0., pow(cos(x), 2.5) * 2., sqrt(x)); };
  // log before it is compared, cos before it is raised to a power, and both branches of the choice.
  const GraphRef graph = checked(stops, {.nan = true}, array(1.5));
  EXPECT_EQ(count(*graph, ne_op), 4) << to_string(*graph);
  EXPECT_EQ(count(*graph, raise_when_op), 1);
}

TEST(DeferErrors, ErrorsAreNotPutOffPastLoopsAndEffects) {
  const auto f = [](const Array& x) {
    error_if(x > 9., "before");
    Array y = while_loop([](const Array& v) { return v < 5.; },
                         [](const Array& v) {
                           error_if(v < 0., "in");
                           error_if(v == 3., "in, too");
                           return v + 1.;
                         },
                         x);
    error_if(y > 7., "after");
    error_if(y > 8., "long after");
    return y;
  };
  const GraphRef graph = group_error_checks(*staged_call(f, array(1.)).graph);
  EXPECT_EQ(count(*graph, raise_when_op), 3) << to_string(*graph);
  std::vector<OpKind> order;
  for (const Eqn& e : graph->eqns())
    if (e.op == &raise_when_op || e.op == &while_op) order.push_back(e.op->kind);
  EXPECT_EQ(order, (std::vector{OpKind::Effect, OpKind::While, OpKind::Effect}));
}

TEST(DeferErrors, ACheckThatCannotFailIsGone) {
  const auto f = [](const Array& x) { return x / 4.; };
  EXPECT_EQ(count(*checked(f, {.division = true}, ones({40})), raise_when_op), 0);
  EXPECT_EQ(count(*checked(f, {.division = true}, zeros({0})), raise_when_op), 0);
}

TEST(DeferErrors, InputsThatErrorsAreFoundFromAreNotOverwritten) {
  const auto f = [](bool check) {
    return staged_call(
               [check](const Array& x) {
                 Array y = x * 2.;
                 if (check) error_if(any(y < 0.), "negative: {0}", {y});
                 return y + 1.;
               },
               ones({64}))
        .graph;
  };
  EXPECT_EQ(overwritable_inputs(*f(false)), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(overwritable_inputs(*f(true)), (std::vector<std::int32_t>{-1}));
}

}  // namespace
}  // namespace apsis::detail
