#include "compositions/comparisons.hpp"

#include <cmath>

#include "codegen/compiled_equal.hpp"

namespace apsis::compositions {

std::vector<double> points(const Shape& shape, std::uint64_t seed) {
  Random random(seed ^ 0x5eed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.product(); ++i)
    values.push_back(static_cast<double>(random.below(3000) - 1500) / 1024);
  return values;
}

bool same(const Array& a, const Array& b) { return detail::same_bits(a, b); }

bool same_but_for_signs_of_zeros(const Array& a, const Array& b) {
  if (!(a.aval() == b.aval())) return false;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isnan(x[i]) ? !std::isnan(y[i]) : x[i] != y[i]) return false;
  return true;
}

std::span<const Setting> settings() {
  static const Setting all[] = {
      {{}, "as usual"},
      {{.lanes = 1, .level = 0}, "one lane, level 0"},
      {{.lanes = 2, .level = 1, .all_calls = true}, "two lanes, level 1, calls as functions"},
      {{.lanes = 4, .level = 1, .parallel = false}, "four lanes, level 1, one thread"},
      {{.lanes = 8, .level = 2}, "eight lanes, level 2"},
      {{.lanes = 16, .level = 0, .isa = detail::Isa::Avx2, .all_calls = true},
       "sixteen lanes, level 0, AVX2, calls as functions"},
  };
  return all;
}

}  // namespace apsis::compositions
