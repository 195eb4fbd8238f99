#pragma once

#include "apsis/core/op.hpp"
#include "apsis/transform/checks.hpp"

namespace apsis::detail {

/// Checks each op as it is run, where functions are called as they are: an op is a program of one equation
/// then, checked and interpreted. It has no tracers of its own, so values stay what they are.
class CheckTrace final : public Trace {
 public:
  CheckTrace(Trace* parent, const Checks& checks);
  ~CheckTrace() override;
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;

  /// That of the innermost function in progress on this thread that is checked so; null if there is none. A
  /// vmap in it has one more around its lanes, which so are named.
  static const CheckTrace* innermost();
  const Checks& checks() const { return checks_; }

 private:
  Checks checks_;
  const CheckTrace* outer_;
};

}  // namespace apsis::detail
