#include "solve/term_entries.hpp"

#include <algorithm>

#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"

namespace apsis::detail {
namespace {

using Integers = std::vector<std::int64_t>;

/// Parts that entries are put together of; more are picked out of the terms one by one.
constexpr std::size_t most_runs = 32;

/// Of each entry the number of its term, or that of an array of zeros behind all.
class Sources {
 public:
  Sources(const SparsePattern& p, const std::vector<LinearTerm>& terms)
      : pattern_(p), none_(std::ssize(terms)), terms_(static_cast<std::size_t>(p.count()), none_) {
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t i = 0; i < terms[t].columns->size(); ++i)
        put(i, (*terms[t].columns)[i], static_cast<std::int64_t>(t));
  }
  /// Whether no entry has several terms.
  bool unique() const { return unique_; }
  const Integers& all() const { return terms_; }
  std::span<const std::int64_t> of_row(std::size_t i) const {
    const auto starts = pattern_.row_starts();
    return std::span(terms_).subspan(static_cast<std::size_t>(starts[i]),
                                     static_cast<std::size_t>(starts[i + 1] - starts[i]));
  }

 private:
  void put(std::size_t row, std::int64_t column, std::int64_t term) {
    const auto starts = pattern_.row_starts(), columns = pattern_.column_indices();
    const auto first = columns.begin() + starts[row], last = columns.begin() + starts[row + 1];
    const auto found = std::lower_bound(first, last, column);
    if (found == last || *found != column) return;
    std::int64_t& at = terms_[static_cast<std::size_t>(found - columns.begin())];
    unique_ = unique_ && at == none_;
    at = term;
  }

  const SparsePattern& pattern_;
  std::int64_t none_;
  Integers terms_;
  bool unique_ = true;
};

/// Rows whose entries have the same terms, one after the other.
struct Run {
  std::size_t first, last;
};
std::vector<Run> runs_of(const Sources& sources, std::int64_t rows) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    if (!runs.empty() && std::ranges::equal(sources.of_row(i), sources.of_row(i - 1)))
      runs.back().last = i + 1;
    else
      runs.push_back({i, i + 1});
  }
  return runs;
}

}  // namespace

Array entries_of_terms(const SparsePattern& pattern, const std::vector<LinearTerm>& terms, Dtype dtype) {
  if (terms.empty()) return {};
  const Sources sources(pattern, terms);
  if (!sources.unique()) return {};
  std::vector<Array> from;
  for (const LinearTerm& term : terms) from.push_back(term.coefficient);
  from.push_back(zeros({pattern.rows()}, dtype));
  const std::vector<Run> runs = runs_of(sources, pattern.rows());
  if (runs.size() > most_runs) {
    Integers places = pattern.row_indices();
    for (std::size_t k = 0; k < places.size(); ++k) places[k] += sources.all()[k] * pattern.rows();
    return concatenate(from).at(array(places)).get(IndexMode::Promise);
  }
  std::vector<Array> parts;
  for (const Run& run : runs) {
    std::vector<Array> columns;
    for (std::int64_t source : sources.of_row(run.first))
      columns.push_back(from[static_cast<std::size_t>(source)][range(static_cast<std::int64_t>(run.first),
                                                                     static_cast<std::int64_t>(run.last))]);
    if (!columns.empty()) parts.push_back(ravel(stack(columns, 1)));
  }
  return parts.empty() ? zeros({0}, dtype) : concatenate(parts);
}

}  // namespace apsis::detail
