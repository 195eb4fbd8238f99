#pragma once

namespace apsis {

/// While it lives, jitted functions of this thread are called as they are, and the bodies of loops and
/// branches run on the values themselves: a debugger, a print, an `if` on an Array see what is there. Slow;
/// results may differ from compiled ones by the rounding of fused multiply-adds. Nothing is traced, no cache
/// changed; `checks` look at each op.
class DisableJit {
 public:
  DisableJit();
  ~DisableJit();
  DisableJit(const DisableJit&) = delete;
  DisableJit& operator=(const DisableJit&) = delete;

 private:
  unsigned char previous_;
};

}  // namespace apsis
