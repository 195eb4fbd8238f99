#pragma once

namespace apsis::detail {

/// Whether the processor has all of AVX-512 that code for its wide registers is built for.
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

}  // namespace apsis::detail
