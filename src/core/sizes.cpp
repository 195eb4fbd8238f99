#include "core/sizes.hpp"

#include <cstdio>
#include <limits>

#include "core/memory.hpp"
#include "core/messages.hpp"

namespace apsis::detail {
namespace {

// As much as an address has bits for; programs of thousands of such arrays still count their bytes in 64
// bits.
constexpr std::int64_t most_bytes = std::int64_t(1) << 48;

double bytes_of(Dtype dtype, const Shape& shape) {
  double bytes = static_cast<double>(item_size(dtype));
  for (std::int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

[[noreturn]] void fail_too_large(Dtype dtype, const Shape& shape) {
  fail(messages::array_too_large,
       {to_string(shape), std::string(name_of(dtype)), bytes_text(bytes_of(dtype, shape))});
}

}  // namespace

std::int64_t checked_count(Dtype dtype, const Shape& shape) {
  auto room = static_cast<std::int64_t>(item_size(dtype));
  bool none = false;
  for (std::int64_t size : shape) {
    if (size < 0) fail(messages::negative_shape, {to_string(shape)});
    none |= size == 0;
    if (size != 0 && (__builtin_mul_overflow(room, size, &room) || room > most_bytes))
      fail_too_large(dtype, shape);
  }
  return none ? 0 : room / static_cast<std::int64_t>(item_size(dtype));
}

std::int64_t size_product(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t size_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

void fail_axis(const char* where, std::int64_t axis, const Shape& shape, Loc loc) {
  const std::string rank = std::to_string(shape.rank());
  fail(messages::bad_axis,
       {where, std::to_string(axis), to_string(shape),
        shape.rank() == 0 ? "a scalar has no axes" : "it must lie in [-" + rank + ", " + rank + ")"},
       loc);
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.3g %s", bytes, units[unit]);
  return text;
}

void fail_memory(const Aval& aval) {
  fail(messages::no_memory_for_array,
       {to_string(aval.shape()), std::string(name_of(aval.dtype())),
        bytes_text(static_cast<double>(aval.bytes())), bytes_text(static_cast<double>(machine_memory()))});
}

}  // namespace apsis::detail
