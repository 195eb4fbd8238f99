#include "apsis/tree/inference.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {
namespace {

struct Dropout {
  Array rate;
  bool inference = false;
  bool other = false;
};
struct Net {
  std::vector<Dropout> layers;
  std::optional<Dropout> last;
  std::tuple<Dropout, int> pair;
  bool inference = false;
};

TEST(InferenceMode, FlipsEveryFlagAtAnyDepth) {
  Net net{std::vector<Dropout>(2), Dropout{}, {Dropout{}, 3}};
  Net used = inference_mode(net);
  EXPECT_TRUE(used.inference);
  for (const Dropout& d : used.layers) {
    EXPECT_TRUE(d.inference);
    EXPECT_FALSE(d.other);
  }
  EXPECT_TRUE(used.last->inference);
  EXPECT_TRUE(std::get<0>(used.pair).inference);
  EXPECT_FALSE(net.layers[0].inference);
  EXPECT_FALSE(inference_mode(used, false).last->inference);
}

}  // namespace
}  // namespace apsis
