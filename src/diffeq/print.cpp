#include "apsis/diffeq/print.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apsis/core/op.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"

namespace apsis {

std::string to_string(SolveResult result) {
  switch (result) {
    case SolveResult::Successful:
      return "Successful";
    case SolveResult::MaxStepsReached:
      return "MaxStepsReached";
    case SolveResult::NonlinearDivergence:
      return "NonlinearDivergence";
    case SolveResult::NonFinite:
      return "NonFinite";
    case SolveResult::DtMinReached:
      return "DtMinReached";
    case SolveResult::EventOccurred:
      return "EventOccurred";
    case SolveResult::MaxStepsRejected:
      return "MaxStepsRejected";
    case SolveResult::Refused:
      return "Refused";
  }
  return "result " + std::to_string(static_cast<std::int64_t>(result));
}

namespace detail {
namespace {

using Numbers = std::vector<std::int64_t>;

/// "12", or of several "12 to 30".
std::string between(const Array& a) {
  const Numbers n = a.to_vector<std::int64_t>();
  if (n.empty()) return "no";
  const auto [low, high] = std::ranges::minmax(n);
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

/// "Successful", or of several "9 Successful, 1 MaxStepsReached".
std::string results(const Array& a) {
  const Numbers n = a.to_vector<std::int64_t>();
  if (a.ndim() == 0) return to_string(static_cast<SolveResult>(n[0]));
  Numbers kinds = n;
  std::ranges::sort(kinds);
  kinds.erase(std::ranges::unique(kinds).begin(), kinds.end());
  std::string text;
  for (std::int64_t k : kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(std::ranges::count(n, k)) + " " +
            to_string(static_cast<SolveResult>(k));
  return text.empty() ? "none" : text;
}

/// A number as people read it; several as Arrays are printed.
std::string short_text(const Array& a) {
  if (a.size() != 1 || !is_floating(a.dtype())) return to_string(a);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", a.to_vector<double>()[0]);
  return text;
}

/// Rows that are used: of a finite time. They come first, but for that of t1.
std::vector<std::int64_t> used_rows(const Array& ts) {
  std::vector<std::int64_t> rows;
  const std::vector<double> t = ts.to_vector<double>();
  for (std::size_t i = 0; i < t.size(); ++i)
    if (std::isfinite(t[i])) rows.push_back(static_cast<std::int64_t>(i));
  return rows;
}

/// "  ts: f64[11], from 0.0 to 1.0"; `rows`: those that are used of times of one solve.
std::string times_saved(const std::string& name, const Array& ts, std::vector<std::int64_t>& rows) {
  std::string text = "  " + name + ": " + to_string(ts.aval());
  if (ts.ndim() == 1) {
    rows = used_rows(ts);
    const auto count = static_cast<std::int64_t>(rows.size());
    if (count != ts.size()) text += ", " + std::to_string(count) + " rows used";
    if (count == 1) text += ", at " + short_text(ts[rows[0]]);
    if (count > 1) text += ", from " + short_text(ts[rows.front()]) + " to " + short_text(ts[rows.back()]);
  }
  return text + "\n";
}

/// Lines for the times, and one for each array of the state, with its last row if that is short.
std::string saved(const SolutionText& s) {
  std::vector<std::int64_t> rows;
  std::string text;
  for (std::size_t i = 0; i < s.ts.size(); ++i) text += times_saved(s.time_names[i], s.ts[i], rows);
  const bool single = s.ts.size() == 1 && s.ts[0].ndim() == 1;
  for (std::size_t i = 0; i < s.ys.size(); ++i) {
    if (s.ys[i].is_empty()) continue;
    text += "  " + s.names[i] + ": " + to_string(s.ys[i].aval());
    if (single && !rows.empty() && s.ys[i].size() / s.ts[0].size() <= 8)
      text += ", in the end " + short_text(s.ys[i][rows.back()]);
    text += "\n";
  }
  return text;
}

/// ", 120 evaluations", and of implicit solvers ", 3 Jacobians, 12 factorisations".
std::string work(const SolveStats& s) {
  const auto is_zero = [](const Array& a) {
    return std::ranges::all_of(a.to_vector<std::int64_t>(), [](std::int64_t n) { return n == 0; });
  };
  std::string text = ", " + between(s.num_evaluations) + " evaluations";
  if (!is_zero(s.num_jacobians)) text += ", " + between(s.num_jacobians) + " Jacobians";
  if (!is_zero(s.num_factorisations)) text += ", " + between(s.num_factorisations) + " factorisations";
  return text;
}

bool is_known(const SolutionText& s) {
  const Array* all[] = {&s.result,
                        &s.stats.num_steps,
                        &s.stats.num_rejected_steps,
                        &s.stats.num_evaluations,
                        &s.stats.num_jacobians,
                        &s.stats.num_factorisations};
  for (const Array* a : all)
    if (!is_concrete(*a)) return false;
  const auto known = [](const Array& a) { return a.is_empty() || is_concrete(a); };
  return std::ranges::all_of(s.ts, known) && std::ranges::all_of(s.ys, known);
}

}  // namespace

std::string text_of(const SolutionText& s) {
  if (s.result.is_empty()) return "no solution\n";
  if (!is_known(s)) {
    std::string text = "a solution whose values are not known yet: ";
    for (std::size_t i = 0; i < s.ts.size(); ++i)
      text += (i > 0 ? ", " : "") + s.time_names[i] + " " + to_string(s.ts[i].aval());
    for (std::size_t i = 0; i < s.ys.size(); ++i)
      if (!s.ys[i].is_empty()) text += ", " + s.names[i] + " " + to_string(s.ys[i].aval());
    return text + "\n";
  }
  const std::string many = s.result.ndim() == 0 ? "" : std::to_string(s.result.size()) + " solves: ";
  std::string text = many + results(s.result) + ", " + between(s.stats.num_steps) + " steps, " +
                     between(s.stats.num_rejected_steps) + " of them rejected" + work(s.stats) + "\n" +
                     saved(s);
  if (!s.counts.is_empty() && s.counts.ndim() == 1 && is_concrete(s.counts)) {
    text += "  events occurred: " + to_string(s.counts) + " times";
    const std::vector<bool> mask = s.mask.to_vector<bool>();
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i]) text += "; events[" + std::to_string(i) + "] ended the solve";
    text += "\n";
  }
  return text;
}

}  // namespace detail
}  // namespace apsis
