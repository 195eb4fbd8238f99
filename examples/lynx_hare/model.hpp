#pragma once

// The two models of the example. States are logarithms of the populations (thousands of pelts): u of hares, v
// of lynxes, so populations stay positive and relative errors are what the solver controls.

#include <apsis/apsis.hpp>

namespace lynx_hare {

using apsis::Array;

/// Lotka and Volterra: hares grow at the rate alpha and are eaten at beta a lynx; lynxes die at gamma and
/// grow at delta a hare. Parameters are kept as logarithms, so that any value is allowed.
struct Rates {
  Array alpha, beta, gamma, delta;  // logarithms, per year
  Array operator()(const Array&, const Array& y) const {
    using namespace apsis;
    auto [u, v] = unstack<2>(y);
    return stack({exp(alpha) - exp(beta + v), exp(delta + u) - exp(gamma)});
  }
};

/// Everything that the likelihood depends on; all are logarithms.
struct Parameters {
  Rates rates;
  Array hare, lynx;              // populations in the first year
  Array sigma_hare, sigma_lynx;  // noise of the log counts
};

/// The same growth and death, but what the species do to each other is learned: a network of (u, v) gives
/// both rates.
struct Hybrid {
  Array alpha, gamma;  // logarithms
  apsis::nn::MLP interaction;
  Array hare, lynx;
  Array operator()(const Array&, const Array& y) const {
    using namespace apsis;
    // Centred on the data's own scale: log counts lie around 3 ± 1.
    auto [eaten, fed] = unstack<2>(nn::softplus(interaction(y - 3.)));
    return stack({exp(alpha) - eaten, fed - exp(gamma)});
  }
};

/// Log populations, [years, 2].
template <class Field>
Array populations(const Field& field, const Array& hare, const Array& lynx, const Array& years,
                  double tolerance) {
  using namespace apsis;
  auto solution = diffeqsolve(ODETerm{field}, Tsit5{}, years[0], years[-1], {}, stack({hare, lynx}),
                              {.controller = PIDController{.rtol = tolerance, .atol = tolerance},
                               .saveat = {.ts = years},
                               .max_steps = 2000,
                               .throw_ = false});  // a start that cannot be solved fails alone
  return solution.ys;
}

inline Array populations(const Parameters& p, const Array& years, double tolerance = 1e-9) {
  return populations(p.rates, p.hare, p.lynx, years, tolerance);
}
inline Array populations(const Hybrid& h, const Array& years, double tolerance = 1e-6) {
  return populations(h, h.hare, h.lynx, years, tolerance);
}

/// Negative log likelihood of the counts under log-normal noise.
inline Array negative_log_likelihood(const Parameters& p, const Array& years, const Array& log_counts) {
  using namespace apsis;
  constexpr double half_log_two_pi = 0.91893853320467274;
  Array log_sigma = stack({p.sigma_hare, p.sigma_lynx});
  Array z = (log_counts - populations(p, years)) / exp(log_sigma);
  return sum(0.5 * (z * z) + log_sigma + half_log_two_pi + log_counts);
}

/// Mean squared error of the log counts, with a little weight decay on the network.
inline Array hybrid_loss(const Hybrid& h, const Array& years, const Array& log_counts) {
  using namespace apsis;
  Array decay = 0.;
  for (const nn::Linear& layer : h.interaction.layers) decay = decay + sum(layer.weight * layer.weight);
  Array error = log_counts - populations(h, years);
  return mean(error * error) + 1e-4 * decay;
}

}  // namespace lynx_hare
