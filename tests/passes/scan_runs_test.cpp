// Running sums and products of lanes become scans.

#include "passes/scan_runs.hpp"

#include "apsis/apsis.hpp"
#include "codegen/staged_compiled_equal.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::testing {
namespace {

using detail::checked_pass;

bool has_scan(const std::string& text) {
  return to_string(*checked_pass(detail::scan_runs, text)).find("scan{") != std::string::npos;
}
std::string in_lanes(const std::string& type, const std::string& run) {
  return "(v0: " + type.substr(0, type.find('[')) + "[24," + type.substr(type.find('[') + 1) +
         ") {\n  v1: " + type.substr(0, type.find('[')) + "[24," + type.substr(type.find('[') + 1) +
         " = map_lanes{lanes=24, nest=[], in_axes=[0], region=(v0: " + type + ") {\n    v1: " + type + " = " +
         run + "(v0)\n    return v1\n  }}(v0)\n  return v1\n}";
}

TEST(ScanRuns, OfEachDtypeBothWays) {
  for (const std::string dtype : {"f64", "f32", "bf16", "f16", "i64", "u8"})
    for (const std::string reverse : {"false", "true"})
      for (const std::string op : {"cumsum", "cumprod"}) {
        EXPECT_TRUE(has_scan(in_lanes(dtype + "[40]", op + "{axis=0, reverse=" + reverse + "}")))
            << dtype << op;
        EXPECT_TRUE(has_scan(in_lanes(dtype + "[9,3]", op + "{axis=0, reverse=" + reverse + "}")))
            << dtype << op;
      }
}

TEST(ScanRuns, OthersStay) {
  EXPECT_FALSE(has_scan(in_lanes("f64[16]", "cumsum{axis=0, reverse=false}")));
  EXPECT_FALSE(has_scan(in_lanes("f64[9,3]", "cumsum{axis=1, reverse=false}")));
  EXPECT_FALSE(has_scan(in_lanes("f64[4097]", "cumsum{axis=0, reverse=false}")));
  EXPECT_FALSE(
      has_scan("(v0: f64[40]) {\n  v1: f64[40] = cumsum{axis=0, reverse=false}(v0)\n  return v1\n}"));
}

TEST(ScanRuns, InLoopsOfLanesWithDerivatives) {
  const Array x = detail::filled({f64, {24, 40}}, 3);
  const auto walk = [](const Array& row) {
    return fori_loop(
        0, 3, [](const Array&, const Array& v) { return sin(cumsum(v)) + cumprod(v)[39]; }, row);
  };
  expect_graph_compiled_equal(vmap(walk, {.loops = LaneLoops::Lanes}), x);
  expect_graph_compiled_equal(
      vmap(grad([&](const Array& row) { return sum(walk(row)); }), {.loops = LaneLoops::Lanes}), x);
}

}  // namespace
}  // namespace apsis::testing
