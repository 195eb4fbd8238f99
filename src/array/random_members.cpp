// Draws for ensembles, a row for each member.

#include "apsis/array/ensemble.hpp"

#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/array/special.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/vmap.hpp"
#include "array/random_support.hpp"

namespace apsis::random {

Array detail::open_uniform(const Array& high, const Array& low, Dtype dtype) {
  const int digits = finfo(dtype).nmant;
  const auto number = [&](const Array& bits) {
    return (astype(bits, dtype) + 0.5) * std::ldexp(1., -digits);
  };
  if (digits <= 32) return number(high >> array(static_cast<std::uint32_t>(32 - digits)));
  const Array more = low >> array(static_cast<std::uint32_t>(64 - digits));
  return number((astype(high, u64) << (digits - 32)) | astype(more, u64));
}

using namespace detail;

namespace {

void check_members(const char* name, std::int64_t count, const MemberOptions& options) {
  check_floating(name, options.dtype);
  check_count(name, count);
  check_first(name, options.first);
}

/// Rows of points of Sobol's sequence.
Array points(const char* name, const Array& key, std::int64_t count, const Shape& shape,
             const MemberOptions& o, Loc loc) {
  const std::int64_t dimension = shape.product();
  if (dimension > 1024) fail(messages::sobol_dimensions, {name, std::to_string(dimension), "1024"}, loc);
  Shape all = shape;
  all.insert(0, count);
  return reshape(sobol(count, dimension, {.key = key, .first = o.first, .dtype = o.dtype}, loc), all);
}

/// draw(key, number of the member) for each member, a key of its own each.
template <class Draw>
Array for_each_member(const Array& key, std::int64_t count, const Array& first, const Draw& draw) {
  return vmap([&](const Array& number) { return draw(fold_in(key, number)); })(first + arange(count));
}
/// The same with draws in pairs, of which mirrored(draw) is the second.
template <class Draw, class Mirrored>
Array in_pairs(const Array& key, std::int64_t count, const Array& first, const Draw& draw,
               const Mirrored& mirrored) {
  return vmap([&](const Array& number) {
    const Array one = draw(fold_in(key, number >> 1));
    return where((number & 1) == 1, mirrored(one), one);
  })(first + arange(count));
}

}  // namespace

Array uniform_members(const Array& key, std::int64_t count, const Shape& shape, const MemberOptions& options,
                      Loc loc) {
  const LocScope place(loc);
  const char* name = "uniform_members";
  check_members(name, count, options);
  if (options.draws == Draws::Sobol) return points(name, key, count, shape, options, loc);
  const auto draw = [&](const Array& own) {
    const auto [high, low] = split<2>(own);
    return open_uniform(bits(high, shape, u32), bits(low, shape, u32), options.dtype);
  };
  if (options.draws == Draws::Independent) return for_each_member(key, count, options.first, draw);
  return in_pairs(key, count, options.first, draw, [](const Array& u) { return 1. - u; });
}

Array normal_members(const Array& key, std::int64_t count, const Shape& shape, const MemberOptions& options,
                     Loc loc) {
  const LocScope place(loc);
  const char* name = "normal_members";
  check_members(name, count, options);
  if (options.draws == Draws::Sobol)
    return apsis::special::ndtri(points(name, key, count, shape, options, loc));
  const auto draw = [&](const Array& own) { return normal(own, shape, options.dtype); };
  if (options.draws == Draws::Independent) return for_each_member(key, count, options.first, draw);
  return in_pairs(key, count, options.first, draw, [](const Array& z) { return -z; });
}

}  // namespace apsis::random
