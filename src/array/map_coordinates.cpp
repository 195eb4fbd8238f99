#include <vector>

#include "apsis/array/image.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis::image {
using namespace apsis::detail::arrays;
namespace {

/// Half a unit is away from zero, as SciPy has it.
Array rounded(const Array& x) { return is_inexact(x.dtype()) ? copysign(floor(abs(x) + 0.5), x) : x; }

/// i over and back between 0 and size - 1.
Array mirrored(const Array& i, std::int64_t size) {
  const std::int64_t last = size - 1;
  return last == 0 ? i * 0 : abs((i + last) % (2 * last) - last);
}

/// The element that stands at index i of an axis.
Array element_at(const Array& i, std::int64_t size, Outside mode) {
  switch (mode) {
    case Outside::Nearest:
      return clip(i, 0, size - 1);
    case Outside::Wrap:
      return i % size;
    case Outside::Mirror:
      return mirrored(i, size);
    case Outside::Reflect:
      return floor_divide(mirrored(2 * i + 1, 2 * size + 1) - 1, 2);
    default:
      return i;
  }
}

/// An element beside a place of one axis.
struct Neighbour {
  Array index, is_there, weight;
};

std::vector<Neighbour> neighbours(const Array& place, std::int64_t size,
                                  const MapCoordinatesOptions& options) {
  const auto at = [&](const Array& index, const Array& weight) {
    return Neighbour{element_at(index, size, options.mode), index >= 0 && index < size, weight};
  };
  if (options.order == 0) return {at(astype(rounded(place), i64), {})};
  const Array below = floor(place), upper = place - below, index = astype(below, i64);
  return {at(index, 1. - upper), at(index + 1, upper)};
}

}  // namespace

Array map_coordinates(const Array& image, std::span<const Array> coordinates,
                      const MapCoordinatesOptions& options, Loc loc) {
  const LocScope place(loc);
  constexpr const char* name = "map_coordinates";
  if (options.order != 0 && options.order != 1) fail(messages::map_order, {std::to_string(options.order)});
  if (coordinates.size() != image.shape().size() || coordinates.empty())
    fail(messages::array_sizes, {name, to_string(image.aval()),
                                 std::to_string(coordinates.size()) + " coordinates", "give one an axis"});
  for (int i = 0; i < image.ndim(); ++i)
    if (image.dim(i) == 0)
      fail(messages::array_few, {name, "1 entry", "axis " + std::to_string(i), to_string(image.aval())});
  std::vector<Array> places = promoted_inexact(coordinates);
  std::vector<Shape> shapes;
  for (const Array& x : places) shapes.push_back(x.shape());
  const Shape shape = common_shape(name, shapes);
  const Array outside = astype(options.cval, image.dtype());
  // One corner of the cell after the other: bit k says which neighbour along axis k.
  std::vector<std::vector<Neighbour>> beside;
  for (std::size_t k = 0; k < places.size(); ++k)
    beside.push_back(neighbours(broadcast_to(places[k], shape), image.shape()[k], options));
  const std::size_t corners = std::size_t{1} << (options.order == 0 ? 0 : beside.size());
  Array total;
  for (std::size_t corner = 0; corner < corners; ++corner) {
    std::vector<Index> index;
    Array is_there, weight;
    for (std::size_t k = 0; k < beside.size(); ++k) {
      const Neighbour& n = beside[k][corner >> k & 1];
      index.emplace_back(n.index);
      is_there = k == 0 ? n.is_there : is_there && n.is_there;
      weight = k == 0 ? n.weight : options.order == 0 ? weight : weight * n.weight;
    }
    Array element = IndexUpdate(image, index).get();
    if (options.mode == Outside::Constant) element = where(is_there, element, outside);
    if (options.order == 1) element = element * weight;
    total = corner == 0 ? element : total + element;
  }
  return astype(is_integer(image.dtype()) ? rounded(total) : total, image.dtype());
}
Array map_coordinates(const Array& image, std::initializer_list<Array> coordinates,
                      const MapCoordinatesOptions& options, Loc loc) {
  return map_coordinates(image, span_of(coordinates), options, loc);
}

}  // namespace apsis::image
