// What a loop over elements stores lies where an array was that the loop reads for the last time.

#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

constexpr std::int64_t count = 1 << 16, bytes = count * 8;

template <class F>
std::int64_t scratch_bytes(const F& f, const Array& x) {
  return detail::compile(*staged_call(f, x).graph)->scratch_bytes;
}
template <class F>
void expect_scratch_below(std::int64_t most, const F& f, const Array& x) {
  expect_graph_compiled_equal(f, x);
  EXPECT_LT(scratch_bytes(f, x), most);
}

Array vector(std::int64_t size = count) { return detail::filled({f64, {size}}, 3); }
Array running(const Array& x) { return cumsum(x) / double(count); }

TEST(OverwrittenOperands, OfOneLoopAndOfSeveral) {
  expect_scratch_below(
      2 * bytes, [](const Array& x) { return cumsum(running(x)); }, vector());
  // Two arrays take the places of two.
  expect_scratch_below(
      3 * bytes,
      [](const Array& x) {
        const Array a = cumsum(x), b = cumsum(x, {.reverse = true});
        return std::pair{cumsum(a * b), cumsum(a - b)};
      },
      vector());
}

TEST(OverwrittenOperands, NotWhatIsReadOnceMore) {
  const auto expect_equal = [](const auto& f) {
    for (const std::int64_t size : {count, count + 5}) expect_graph_compiled_equal(f, vector(size));
  };
  // By an equation, as a result, by neighbours, in reverse, and at indices.
  expect_equal([](const Array& x) {
    const Array a = cumsum(x), b = cumsum(a * .5);
    return std::pair{b, cumsum(a)};
  });
  expect_equal([](const Array& x) {
    const Array a = cumsum(x);
    return std::pair{a, cumsum(a * .5)};
  });
  expect_equal([](const Array& x) {
    const Array a = cumsum(x);
    return cumsum(a - roll(a, 1));
  });
  expect_equal([](const Array& x) {
    const Array a = cumsum(x);
    return cumsum(a * flip(a));
  });
  expect_equal([](const Array& x) {
    const Array a = cumsum(x);
    return cumsum(a + a[astype(abs(a) * 10., i64) % count]);
  });
  // Stored before the array is read that will be overwritten.
  expect_equal([](const Array& x) {
    const Array a = cumsum(x), b = cumsum(x * x), c = sin(b);
    return std::tuple{cumsum(c), cumsum(c * a), cumsum(flip(c))};
  });
}

TEST(OverwrittenOperands, InLoopsAndBranches) {
  const auto step = [](const Array& x) { return cumsum(sin(running(x)) + x); };
  expect_graph_compiled_equal(
      [&](const Array& x) {
        return fori_loop(
            0, 3, [&](const Array&, const Array& c) { return step(c); }, x);
      },
      vector());
  expect_graph_compiled_equal(
      [&](const Array& x) {
        const Array y = running(x);
        return cond(
            y[0] > 0., [&](const Array& a) { return step(a); }, [](const Array& a) { return cumsum(a * a); },
            y);
      },
      vector());
  expect_graph_compiled_equal(
      [&](const Array& x) {
        return scan(
            [&](const Array& c, const Array& k) {
              return std::pair{step(c) * k, running(c)};
            },
            x, arange(3.));
      },
      vector());
}

// Columns, and rows that parts of a loop divide.
// Lengths of two passes, of an even and of an odd number, of none that fit, beyond the cache; along any axis.
TEST(OverwrittenOperands, ByTransforms) {
  for (const std::int64_t length : {1, 7, 64, 1000, 1009, 4096, 10000, 16384, 30000}) {
    const std::int64_t lines = std::max<std::int64_t>(1, 20000 / length);
    for (const Shape& shape : {Shape{lines, length}, Shape{length, lines}, Shape{2, length, 3}})
      for (int axis = 0; axis < shape.rank(); ++axis)
        expect_graph_compiled_equal(
            [&](const Array& x) {
              return real(fft::ifft(fft::fft(complex(x, cos(x)), {.axis = axis}) * 2.0, {.axis = axis}));
            },
            detail::filled({f64, shape}, 3));
  }
  const Array many = detail::filled({f64, {1 << 20}}, 3);
  const auto spectrum = [](const Array& x) { return abs(fft::fft(reshape(x, {1024, 1024}))); };
  expect_scratch_below(2 * 8 * many.size() + 4096, spectrum, many);
  expect_scratch_below(
      4 * 8 * many.size() + 4096,
      [&](const Array& x) {
        const Array a = complex(x, x), b = fft::fft(a);  // reads what is read again
        return real(b * a);
      },
      many);
}

TEST(OverwrittenOperands, OfSeveralAxes) {
  for (const Shape& shape :
       {Shape{512, 256}, Shape{1 << 15, 2}, Shape{4096, 1}, Shape{300, 7}, Shape{64, 3, 64}}) {
    const Array x = detail::filled({f64, shape}, 5);
    expect_graph_compiled_equal(
        [](const Array& a) {
          const Array c = cumsum(a, {.axis = 0});
          return cumsum(c * sum(a, {.axis = 0}) - a, {.axis = 0});
        },
        x);
  }
}

// An array that a sum and then the result are made of is made where the result will be. An input may be
// there, too, when it is given up.
TEST(OverwrittenOperands, WhereTheResultWillBe) {
  const auto expect_equal = [](const auto& f, std::int64_t most, Dims sizes) {
    for (const Dtype dtype : {f64, f32}) {
      const Array x = detail::filled({dtype, Shape(sizes)}, 4);
      expect_graph_compiled_equal(f, x);
      EXPECT_LT(scratch_bytes(f, x), most * x.size() * static_cast<std::int64_t>(item_size(dtype)));
    }
  };
  const auto softmax = [](const Array& x) { return nn::softmax(x, 0); };
  expect_equal(softmax, 1, {256, 256});
  expect_equal(softmax, 2, {250, 130});
  expect_equal([](const Array& x) { return x * nn::softmax(x, 0); }, 2, {256, 256});
  expect_equal([](const Array& x) { return nn::softmax(x, 0) + flip(x); }, 2, {256, 256});
  expect_equal(
      [](const Array& x) {
        const Array e = exp(x), s = sum(e, {.axis = 0});
        return std::pair{e / s, transpose(e) * s};
      },
      3, {256, 256});
  expect_equal(
      [](const Array& x) {
        const Array e = exp(x), s = sum(e, {.axis = 0});
        return std::pair{e / s, e * sum(e * s)};
      },
      3, {256, 256});
}

// What a loop stores first does not lie where it reads what it needs for others.
TEST(OverwrittenOperands, InTheOrderOfOneLoop) {
  const auto results = [](bool first) {
    return [first](const Array& v) {
      const Array e = exp(expand_dims(v, 1) * v * .1), s = sum(e, {.axis = 0});
      const Array other = expand_dims(v, 1) * s, scaled = e / s;
      return first ? std::tuple{other, scaled, e * other} : std::tuple{scaled, other, e - s};
    };
  };
  for (const std::int64_t size : {256, 250})
    for (const bool first : {false, true}) expect_graph_compiled_equal(results(first), vector(size));
}

}  // namespace
}  // namespace apsis::testing
