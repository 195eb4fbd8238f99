#include "apsis/core/dtype.hpp"

#include <cmath>

#include "core/halves.hpp"

namespace apsis {

std::string_view name_of(Dtype dtype) {
  constexpr std::string_view names[dtype_count] = {"bool", "i8",   "i16", "i32", "i64", "u8",  "u16", "u32",
                                                   "u64",  "bf16", "f16", "f32", "f64", "c64", "c128"};
  return names[static_cast<int>(dtype)];
}

bfloat16::bfloat16(float value) { detail::round_to(*this, value); }
bfloat16::operator float() const { return detail::widened(*this); }

float16::float16(float value) { detail::round_to(*this, value); }
float16::operator float() const { return detail::widened(*this); }

namespace {

// JAX's lattice as the list of each node's direct successors; nodes are the 15 dtypes and three weak kinds.
enum Node {
  B1,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  BF16,
  F16,
  F32,
  F64,
  C64,
  C128,
  WI,
  WF,
  WC,
  node_count
};
constexpr std::uint32_t bit(int n) { return 1u << n; }
constexpr std::uint32_t successors[node_count] = {
    /*B1*/ bit(WI),
    /*I8*/ bit(I16),
    /*I16*/ bit(I32),
    /*I32*/ bit(I64),
    /*I64*/ bit(WF),
    /*U8*/ bit(U16) | bit(I16),
    /*U16*/ bit(U32) | bit(I32),
    /*U32*/ bit(U64) | bit(I64),
    /*U64*/ bit(WF),
    /*BF16*/ bit(F32),
    /*F16*/ bit(F32),
    /*F32*/ bit(F64) | bit(C64),
    /*F64*/ bit(C128),
    /*C64*/ bit(C128),
    /*C128*/ 0,
    /*WI*/ bit(U8) | bit(I8),
    /*WF*/ bit(BF16) | bit(F16) | bit(WC),
    /*WC*/ bit(C64)};

// reachable(n) includes n itself.
struct Closure {
  std::uint32_t up[node_count];
  constexpr Closure() : up{} {
    for (int n = 0; n < node_count; ++n) up[n] = bit(n) | successors[n];
    for (int round = 0; round < node_count; ++round)
      for (int n = 0; n < node_count; ++n)
        for (int m = 0; m < node_count; ++m)
          if (up[n] & bit(m)) up[n] |= up[m];
  }
};
constexpr Closure closure;

// The common successor from which all other common successors can be reached.
constexpr int least_upper_bound(int a, int b) {
  std::uint32_t common = closure.up[a] & closure.up[b];
  for (int n = 0; n < node_count; ++n)
    if ((common & bit(n)) && (closure.up[n] & common) == common) return n;
  return C128;
}

int node_of(WeakDtype d) {
  if (!d.weak) return static_cast<int>(d.dtype);
  return is_integer(d.dtype) ? WI : is_floating(d.dtype) ? WF : is_complex(d.dtype) ? WC : B1;
}

}  // namespace

WeakDtype promote(WeakDtype a, WeakDtype b) {
  int bound = least_upper_bound(node_of(a), node_of(b));
  if (bound < WI) return {static_cast<Dtype>(bound), false};
  // All weak (or an integer beside a weak float): the dtype is that of the operands of the result's own kind.
  auto of_kind = [bound](WeakDtype d) {
    return bound == WI ? is_integer(d.dtype) : bound == WF ? is_floating(d.dtype) : is_complex(d.dtype);
  };
  Dtype standard = bound == WI ? Dtype::I64 : bound == WF ? Dtype::F64 : Dtype::C128;
  if (of_kind(a) && of_kind(b)) return {a.dtype > b.dtype ? a.dtype : b.dtype, true};
  if (of_kind(a)) return {a.dtype, true};
  if (of_kind(b)) return {b.dtype, true};
  return {standard, true};
}

}  // namespace apsis
