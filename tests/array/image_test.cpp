// Images against jax.image, with the derivatives in scales and translations.

#include "apsis/array/image.hpp"
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
}  // namespace apsis::testing
