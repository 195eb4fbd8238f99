#include "nn/support.hpp"

#include "apsis/ops/random.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {

void check_input(const char* layer, const Array& x, const Shape& shape) {
  bool fits = x.shape().size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = shape[i] < 0 || x.shape()[i] == shape[i];
  if (fits) return;
  std::string wanted = shape.empty() ? "a scalar" : "an array [";
  for (std::size_t i = 0; i < shape.size(); ++i)
    wanted += (i ? ", " : "") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  if (!shape.empty()) wanted += "]";
  fail(messages::layer_input, {layer, wanted, to_string(x.aval())});
}

void check_size(const char* where, const char* what, std::int64_t value, std::int64_t least) {
  if (value < least) fail(messages::layer_size, {where, what, std::to_string(value), std::to_string(least)});
}

void check_divides(const char* where, const char* what, std::int64_t value, const char* divisor_name,
                   std::int64_t divisor) {
  if (value % divisor != 0)
    fail(messages::layer_divides,
         {where, what, std::to_string(value), divisor_name, std::to_string(divisor)});
}

Array uniform_within(double bound, const Array& key, const Shape& shape, Dtype dtype) {
  return random::uniform(key, shape, dtype, -bound, bound);
}

}  // namespace apsis::nn
