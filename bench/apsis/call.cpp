// call/*: what a call of a compiled function costs when there is next to nothing to compute.
#include "mlp.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Scalars {
  std::array<Array, 100> leaves;
};

}  // namespace

void call() {
  auto increment = jit([](const Array& x) { return x + 1; });
  Array x = array({0.f, 1.f, 2.f, 3.f}), y;
  double spent = seconds_per_call([&] { y = increment(x); });
  report("call/jit-add", "ns", spent * 1e9, y.to_vector<double>());

  auto run = jit(
      [](const Mlp<4>& model, const Array& in) { return model(in, [](const Array& h) { return tanh(h); }); });
  auto model = make_mlp<4>({2, 64, 64, 64, 2});
  Array in = array({0.3f, -0.7f});
  spent = seconds_per_call([&] { y = run(model, in); });
  report("call/mlp-struct", "ns", spent * 1e9, y.to_vector<double>());

  auto total = jit([](const Scalars& s) {
    Array all = s.leaves[0];
    for (std::size_t k = 1; k < s.leaves.size(); ++k) all = all + s.leaves[k];
    return all;
  });
  Scalars scalars;
  for (int k = 0; k < 100; ++k) scalars.leaves[k] = Array(0.01 * k, f32);
  spent = seconds_per_call([&] { y = total(scalars); });
  report("call/leaves-100", "ns", spent * 1e9, y.to_vector<double>());
}

}  // namespace bench
