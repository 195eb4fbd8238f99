// Records of the Fourier transform. Its derivatives are compared in fft_test.cpp: no operand and result of it
// are both of f64, which the generic suites take.

#include "ops/fft_arrays.hpp"

namespace apsis::testing {

using namespace detail;

std::vector<Record> fft_records() {
  Random random(80);
  Record record{&fft_op, {}, {}};
  record.linear = {{true}};
  for (std::int64_t n : {1, 2, 3, 4, 6, 7, 17, 24, 64})
    for (int axis : {0, 1})
      for (FftParams p : all_transforms(n, axis))
        for (bool wide : {true, false}) {
          const Dtype dtype = operand_dtype(p, wide);
          for (std::int64_t others : {0, 1, 3, 33}) {
            if (others == 33 && n > 17) continue;
            Shape shape{others, others};
            shape[static_cast<std::size_t>(axis)] = operand_entries(p);
            record.examples.push_back({std::string(name_of(dtype)) + to_string(shape),
                                       make_params(p),
                                       {random_complex(random, dtype, shape)}});
          }
        }
  return {record};
}

}  // namespace apsis::testing
