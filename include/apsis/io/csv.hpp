#pragma once

#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// A table of numbers.
struct Table {
  std::vector<std::string> names;  ///< of the columns
  Array values;                    ///< f64[rows, columns]
  /// A column by name, f64[rows]. Throws for a name that is not there, listing those that are.
  Array column(const std::string& name, Loc loc = Loc::here()) const;
};

/// Reads comma-separated numbers under a line of names, as RFC 4180 has them: fields may stand in quotes,
/// lines end with LF, CR LF or CR. Numbers have a point, in every locale; inf and nan are numbers. Lines that
/// are empty or begin with # are skipped. Throws if the file cannot be read, a line has another number of
/// fields than the names, a field is no number, two names are equal, or all names are numbers, saying where.
Table read_csv(const std::string& path, Loc loc = Loc::here());

}  // namespace apsis
