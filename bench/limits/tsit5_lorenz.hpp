// One attempted step of Tsit5 on the Lorenz system, for a double or a pack of lanes: what a patient person
// writes by hand. Tableau: Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column
// simplifying assumption, Computers & Mathematics with Applications 62 (2011). The controller is Diffrax's
// default, an I controller.
#pragma once

namespace limits {

template <class V>
struct State {
  V x, y, z;
};

template <class V>
struct Attempt {
  State<V> next, slope;
  V squared_error;  // mean over the components of (error / (tolerance (1 + |y|)))^2
};

inline constexpr double sigma = 10, beta = 8.0 / 3.0, tolerance = 1e-8;

template <class V>
[[gnu::always_inline]] inline State<V> field(const State<V>& s, const V& rho) {
  return {sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - beta * s.z};
}

/// Attempts a step of length h from s, whose slope is k1 (the method's last slope is the next step's first).
template <class V>
[[gnu::always_inline]] inline Attempt<V> attempt(const State<V>& s, const State<V>& k1, const V& h,
                                                 const V& rho) {
  constexpr double a21 = 161.0 / 1000.0;
  constexpr double a31 = -0.008480655492356988544, a32 = 0.3354806554923569885;
  constexpr double a41 = 2.897153057105493432, a42 = -6.359448489975074843, a43 = 4.362295432869581411;
  constexpr double a51 = 5.325864828439256604, a52 = -11.74888356406282788, a53 = 7.495539342889836208,
                   a54 = -0.09249506636175524925;
  constexpr double a61 = 5.861455442946420029, a62 = -12.92096931784710929, a63 = 8.159367898576158643,
                   a64 = -0.07158497328140099722, a65 = -0.02826905039406838291;
  constexpr double b1 = 0.09646076681806522952, b2 = 0.01, b3 = 0.4798896504144995748,
                   b4 = 1.379008574103741893, b5 = -3.290069515436080680, b6 = 2.324710524099773982;
  constexpr double e1 = b1 - 0.09468075576583945807, e2 = b2 - 0.009183565540343253096,
                   e3 = b3 - 0.4877705284247615708, e4 = b4 - 1.234297566930478986,
                   e5 = b5 + 2.707712349983525455, e6 = b6 - 1.866628418170587036, e7 = -1.0 / 66.0;
  const auto at = [&](auto combine) {
    return State<V>{s.x + h * combine(&State<V>::x), s.y + h * combine(&State<V>::y),
                    s.z + h * combine(&State<V>::z)};
  };
  const auto k2 = field(at([&](auto c) { return a21 * k1.*c; }), rho);
  const auto k3 = field(at([&](auto c) { return a31 * k1.*c + a32 * k2.*c; }), rho);
  const auto k4 = field(at([&](auto c) { return a41 * k1.*c + a42 * k2.*c + a43 * k3.*c; }), rho);
  const auto k5 =
      field(at([&](auto c) { return a51 * k1.*c + a52 * k2.*c + a53 * k3.*c + a54 * k4.*c; }), rho);
  const auto k6 = field(
      at([&](auto c) { return a61 * k1.*c + a62 * k2.*c + a63 * k3.*c + a64 * k4.*c + a65 * k5.*c; }), rho);
  const auto next =
      at([&](auto c) { return b1 * k1.*c + b2 * k2.*c + b3 * k3.*c + b4 * k4.*c + b5 * k5.*c + b6 * k6.*c; });
  const auto k7 = field(next, rho);
  const auto scaled = [&](auto c) {
    const V error =
        h * (e1 * k1.*c + e2 * k2.*c + e3 * k3.*c + e4 * k4.*c + e5 * k5.*c + e6 * k6.*c + e7 * k7.*c);
    return error / (tolerance + tolerance * maximum(absolute(s.*c), absolute(next.*c)));
  };
  const V ex = scaled(&State<V>::x), ey = scaled(&State<V>::y), ez = scaled(&State<V>::z);
  return {next, k7, (ex * ex + ey * ey + ez * ez) / 3.0};
}

}  // namespace limits
