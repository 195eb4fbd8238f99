#include "codegen/emit/combine.hpp"

#include <vector>

namespace apsis::detail {

Value Combine::operator()(Value x, Value y) const {
  const Value in[] = {x, y};
  Value out;
  b_.set_lanes(b_.lanes_of(x));
  op_.emit_unrolled(b_, params_, std::span(&in_, 1), std::span<const Value>(in, 2), std::span(&out_, 1),
                    std::span(&out, 1));
  return out;
}

Value Combine::across(Value v) const {
  for (int half = b_.lanes_of(v) / 2; half > 1; half /= 2) {
    std::vector<int> low, high;
    for (int j = 0; j < half; ++j) {
      low.push_back(j);
      high.push_back(j + half);
    }
    v = (*this)(b_.shuffle(v, v, low), b_.shuffle(v, v, high));
  }
  return b_.lanes_of(v) == 1 ? v : (*this)(b_.extract(v, 0), b_.extract(v, 1));
}

}  // namespace apsis::detail
