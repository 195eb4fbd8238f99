// Bits of numbers against JAX, NumPy and Python's integers.

#include "apsis/array/bits.hpp"
#include "apsis/array/elementwise.hpp"
#include "apsis/ops/bits.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

std::optional<int> axis_of(const Case& c) {
  if (c.text.at("axis") == "none") return {};
  return static_cast<int>(number(c, "axis"));
}
BitOrder order_of(const Case& c) { return c.text.at("order") == "big" ? BitOrder::Big : BitOrder::Little; }

TEST(Bits, AreThoseOfJaxAndNumpy) {
  const Table table{
      {"packbits",
       one([](auto& c, auto x) { return packbits(x[0], {.axis = axis_of(c), .bitorder = order_of(c)}); })},
      {"unpackbits", one([](auto& c, auto x) {
         UnpackbitsOptions options{.axis = axis_of(c), .bitorder = order_of(c)};
         if (c.text.at("count") != "none") options.count = number(c, "count");
         return unpackbits(x[0], options);
       })},
      APSIS_BINARY(mulhi),
      {"bitcast",
       one([](auto& c,
              auto x) { return bitcast_convert_type(x[0], golden::dtype_named(c.text.at("dtype"))); },
           0, 0)},
      {"reduce_precision", one(
                               [](auto& c, auto x) {
                                 return reduce_precision(x[0], static_cast<int>(number(c, "exponent")),
                                                         static_cast<int>(number(c, "mantissa")));
                               },
                               0, 0)},
      {"nextafter", binary([](const Array& a, const Array& b) { return nextafter(a, b); }, 0, 0)},
  };
  check_file("bits", table);
}

}  // namespace
}  // namespace apsis::testing
