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

struct Series {
  enum class Kind { Line, Dashed, Points, Band, Mark, Map };
  Kind kind;
  std::vector<double> x, y, high;  // high: the upper edge of a band, the values of a map
  std::string label, color;
};

struct Figure {
  std::string title, xlabel, ylabel;
  bool log_y = false, log_color = false;
  int width = 1100, height = 620;  // pixels
  std::vector<Series> series;

  /// Adds a series of one-dimensional arrays of equal length. Colors are gnuplot's names or "#rrggbb"; empty:
  /// the next of a palette that colour-blind readers can tell apart. Throws if the lengths differ.
  Figure& line(const Array& x, const Array& y, const std::string& label, const std::string& color = "");
  Figure& dashed(const Array& x, const Array& y, const std::string& label, const std::string& color = "");
  Figure& points(const Array& x, const Array& y, const std::string& label, const std::string& color = "");
  /// The area between two curves.
  Figure& band(const Array& x, const Array& low, const Array& high, const std::string& label,
               const std::string& color = "");
  /// The values [ys, xs] over a grid of evenly spaced x and y, as colours; not finite: left white. `label` is
  /// that of the scale of colours, which one map a figure has. Throws if the lengths differ.
  Figure& map(const Array& x, const Array& y, const Array& values, const std::string& label);
  /// A vertical line.
  Figure& mark(double x, const std::string& label);
  /// Draws a PNG. Throws if gnuplot is missing or refuses.
  void save(const std::string& path) const;
};

/// Draws several figures above each other in one PNG.
void save_stacked(const std::vector<Figure>& figures, const std::string& path);

}  // namespace apsis
