// Which ops pass every NaN on: what `spreads_nan` says, against what they do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/lax.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

std::vector<char> nans_of(const Array& a) {
  std::vector<char> found;
  for (double x : lax::convert(a, Dtype::F64).to_vector<double>()) found.push_back(std::isnan(x));
  return found;
}

bool any(const std::vector<char>& flags) { return std::ranges::find(flags, 1) != flags.end(); }

TEST(NanFlow, ElementwiseOpsSpreadIfTheyAreSaidTo) {
  std::map<const Op*, bool> spreads;  // of those that were run
  for (const Record& record : all_records()) {
    if (record.op->kind != OpKind::Elementwise) continue;
    for (const Example& example : record.examples) {
      if (example.operands.empty() || !is_floating(example.operands[0].dtype())) continue;
      const Dtype dtype = example.operands[0].dtype();
      if (!std::ranges::all_of(example.operands, [&](const Array& a) { return a.dtype() == dtype; }))
        continue;
      const std::vector<Array> edges = edge_operands(dtype, example.operands.size());
      const Array result = run(*record.op, example.params, edges)[0];
      if (!is_floating(result.dtype())) continue;
      std::vector<char> given = nans_of(edges[0]);
      for (const Array& a : edges) {
        const std::vector<char> more = nans_of(a);
        for (std::size_t i = 0; i < given.size(); ++i) given[i] |= more[i];
      }
      ASSERT_TRUE(any(given));
      const std::vector<char> made = nans_of(result);
      bool& all = spreads.try_emplace(record.op, true).first->second;
      for (std::size_t i = 0; i < given.size(); ++i) all = all && (made[i] || !given[i]);
    }
  }
  EXPECT_GT(spreads.size(), 50u);
  for (auto [op, does] : spreads) EXPECT_EQ(op->spreads_nan, does) << op->name;
}

TEST(NanFlow, OtherOpsSpreadFromAnyPlace) {
  int runs = 0;
  for (const Record& record : all_records()) {
    if (record.op->kind == OpKind::Elementwise || !record.op->spreads_nan) continue;
    for (const Example& example : record.examples) {
      for (std::size_t k = 0; k < example.operands.size(); ++k) {
        const Array& a = example.operands[k];
        if (!is_floating(a.dtype()) || a.size() == 0) continue;
        for (std::int64_t at : {std::int64_t{0}, a.size() / 2, a.size() - 1}) {
          std::vector<double> values = lax::convert(a, Dtype::F64).to_vector<double>();
          values[static_cast<std::size_t>(at)] = std::nan("");
          std::vector<Array> operands = example.operands;
          operands[k] = array_of(a.dtype(), a.shape(), values);
          const Array result = run(*record.op, example.params, operands)[0];
          if (!is_floating(result.dtype()) || result.size() == 0) continue;
          EXPECT_TRUE(any(nans_of(result))) << record.op->name << ": " << example.what;
          ++runs;
        }
      }
    }
  }
  EXPECT_GT(runs, 50);
}

TEST(NanFlow, OpsOfUsersAreNotKnownTo) {
  const Op own = {.name = "own", .kind = OpKind::Elementwise};
  EXPECT_FALSE(own.spreads_nan);
}

}  // namespace
}  // namespace apsis::testing
