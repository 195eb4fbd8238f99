// Matrices that loops multiply by are turned before them.

#include "passes/turn_loop_matrices.hpp"

#include "apsis/apsis.hpp"
#include "codegen/staged_compiled_equal.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::testing {
namespace {

using detail::checked_pass;
using detail::count_ops;

/// x ← tanh(x wᵀ), so many times.
std::string loop_of(const std::string& rows, const std::string& dtype, const std::string& length) {
  const std::string x = dtype + "[" + rows + ",70]", w = dtype + "[70,70]";
  return "(v0: " + w + ", v1: " + x + ") {\n  v2: " + x + " = scan{consts=1, carries=1, length=" + length +
         ", reverse=false, body=(v0: " + w + ", v1: " + x + ") {\n    v2: " + x +
         " = dot_general{contract_a=[1], contract_b=[1], batch_a=[], batch_b=[], k_ordered=false}(v1, v0)\n  "
         "  v3: " +
         x + " = sub(v2, v1)\n    return v3\n  }}(v0, v1)\n  return v2\n}";
}
bool is_turned(const std::string& text) {
  return count_ops(*checked_pass(detail::turn_loop_matrices, text), "transpose") == 1;
}

TEST(TurnLoopMatrices, OfSeveralRows) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i32"})
    EXPECT_TRUE(is_turned(loop_of("9", dtype, "5")));
  EXPECT_TRUE(is_turned(loop_of("500", "f64", "4")));
}

TEST(TurnLoopMatrices, OthersStay) {
  EXPECT_FALSE(is_turned(loop_of("1", "f64", "5")));    // a vector meets the rows as they are
  EXPECT_FALSE(is_turned(loop_of("513", "f64", "5")));  // enough rows to share the copy
  EXPECT_FALSE(is_turned(loop_of("9", "f64", "3")));
  // The body reads the matrix for something else, too.
  EXPECT_FALSE(is_turned(
      loop_of("70", "f64", "5").replace(loop_of("70", "f64", "5").find("sub(v2, v1)"), 11, "sub(v2, v0)")));
}

TEST(TurnLoopMatrices, InLoopsOfFunctionsWithDerivatives) {
  const nn::LSTMCell cell = nn::make_lstm_cell({.in = 8, .hidden = 32}, random::key(0));
  const Array xs = detail::filled({f64, {20, 9, 8}}, 3);
  const auto last = [&](const nn::LSTMCell& c, const Array& x) {
    const auto step = [&](const nn::LSTMState& s, const Array& entry) {
      const nn::LSTMState next =
          vmap([&](const Array& e, const nn::LSTMState& one) { return c(e, one); })(entry, s);
      return std::pair(next, Array(next.h[0][0]));
    };
    const Array zero = zeros({20, 32});
    return scan(step, nn::LSTMState{zero, zero}, swapaxes(x, 0, 1)).first.h;
  };
  expect_graph_compiled_equal([&](const Array& x) { return last(cell, x); }, xs);
  expect_graph_compiled_equal(grad([&](const Array& x) { return sum(last(cell, x)); }), xs);
}

}  // namespace
}  // namespace apsis::testing
