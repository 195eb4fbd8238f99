// conv/*: convolutions of images, forward and backward.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// sin(0.37 j²), j modulo 4093, times `scale`.
Array waves(const Shape& shape, double scale) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.product()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto j = static_cast<double>(i % 4093);
    numbers[i] = static_cast<float>(scale * std::sin(0.37 * j * j));
  }
  return array(numbers, shape);
}

/// The sum of squares, in thousands, of a 3 x 3 convolution of 8 images of 56 x 56 with 64 channels, with its
/// gradients.
void measure(const char* name, std::int64_t groups) {
  const auto loss = [groups](const Array& x, const Array& kernel) {
    const Array y = conv_general_dilated(x, kernel,
                                         {.padding = "SAME",
                                          .feature_group_count = groups,
                                          .dimensions = {.lhs = "NHWC", .rhs = "HWIO", .out = "NHWC"}});
    return sum(square(y)) / 1000.;
  };
  const auto step =
      jit(value_and_grad([loss](const std::pair<Array, Array>& of) { return loss(of.first, of.second); }));
  const auto squares = jit([](const std::pair<Array, Array>& parts) {
    return std::pair<Array, Array>{sum(square(parts.first)), sum(square(parts.second))};
  });
  const std::pair<Array, Array> of{waves({8, 56, 56, 64}, 1), waves({3, 3, 64 / groups, 64}, 0.1)};
  std::vector<double> answer;
  const double spent = median_seconds([&] {
    const auto [value, gradient] = step(of);
    const auto sums = squares(gradient);
    answer = {value.item<double>(), sums.first.item<double>(), sums.second.item<double>()};
  });
  report(name, "us", spent * 1e6, answer);
}

}  // namespace

void convolutions() {
  measure("conv/resnet", 1);
  measure("conv/depthwise", 64);
}

}  // namespace bench
