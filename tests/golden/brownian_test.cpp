// Brownian paths against Diffrax.

#include "apsis/apsis.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

LevyArea levy_named(const std::string& name) {
  return name == "none"         ? LevyArea::None
         : name == "space_time" ? LevyArea::SpaceTime
                                : LevyArea::SpaceTimeTime;
}
std::string golden_file(const char* name) { return std::string(APSIS_SOURCE_DIR) + "/tests/golden/" + name; }

/// The increments of a path over many intervals, leaf by leaf.
template <class Path>
void check_path(const Case& c, const Path& path) {
  const auto one = [&](const Array& t) {
    const auto step = path.increment(t[0], t[1]);
    std::vector<Array> leaves;
    detail::collect_leaves(std::tuple{step.w, step.h, step.k}, leaves);
    return leaves;
  };
  const std::vector<Array> found = jit(vmap(one))(to_array(c["times"]));
  std::size_t next = 0;
  for (const char* part : {"w", "h", "k"})
    for (int i = 0; c.has((part + std::to_string(i)).c_str()); ++i)
      // Both are sums of some dozen normal numbers, whose functions differ in the last digits; K is a
      // difference of such numbers, divided by the square of a length of 1/64 or more.
      expect_same(found.at(next++), c[(part + std::to_string(i)).c_str()], part[0] == 'k' ? 1e-11 : 1e-12,
                  part);
  EXPECT_EQ(next, found.size());
}

TEST(GoldenBrownian, TreesEqualDiffrax) {
  int cases = 0;
  for (const Case& c : golden::read(golden_file("brownian.txt"))) {
    SCOPED_TRACE(c.name);
    const Array key = random::key(c["seed"].integers[0]), t0 = to_array(c["t0"]), t1 = to_array(c["t1"]),
                tol = to_array(c["tol"]);
    const BrownianOptions options{.levy_area = levy_named(c.text.at("levy"))};
    const std::string& shape = c.text.at("shape");
    if (shape == "vector") check_path(c, VirtualBrownianTree(t0, t1, tol, {3}, key, options));
    if (shape == "scalar") check_path(c, VirtualBrownianTree(t0, t1, tol, Shape{}, key, options));
    if (shape == "tree")
      check_path(c, VirtualBrownianTree(t0, t1, tol, std::tuple{zeros({2}), zeros({2, 2})}, key, options));
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

}  // namespace
}  // namespace apsis::testing
