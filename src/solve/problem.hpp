// The problem behind NonlinearProblem: the user's function on one vector.
#pragma once

#include "solve/support.hpp"

namespace apsis::detail {

/// One vector of all leaves, and back.
class LeafLayout {
 public:
  LeafLayout(const char* name, std::span<const Array> leaves, const LeafNames& names, Loc loc);
  Array pack(std::span<const Array> leaves) const;
  std::vector<Array> unpack(const Array& x) const;
  Dtype dtype() const { return dtype_; }
  /// The largest of the leaves' roundings.
  double epsilon() const { return epsilon_; }
  std::int64_t size() const { return size_; }
  const std::vector<Aval>& avals() const { return avals_; }

 private:
  std::vector<Aval> avals_;
  Dtype dtype_ = Dtype::F64;
  double epsilon_ = 0;
  std::int64_t size_ = 0;
};

struct ProblemParts {
  NonlinearCall call;
  const Callee& f;
  LeafLayout layout;
  SolverTraits solver;
  Array lower, upper;  // [n]; empty: no bounds
  Loc loc;

  /// What f returns, as one vector.
  Array values(const Array& y) const;
};
/// A bound as a vector.
Array bound_vector(const char* name, const char* option, const SolveBound& bound, const LeafLayout& layout,
                   const LeafNames& names, double otherwise, Loc loc);

}  // namespace apsis::detail
