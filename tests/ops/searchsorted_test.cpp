#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <apsis/apsis.hpp>

namespace apsis {
namespace {

std::vector<std::int64_t> expected(const std::vector<double>& sorted, const std::vector<double>& values,
                                   bool right) {
  auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };  // NaN is last
  std::vector<std::int64_t> out;
  for (double v : values)
    out.push_back((right ? std::upper_bound(sorted.begin(), sorted.end(), v, less)
                         : std::lower_bound(sorted.begin(), sorted.end(), v, less)) -
                  sorted.begin());
  return out;
}

// Few entries are compared with all values, more are bisected: sizes around powers of two and the bound.
TEST(SearchSorted, IsTheLibrarysBinarySearch) {
  for (int n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 1000}) {
    std::vector<double> entries,
        values = {-INFINITY, -1, 0, 0.5, 3, n / 2., n / 2. + 0.25, double(n), 1e9, INFINITY, NAN};
    for (int i = 0; i < n; ++i) entries.push_back(std::floor(i / 3.) - (i == 0));
    if (n > 2) entries[n - 2] = INFINITY, entries[n - 1] = NAN;
    Array sorted = array(entries), wanted = array(values);
    for (bool right : {false, true}) {
      SCOPED_TRACE(std::to_string(n) + (right ? " right" : " left"));
      auto place = [right](const Array& a, const Array& v) { return searchsorted(a, v, right); };
      EXPECT_EQ(place(sorted, wanted).to_vector<std::int64_t>(), expected(entries, values, right));
      EXPECT_EQ(jit(place)(sorted, wanted).to_vector<std::int64_t>(), expected(entries, values, right));
      EXPECT_EQ(jit(vmap(place, {.in_axes = {{}, 0}}))(sorted, wanted).to_vector<std::int64_t>(),
                expected(entries, values, right));
      Array rows = jit(vmap(place, {.in_axes = {0, {}}}))(stack({sorted, sorted}), reshape(wanted, {1, 11}));
      EXPECT_EQ(rows[1].to_vector<std::int64_t>(), expected(entries, values, right));
    }
  }
}

// It was a comparison of all with all: 10¹² of them here.
TEST(SearchSorted, OfManyInMany) {
  Array sorted = arange(1'000'000.);
  EXPECT_TRUE(
      tree_equal(jit([](const Array& a, const Array& v) { return searchsorted(a, v); })(sorted, sorted - 0.5),
                 arange(1'000'000)));
}

}  // namespace
}  // namespace apsis
