#pragma once

// What a loop keeps so that its tangent loop can run backwards.

#include "control/common/regions.hpp"

namespace apsis::detail {

/// The record of an iteration: the values from which the tangent body computes again all that it reads of the
/// primal body. They are the carries that it reads and that change; where these are large, the smallest set
/// of values, in bytes, that does as well: of a buffer of which an iteration reads a slice, the slice; of one
/// that an inner loop reads, the list of the slices. (A minimum vertex cut between the carries and what the
/// tangent part reads.)
class Recording {
 public:
  /// A body and its linear part, split so that nothing is kept. With `at_least_one`, something is recorded
  /// even if nothing is read: the list then counts the iterations.
  Recording(const Graph& body, const Graph& tangent, std::size_t consts, std::size_t carries,
            bool at_least_one = false);

  GraphRef body;                        // the body with the records as further ys
  std::vector<std::size_t> unchanging;  // carries that are read, and that the body returns as they came

  /// (consts, unchanging carries, tangent consts | tangent carry | xs, records, tangent xs) → outputs of the
  /// linear part, of whose tangents the last `tangent_xs` are of xs.
  GraphRef tangent_body(const Graph& body, std::size_t tangent_xs, std::size_t consts,
                        std::size_t carries) const;

 private:
  void keep_smallest(std::vector<char> carry);

  GraphRef tangent_;
  std::vector<ValueId> recorded_;  // values of tangent_
};

}  // namespace apsis::detail
