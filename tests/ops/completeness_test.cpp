// Walks the op table: every op has its rules and a record.

#include <algorithm>
#include <functional>
#include <set>
#include <apsis/apsis.hpp>

#include <gtest/gtest.h>

#include "ir/graph.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

// Ops with regions or effects live in control, whose tests run programs instead of records.
bool has_regions(const Op& op) {
  switch (op.kind) {
    case OpKind::While:
    case OpKind::Scan:
    case OpKind::Cond:
    case OpKind::MapLanes:
    case OpKind::Call:
    case OpKind::Custom:
    case OpKind::Collective:
    case OpKind::Effect:
      return true;
    default:
      return false;
  }
}

TEST(Completeness, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Op* op : op_table()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " is listed twice";
    EXPECT_EQ(find_op(op->name), op) << op->name;
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

TEST(Completeness, EveryOpHasItsRules) {
  for (const Op* op : op_table()) {
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(op->shape);
    if (op->kind == OpKind::Constant || has_regions(*op)) continue;
    EXPECT_TRUE(op->evaluate);
    EXPECT_TRUE(op->batch || op == &iota_op || op == &program_array_op)
        << "only what has no operands needs no batch rule";
    EXPECT_TRUE(op->jvp || op->not_differentiable) << "neither a jvp rule nor a reason why not";
    EXPECT_TRUE(op->kind != OpKind::Elementwise || op->emit);
    EXPECT_TRUE(op->kind != OpKind::View || op->view);
  }
}

// Without a rule the derivative is zero: right only for results that are no real numbers.
TEST(Completeness, OnlyDiscreteOpsHaveNoDerivative) {
  for (const Record& record : all_records()) {
    if (record.op->jvp || record.op->linearize) continue;
    SCOPED_TRACE(record.op->name);
    for (const Example& example : record.examples) {
      if (example.operands.empty()) continue;
      for (const Array& result : run(*record.op, example.params, example.operands))
        EXPECT_FALSE(is_inexact(result.dtype())) << example.what;
    }
  }
}

TEST(Completeness, MissingDerivativesAreRefused) {
  Op opaque = digamma_op;
  opaque.name = "opaque";
  opaque.jvp = nullptr;
  opaque.not_differentiable = "nobody wrote it down";
  auto f = [&](const Array& x) { return bind1(opaque, {}, {x}); };
  const Array x = array(2.);
  const char* want = "[opaque] has no derivative rule: nobody wrote it down";
  for (const auto& derive : std::vector<std::function<void()>>{[&] { jvp(f, x, x); }, [&] { grad(f)(x); },
                                                               [&] { jet(f, x, std::vector{x}); }}) {
    try {
      derive();
      FAIL() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, std::string(want).size()), want);
    }
  }
  EXPECT_EQ(f(x).item<double>(), digamma(x).item<double>());
}

TEST(Completeness, EveryOpHasARecord) {
  std::set<const Op*> recorded;
  for (const Record& record : all_records()) {
    SCOPED_TRACE(record.op->name);
    EXPECT_TRUE(recorded.insert(record.op).second) << "two records";
    EXPECT_FALSE(record.examples.empty());
    EXPECT_EQ(record.op->transpose == nullptr, record.linear.empty())
        << "a transpose rule, or linear operands, but not both";
    for (const Example& example : record.smooth)
      EXPECT_TRUE(
          record.linear.empty() ||
          std::ranges::any_of(record.linear,
                              [&](const auto& mask) { return mask.size() == example.operands.size(); }))
          << example.what;
    for (const Example& example : record.examples)
      EXPECT_TRUE(!example.params || record.op->parse) << "parameters, but no rule to read them";
  }
  for (const Op* op : op_table()) {
    if (op->kind == OpKind::Constant || has_regions(*op)) continue;
    EXPECT_TRUE(recorded.count(op)) << op->name << " has no record";
  }
}

}  // namespace
}  // namespace apsis::testing
