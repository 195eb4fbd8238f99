// Memory shared with other libraries.

#include "apsis/io/dlpack.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "apsis/core/strided.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jit.hpp"
#include "apsis/transform/jit_call.hpp"

// As dlpack.h, version 0.8, has it: what another library brings.
extern "C" {
struct OtherDevice {
  int device_type;
  std::int32_t device_id;
};
struct OtherType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct OtherTensor {
  void* data;
  OtherDevice device;
  std::int32_t ndim;
  OtherType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct OtherManagedTensor {
  OtherTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(OtherManagedTensor* self);
};
}

namespace apsis::testing {
namespace {

/// A tensor of another library that counts how often it is given back.
struct Foreign {
  std::vector<double> data;
  std::vector<std::int64_t> shape, strides;
  OtherManagedTensor tensor;
  int returned = 0;
  Foreign(std::vector<double> values, std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps,
          std::uint64_t offset = 0)
      : data(std::move(values)), shape(std::move(sizes)), strides(std::move(steps)) {
    tensor.dl_tensor = {data.data(), {1, 0},       static_cast<std::int32_t>(shape.size()),
                        {2, 64, 1},  shape.data(), strides.empty() ? nullptr : strides.data(),
                        offset};
    tensor.manager_ctx = this;
    tensor.deleter = [](OtherManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->returned; };
  }
};

TEST(Dlpack, TensorsOfOthersAreNotCopied) {
  Foreign a({1, 2, 3, 4, 5, 6}, {2, 3}, {3, 1}), b({1, 2, 3, 4, 5, 6}, {3, 2}, {}),
      c({9, 1, 2, 3}, {3}, {1}, 8);
  {
    const Array x = from_dlpack(&a.tensor), y = from_dlpack(&b.tensor), z = from_dlpack(&c.tensor);
    EXPECT_EQ(strided_view(x).data, a.data.data());
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    EXPECT_EQ(y.shape(), (Shape{3, 2}));
    EXPECT_EQ(z.to_vector<double>(), (std::vector{1., 2., 3.}));
    const auto twice = jit([](const Array& v) { return v * 2.; });
    EXPECT_EQ(twice(x).to_vector<double>(), (std::vector{2., 4., 6., 8., 10., 12.}));
    Array moved = x;
    EXPECT_EQ(twice(std::move(moved)).to_vector<double>()[5], 12.);  // others' memory is never written to
    EXPECT_EQ(a.data[5], 6.);
    EXPECT_EQ(a.returned + b.returned + c.returned, 0);
  }
  EXPECT_EQ(a.returned, 1);
  EXPECT_EQ(b.returned, 1);
  EXPECT_EQ(c.returned, 1);
}

TEST(Dlpack, OtherOrdersAreCopied) {
  Foreign columns({1, 2, 3, 4, 5, 6}, {3, 2}, {1, 3}), backwards({1, 2, 3}, {3}, {-1}, 16),
      repeated({7}, {2, 2}, {0, 0}), nothing({}, {2, 0}, {1, 1});
  EXPECT_EQ(from_dlpack(&columns.tensor).to_vector<double>(), (std::vector{1., 4., 2., 5., 3., 6.}));
  EXPECT_EQ(from_dlpack(&backwards.tensor).to_vector<double>(), (std::vector{3., 2., 1.}));
  EXPECT_EQ(from_dlpack(&repeated.tensor).to_vector<double>(), (std::vector{7., 7., 7., 7.}));
  EXPECT_EQ(from_dlpack(&nothing.tensor).shape(), (Shape{2, 0}));
  EXPECT_EQ(columns.returned, 1);
  EXPECT_EQ(nothing.returned, 1);
}

TEST(Dlpack, ArraysLiveUntilTheirTensorsAreDeleted) {
  Array x = array({{1.f, 2.f}, {3.f, 4.f}});
  const void* memory = strided_view(x).data;
  auto* tensor = to_dlpack<OtherManagedTensor>(x);
  auto* newer = to_dlpack(x);
  EXPECT_EQ(x.use_count(), 3u);
  x = Array();
  EXPECT_EQ(tensor->dl_tensor.data, memory);
  EXPECT_EQ(tensor->dl_tensor.ndim, 2);
  EXPECT_EQ(tensor->dl_tensor.shape[1], 2);
  EXPECT_EQ(tensor->dl_tensor.strides[0], 2);
  EXPECT_EQ(tensor->dl_tensor.dtype.code, 2);
  EXPECT_EQ(tensor->dl_tensor.dtype.bits, 32);
  EXPECT_EQ(static_cast<float*>(tensor->dl_tensor.data)[3], 4.f);
  EXPECT_EQ(newer->version.major, 1u);
  EXPECT_EQ(newer->flags, 1u);
  tensor->deleter(tensor);
  const Array back = from_dlpack(newer);
  EXPECT_EQ(strided_view(back).data, memory);
  EXPECT_EQ(back.to_vector<float>(), (std::vector{1.f, 2.f, 3.f, 4.f}));
}

TEST(Dlpack, EveryDtypeComesBack) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const Array x = ones({3}, dtype);
    const Array back = from_dlpack(to_dlpack(x));
    EXPECT_TRUE(is_leaf<Array>::equal(back, x)) << name_of(dtype);
    EXPECT_EQ(from_dlpack(to_dlpack(array(true))).dtype(), boolean);
  }
}

TEST(Strided, ViewsAndCopies) {
  const Array x = reshape(arange(24.), {2, 3, 4});
  const StridedView view = strided_view(x);
  EXPECT_EQ(view.strides, (Dims{12, 4, 1}));
  EXPECT_TRUE(view.is_contiguous());
  const StridedView part{static_cast<const double*>(view.data) + 1, f64, {2, 2}, {12, 2}};
  EXPECT_FALSE(part.is_contiguous());
  EXPECT_EQ(array(part).to_vector<double>(), (std::vector{1., 3., 13., 15.}));
  EXPECT_EQ(array(StridedView{view.data, f64, {}, {}}).item<double>(), 0.);
  const unsigned char bytes[] = {0, 7, 1};
  int released = 0;
  const Array flags = adopt(
      {bytes, boolean, {3}, {1}}, [](void* n) { ++*static_cast<int*>(n); }, &released);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(sum(flags).item<std::int64_t>(), 2);
}

}  // namespace
}  // namespace apsis::testing
