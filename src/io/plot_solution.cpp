#include "apsis/io/plot_solution.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"
#include "io/messages.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t most_lines = 12;

void require_values(const Array& ts, Loc loc) {
  if (ts.is_empty() || !is_concrete(ts) || ts.ndim() != 1)
    fail(messages::plot_solution, {ts.is_empty() ? "empty" : to_string(ts.aval())}, loc);
}

/// "[1,0]", the place of an element in an array of this shape (that of the rows left out).
std::string place_in(const Shape& shape, std::int64_t element) {
  std::string text;
  for (std::size_t k = shape.size(); k-- > 1;) {
    text = std::to_string(element % shape[k]) + (text.empty() ? "" : ",") + text;
    element /= shape[k];
  }
  return text.empty() ? "" : "[" + text + "]";
}

/// Whether a map may have these columns.
bool are_even(const Array& ts) {
  const std::vector<double> t = ts.to_vector<double>();
  if (t.size() < 2) return false;
  const double step = (t.back() - t.front()) / static_cast<double>(t.size() - 1);
  for (std::size_t i = 0; i < t.size(); ++i)
    if (!(std::abs(t[i] - t.front() - step * static_cast<double>(i)) < 1e-6 * std::abs(step))) return false;
  return true;
}

}  // namespace

Figure figure_of_states(const Array& ts, const std::vector<std::string>& names, const std::vector<Array>& ys,
                        Loc loc) {
  require_values(ts, loc);
  Figure figure{.title = "Solution", .xlabel = "t", .ylabel = ys.size() == 1 ? "y" : ""};
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (ys[i].is_empty() || ys[i].size() == 0) continue;
    const std::string name = names[i].empty() ? "y" : names[i];
    const Array rows = reshape(ys[i], {ts.size(), -1}, loc);
    const std::int64_t elements = rows.dim(1);
    if (elements > most_lines && ys.size() == 1 && are_even(ts)) {
      figure.ylabel = "element of " + name;
      return figure.map(ts, arange(elements), transpose(rows), name, loc);
    }
    for (std::int64_t k = 0; k < std::min(elements, most_lines); ++k)
      figure.line(ts, rows(range(), k), name + place_in(ys[i].shape(), k), "", loc);
  }
  return figure;
}

Figure figure_of_steps(const Array& count, const Array& ts, const Array& direction, Loc loc) {
  if (count.is_empty()) fail(messages::plot_steps, {}, loc);
  require_values(ts, loc);
  const std::int64_t steps = count.item<std::int64_t>();
  const Array ends = ts[range(0, steps + 1)], starts = ends[range(0, steps)];
  Figure figure{
      .title = std::to_string(steps) + " accepted steps", .xlabel = "t", .ylabel = "length", .log_y = true};
  return figure.points(starts * direction, ends[range(1, {})] - starts, "steps", "", loc);
}

}  // namespace apsis::detail
