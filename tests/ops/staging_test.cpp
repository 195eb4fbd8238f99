// Staging a single op changes no bit, whatever its rewrite rule does; graphs of single ops read back from
// their text.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "ir/graph.hpp"
#include "ops/convert_params.hpp"
#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

// One op on inputs and literals: operands of rank 0 are literals where the mask says so.
GraphRef staged(const Op& op, const Params& params, std::span<const Array> operands, unsigned literals,
                std::vector<Array>& inputs, std::size_t results) {
  GraphBuilder builder;
  std::vector<ValueId> ids, outs(results);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (literals >> i & 1u) {
      ids.push_back(builder.constant(operands[i]));
    } else {
      ids.push_back(builder.input(operands[i].aval()));
      inputs.push_back(operands[i]);
    }
  }
  builder.add(op, params, ids, outs);
  return builder.finish(outs);
}

TEST(Staging, SingleOpsKeepTheirBits) {
  for (const Record& record : all_records())
    for (const Example& example : record.examples) {
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      const auto expected = run(*record.op, example.params, example.operands);
      std::vector<Array> inputs;
      GraphRef graph = staged(*record.op, example.params, example.operands, 0, inputs, expected.size());
      verify(*graph);
      const auto results = interpret(*graph, inputs);
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_elements(results[i], expected[i]));
      const std::string text = to_string(*graph);
      EXPECT_TRUE(parse_graph(text)->same_as(*graph)) << text;
      if (::testing::Test::HasFailure()) return;
    }
}

// Rewrites look for literals: all combinations of edge values, each operand in turn a literal, then all.
TEST(Staging, LiteralsKeepTheBits) {
  for (const Record& record : all_records()) {
    const Op& op = *record.op;
    if (!op.rewrite || op.kind != OpKind::Elementwise || op.parse || &op == &select_op) continue;
    const std::size_t count = record.examples[0].operands.size();
    for (Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::I32, Dtype::U8}) {
      const std::vector<Array> grid = edge_operands(dtype, count);
      for (std::int64_t i = 0; i < grid[0].size(); ++i) {
        std::vector<Array> operands;
        for (const Array& a : grid) operands.push_back(lax::reshape(lax::slice(a, {i}, {i + 1}), {}));
        for (unsigned literals = 1; literals < 1u << count; ++literals) {
          const auto expected = run(op, {}, operands);
          std::vector<Array> inputs;
          GraphRef graph = staged(op, {}, operands, literals, inputs, 1);
          EXPECT_TRUE(same_elements(interpret(*graph, inputs)[0], expected[0])) << to_string(*graph);
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Builds a graph of f64 inputs from a function on value numbers.
struct Program {
  GraphBuilder builder;
  ValueId input(const Shape& shape = {}) { return builder.input(Aval(Dtype::F64, shape)); }
  ValueId apply(const Op& op, std::initializer_list<ValueId> operands, const Params& params = {}) {
    ValueId out;
    builder.add(op, params, {operands.begin(), operands.size()}, {&out, 1});
    return out;
  }
  std::vector<std::string> ops(ValueId out) {
    GraphRef graph = builder.finish({&out, 1});
    std::vector<std::string> names;
    for (const Eqn& e : graph->eqns()) names.push_back(e.op->name);
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(Staging, SumsWithProductsAreMultiplyAdds) {
  {
    Program p;
    ValueId a = p.input(), b = p.input(), c = p.input();
    EXPECT_EQ(p.ops(p.apply(add_op, {p.apply(mul_op, {a, b}), c})), Names{"fma"});
  }
  {
    Program p;  // the left product first
    ValueId a = p.input(), b = p.input(), c = p.input(), d = p.input();
    ValueId left = p.apply(mul_op, {a, b}), right = p.apply(mul_op, {c, d});
    ValueId sum = p.apply(add_op, {left, right});
    EXPECT_EQ(p.builder.definition(sum)->op, &fma_op);
    EXPECT_EQ(p.builder.operands(*p.builder.definition(sum))[0], a);
    EXPECT_EQ(p.builder.operands(*p.builder.definition(sum))[2], right);
    EXPECT_EQ(p.ops(sum), (Names{"mul", "fma"}));
  }
  {
    Program p;
    ValueId a = p.input(), b = p.input(), c = p.input();
    EXPECT_EQ(p.ops(p.apply(sub_op, {p.apply(mul_op, {a, b}), c})), (Names{"neg", "fma"}));
  }
  {
    Program p;
    ValueId a = p.input(), b = p.input(), c = p.input();
    EXPECT_EQ(p.ops(p.apply(sub_op, {c, p.apply(mul_op, {a, b})})), (Names{"neg", "fma"}));
  }
  {
    Program p;  // integers have none
    ValueId a = p.builder.input(Aval(Dtype::I64, {})), b = p.builder.input(Aval(Dtype::I64, {}));
    EXPECT_EQ(p.ops(p.apply(add_op, {p.apply(mul_op, {a, b}), b})), (Names{"mul", "add"}));
  }
}

TEST(Staging, MultiplyAddsAreSeenThroughBroadcasts) {
  Program p;
  ValueId a = p.input({2}), b = p.input({2}), c = p.input({2, 2});
  ValueId product = p.apply(mul_op, {a, b});
  ValueId sum = p.apply(
      add_op, {p.apply(broadcast_in_dim_op, {product}, make_params(BroadcastParams{{2, 2}, {1}})), c});
  GraphRef graph = p.builder.finish({&sum, 1});
  Names names;
  for (const Eqn& e : graph->eqns()) names.push_back(e.op->name);
  EXPECT_EQ(names, (Names{"broadcast_in_dim", "broadcast_in_dim", "fma"}));
  const Array inputs[] = {array({2., 3.}), array({5., 7.}), array({{1., 2.}, {3., 4.}})};
  EXPECT_EQ(interpret(*graph, inputs)[0].to_vector<double>(), (std::vector<double>{11, 23, 13, 25}));
}

TEST(Staging, WhatChangesNothingIsLeftOut) {
  {
    Program p;
    ValueId x = p.input();
    EXPECT_EQ(p.apply(mul_op, {x, p.builder.constant(array(1.))}), x);
    EXPECT_EQ(p.apply(mul_op, {p.builder.constant(array(1.)), x}), x);
    EXPECT_EQ(p.apply(div_op, {x, p.builder.constant(array(1.))}), x);
    EXPECT_EQ(p.apply(neg_op, {p.apply(neg_op, {x})}), x);
  }
  {
    Program p;  // -0 + 0 is +0, so adding zero is kept
    ValueId x = p.input();
    EXPECT_EQ(p.ops(p.apply(add_op, {x, p.builder.constant(array(0.))})), (Names{"constant", "add"}));
  }
}

// Places that are converted are counted in that dtype, with the bits of the conversion, also where f32
// rounds.
TEST(Staging, PlacesAreCountedInTheDtypeAskedFor) {
  for (const auto& [from, to, counted] :
       {std::tuple{Dtype::I64, Dtype::F32, true}, std::tuple{Dtype::I64, Dtype::F64, true},
        std::tuple{Dtype::I64, Dtype::F16, false}, std::tuple{Dtype::I32, Dtype::F32, false}}) {
    Program p;
    const Shape shape{counted && to == Dtype::F32 ? (1 << 24) + 7 : 100};
    ValueId places = p.apply(iota_op, {}, make_params(IotaParams{from, shape}));
    ValueId numbers = p.apply(convert_op, {places}, make_params(ConvertParams{to, false}));
    GraphRef graph = p.builder.finish({&numbers, 1});
    Names names;
    for (const Eqn& e : graph->eqns()) names.push_back(e.op->name);
    EXPECT_EQ(names, counted ? Names{"iota"} : (Names{"iota", "convert"}));
    const Array expected = lax::convert(lax::iota(from, shape, 0), to, false);
    EXPECT_TRUE(same_elements(interpret(*graph, {})[0], expected)) << name_of(from) << " to " << name_of(to);
  }
}

// What `clip` gives between numbers of 32 bits is converted to these first, with the same bits: NaN becomes 0
// in both.
TEST(Staging, ClippedNumbersBecomeIntegersOf32BitsFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto& [low, high, narrow] :
       {std::tuple{-3., 31., true}, std::tuple{31., -3., true}, std::tuple{-2147483648., 2147483520., true},
        std::tuple{0., 1e10, false}, std::tuple{-inf, 5., false}, std::tuple{nan, 5., false}})
    for (const Dtype dtype : {Dtype::F32, Dtype::F64}) {
      Program p;
      const Array x = lax::convert(array({nan, -inf, inf, -4.5, -0.5, 2.9, 30.9, 31.5, 3e9, -3e9}), dtype);
      const ValueId given = p.builder.input(x.aval());
      const auto bound = [&](double b) {
        return p.apply(broadcast_in_dim_op, {p.builder.constant(lax::convert(array(b), dtype))},
                       make_params(BroadcastParams{x.shape(), {}}));
      };
      const ValueId above = p.apply(maximum_op, {given, bound(low)}),
                    clipped = p.apply(minimum_op, {above, bound(high)});
      ValueId integers = p.apply(convert_op, {clipped}, make_params(ConvertParams{Dtype::I64, false}));
      GraphRef graph = p.builder.finish({&integers, 1});
      const auto converts =
          std::ranges::count_if(graph->eqns(), [](const Eqn& e) { return e.op == &convert_op; });
      EXPECT_EQ(converts, narrow ? 2 : 1) << low << " to " << high;
      const Array one[] = {x};
      const Array direct = lax::convert(
          minimum(maximum(x, lax::convert(array(low), dtype)), lax::convert(array(high), dtype)), Dtype::I64);
      EXPECT_TRUE(same_elements(interpret(*graph, one)[0], direct)) << low << " to " << high;
    }
}

}  // namespace
}  // namespace apsis::testing
