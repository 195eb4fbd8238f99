#pragma once

// Rules of prod, cumsum and cumprod for complex operands (`Op::of_complex`).

#include "apsis/core/op.hpp"

namespace apsis::detail {

void cumprod_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out);
void cumsum_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out);
void reduce_prod_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out);

}  // namespace apsis::detail
