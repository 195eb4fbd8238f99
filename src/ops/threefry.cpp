// threefry2x32: the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011), with 20 rounds. Elementwise: two key words and two counter words give two random words.

#include "ops/elementwise.hpp"

namespace apsis::detail {
namespace {

// One text for evaluator and emitter, over a model of 32-bit words: the key is added before the first and
// after every fourth round, the last word of the sum counting the additions.
template <class Words, class W>
void threefry(const Words& m, W key0, W key1, W& x0, W& x1) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const W keys[3] = {key0, key1, m.exclusive_or(m.exclusive_or(key0, key1), m.constant(0x1BD11BDAu))};
  x0 = m.add(x0, keys[0]);
  x1 = m.add(x1, keys[1]);
  for (int group = 0; group < 5; ++group) {
    for (int bits : rotations[group % 2]) {
      x0 = m.add(x0, x1);
      x1 = m.exclusive_or(m.rotate_left(x1, bits), x0);
    }
    x0 = m.add(x0, keys[(group + 1) % 3]);
    x1 = m.add(x1, m.add(keys[(group + 2) % 3], m.constant(static_cast<std::uint32_t>(group + 1))));
  }
}

struct HostWords {
  using W = std::uint32_t;
  W constant(std::uint32_t value) const { return value; }
  W add(W a, W b) const { return a + b; }
  W exclusive_or(W a, W b) const { return a ^ b; }
  W rotate_left(W a, int bits) const { return (a << bits) | (a >> (32 - bits)); }
};

struct EmittedWords {
  Emitter* e;
  Value constant(std::uint32_t value) const { return e->constant(Dtype::U32, value); }
  Value add(Value a, Value b) const { return e->add(a, b); }
  Value exclusive_or(Value a, Value b) const { return e->bit_xor(a, b); }
  Value rotate_left(Value a, int bits) const {
    return e->bit_or(e->shift_left(a, constant(static_cast<std::uint32_t>(bits))),
                     e->shift_right(a, constant(static_cast<std::uint32_t>(32 - bits))));
  }
};

void threefry_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 4);
  for (const Aval& a : in) APSIS_ASSERT(a.dtype() == Dtype::U32 && a.shape() == in[0].shape());
  out.assign(2, Aval(Dtype::U32, in[0].shape()));
}

void threefry_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  const std::uint32_t* words[4];
  for (std::size_t i = 0; i < 4; ++i) words[i] = static_cast<const std::uint32_t*>(data_of(in[i]));
  auto *first = mutable_data<std::uint32_t>(out[0]), *second = mutable_data<std::uint32_t>(out[1]);
  for (std::int64_t i = 0, n = out[0].size(); i < n; ++i) {
    std::uint32_t x0 = words[2][i], x1 = words[3][i];
    threefry(HostWords{}, words[0][i], words[1][i], x0, x1);
    first[i] = x0;
    second[i] = x1;
  }
}

void threefry_emit(Emitter& e, const Params&, std::span<const Value> in, std::span<Value> out) {
  auto body = [](Emitter& inner, const void*, std::span<const Value> x, std::span<Value> y) {
    y[0] = x[2];
    y[1] = x[3];
    threefry(EmittedWords{&inner}, x[0], x[1], y[0], y[1]);
  };
  e.function("threefry2x32", body, nullptr, in, out);
}

void threefry_batch(const BatchRule& r) {
  r.outs = bind_all(threefry2x32_op, r.params, batch_operands(r));
  r.out_axes.assign(2, 0);
}

}  // namespace

// Integers have no tangents.
const Op threefry2x32_op = {
    .name = "threefry2x32",
    .kind = OpKind::Elementwise,
    .shape = threefry_shape,
    .evaluate = threefry_evaluate,
    .batch = threefry_batch,
    .emit = threefry_emit,
    .not_differentiable = "integers have no tangents",
};

}  // namespace apsis::detail
