// The convolution's kernel against its definition, with registers of both widths.

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "ops/convolution_cases.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using namespace detail;
using enum ConvolutionArray;

struct Arrays {
  std::vector<long double> input, kernel, output;
};

/// Calls visit(entry of the input, of the kernel, of the output) for each term.
template <class Visit>
void each_term(const ConvolutionSizes& s, const Visit& visit) {
  const auto& [d, h, w] = s.axes;
  std::int64_t output = 0;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t n = 0; n < s.images; ++n)
      for (std::int64_t place = 0; place < d.output * h.output * w.output; ++place)
        for (std::int64_t g = 0; g < s.groups; ++g)
          for (std::int64_t f = 0; f < s.features; ++f, ++output)
            for (std::int64_t k = 0; k < d.window * h.window * w.window; ++k) {
              const auto at = [](const ConvolutionAxis& a, std::int64_t place, std::int64_t k) {
                const std::int64_t i = place * a.stride + k * a.dilation - a.low;
                return i >= 0 && i < a.input ? i : -1;
              };
              const std::int64_t i = at(d, place / (h.output * w.output), k / (h.window * w.window)),
                                 j = at(h, place / w.output % h.output, k / w.window % h.window),
                                 l = at(w, place % w.output, k % w.window);
              if (i < 0 || j < 0 || l < 0) continue;
              const std::int64_t pixel = (((b * s.images + n) * d.input + i) * h.input + j) * w.input + l,
                                 tap = b * d.window * h.window * w.window + k;
              for (std::int64_t c = 0; c < s.channels; ++c)
                visit(static_cast<std::size_t>((pixel * s.groups + g) * s.channels + c),
                      static_cast<std::size_t>(((tap * s.channels + c) * s.groups + g) * s.features + f),
                      static_cast<std::size_t>(output));
            }
}

template <class T>
std::vector<T> numbers(Random& random, const Shape& shape) {
  std::vector<T> out(static_cast<std::size_t>(shape.product()));
  for (T& x : out) x = static_cast<T>(random.uniform(-1, 1));
  return out;
}

/// Each sum within a few ulp of what its terms are together.
template <class T>
void check(const ConvolutionSizes& s, ConvolutionArray result) {
  Random random(5);
  const auto input = numbers<T>(random, shape_of(s, Input)), kernel = numbers<T>(random, shape_of(s, Kernel)),
             output = numbers<T>(random, shape_of(s, Output));
  const auto size = static_cast<std::size_t>(shape_of(s, result).product());
  const std::vector<T>&first = result == Input ? kernel : input, &second = result == Output ? kernel : output;
  std::vector<long double> want(size), sizes(size);
  each_term(s, [&](std::size_t i, std::size_t k, std::size_t o) {
    const std::size_t at = result == Input ? i : result == Kernel ? k : o;
    const long double term = result == Input    ? static_cast<long double>(kernel[k]) * output[o]
                             : result == Kernel ? static_cast<long double>(input[i]) * output[o]
                                                : static_cast<long double>(input[i]) * kernel[k];
    want[at] += term;
    sizes[at] += std::abs(term);
  });
  std::vector<T> got(size, std::nan("")), narrow(size, std::nan(""));
  convolve(s, result, first.data(), second.data(), narrow.data(), false);
  for (std::size_t i = 0; i < size; ++i)
    ASSERT_NEAR(narrow[i], want[i], 16 * std::numeric_limits<T>::epsilon() * sizes[i]) << i;
  if (!has_avx512()) return;
  convolve(s, result, first.data(), second.data(), got.data(), true);
  EXPECT_TRUE(size == 0 || std::memcmp(got.data(), narrow.data(), size * sizeof(T)) == 0);
}

TEST(Convolution, IsItsDefinitionInRegistersOfEitherWidth) {
  int number = 0;
  for (const ConvolutionSizes& s : convolution_cases())
    for (ConvolutionArray result : {Input, Kernel, Output}) {
      SCOPED_TRACE("case " + std::to_string(number++ / 3) + ", result " +
                   std::to_string(static_cast<int>(result)));
      check<float>(s, result);
      check<double>(s, result);
      if (HasFatalFailure()) return;
    }
}

/// The sum of a tap of channels that are convolved each for itself: rows of the output one after the other,
/// at most 256 places in a chain.
template <class T>
T sum_of_tap(const ConvolutionSizes& s, const std::vector<T>& input, const std::vector<T>& output,
             std::int64_t channel, std::int64_t tap) {
  const auto& [d, h, w] = s.axes;
  const auto entry = [](const ConvolutionAxis& a, std::int64_t place, std::int64_t k) {
    return place * a.stride + k * a.dilation - a.low;
  };
  const auto inside = [](const ConvolutionAxis& a, std::int64_t i) { return i >= 0 && i < a.input; };
  T sum{};
  for (std::int64_t n = 0; n < s.images; ++n)
    for (std::int64_t i = 0; i < d.output; ++i)
      for (std::int64_t first = 0; first < w.output; first += 256)
        for (std::int64_t j = 0; j < h.output; ++j) {
          const std::int64_t y = entry(d, i, tap / (h.window * w.window)),
                             x = entry(h, j, tap / w.window % h.window);
          if (!inside(d, y) || !inside(h, x)) continue;
          T chain{};
          for (std::int64_t l = first; l < std::min(first + 256, w.output); ++l) {
            const std::int64_t at = entry(w, l, tap % w.window);
            const T in = inside(w, at)
                             ? input[static_cast<std::size_t>(
                                   (((n * d.input + y) * h.input + x) * w.input + at) * s.groups + channel)]
                             : T{};
            chain = std::fma(in,
                             output[static_cast<std::size_t>(
                                 (((n * d.output + i) * h.output + j) * w.output + l) * s.groups + channel)],
                             chain);
          }
          sum += chain;
        }
  return sum;
}

TEST(Convolution, SumsOfChannelsApartHaveOneOrder) {
  Random random(7);
  for (const ConvolutionSizes& s : convolution_cases()) {
    if (s.batch != 1 || s.channels != 1 || s.features != 1 || s.groups < 2) continue;
    const auto input = numbers<float>(random, shape_of(s, Input)),
               output = numbers<float>(random, shape_of(s, Output));
    std::vector<float> got(static_cast<std::size_t>(shape_of(s, Kernel).product()));
    convolve(s, Kernel, input.data(), output.data(), got.data());
    for (std::int64_t i = 0; i < shape_of(s, Kernel).product(); ++i)
      ASSERT_EQ(got[static_cast<std::size_t>(i)], sum_of_tap(s, input, output, i % s.groups, i / s.groups))
          << i << " of " << s.groups;
  }
}

// Images are shared out to threads; each is what it is alone.
TEST(Convolution, OfManyImagesIsThatOfEach) {
  ConvolutionSizes s{.batch = 1, .images = 7, .groups = 1, .channels = 16, .features = 24, .axes = {}};
  s.axes[1] = s.axes[2] = {.input = 40, .window = 3, .output = 20, .stride = 2, .low = 1};
  Random random(5);
  for (ConvolutionArray result : {Input, Output}) {
    const auto input = numbers<float>(random, shape_of(s, Input)),
               kernel = numbers<float>(random, shape_of(s, Kernel)),
               output = numbers<float>(random, shape_of(s, Output));
    const auto size = static_cast<std::size_t>(shape_of(s, result).product()), image = size / 7;
    std::vector<float> all(size), one(image);
    const auto run = [&](const ConvolutionSizes& of, std::size_t first, std::vector<float>& to) {
      if (result == Output)
        convolve(of, result, input.data() + first * (input.size() / 7), kernel.data(), to.data());
      else
        convolve(of, result, kernel.data(), output.data() + first * (output.size() / 7), to.data());
    };
    run(s, 0, all);
    ConvolutionSizes alone = s;
    alone.images = 1;
    for (std::size_t i = 0; i < 7; ++i) {
      run(alone, i, one);
      EXPECT_EQ(std::memcmp(all.data() + i * image, one.data(), image * sizeof(float)), 0) << i;
    }
  }
}

}  // namespace
}  // namespace apsis::testing
