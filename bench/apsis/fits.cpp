// fit/*: many small fits at once.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Decay {
  Array a, b, c;
};

const std::int64_t fits = 10'000, points = 20;

Array times() { return linspace(0., 4., points); }

Decay fit(const Array& readings) {
  const Array t = times();
  const auto residual = [&](const Decay& p) { return p.a * exp(-p.b * t) + p.c - readings; };
  return least_squares(residual, LevenbergMarquardt{.xtol = 1e-8, .ftol = 1e-8}, Decay{1., 1., 0.}).value;
}

}  // namespace

void levenberg() {
  const auto run = jit(vmap(fit));
  // Decays of other amplitudes and rates, with a ripple on them that no fit takes away.
  const Array k = arange(0., static_cast<double>(fits)) / static_cast<double>(fits);
  const Array a = expand_dims(1. + k, 1), b = expand_dims(0.5 + 2. * k * k, 1), c = expand_dims(0.3 - k, 1),
              t = times();
  const Array readings = a * exp(-b * t) + c + 0.01 * sin(37. * t + expand_dims(100. * k, 1));
  Decay found;
  const double spent = median_seconds([&] { found = run(readings); });
  const Array probes = array({0, 2500, 5000, 7500, 9999});
  report("fit/levenberg", "ms", spent * 1e3,
         ravel(stack({found.a[probes], found.b[probes], found.c[probes]})).to_vector<double>());
}

}  // namespace bench
