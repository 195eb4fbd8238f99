// Transforms, compiles and solves: what needs the headers, the library, and the LLVM module found at run
// time.
#include <cstdio>
#include <apsis/apsis.hpp>

using namespace apsis;

struct Decay {
  Array rate;
  Array operator()(const Array&, const Array& y) const { return -rate * y; }
};

int main() {
  auto final_value = [](const Decay& model, const Array& y0) {
    return diffeqsolve(ODETerm{model}, Tsit5{}, 0., 1., 0.01, y0).ys[-1];
  };
  auto [value, gradient] = jit(value_and_grad(final_value))(Decay{array(2.)}, array(1.));
  std::printf("y(1) = %.6f, dy(1)/drate = %.6f\n", value.item<double>(), gradient.rate.item<double>());
  // y(1) = exp(-rate), and its derivative is -exp(-rate).
  const double exact = 0.1353352832366127;
  const bool right = value.item<double>() - exact < 1e-8 && exact - value.item<double>() < 1e-8 &&
                     gradient.rate.item<double>() + exact < 1e-8 &&
                     -exact - gradient.rate.item<double>() < 1e-8;
  return right ? 0 : 1;
}
