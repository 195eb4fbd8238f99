#pragma once

// What checks of tables share: how they refuse.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "apsis/base/error.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {

class TableRefusals {
 public:
  using Row = std::vector<double>;
  TableRefusals(const char* owner, Loc loc) : owner_(owner), loc_(loc) {}

  void size(const std::string& what, std::size_t got, std::size_t want, const char* why) const {
    if (got != want) wrong_size(what, got, std::to_string(want), why);
  }
  [[noreturn]] void wrong_size(const std::string& what, std::size_t got, const std::string& want,
                               const char* why) const {
    fail(messages::table_size, {owner_, what, std::to_string(got), want, why}, loc_);
  }
  [[noreturn]] void wrong(const std::string& what, double got, const std::string& want,
                          const char* why) const {
    fail(messages::table_value, {owner_, what, number(got), want, why}, loc_);
  }
  /// Coefficients are given to some digits: `size` is what they add up to without signs.
  void equal(const std::string& what, double got, double want, double size, const char* why) const {
    constexpr double digits = 1e-9;
    if (!(std::abs(got - want) <= digits * (1 + size))) wrong(what, got, number(want), why);
  }
  void finite(const std::string& what, const Row& row) const {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!std::isfinite(row[i]))
        wrong(what + "[" + std::to_string(i) + "]", row[i], "finite", "it is a coefficient");
  }
  void finite(const std::string& what, const std::vector<Row>& rows) const {
    for (std::size_t i = 0; i < rows.size(); ++i) finite(what + "[" + std::to_string(i) + "]", rows[i]);
  }
  /// Row i has i + more entries.
  void triangle(const std::string& what, const std::vector<Row>& rows, std::size_t stages, std::size_t more,
                const char* why) const {
    size(what, rows.size(), stages, "a row a stage, as b has weights");
    for (std::size_t i = 0; i < stages; ++i)
      size(what + "[" + std::to_string(i) + "]", rows[i].size(), i + more, why);
  }
  static std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", x);
    return text;
  }
  static double sum(const Row& row) {
    double total = 0;
    for (double x : row) total += x;
    return total;
  }
  static double size_of(const Row& row) {
    double total = 0;
    for (double x : row) total += std::abs(x);
    return total;
  }
  /// Σ weights[i] values[i].
  static double dot(const Row& weights, const Row& values) {
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) total += weights[i] * values[i];
    return total;
  }

 private:
  std::string owner_;
  Loc loc_;
};

/// What dense output of a table must be, where it is Σ_d θ^(d+1) Σ_i dense[d][i] k[i].
void check_dense(const TableRefusals& refuse, const std::vector<std::vector<double>>& dense,
                 const std::vector<double>& b);

}  // namespace apsis::detail
