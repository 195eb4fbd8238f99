#include "codegen/emit/combine.hpp"

#include <algorithm>
#include <utility>

namespace apsis::detail {

Value Combine::operator()(Value x, Value y) const {
  const Value in[] = {x, y};
  Value out;
  b_.set_lanes(b_.lanes_of(x));
  op_.emit_unrolled(b_, params_, std::span(&in_, 1), std::span<const Value>(in, 2), std::span(&out_, 1),
                    std::span(&out, 1));
  return out;
}

Value Combine::across(Value v, int lanes) const {
  for (int half = b_.lanes_of(v) / 2; half >= std::max(lanes, 2); half /= 2) {
    std::vector<int> low, high;
    for (int j = 0; j < half; ++j) {
      low.push_back(j);
      high.push_back(j + half);
    }
    v = (*this)(b_.shuffle(v, v, low), b_.shuffle(v, v, high));
  }
  return b_.lanes_of(v) <= lanes ? v : (*this)(b_.extract(v, 0), b_.extract(v, 1));
}

Value Combine::across(Value v) const { return across(v, 1); }

Value Combine::across(std::vector<Value> values) const {
  const int lanes = b_.lanes_of(values[0]);
  int of_each = lanes;  // neighbouring lanes in each vector
  while (of_each > 1) {
    const bool pairs = values.size() > 1;
    const int half = of_each / 2, each = b_.lanes_of(values[0]) / of_each;
    std::vector<int> low, high;
    for (int k = 0; k < (pairs ? 2 : 1) * each; ++k)
      for (int j = 0; j < half; ++j) {
        low.push_back(k * of_each + j);
        high.push_back(k * of_each + half + j);
      }
    std::vector<Value> merged;
    for (std::size_t i = 0; i < values.size(); i += pairs ? 2 : 1) {
      const Value first = values[i], second = values[pairs ? i + 1 : i];
      merged.push_back((*this)(b_.shuffle(first, second, low), b_.shuffle(first, second, high)));
    }
    values.swap(merged);
    of_each = half;
  }
  return values[0];
}

}  // namespace apsis::detail
