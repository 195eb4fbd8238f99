#include "apsis/io/idx.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "apsis/core/op.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {
namespace {

std::optional<Dtype> dtype_with(unsigned char code) {
  switch (code) {
    case 0x08:
      return u8;
    case 0x09:
      return i8;
    case 0x0b:
      return i16;
    case 0x0c:
      return i32;
    case 0x0d:
      return f32;
    case 0x0e:
      return f64;
  }
  return {};
}

}  // namespace

// Two zeros, the type, the number of axes; the sizes, u32; the elements. All with the most significant byte
// first (LeCun, Cortes and Burges, The MNIST database of handwritten digits).
Array read_idx(const std::string& path, Loc loc) {
  const LocScope place(loc);
  const std::string bytes = detail::read_file(path), file = detail::shown(path, 300);
  const auto damaged = [&](const std::string& why) { fail(messages::idx_damaged, {file, why}); };
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) fail(messages::idx_compressed, {file});
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0) damaged("it does not begin as one");
  const std::optional<Dtype> dtype = dtype_with(byte(2));
  if (!dtype) damaged("its elements are of the unknown type " + std::to_string(byte(2)));
  const std::size_t axes = byte(3), start = 4 + 4 * axes;
  if (bytes.size() < start) damaged("it ends within the sizes of its axes");
  Shape shape;
  std::size_t expected = item_size(*dtype), left = bytes.size() - start;
  bool too_large = false;
  for (std::size_t a = 0; a < axes; ++a) {
    std::uint32_t size = 0;
    for (std::size_t b = 0; b < 4; ++b) size = size << 8 | byte(4 + 4 * a + b);
    shape.push_back(size);
    too_large |= __builtin_mul_overflow(expected, std::size_t{size}, &expected);
  }
  if (shape.product() == 0) expected = 0, too_large = false;
  if (too_large || expected != left)
    damaged("its header speaks of " + to_string(shape) + " elements of " + std::to_string(item_size(*dtype)) +
            " bytes, and " + std::to_string(left) + " bytes follow");
  Array a = allocate(Aval(*dtype, shape));
  char* to = mutable_data<char>(a);
  if (left) std::memcpy(to, bytes.data() + start, left);
  const std::size_t item = item_size(*dtype);
  if (item > 1)
    for (std::size_t i = 0; i < left; i += item) std::reverse(to + i, to + i + item);
  return a;
}

}  // namespace apsis
