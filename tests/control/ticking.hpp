#pragma once

// How often a program computes a value: what checkpoints promise, counted.

#include <cstdint>
#include <cstring>

#include "apsis/apsis.hpp"
#include "apsis/ops/extend.hpp"

namespace apsis::testing {

inline std::int64_t ticks = 0;

/// The identity; counts how often it runs.
inline const Op& tick_op() {
  static const Op op = {
      .name = "test.tick",
      .kind = OpKind::Index,
      .shape = [](const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out.push_back(in[0]); },
      .evaluate =
          [](const Params&, std::span<const Array> in, std::span<Array> out) {
            ++ticks;
            std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), in[0].aval().bytes());
          },
      .jvp =
          [](const JvpRule& r) {
            bind(tick_op(), r.params, r.primals, r.outs);
            r.out_tangents[0] = r.tangents[0];
          }};
  return op;
}

inline Array ticking(const Array& x) { return bind1(tick_op(), {}, {x}); }

}  // namespace apsis::testing
