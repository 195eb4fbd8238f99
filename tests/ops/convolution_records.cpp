// Records of the convolution, of each of its three kinds.

#include "ops/convolution_cases.hpp"
#include "ops/convolution_params.hpp"
#include "ops/records.hpp"

namespace apsis::testing {

using namespace detail;

std::vector<Record> convolution_records() {
  using enum ConvolutionArray;
  Random random(81);
  Record record{&convolution_op, {}, {}};
  record.linear = {{true, false}, {false, true}};
  for (const ConvolutionSizes& s : convolution_cases())
    for (ConvolutionArray result : {Input, Kernel, Output})
      for (Dtype dtype : {Dtype::F32, Dtype::F64}) {
        ConvolutionParams p{.result = result};
        for (std::size_t i = 3 - spatial_axes(s); i < 3; ++i) {
          const ConvolutionAxis& a = s.axes[i];
          p.sizes.push_back(result == Input ? a.input : result == Kernel ? a.window : a.output);
          p.strides.push_back(a.stride);
          p.dilation.push_back(a.dilation);
          p.low.push_back(a.low);
        }
        std::vector<Array> operands;
        for (ConvolutionArray array : {Input, Kernel, Output})
          if (array != result) operands.push_back(random_array(random, dtype, shape_of(s, array), -1, 1));
        const Example example{
            std::string(name_of(dtype)) + to_string(operands[0].shape()) + to_string(operands[1].shape()),
            make_params(p), operands};
        record.examples.push_back(example);
        if (dtype == Dtype::F64 && operands[0].size() + operands[1].size() < 400 && operands[0].size() > 0 &&
            operands[1].size() > 0)
          record.smooth.push_back(example);
      }
  return {record};
}

}  // namespace apsis::testing
