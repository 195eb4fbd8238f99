#pragma once

// Line plots and maps, drawn by gnuplot.
//
//   Figure figure{.title = "Decay", .xlabel = "time (s)", .ylabel = "amount"};
//   figure.line(ts, ys, "model").points(data_ts, data, "measured").band(ts, low, high, "95%");
//   figure.save("out/decay.png");

#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// One curve, band, line or map of a figure. Made by the methods of Figure.
struct Series {
  enum class Kind { Line, Dashed, Points, Band, Mark, Map };
  Kind kind;
  std::vector<double> x, y, high;  ///< high: the upper edge of a band, the values of a map
  std::string label, color;
};

/// A plot with its series, drawn by gnuplot.
struct Figure {
  std::string title, xlabel, ylabel;
  bool log_x = false, log_y = false, log_color = false;
  bool numbers = true;             ///< along the axes
  int width = 1100, height = 620;  ///< pixels
  std::vector<Series> series;

  // All texts are shown as they are, whatever they hold; of more than 500 bytes the rest is left out.

  /// Adds a series of one-dimensional arrays of equal length. A value that is not finite, beyond 1e300, or
  /// not positive on a logarithmic axis leaves a gap. Colors are gnuplot's names or "#rrggbb"; empty: the
  /// next of a palette that colour-blind readers can tell apart. Throws if the lengths differ.
  Figure& line(const Array& x, const Array& y, const std::string& label, const std::string& color = "",
               Loc loc = Loc::here());
  Figure& dashed(const Array& x, const Array& y, const std::string& label, const std::string& color = "",
                 Loc loc = Loc::here());
  Figure& points(const Array& x, const Array& y, const std::string& label, const std::string& color = "",
                 Loc loc = Loc::here());
  /// The area between two curves.
  Figure& band(const Array& x, const Array& low, const Array& high, const std::string& label,
               const std::string& color = "", Loc loc = Loc::here());
  /// The values [ys, xs] over a grid of evenly spaced x and y, as colours; not finite: left white. `label` is
  /// that of the scale of colours, which one map a figure has. Throws if the lengths differ, or the
  /// steps of x or y do.
  Figure& map(const Array& x, const Array& y, const Array& values, const std::string& label,
              Loc loc = Loc::here());
  /// A vertical line.
  Figure& mark(double x, const std::string& label, Loc loc = Loc::here());
  /// Draws a picture: .png, .svg or .pdf. It appears whole or not at all. Throws if nothing can be drawn,
  /// gnuplot is missing or refuses, or the file cannot be written.
  void save(const std::string& path, Loc loc = Loc::here()) const;
};

/// Draws several figures above each other in one picture.
void save_stacked(const std::vector<Figure>& figures, const std::string& path, Loc loc = Loc::here());

}  // namespace apsis
