#pragma once

// Images of other sizes, as in jax.image. Axes whose size does not change (of batches and channels) are left
// alone.

#include <initializer_list>
#include <span>

#include "apsis/core/array.hpp"

/// Images of other sizes, with the names of jax.image.
namespace apsis::image {

/// How the elements of the result are put together from those around their places: the nearest one; by a
/// triangle; by Keys' cubic polynomial, or the one that PyTorch and OpenCV take, with edges repeated (without
/// antialiasing; with it, Keys'); by Lanczos' windows of radius 3 and 5; or the mean over an element's area.
enum class ResizeMethod : std::uint8_t { Nearest, Linear, Cubic, CubicPytorch, Lanczos3, Lanczos5, Area };

/// Options of `resize` and `scale_and_translate`.
struct ResizeOptions {
  /// Whether an axis that gets shorter is smoothed: kernels are as wide as the distance of its new entries.
  bool antialias = true;
};

/// The image with another size along any of its axes: element i of n is at (i + ½) m / n - ½ of m. Integers
/// become floating, but for Nearest. Throws unless there is a size for each axis, and for an axis without
/// entries that gets some.
Array resize(const Array& image, const Shape& shape, ResizeMethod method, const ResizeOptions& options = {},
             Loc loc = Loc::here());

/// What is at place p of axis `axes[k]`, counted from the edge of the first element, comes to p · scale[k] +
/// translation[k], in an image of `shape`; what comes from outside is 0. Differentiable in the numbers, too.
/// Throws for Nearest, for other numbers of scales or translations than of axes, and where the shape changes
/// along another axis.
Array scale_and_translate(const Array& image, const Shape& shape, const Dims& axes, const Array& scale,
                          const Array& translation, ResizeMethod method, const ResizeOptions& options = {},
                          Loc loc = Loc::here());

/// What is beyond an image: a constant; the nearest element; the image again; its mirror image, on the
/// outermost elements or behind them.
enum class Outside : std::uint8_t { Constant, Nearest, Wrap, Mirror, Reflect };
/// Options of `map_coordinates`.
struct MapCoordinatesOptions {
  int order = 1;  ///< 0: the nearest element; 1: linear between them
  Outside mode = Outside::Constant;
  Array cval = 0.;  ///< the constant
};
/// The image at places between its elements, which `coordinates` give, an array for each axis, of one shape,
/// that of the result. Elements beyond the image count as `mode` says. The result has the image's dtype.
/// Throws for other orders, and other numbers of coordinates than axes. (jax.scipy.ndimage.map_coordinates)
Array map_coordinates(const Array& image, std::span<const Array> coordinates,
                      const MapCoordinatesOptions& options = {}, Loc loc = Loc::here());
Array map_coordinates(const Array& image, std::initializer_list<Array> coordinates,
                      const MapCoordinatesOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis::image
