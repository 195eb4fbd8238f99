// What ops say of themselves (the facts in Op), against what they do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/graph.hpp"
#include "ops/lax.hpp"
#include "ops/records.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

std::vector<double> values_of(const Array& a) { return lax::convert(a, Dtype::F64).to_vector<double>(); }

/// Calls `visit` with each example of the ops that `wanted` holds for, but for those of complex numbers;
/// returns with how many.
template <class Wanted, class Visit>
int for_each_example(const Wanted& wanted, const Visit& visit) {
  int count = 0;
  for (const Record& record : all_records()) {
    if (!wanted(*record.op)) continue;
    for (const Example& example : record.examples) {
      if (std::ranges::any_of(example.operands, [](const Array& a) { return is_complex(a.dtype()); }))
        continue;
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      visit(*record.op, example);
      ++count;
    }
  }
  return count;
}

TEST(Facts, FitTheKindOfTheOp) {
  for (const Op* op : op_table()) {
    SCOPED_TRACE(op->name);
    const auto implies = [](bool fact, bool follows) { return !fact || follows; };
    EXPECT_TRUE(implies(op->view_kind != ViewKind::None, op->kind == OpKind::View));
    EXPECT_TRUE(implies(op->fused_read != FusedRead::None || op->cheap, op->kind == OpKind::Index));
    EXPECT_TRUE(implies(op->neutral, op->kind == OpKind::Reduce));
    EXPECT_TRUE(implies(op->any_order, op->neutral));
    EXPECT_EQ(op->updates >= 0, op->written >= 0);
    EXPECT_TRUE(implies(op->updates >= 0, (op->starts >= 0) != (op->places != nullptr)));
    EXPECT_TRUE(implies(op->written_out, op->kind == OpKind::Effect));
    EXPECT_TRUE(implies(op->shared_by_lanes, op->effect));
    EXPECT_TRUE(implies(op->takes_conditions || op->moves_cotangents, op->transpose));
    EXPECT_TRUE(implies(op->kind == OpKind::Elementwise, !op->operand_axis))
        << "they are those of the result";
    EXPECT_TRUE(implies(op->kind == OpKind::Contract, op->operand_axis));
  }
}

TEST(Facts, OpsThatMoveElementsMakeNone) {
  const int runs = for_each_example([](const Op& op) { return op.moves; },
                                    [](const Op& op, const Example& e) {
                                      std::multiset<double> given;
                                      for (const Array& a : e.operands)
                                        for (double x : values_of(a)) given.insert(std::isnan(x) ? 1e300 : x);
                                      for (const Array& result : run(op, e.params, e.operands))
                                        for (double x : values_of(result))
                                          EXPECT_TRUE(given.contains(std::isnan(x) ? 1e300 : x)) << x;
                                    });
  EXPECT_GT(runs, 50);
}

TEST(Facts, EntriesAlongAnAxisComeFromThoseOfTheOperand) {
  int axes = 0;
  for_each_example([](const Op& op) { return op.operand_axis != nullptr; },
                   [&](const Op& op, const Example& e) {
                     std::vector<Aval> in;
                     for (const Array& a : e.operands) in.push_back(a.aval());
                     const Array result = run(op, e.params, e.operands)[0];
                     for (std::size_t k = 0; k < in.size(); ++k)
                       for (int axis = 0; axis < result.ndim() && result.size() > 0; ++axis) {
                         const std::int64_t of = op.operand_axis(e.params, in, result.aval(), k, axis);
                         if (of < 0) continue;
                         ++axes;
                         const std::int64_t length = result.shape()[static_cast<std::size_t>(axis)];
                         ASSERT_EQ(in[k].shape()[static_cast<std::size_t>(of)], length);
                         // With the other entries in the opposite order, entry 0 stays what it is.
                         std::vector<Array> others = e.operands;
                         const Array at = lax::iota(Dtype::I64, in[k].shape(), static_cast<int>(of));
                         others[k] = lax::select(lax::eq(at, lax::full_like(at.aval(), 0)), others[k],
                                                 lax::reverse(others[k], {of}));
                         Dims start = Dims::filled(result.shape().size(), 0), limit = result.shape();
                         limit[static_cast<std::size_t>(axis)] = 1;
                         EXPECT_TRUE(same_elements(lax::slice(result, start, limit),
                                                   lax::slice(run(op, e.params, others)[0], start, limit)))
                             << "axis " << axis << ", operand " << k;
                       }
                   });
  EXPECT_GT(axes, 50);
}

TEST(Facts, UpdatesChangeNoMoreThanIsWritten) {
  const int runs =
      for_each_example([](const Op& op) { return op.updates >= 0; },
                       [](const Op& op, const Example& e) {
                         const Array& before = e.operands[static_cast<std::size_t>(op.updates)];
                         const Array after = run(op, e.params, e.operands)[0];
                         ASSERT_EQ(before.shape(), after.shape());
                         const std::vector<double> old = values_of(before), fresh = values_of(after);
                         std::int64_t changed = 0;
                         for (std::size_t i = 0; i < old.size(); ++i)
                           changed += old[i] != fresh[i] && !(std::isnan(old[i]) && std::isnan(fresh[i]));
                         EXPECT_LE(changed, e.operands[static_cast<std::size_t>(op.written)].size());
                       });
  EXPECT_GT(runs, 5);
}

TEST(Facts, SlicesStartAtOneOperandForEachAxis) {
  const int runs = for_each_example([](const Op& op) { return op.starts >= 0; },
                                    [](const Op& op, const Example& e) {
                                      EXPECT_EQ(e.operands.size() - static_cast<std::size_t>(op.starts),
                                                e.operands[0].shape().size());
                                    });
  EXPECT_GT(runs, 5);
}

TEST(Facts, NeutralElementsChangeNoReduction) {
  for (const Record& record : all_records()) {
    if (!record.op->neutral) continue;
    SCOPED_TRACE(record.op->name);
    for (Dtype dtype :
         {Dtype::Bool, Dtype::I8, Dtype::U8, Dtype::I32, Dtype::I64, Dtype::U64, Dtype::F32, Dtype::F64}) {
      std::vector<Aval> out;
      const Params params = make_params(ReduceParams{{0}});
      const Aval line(dtype, {2});
      try {
        record.op->shape(params, {&line, 1}, out);
      } catch (const Error&) {
        continue;  // not of this dtype
      }
      for (double x : edge_values(dtype)) {
        const Array element = array_of(dtype, {1}, {x});
        const Array neutral =
            constant_value(make_params(ConstantParams{.dtype = dtype, .bits = record.op->neutral(dtype)}));
        const std::vector<Array> both = {element, lax::reshape(neutral, {1})};
        const Array result = run(*record.op, params, std::vector<Array>{lax::concatenate(both, 0)})[0];
        EXPECT_TRUE(same_elements(result, lax::reshape(element, {}))) << name_of(dtype) << ": " << x;
        if (!record.op->any_order) continue;
        const std::vector<Array> twice = {element, both[1], element};
        const Array again = run(*record.op, params, std::vector<Array>{lax::concatenate(twice, 0)})[0];
        EXPECT_TRUE(same_elements(again, result)) << name_of(dtype) << ": " << x;
      }
    }
  }
}

TEST(Facts, LogicIsThatOfBooleans) {
  int found = 0;
  for (const Op* op : op_table()) {
    if (op->logic == Logic::None) continue;
    SCOPED_TRACE(op->name);
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        const bool want = op->logic == Logic::Any ? a || b : a && b;
        const Array both = array_of(Dtype::Bool, {2}, {double(a), double(b)});
        const std::vector<Array> operands = {array_of(Dtype::Bool, {}, {double(a)}),
                                             array_of(Dtype::Bool, {}, {double(b)})};
        const bool reduces = op->kind == OpKind::Reduce;
        const Array result =
            reduces ? run(*op, make_params(ReduceParams{{0}}), {&both, 1})[0] : run(*op, {}, operands)[0];
        EXPECT_EQ(result.item<bool>(), want);
        ++found;
      }
  }
  EXPECT_EQ(found, 16);
}

TEST(Facts, ChoicesAreElementsOfWhatIsChosen) {
  int found = 0;
  for (const Op* op : op_table()) {
    if (!op->chooses) continue;
    const std::vector<Array> operands = {array_of(Dtype::Bool, {2}, {1, 0}),
                                         array_of(Dtype::F64, {2}, {1, 2}),
                                         array_of(Dtype::F64, {2}, {3, 4})};
    EXPECT_EQ(values_of(run(*op, {}, operands)[0]), (std::vector<double>{1, 4})) << op->name;
    ++found;
  }
  EXPECT_GT(found, 0);
}

TEST(Facts, ADivisorOfZeroMakesNoNumber) {
  int found = 0;
  for (const Op* op : op_table()) {
    if (op->divisor < 0) continue;
    std::vector<Array> operands(2, array_of(Dtype::F64, {}, {1}));
    operands[static_cast<std::size_t>(op->divisor)] = array_of(Dtype::F64, {}, {0});
    EXPECT_FALSE(std::isfinite(run(*op, {}, operands)[0].item<double>())) << op->name;
    ++found;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace apsis::testing
