#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {
namespace {

/// Coefficients of θ², θ³, θ⁴ of scale · θ² (θ² + p θ + q).
std::vector<double> quartic(double scale, double p, double q) { return {0, scale * q, scale * p, scale}; }

/// Tsitouras' interpolant (section 4 of the paper), a quartic in θ for each slope.
std::vector<std::vector<double>> tsit5_output() {
  // θ (θ - r) (θ² - p θ + q) for the first slope; θ² times a quadratic for the others.
  constexpr double scale = -1.0530884977290216, r = 1.3299890189751412, p = 1.4364028541716351,
                   q = 0.7139816917074209;
  std::vector<std::vector<double>> by_stage = {
      {-scale * r * q, scale * (q + r * p), -scale * (p + r), scale},
      quartic(0.1017, -2.1966568338249754, 1.2949852507374631),
      quartic(2.490627285651252793, -2.38535645472061657, 1.57803468208092486),
      quartic(-16.54810288924490272, -(1.21712927295533244 + 0.61620406037800089),
              1.21712927295533244 * 0.61620406037800089),
      quartic(47.37952196281928122, -(1.203071208372362603 + 0.658047292653547382),
              1.203071208372362603 * 0.658047292653547382),
      quartic(-34.87065786149660974, -(1.2 + 0.666666666666666667), 1.2 * 0.666666666666666667),
      quartic(2.5, -1.6, 0.6)};
  std::vector<std::vector<double>> dense(4, std::vector<double>(7));
  for (std::size_t d = 0; d < 4; ++d)
    for (std::size_t i = 0; i < 7; ++i) dense[d][i] = by_stage[i][d];
  return dense;
}

}  // namespace

const RungeKutta& Tsit5::method() {
  static const RungeKutta tsit5{
      .name = "Tsit5",
      .order = 5,
      .c = {0, 0.161, 0.327, 0.9, 0.9800255409045097, 1, 1},
      .a = {{},
            {0.161},
            {-0.008480655492356989, 0.335480655492357},
            {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
            {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
            {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
             -0.028269050394068383},
            {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
             2.324710524099774}},
      .b = {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
            2.324710524099774, 0},
      .error = {0.0017800110522257773, 0.0008164344596567463, -0.007880878010261994, 0.1447110071732629,
                -0.5823571654525552, 0.45808210592918686, -1. / 66},
      .dense = tsit5_output(),
      .first_same_as_last = true};
  return tsit5;
}

}  // namespace apsis
