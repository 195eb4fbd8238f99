#include "apsis/io/plot.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/core/op.hpp"
#include "io/gnuplot.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {
namespace {

using detail::can_be_shown;
using detail::gnuplot_number;
using detail::gnuplot_string;
using Kind = Series::Kind;

// Okabe and Ito, Color universal design, 2008.
constexpr const char* palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#56b4e9", "#e69f00", "#000000"};

/// The values of an array of one dimension. Throws for others.
std::vector<double> values_of(const Array& array, const char* name, const std::string& label) {
  if (array.is_empty() || array.ndim() != 1)
    fail(messages::plot_dimensions,
         {name, detail::shown(label), array.is_empty() ? "an empty array" : to_string(array.aval())});
  if (is_complex(array.dtype()))
    fail(messages::plot_complex, {name, detail::shown(label), to_string(array.aval())});
  return array.to_vector<double>();
}

void add(Figure& f, Kind kind, const Array& x, const Array& y, const Array* high, const std::string& label,
         const std::string& color) {
  Series s{kind,
           values_of(x, "x", label),
           values_of(y, high ? "low" : "y", label),
           {},
           label,
           color.empty() ? palette[f.series.size() % std::size(palette)] : color};
  if (high) s.high = values_of(*high, "high", label);
  if (s.x.size() != s.y.size() || (high && s.x.size() != s.high.size()))
    fail(messages::plot_sizes,
         {detail::shown(label), std::to_string(s.x.size()),
          high ? std::to_string(s.y.size()) + " lower and " + std::to_string(s.high.size()) + " upper"
               : std::to_string(s.y.size()) + " y"});
  f.series.push_back(std::move(s));
}

std::string style_of(const Series& s) {
  const std::string color = gnuplot_string(s.color);
  switch (s.kind) {
    case Kind::Line:
      return "with lines lw 2.5 lc rgb " + color;
    case Kind::Dashed:
      return "with lines lw 2.5 dt 2 lc rgb " + color;
    case Kind::Points:
      return "with points pt 7 ps 1.3 lc rgb " + color;
    case Kind::Band:
      return "with filledcurves fs transparent solid 0.18 noborder lc rgb " + color;
    case Kind::Mark:
      return "with lines lw 1.5 dt 3 lc rgb \"#555555\"";
    case Kind::Map:
      return "with image";
  }
  return {};
}

/// Axes that end with the map, and the scale of its colours: viridis (Smith and van der Walt 2015), even in
/// lightness.
std::string script_of_map(const Figure& f, const Series& map) {
  return "set autoscale fix\nset format cb \"%g\"\nset cblabel " + gnuplot_string(map.label) + "\n" +
         (f.log_color ? "set logscale cb\n" : "") +
         "set palette defined (0 \"#440154\", 1 \"#472d7b\", 2 \"#3b528b\", 3 \"#2c728e\", 4 \"#21918c\", "
         "5 \"#28ae80\", 6 \"#5ec962\", 7 \"#addc30\", 8 \"#fde725\")\n";
}

bool has_upper(const Series& s) { return s.kind == Kind::Band || s.kind == Kind::Map; }

/// Whether a value has a place on an axis.
bool on_axis(bool logarithmic, double value) { return can_be_shown(value) && (!logarithmic || value > 0); }

/// Whether a point of a series is drawn. Where one is not, there is a gap.
bool is_drawn(const Figure& f, const Series& s, std::size_t i) {
  if (!on_axis(f.log_x, s.x[i]) || !on_axis(f.log_y, s.y[i])) return false;
  return s.kind != Kind::Band || on_axis(f.log_y, s.high[i]);
}

std::string row(const Figure& f, const Series& s, std::size_t i) {
  const bool drawn = is_drawn(f, s, i);
  auto number = [&](double v) { return drawn ? gnuplot_number(v) : std::string("NaN"); };
  return gnuplot_number(s.x[i]) + ' ' + number(s.y[i]) + (has_upper(s) ? ' ' + number(s.high[i]) : "") + '\n';
}

/// From where to where marks go: over all that is drawn.
std::pair<double, double> extent(const Figure& f) {
  double low = INFINITY, high = -INFINITY;
  for (const Series& s : f.series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      if (!is_drawn(f, s, i)) continue;
      low = std::fmin(low, s.y[i]), high = std::fmax(high, s.y[i]);
      if (s.kind == Kind::Band) low = std::fmin(low, s.high[i]), high = std::fmax(high, s.high[i]);
    }
  return low <= high ? std::pair{low, high} : f.log_y ? std::pair{1., 10.} : std::pair{0., 1.};
}

/// A label has one line in the key.
std::string key_text(std::string label) {
  std::ranges::replace(label, '\n', ' ');
  std::ranges::replace(label, '\r', ' ');
  return gnuplot_string(label);
}

std::string script_of(const Figure& f) {
  std::string out = "set title " + gnuplot_string(f.title) + "\nset xlabel " + gnuplot_string(f.xlabel) +
                    "\nset ylabel " + gnuplot_string(f.ylabel) + "\n";
  out += f.log_x ? "set logscale x\n" : "unset logscale x\n";
  out += f.log_y ? "set logscale y\n" : "unset logscale y\n";
  out += f.numbers ? "set xtics\nset ytics\n" : "unset xtics\nunset ytics\n";
  out +=
      "unset logscale cb\nset format x \"%g\"\nset format y \"%g\"\nset autoscale\nset grid lc rgb "
      "\"#dddddd\"\n";
  out += "set key outside right top\nset border lc rgb \"#333333\"\n";
  const auto [low, high] = extent(f);
  std::string data, plot;
  int block = 0;
  for (const Series& s : f.series) {
    std::string name = "$d" + std::to_string(block++);
    const bool is_map = s.kind == Kind::Map;
    if (is_map) out += script_of_map(f, s);
    data += name + " << EOD\n";
    bool any = s.kind == Kind::Mark;
    if (any)
      for (double y : {low, high}) data += gnuplot_number(s.x[0]) + ' ' + gnuplot_number(y) + '\n';
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      data += row(f, s, i);
      any |= is_drawn(f, s, i);
    }
    data += "EOD\n";
    // A series without a point still has its line in the key.
    const bool key_only = !any && !is_map && s.kind != Kind::Band;
    plot += (plot.empty() ? "plot " : ", \\\n  ") +
            (key_only ? "NaN" : name + (has_upper(s) ? " using 1:2:3" : " using 1:2")) + ' ' + style_of(s) +
            (is_map || s.label.empty() ? " notitle" : " title " + key_text(s.label));
  }
  return out + data + plot + "\n";
}

/// A map is drawn as an image: even steps, at least two each way.
void check_map(const Series& s) {
  const std::size_t columns = static_cast<std::size_t>(
      std::ranges::find_if(s.y, [&](double v) { return v != s.y[0]; }) - s.y.begin());
  const std::size_t rows = columns ? s.y.size() / columns : 0;
  bool even = columns > 1 && rows > 1 && rows * columns == s.x.size();
  auto steps_evenly = [](std::size_t n, auto value) {
    const double step = (value(n - 1) - value(0)) / static_cast<double>(n - 1);
    // A hundredth of a step cannot be seen.
    for (std::size_t i = 0; i < n; ++i)
      if (!(std::fabs(value(i) - value(0) - static_cast<double>(i) * step) <= 0.01 * std::fabs(step)))
        return false;
    return step != 0 && can_be_shown(value(0)) && can_be_shown(value(n - 1));
  };
  even = even && steps_evenly(columns, [&](std::size_t i) { return s.x[i]; }) &&
         steps_evenly(rows, [&](std::size_t i) { return s.y[i * columns]; });
  if (!even) fail(messages::plot_map_grid, {detail::shown(s.label)});
}

/// Whoever fills `series` may do it wrong.
void check_series(const Series& s, bool log_x) {
  const bool mark = s.kind == Kind::Mark;
  const std::size_t points = s.x.size();
  if (mark ? points != 1 || !s.y.empty()
           : s.y.size() != points || (has_upper(s) ? s.high.size() != points : !s.high.empty()))
    fail(messages::plot_sizes,
         {detail::shown(s.label), std::to_string(points),
          std::to_string(s.y.size()) + " y" +
              (s.high.empty() ? "" : " and " + std::to_string(s.high.size()) + " upper")});
  if (mark && !on_axis(log_x, s.x[0]))
    fail(messages::plot_mark, {detail::shown(s.label), std::to_string(s.x[0]), log_x ? "positive and " : ""});
  if (s.kind == Kind::Map) check_map(s);
}

void check_drawable(const Figure& f, const std::string& path) {
  const std::string file = detail::shown(path, 300);
  if (f.series.empty()) fail(messages::plot_empty, {file});
  bool any = false;
  int maps = 0;
  for (const Series& s : f.series) {
    check_series(s, f.log_x);
    any |= s.kind == Kind::Mark;
    for (std::size_t i = 0; i < s.y.size() && !any; ++i)
      any |= is_drawn(f, s, i) &&
             (s.kind != Kind::Map || (can_be_shown(s.high[i]) && (!f.log_color || s.high[i] > 0)));
    maps += s.kind == Kind::Map;
  }
  if (!any)
    fail(messages::plot_nothing,
         {file, f.log_x || f.log_y || f.log_color ? ", and positive on a logarithmic scale" : ""});
  if (maps > 1) fail(messages::plot_maps, {file, std::to_string(maps)});
  if (maps && (f.log_x || f.log_y)) fail(messages::plot_map_log, {file, f.log_y ? "y" : "x"});
}

void draw(const std::vector<Figure>& figures, const std::string& path) {
  detail::check_picture_path(path);
  if (figures.empty()) fail(messages::plot_empty, {detail::shown(path, 300)});
  for (const Figure& f : figures) check_drawable(f, path);
  // The limits of the library that draws, and 400 MB of pixels.
  constexpr std::int64_t shortest = 50, longest = 32000, most = 100'000'000;
  std::int64_t width = 0, height = 0;
  for (const Figure& f : figures) {
    width = std::max<std::int64_t>(width, f.width);
    height += f.height;
    if (std::min(f.width, f.height) < shortest || width > longest || height > longest ||
        width * height > most)
      fail(messages::plot_pixels,
           {detail::shown(path, 300), std::to_string(f.width), std::to_string(f.height)});
  }
  const std::string gnuplot = detail::find_gnuplot(path);
  std::string script;
  for (const Figure& f : figures) script += script_of(f);
  if (figures.size() > 1)
    script = "set multiplot layout " + std::to_string(figures.size()) + ",1\n" + script + "unset multiplot\n";
  detail::draw_with_gnuplot(gnuplot, script, static_cast<int>(width), static_cast<int>(height), path);
}

}  // namespace

Figure& Figure::line(const Array& x, const Array& y, const std::string& label, const std::string& color,
                     Loc loc) {
  const LocScope place(loc);
  add(*this, Kind::Line, x, y, nullptr, label, color);
  return *this;
}
Figure& Figure::dashed(const Array& x, const Array& y, const std::string& label, const std::string& color,
                       Loc loc) {
  const LocScope place(loc);
  add(*this, Kind::Dashed, x, y, nullptr, label, color);
  return *this;
}
Figure& Figure::points(const Array& x, const Array& y, const std::string& label, const std::string& color,
                       Loc loc) {
  const LocScope place(loc);
  add(*this, Kind::Points, x, y, nullptr, label, color);
  return *this;
}
Figure& Figure::band(const Array& x, const Array& low, const Array& high, const std::string& label,
                     const std::string& color, Loc loc) {
  const LocScope place(loc);
  add(*this, Kind::Band, x, low, &high, label, color);
  return *this;
}
Figure& Figure::map(const Array& x, const Array& y, const Array& values, const std::string& label, Loc loc) {
  const LocScope place(loc);
  const std::vector<double> xs = values_of(x, "x", label), ys = values_of(y, "y", label);
  if (values.is_empty() || values.ndim() != 2 || values.shape()[0] != y.size() ||
      values.shape()[1] != x.size())
    fail(messages::plot_map_sizes, {values.is_empty() ? "an empty array" : to_string(values.aval()),
                                    std::to_string(x.size()), std::to_string(y.size())});
  if (is_complex(values.dtype()))
    fail(messages::plot_complex, {"values", detail::shown(label), to_string(values.aval())});
  Series s{Kind::Map, {}, {}, values.to_vector<double>(), label, ""};
  for (double v : ys)
    for (double u : xs) {
      s.x.push_back(u);
      s.y.push_back(v);
    }
  check_series(s, log_x);
  series.push_back(std::move(s));
  return *this;
}
Figure& Figure::mark(double x, const std::string& label, Loc loc) {
  const LocScope place(loc);
  Series s{Kind::Mark, {x}, {}, {}, label, "#555555"};
  check_series(s, log_x);
  series.push_back(std::move(s));
  return *this;
}

void Figure::save(const std::string& path, Loc loc) const {
  const LocScope place(loc);
  draw({*this}, path);
}

void save_stacked(const std::vector<Figure>& figures, const std::string& path, Loc loc) {
  const LocScope place(loc);
  draw(figures, path);
}

}  // namespace apsis
