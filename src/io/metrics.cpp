#include "io/metrics.hpp"

#include <set>

#include "apsis/core/op.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/select.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {

double number_of(const Metric& metric, Loc loc) {
  const LocScope place(loc);
  const Array& x = metric.value;
  const Array known = x.is_empty() ? x : concrete_value(x);
  if (known.is_empty() || known.ndim() != 0 || is_complex(known.dtype()))
    fail(messages::metric_value,
         {detail::shown(metric.name),
          x.is_empty() ? "empty" : (known.is_empty() ? "traced, " : "") + to_string(x.aval())});
  return astype(known, f64).item<double>();
}

void detail::check_names(const Metrics& metrics) {
  std::set<std::string_view> seen;
  for (const Metric& m : metrics) {
    const bool is_text = !m.name.empty() && clean_text(m.name) == m.name && m.name.find('\n') == m.name.npos;
    if (!is_text)
      fail(messages::metric_name, {shown(m.name), "UTF-8, not empty, and without control characters"});
    if (m.name == "step") fail(messages::metric_name, {m.name, "others: the step is the first argument"});
    if (!seen.insert(m.name).second) fail(messages::metric_name, {shown(m.name), "there once each"});
  }
}

Figure metrics_figure(const Table& table, const std::vector<std::string>& names,
                      const MetricsFigureOptions& options, Loc loc) {
  const LocScope place(loc);
  Figure figure;
  figure.title = options.title;
  figure.xlabel = "step";
  figure.log_y = options.log_y;
  const Array steps = table.column("step");
  for (const std::string& name : names) {
    const Array values = table.column(name), there = isfinite(values);
    figure.line(steps[there], values[there], name);
  }
  return figure;
}

}  // namespace apsis
