#include "apsis/io/plot.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "io/messages.hpp"
#include "io/npy.hpp"

namespace apsis {
namespace {

// Okabe and Ito, Color universal design, 2008.
constexpr const char* palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#56b4e9", "#e69f00", "#000000"};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void add(Figure& f, Series::Kind kind, const Array& x, const Array& y, const Array& high,
         const std::string& label, const std::string& color) {
  if (x.size() != y.size() || (!high.is_empty() && x.size() != high.size()))
    fail(messages::plot_sizes, {std::to_string(x.size()), std::to_string(y.size())});
  std::string used = color.empty() ? palette[f.series.size() % std::size(palette)] : color;
  f.series.push_back({kind, x.to_vector<double>(), y.to_vector<double>(),
                      high.is_empty() ? std::vector<double>{} : high.to_vector<double>(), label, used});
}

std::string style_of(const Series& s) {
  switch (s.kind) {
    case Series::Kind::Line:
      return "with lines lw 2.5 lc rgb " + quoted(s.color);
    case Series::Kind::Dashed:
      return "with lines lw 2.5 dt 2 lc rgb " + quoted(s.color);
    case Series::Kind::Points:
      return "with points pt 7 ps 1.3 lc rgb " + quoted(s.color);
    case Series::Kind::Band:
      return "with filledcurves fs transparent solid 0.18 noborder lc rgb " + quoted(s.color);
    case Series::Kind::Mark:
      return "with lines lw 1.5 dt 3 lc rgb \"#555555\"";
    case Series::Kind::Map:
      return "with image";
  }
  return {};
}

/// Axes that end with the map, and the scale of its colours: viridis (Smith and van der Walt 2015), even in
/// lightness.
std::string script_of_map(const Figure& f, const Series& map) {
  return "set autoscale fix\nset cblabel " + quoted(map.label) + "\n" +
         (f.log_color ? "set logscale cb\n" : "unset logscale cb\n") +
         "set palette defined (0 \"#440154\", 1 \"#472d7b\", 2 \"#3b528b\", 3 \"#2c728e\", 4 \"#21918c\", "
         "5 \"#28ae80\", 6 \"#5ec962\", 7 \"#addc30\", 8 \"#fde725\")\n";
}

std::string row(const Series& s, std::size_t i) {
  char line[120];
  if (s.high.empty())
    std::snprintf(line, sizeof line, "%.17g %.17g\n", s.x[i], s.y[i]);
  else if (std::isfinite(s.high[i]))
    std::snprintf(line, sizeof line, "%.17g %.17g %.17g\n", s.x[i], s.y[i], s.high[i]);
  else
    std::snprintf(line, sizeof line, "%.17g %.17g NaN\n", s.x[i], s.y[i]);
  return line;
}

std::string script_of(const Figure& f) {
  std::string out = "set title " + quoted(f.title) + "\nset xlabel " + quoted(f.xlabel) + "\nset ylabel " +
                    quoted(f.ylabel) + "\n";
  out += f.log_y ? "set logscale y\n" : "unset logscale y\n";
  out +=
      "set autoscale\nset grid lc rgb \"#dddddd\"\nset key outside right top\nset border lc rgb "
      "\"#333333\"\n";
  double low = INFINITY, high = -INFINITY;
  for (const Series& s : f.series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      if (std::isfinite(s.y[i])) low = std::fmin(low, s.y[i]), high = std::fmax(high, s.y[i]);
      if (s.kind == Series::Kind::Band && std::isfinite(s.high[i])) high = std::fmax(high, s.high[i]);
    }
  std::string data, plot;
  int block = 0;
  for (const Series& s : f.series) {
    std::string name = "$d" + std::to_string(block++);
    const bool is_map = s.kind == Series::Kind::Map;
    if (is_map) out += script_of_map(f, s);
    data += name + " << EOD\n";
    if (s.kind == Series::Kind::Mark) {
      char line[120];
      std::snprintf(line, sizeof line, "%.17g %.17g\n%.17g %.17g\n", s.x[0], low, s.x[0], high);
      data += line;
    }
    for (std::size_t i = 0; i < s.y.size(); ++i)
      if (std::isfinite(s.y[i])) data += row(s, i);
    data += "EOD\n";
    plot += (plot.empty() ? "plot " : ", \\\n  ") + name +
            (s.high.empty() ? " using 1:2 " : " using 1:2:3 ") + style_of(s) +
            (is_map || s.label.empty() ? " notitle" : " title " + quoted(s.label));
  }
  return out + data + plot + "\n";
}

void check_drawable(const Figure& f, const std::string& path) {
  if (f.series.empty()) fail(messages::plot_empty, {path});
}

void draw(const std::string& script, int width, int height, const std::string& path) {
  std::string file = path + ".gnuplot", log = path + ".log";
  detail::write_file(file, "set terminal pngcairo noenhanced size " + std::to_string(width) + "," +
                               std::to_string(height) + " font \"Sans,12\"\nset output " + quoted(path) +
                               "\n" + script);
  auto shell = [](const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  };
  int status = std::system(("gnuplot " + shell(file) + " > " + shell(log) + " 2>&1").c_str());
  std::string said = detail::read_file(log);
  std::remove(file.c_str());
  std::remove(log.c_str());
  if (status != 0) fail(messages::plot_failed, {path, said});
}

}  // namespace

Figure& Figure::line(const Array& x, const Array& y, const std::string& label, const std::string& color) {
  add(*this, Series::Kind::Line, x, y, {}, label, color);
  return *this;
}
Figure& Figure::dashed(const Array& x, const Array& y, const std::string& label, const std::string& color) {
  add(*this, Series::Kind::Dashed, x, y, {}, label, color);
  return *this;
}
Figure& Figure::points(const Array& x, const Array& y, const std::string& label, const std::string& color) {
  add(*this, Series::Kind::Points, x, y, {}, label, color);
  return *this;
}
Figure& Figure::band(const Array& x, const Array& low, const Array& high, const std::string& label,
                     const std::string& color) {
  add(*this, Series::Kind::Band, x, low, high, label, color);
  return *this;
}
Figure& Figure::map(const Array& x, const Array& y, const Array& values, const std::string& label) {
  if (values.ndim() != 2 || values.shape()[0] != y.size() || values.shape()[1] != x.size())
    fail(messages::plot_map_sizes,
         {to_string(values.aval()), std::to_string(x.size()), std::to_string(y.size())});
  Series s{Series::Kind::Map, {}, {}, values.to_vector<double>(), label, ""};
  for (double v : y.to_vector<double>())
    for (double u : x.to_vector<double>()) {
      s.x.push_back(u);
      s.y.push_back(v);
    }
  series.push_back(std::move(s));
  return *this;
}
Figure& Figure::mark(double x, const std::string& label) {
  series.push_back({Series::Kind::Mark, {x}, {}, {}, label, "#555555"});
  return *this;
}

void Figure::save(const std::string& path) const {
  check_drawable(*this, path);
  draw(script_of(*this), width, height, path);
}

void save_stacked(const std::vector<Figure>& figures, const std::string& path) {
  int width = 0, height = 0;
  std::string script = "set multiplot layout " + std::to_string(figures.size()) + ",1\n";
  for (const Figure& f : figures) {
    check_drawable(f, path);
    width = std::max(width, f.width);
    height += f.height;
    script += script_of(f);
  }
  draw(script + "unset multiplot\n", width, height, path);
}

}  // namespace apsis
