// Nonlinear least squares: the Levenberg-Marquardt method as a loop, on the reference data sets of NIST.

#include <numbers>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

struct Fit {
  Array b, damping, cost, steps;
};

/// Marquardt's method with the diagonal as scale (Moré, The Levenberg-Marquardt algorithm, 1978).
template <class Residual>
Fit levenberg_marquardt(const Residual& residual, const Array& start) {
  auto cost_at = [&](const Array& b) { return sum(square(residual(b))); };
  auto step = [&](const Fit& s) {
    Array r = residual(s.b), j = jacfwd(residual)(s.b);
    Array a = matmul(transpose(j), j), g = matmul(transpose(j), r);
    Array scale = sqrt(diag(a));
    Array scaled = a / outer(scale, scale) + s.damping * eye(start.size());
    Array tried = s.b - solve_positive(scaled, g / scale) / scale;
    Array cost = cost_at(tried);
    Array better = cost < s.cost;
    return Fit{where(better, tried, s.b), where(better, maximum(s.damping / 10., 1e-15), s.damping * 10.),
               where(better, cost, s.cost), s.steps + 1};
  };
  return while_loop([](const Fit& s) { return s.steps < 200 && s.damping < 1e12; }, step,
                    Fit{start, 1e-3, cost_at(start), 0});
}

struct Problem {
  const char* file;
  std::function<Array(const Array& b, const Array& x)> model;
  std::vector<double> start, certified, deviations;
  double cost;
};

// Start 2 and the certified values of the NIST Statistical Reference Datasets.
std::vector<Problem> problems() {
  auto cubic = [](const Array& b, const Array& x) {
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1. + x * (b[4] + x * (b[5] + x * b[6])));
  };
  return {
      {"Misra1a",
       [](const Array& b, const Array& x) { return b[0] * (1. - exp(-b[1] * x)); },
       {250., 0.0005},
       {238.94212918, 0.00055015643181},
       {2.7070075241, 7.2668688436e-06},
       0.12455138894},
      {"Chwirut2",
       [](const Array& b, const Array& x) { return exp(-b[0] * x) / (b[1] + b[2] * x); },
       {0.15, 0.008, 0.01},
       {0.16657666537, 0.0051653291286, 0.012150007096},
       {0.03830328681, 0.00066621605126, 0.0015304234767},
       513.04802941},
      {"Thurber",
       cubic,
       {1300., 1500., 500., 75., 1., 0.4, 0.05},
       {1288.13968, 1491.0792535, 583.23836877, 75.416644291, 0.96629502864, 0.39797285797, 0.049727297349},
       {4.6647963344, 39.571156086, 28.698696102, 5.567537027, 0.031333340687, 0.014984928198,
        0.0065842344623},
       5642.7082397},
      {"Hahn1",
       cubic,
       {1., -0.1, 0.005, -1e-06, -0.005, 0.0001, -1e-07},
       {1.0776351733, -0.12269296921, 0.004086375061, -1.4262662514e-06, -0.0057609940901, 0.00024053735503,
        -1.2314450199e-07},
       {0.17070154742, 0.012000289189, 0.00022508314937, 2.7578037666e-07, 0.00024712888219, 1.0449373768e-05,
        1.3027335327e-08},
       1.5324382854},
      {"Eckerle4",
       [](const Array& b, const Array& x) { return b[0] / b[1] * exp(-0.5 * square((x - b[2]) / b[1])); },
       {1.5, 5., 450.},
       {1.5543827178, 4.0888321754, 451.54121844},
       {0.015408051163, 0.046803020753, 0.046800518816},
       0.0014635887487},
      {"Rat43",
       [](const Array& b, const Array& x) { return b[0] / pow(1. + exp(b[1] - b[2] * x), 1. / b[3]); },
       {700., 5., 0.75, 1.3},
       {699.6415127, 5.2771253025, 0.75962938329, 1.2792483859},
       {16.302297817, 2.0828735829, 0.19566123451, 0.68761936385},
       8786.404908},
      {"Gauss2",
       [](const Array& b, const Array& x) {
         auto bell = [&](int at) { return b[at] * exp(-square((x - b[at + 1]) / b[at + 2])); };
         return b[0] * exp(-b[1] * x) + bell(2) + bell(5);
       },
       {98., 0.0105, 103., 105., 20., 73., 150., 20.},
       {99.018328406, 0.010994945399, 101.88022528, 107.03095519, 23.578584029, 72.045589471, 153.27010194,
        19.525972636},
       {0.53748766879, 0.00013335306766, 0.59217315772, 0.15006798316, 0.22695595067, 0.61721965884,
        0.19466674341, 0.26416549393},
       1247.5282092},
      {"BoxBOD",
       [](const Array& b, const Array& x) { return b[0] * (1. - exp(-b[1] * x)); },
       {100., 0.75},
       {213.80940889, 0.54723748542},
       {12.354515176, 0.10455993237},
       1168.0088766},
      {"ENSO",
       [](const Array& b, const Array& x) {
         auto wave = [&](const Array& period, int c, int s) {
           Array angle = 2. * std::numbers::pi * x / period;
           return b[c] * cos(angle) + b[s] * sin(angle);
         };
         return b[0] + wave(12., 1, 2) + wave(b[3], 4, 5) + wave(b[6], 7, 8);
       },
       {10., 3., 0.5, 44., -1.5, 0.5, 26., -0.1, 1.5},
       {10.510749193, 3.0762128085, 0.53280138227, 44.3110887, -1.6231428586, 0.52554493756, 26.88761444,
        0.21232288488, 1.4966870418},
       {0.17488832467, 0.24310052139, 0.24354686618, 0.94408025976, 0.28078369611, 0.48073701119,
        0.4161293913, 0.51460022911, 0.25434468893},
       788.53978668},
  };
}

class NistFit : public ::testing::TestWithParam<std::size_t> {};

TEST_P(NistFit, ReachesTheCertifiedValues) {
  const Problem problem = problems()[GetParam()];
  Table table = read_csv(data_file(std::string("nist/") + problem.file + ".csv"));
  Array x = table.column("x"), y = table.column("y");
  auto fit = [&](const Array& start) {
    return levenberg_marquardt([&](const Array& b) { return problem.model(b, x) - y; }, start);
  };
  Array start = array(problem.start), certified = array(problem.certified);
  Fit found = jit(fit)(start);
  // A step is kept where the cost falls: what moves the cost by less than its last bit is not seen, which is
  // the square root of eps in standard deviations, times what conditions the normal equations.
  Array sigma = array(problem.deviations);
  expect_close((found.b - certified) / sigma, zeros({certified.size()}), 1e-6, problem.file);
  EXPECT_NEAR(found.cost.item<double>() / problem.cost, 1, 1e-9);
  // Standard deviations from the Hessian's Gauss-Newton part, inverted column by column.
  Array j = jit(jacfwd([&](const Array& b) { return problem.model(b, x); }))(found.b);
  const double freedom = double(x.size() - certified.size());
  Array scale = norm(j, {.axis = 0}), jj = j / scale;
  Array inverse =
      vmap([&](const Array& e) { return solve_positive(matmul(transpose(jj), jj), e); })(eye(start.size()));
  Array deviations = sqrt(diag(inverse) * found.cost / freedom) / scale;
  expect_close(deviations / sigma, ones({certified.size()}), 1e-5, "deviations");
  // From several starts at once each takes the steps it takes alone.
  Array starts = stack({start, certified, 0.5 * (start + certified)});
  Fit many = jit(vmap(fit))(starts);
  const bool inlined = j.size() * start.size() <= 4096;  // larger products may differ in last bits
  for (int i = 0; i < 3; ++i) {
    Fit alone = jit(fit)(starts[i]);
    expect_close((many.b[i] - alone.b) / sigma, zeros({certified.size()}), 1e-6);
    if (!inlined) continue;
    EXPECT_TRUE(tree_equal(many.b[i], alone.b)) << i;
    EXPECT_EQ(many.steps[i].item<int>(), alone.steps.item<int>()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NistFit, ::testing::Range<std::size_t>(0, 9),
                         [](const auto& info) { return std::string(problems()[info.param].file); });

TEST(NistFits, ResidualsAllWays) {
  for (const Problem& problem : problems()) {
    SCOPED_TRACE(problem.file);
    Table table = read_csv(data_file(std::string("nist/") + problem.file + ".csv"));
    Array x = table.column("x")[range(0, 20)], y = table.column("y")[range(0, 20)];
    // Differences of step 1e-6 of the residuals' curvature.
    expect_all_ways([&](const Array& b) { return problem.model(b, x) - y; }, array(problem.start),
                    {.differences = 1e-4, .lanes = {3}});
  }
}

TEST(NistFits, TheWholeFitAllWays) {
  Table table = read_csv(data_file("nist/Misra1a.csv"));
  Array x = table.column("x"), y = table.column("y");
  // Fixed steps of Gauss-Newton from a start near by: the derivative of the result by the data is that of
  // the implicit function, and by the start it is zero.
  auto fit = [&](const Array& data) {
    auto residual = [&](const Array& b) { return b[0] * 100. * (1. - exp(-b[1] * 1e-3 * x)) - data; };
    auto step = [&](const Array&, const Array& b) {
      Array j = jacfwd(residual)(b);
      return b - solve_positive(matmul(transpose(j), j), matmul(transpose(j), residual(b)));
    };
    return fori_loop(0, 8, step, array({2.5, 0.5}));
  };
  expect_all_ways(fit, y, {.eager = 1e-9, .modes = 1e-7, .differences = 1e-4, .step = 1e-5, .lanes = {1, 5}});
}

TEST(NistFits, Misuses) {
  Table table = read_csv(data_file("nist/Misra1a.csv"));
  Array x = table.column("x"), y = table.column("y");
  auto model = [](const Array& b, const Array& at) { return b[0] * (1. - exp(-b[1] * at)); };
  expect_misuse("shapes [14] and [13] do not broadcast", [&] {
    Array residual = model(array({250., 5e-4}), x) - y[range(1, {})];
  });
  // Integers where 250. is meant have no derivative.
  expect_misuse("the function must return one real scalar, got f64[14]", [&] {
    grad([&](const Array& b) { return model(b, x) - y; })(array({250., 5e-4}));
  });
  expect_misuse("index] 2 is out of bounds for axis 0 of shape [2]", [&] {
    Array third = array({250., 5e-4})[2];
  });
}

}  // namespace
}  // namespace apsis::scenarios
