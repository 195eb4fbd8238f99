// arrays/*: programs over whole arrays as users write them, each in f64 and f32, small, in the cache and
// large, and their gradients. bench/arrays.py runs both sides and compares them.
#include <cmath>
#include <cstdlib>
#include <regex>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// What the programs read; `n` elements or about as many.
struct Inputs {
  Array x, y;             // n
  Array points, weights;  // (n / 4, 3), n / 4
  Array colours;          // 3
  Array square, row;      // (√n, √n), √n
  Array tall;             // (n / 32, 32)
  Array cube;             // (n / 256, 16, 16)
  Array index;            // n integers below n, in no order
};

Array wave(std::int64_t n, double step, Dtype dtype) {
  return astype(sin(arange(static_cast<double>(n)) * step) + 0.25, dtype);
}

Inputs make_inputs(std::int64_t n, Dtype dtype) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n))));
  return {.x = wave(n, 0.37, dtype),
          .y = wave(n, 0.73, dtype),
          .points = reshape(wave(n / 4 * 3, 0.31, dtype), {n / 4, 3}),
          .weights = wave(n / 4, 0.11, dtype),
          .colours = wave(3, 0.5, dtype),
          .square = reshape(wave(side * side, 0.17, dtype), {side, side}),
          .row = wave(side, 0.19, dtype),
          .tall = reshape(wave(n / 32 * 32, 0.23, dtype), {n / 32, 32}),
          .cube = reshape(wave(n / 256 * 256, 0.29, dtype), {n / 256, 16, 16}),
          .index = arange(n) * 7919 % n};
}

/// Ten steps z² + c, kept in a square.
Array iterate(const Array& x, const Array& y) {
  Array a = x, b = y;
  for (int k = 0; k < 10; ++k) {
    const Array real = a * a - b * b + x * 0.3;
    b = clip(2. * a * b + y * 0.3, -2., 2.);
    a = clip(real, -2., 2.);
  }
  return a + b;
}

Array lstm_cell(const Array& gates) {
  const std::vector<Array> part = split(gates, 4, 1);
  const Array cell = sigmoid(part[0]) * part[1] + sigmoid(part[2]) * tanh(part[3]);
  return tanh(cell) * sigmoid(part[1]);
}

Array sums_and_differences(const Array& x) {
  const Array even = x[range({}, {}, 2)], odd = x[range(1, {}, 2)];
  return concatenate({even + odd, even - odd}, 0);
}

Array column(const Array& points, std::int64_t k) { return points(ellipsis, k); }
Array beside(const Array& x) { return expand_dims(x, -1); }

struct Program {
  const char* name;
  Array (*run)(const Inputs&);
  Array Inputs::*by;  // what the gradient is taken by; null: none
};

const Program programs[] = {
    {"axpy", [](const Inputs& in) { return 2. * in.x + in.y; }, &Inputs::x},
    {"tanh-exp", [](const Inputs& in) { return tanh(in.x) * exp(-in.y); }, &Inputs::x},
    {"relu", [](const Inputs& in) { return where(in.x > 0., in.x, 0.01 * in.x); }, &Inputs::x},
    {"clip", [](const Inputs& in) { return clip(in.x, -0.5, 0.5) * in.y; }, &Inputs::x},
    {"int-mod", [](const Inputs& in) { return in.index % 7; }, nullptr},
    {"sum", [](const Inputs& in) { return sum(in.x * in.y); }, &Inputs::x},
    {"mean-square", [](const Inputs& in) { return mean(square(in.x - in.y)); }, &Inputs::x},
    {"max", [](const Inputs& in) { return max(in.x); }, nullptr},
    {"argmax-rows", [](const Inputs& in) { return argmax(in.square, {.axis = 1}); }, nullptr},
    {"sum-rows", [](const Inputs& in) { return sum(in.square, {.axis = 1}); }, nullptr},
    {"sum-columns", [](const Inputs& in) { return sum(in.square, {.axis = 0}); }, nullptr},
    {"sum-middle", [](const Inputs& in) { return sum(in.cube, {.axis = 1}); }, nullptr},
    {"mean-outer-inner",
     [](const Inputs& in) {
       return mean(in.cube, {.axis = {0, 2}});
     },
     nullptr},
    {"variance-columns", [](const Inputs& in) { return var(in.square, {.axis = 0}); }, &Inputs::square},
    {"standardise",
     [](const Inputs& in) {
       return (in.tall - mean(in.tall, {.axis = 0})) / (std_(in.tall, {.axis = 0}) + 0.001);
     },
     &Inputs::tall},
    {"softmax-rows", [](const Inputs& in) { return softmax(in.square, 1); }, &Inputs::square},
    {"softmax-columns", [](const Inputs& in) { return softmax(in.square, 0); }, nullptr},
    {"logsumexp", [](const Inputs& in) { return logsumexp(in.tall, {.axis = 1}); }, &Inputs::tall},
    {"scale-points", [](const Inputs& in) { return in.points * beside(in.weights); }, &Inputs::points},
    {"colour-image", [](const Inputs& in) { return in.points * in.colours + 1.; }, nullptr},
    {"lengths", [](const Inputs& in) { return sqrt(sum(square(in.points), {.axis = 1})); }, &Inputs::points},
    {"normalise",
     [](const Inputs& in) { return in.points / sqrt(sum(square(in.points), {.axis = 1, .keepdims = true})); },
     &Inputs::points},
    {"columns",
     [](const Inputs& in) { return column(in.points, 0) + column(in.points, 1) * column(in.points, 2); },
     &Inputs::points},
    {"stack-columns",
     [](const Inputs& in) {
       return stack({in.x, in.y + 1.}, -1);
     },
     &Inputs::x},
    {"concatenate",
     [](const Inputs& in) {
       return concatenate({in.x, in.y + 1.}, 0);
     },
     &Inputs::x},
    {"repeat", [](const Inputs& in) { return repeat(in.weights, 3, 0); }, nullptr},
    {"tile", [](const Inputs& in) { return tile(in.weights, {3}); }, nullptr},
    {"pad",
     [](const Inputs& in) {
       return pad(in.square, {1, 1}, {1, 1});
     },
     nullptr},
    {"roll", [](const Inputs& in) { return roll(in.x, 7, 0) - in.x; }, &Inputs::x},
    {"flip", [](const Inputs& in) { return flip(in.x, {0}) * in.y; }, nullptr},
    {"differences", [](const Inputs& in) { return square(diff(in.x, 0)); }, &Inputs::x},
    {"laplace",
     [](const Inputs& in) {
       const Array& u = in.square;
       const Range middle = range(1, -1), low = range({}, -2), high = range(2, {});
       return u(low, middle) + u(high, middle) + u(middle, low) + u(middle, high) - 4. * u(middle, middle);
     },
     &Inputs::square},
    {"transpose", [](const Inputs& in) { return transpose(in.square) * 2.; }, nullptr},
    {"symmetric", [](const Inputs& in) { return in.square + transpose(in.square); }, &Inputs::square},
    {"outer", [](const Inputs& in) { return beside(in.row) * in.row; }, &Inputs::row},
    {"matrix-vector", [](const Inputs& in) { return dot(in.square, in.row); }, &Inputs::row},
    {"transpose-vector", [](const Inputs& in) { return dot(transpose(in.square), in.row); }, nullptr},
    {"gram", [](const Inputs& in) { return dot(transpose(in.tall), in.tall); }, &Inputs::tall},
    {"small-products", [](const Inputs& in) { return matmul(in.cube, in.cube); }, &Inputs::cube},
    {"distances",
     [](const Inputs& in) {
       const Array near = in.points[range(0, 64)];
       return sqrt(sum(square(expand_dims(in.points, 1) - near), {.axis = 2}));
     },
     nullptr},
    {"gather", [](const Inputs& in) { return in.x[in.index]; }, &Inputs::x},
    {"gather-rows",
     [](const Inputs& in) { return in.tall[in.index[range(0, in.tall.dim(0))] % in.tall.dim(0)]; },
     &Inputs::tall},
    {"scatter-add", [](const Inputs& in) { return in.x.at(in.index % 1000).add(in.y); }, nullptr},
    {"histogram",
     [](const Inputs& in) { return zeros({64}).at(clip(astype(in.x * 20. + 30., i64), 0, 63)).add(1.); },
     nullptr},
    {"searchsorted", [](const Inputs& in) { return searchsorted(sort(in.row), in.x); }, nullptr},
    {"sort", [](const Inputs& in) { return sort(in.x); }, nullptr},
    {"cumsum", [](const Inputs& in) { return cumsum(in.x, {.axis = 0}); }, &Inputs::x},
    {"cumsum-columns", [](const Inputs& in) { return cumsum(in.square, {.axis = 0}); }, nullptr},
    {"cumprod-rows", [](const Inputs& in) { return cumprod(in.tall, {.axis = 1}); }, &Inputs::tall},
    {"cummax", [](const Inputs& in) { return cummax(in.x, {.axis = 0}); }, &Inputs::x},
    {"iterate", [](const Inputs& in) { return iterate(in.x, in.y); }, nullptr},
    {"lstm-cell", [](const Inputs& in) { return lstm_cell(in.tall); }, &Inputs::tall},
    {"haar", [](const Inputs& in) { return sums_and_differences(in.x); }, &Inputs::x},
    {"cross", [](const Inputs& in) { return cross(in.points, flip(in.points, {1}) + 0.5); }, &Inputs::points},
    {"pad-reflect",
     [](const Inputs& in) {
       return pad(in.square, {2, 2}, {2, 2}, PadMode::Reflect);
     },
     &Inputs::square},
    {"convolve",
     [](const Inputs& in) {
       return convolve(in.x, astype(array({.1, .2, .4, .2, .1}), in.x.dtype()), ConvolveMode::Same);
     },
     &Inputs::x},
    {"upsample", [](const Inputs& in) { return repeat(repeat(in.square, 2, 0), 2, 1); }, &Inputs::square},
    {"flip-rows", [](const Inputs& in) { return flip(in.square, {1}) + 1.; }, nullptr},
    {"determinants",
     [](const Inputs& in) { return linalg::det(in.cube(ellipsis, range(0, 3), range(0, 3))); },
     &Inputs::cube},
    {"segment-rows",
     [](const Inputs& in) {
       return segment_sum(in.tall, in.index[range(0, in.tall.dim(0))] % 1000, {.segments = 1000});
     },
     &Inputs::tall},
    {"histogram-plane",
     [](const Inputs& in) {
       const auto bin = [](const Array& v) { return astype(clip(v * 12. + 10., 0., 31.), i64); };
       return zeros({32, 32}).at(bin(in.x), bin(in.y)).add(1.);
     },
     nullptr},
};

/// A few elements of what a program gives, the last among them.
std::vector<double> probes(const Array& result) {
  const Array flat = astype(reshape(result, {result.size()}), f64);
  std::vector<double> some;
  for (std::int64_t k : {std::int64_t{0}, flat.size() / 3, flat.size() / 2, flat.size() - 1})
    some.push_back(flat[k].item<double>());
  return some;
}

}  // namespace

void arrays() {
  const struct {
    const char* name;
    std::int64_t n;
  } sizes[] = {{"1e3", 1024}, {"1e5", 102'400}, {"1e7", 10'240'000}};
  const char* const chosen = std::getenv("BENCH_ONLY");
  const std::regex only(chosen ? chosen : "");
  for (const auto& size : sizes)
    for (const Dtype dtype : {f64, f32}) {
      const Inputs in = make_inputs(size.n, dtype);
      const auto measure = [&](const char* program, const char* kind, auto f) {
        const std::string name =
            std::string("arrays/") + program + kind + "/" + to_string(dtype) + "-" + size.name;
        if (!std::regex_search(name, only)) return;
        Array y;
        const double spent =
            size.n < 10'000 ? seconds_per_call([&] { y = f(in); }) : median_seconds([&] { y = f(in); }, 0.2);
        report(name, "us", spent * 1e6, probes(y));
      };
      for (const Program& p : programs) {
        measure(p.name, "", jit([&](const Inputs& all) { return p.run(all); }));
        if (p.by)
          measure(p.name, "-grad", jit([&](const Inputs& all) {
                    return grad([&](const Array& changed) {
                      Inputs with = all;
                      with.*p.by = changed;
                      return sum(square(p.run(with)));
                    })(all.*p.by);
                  }));
      }
    }
}

}  // namespace bench
