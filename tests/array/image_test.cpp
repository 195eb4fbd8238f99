// Images against jax.image, with the derivatives in scales and translations.

#include "apsis/array/image.hpp"
#include "apsis/array/product.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

using image::ResizeMethod;

ResizeMethod method_of(const Case& c) {
  constexpr ResizeMethod methods[] = {
      ResizeMethod::Nearest,  ResizeMethod::Linear,   ResizeMethod::Cubic, ResizeMethod::CubicPytorch,
      ResizeMethod::Lanczos3, ResizeMethod::Lanczos5, ResizeMethod::Area};
  return methods[number(c, "method")];
}

TEST(Image, BetweenItsElements) {
  const Table table{
      {"map_coordinates", one([](auto& c, auto x) {
         return image::map_coordinates(x[0], x.subspan(1),
                                       {.order = static_cast<int>(number(c, "order")),
                                        .mode = static_cast<image::Outside>(number(c, "mode")),
                                        .cval = 2});
       })},
      {"ragged_dot", one([](auto&, auto x) { return ragged_dot(x[0], x[1], x[2]); })},
  };
  check_file("places", table);
}

TEST(Image, IsThatOfJax) {
  const Table table{
      {"resize", one([](auto& c, auto x) {
         return image::resize(x[0], dims(c, "shape"), method_of(c), {.antialias = flag(c, "antialias")});
       })},
      // Places of up to 8 are rounded, kernels are as steep as 2 there: so much of a tenth of the largest
      // entry, which is what small ones are compared with.
      {"scale_and_translate", one(
                                  [](auto& c, auto x) {
                                    return image::scale_and_translate(x[0], dims(c, "shape"), dims(c, "axes"),
                                                                      x[1], x[2], method_of(c),
                                                                      {.antialias = flag(c, "antialias")});
                                  },
                                  160 * 1.2e-16, 160 * 6e-8)},
  };
  check_file("images", table);
}

}  // namespace
// By places, by repeating, and by taking every few entries: the same.
TEST(Resize, NearestAtAnySize) {
  for (const Dtype dtype : {f64, f32, i32})
    for (const std::int64_t from : {1, 3, 8})
      for (std::int64_t to = 0; to <= 24; ++to) {
        const Array x = astype(reshape(sin(arange(static_cast<double>(from) * 5.)) * 9., {from, 5}), dtype);
        std::vector<double> places;
        for (std::int64_t i = 0; i < to; ++i)
          places.push_back(
              std::floor((static_cast<float>(i) + 0.5f) * static_cast<float>(from) / static_cast<float>(to)));
        const Array want = take(x, astype(array(std::span<const double>(places), {to}), i64), 0);
        const auto resized = [&](const Array& a) {
          return image::resize(a, {to, 5}, image::ResizeMethod::Nearest);
        };
        EXPECT_TRUE(array_equal(resized(x), want)) << from << " " << to;
      }
}

}  // namespace apsis::testing
