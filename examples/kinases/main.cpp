// A cascade of kinases, by which cells pass on a signal: each enzyme, once it carries its phosphates, puts
// them on the next (Kholodenko, Negative feedback and ultrasensitivity can bring about oscillations in the
// mitogen-activated protein kinase cascades, Eur. J. Biochem. 267, 2000; without the feedback). How active is
// the last one when all has come to rest, and which reaction decides on that?
//
//   kinases        the figure goes to out/; fails if what it says is not so

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double totals[] = {100, 300, 300};  // nM, of the three kinases

/// The reactions' greatest speeds; odd ones of the second and third kinase are made by the one before.
const Array speeds = array({0.1, 0.25, 0.025, 0.025, 0.75, 0.75, 0.025, 0.025, 0.5, 0.5});

struct Cells {  // nM: of the first kinase with a phosphate, and of the others with one and with two
  Array first, second_1, second_2, third_1, third_2;
};

struct Cascade {
  Array v;  // [10]
  Cells operator()(const Array&, const Cells& y) const {
    const auto rate = [&](int i, const Array& enzyme, const Array& of, double half) {
      return v[i] * enzyme * of / (half + of);
    };
    const Array first = totals[0] - y.first, second = totals[1] - y.second_1 - y.second_2,
                third = totals[2] - y.third_1 - y.third_2, one = ones_like(first);
    const Array r1 = rate(0, one, first, 10), r2 = rate(1, one, y.first, 8);
    const Array r3 = rate(2, y.first, second, 15), r4 = rate(3, y.first, y.second_1, 15);
    const Array r5 = rate(4, one, y.second_2, 15), r6 = rate(5, one, y.second_1, 15);
    const Array r7 = rate(6, y.second_2, third, 15), r8 = rate(7, y.second_2, y.third_1, 15);
    const Array r9 = rate(8, one, y.third_2, 15), r10 = rate(9, one, y.third_1, 15);
    return {.first = r1 - r2,
            .second_1 = r3 + r5 - r4 - r6,
            .second_2 = r4 - r5,
            .third_1 = r7 + r9 - r8 - r10,
            .third_2 = r8 - r9};
  }
};

/// At rest: the solve ends where hardly anything moves, and Newton's method goes the rest of the way. The
/// derivatives are those of the equation that nothing moves, whatever the way was.
Cells at_rest(const Cascade& cascade) {
  const Cells inactive{array(0.), array(0.), array(0.), array(0.), array(0.)};
  const auto sol = diffeqsolve(ODETerm{cascade}, Rodas5P{}, 0., 1e6, {}, inactive,
                               {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6},
                                .events = {Event{SteadyState{.rtol = 1e-6, .atol = 1e-6}}}});
  const Cells near = tree_map([](const Array& a) { return a[-1]; }, sol.ys);
  return root_find([&](const Cells& y) { return cascade(0., y); }, Newton{.rtol = 1e-12, .atol = 1e-14}, near)
      .value;
}

Cascade with_signal(const Array& signal) { return {speeds.at(0).set(signal)}; }

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

/// The signal at which `active` passes a share of what it can be.
double signal_at(const Array& signals, const Array& active, double share) {
  const Array wanted = share * max(active);
  return interp(wanted, active, signals).item<double>();
}

void run() {
  const Array exponents = linspace(-1.2, 0., 1201), signals = exp(std::log(10.) * exponents);
  const Cells rest = jit(vmap([](const Array& s) { return at_rest(with_signal(s)); }))(signals);
  const Cells moves =
      vmap([](const Array& s, const Cells& y) { return with_signal(s)(0., y); })(signals, rest);
  for_each_leaf(moves, [](const Array& a) {
    require(max(abs(a)).item<double>() < 1e-10, "nothing moves, but for rounding");
  });

  const Array parts[] = {rest.first / totals[0], rest.second_2 / totals[1], rest.third_2 / totals[2]};
  double steepest = 0;
  for (const Array& part : parts) {
    const double steep =
        std::log(81) / std::log(signal_at(signals, part, 0.9) / signal_at(signals, part, 0.1));
    std::printf("from a tenth to nine tenths as steep as Hill's curve of exponent %.1f\n", steep);
    require(steep > steepest, "each kinase answers more steeply than the one before");
    steepest = steep;
  }

  // Control coefficients: by how many percent the active third kinase changes with one percent of a reaction.
  const auto control = [](const Array& s) {
    const Cascade cascade = with_signal(s);
    const auto log_active = [](const Array& log_v) { return log(at_rest({exp(log_v)}).third_2); };
    return jacrev(log_active)(log(cascade.v));
  };
  const Array coefficients = jit(vmap(control))(signals);
  // If all reactions become faster, nothing rests elsewhere: the summation theorem (Kacser and Burns 1973).
  const double off = max(abs(sum(coefficients, {1}))).item<double>();
  std::printf("control coefficients add up to 0, %.0e off\n", off);
  require(off < 1e-8, "control coefficients add up to 0");

  std::filesystem::create_directories("out");
  Figure answer{.title = "A cascade of kinases at rest", .ylabel = "active share", .height = 460};
  answer.line(exponents, parts[0], "first")
      .line(exponents, parts[1], "second")
      .line(exponents, parts[2], "third");
  Figure decides{.title = "Which reaction decides on the third kinase",
                 .xlabel = "signal, power of 10 (nM/s)",
                 .ylabel = "control coefficient",
                 .height = 460};
  const struct {
    int reaction;
    const char* name;
  } shown[] = {
      {0, "the signal"}, {2, "first to second"}, {5, "second off"}, {7, "second to third"}, {8, "third off"}};
  const auto near = range(400, 650);  // where it happens
  for (const auto& [reaction, name] : shown)
    decides.line(exponents[near], coefficients(near, reaction), name);
  save_stacked({answer, decides}, "out/kinases.png");
  std::puts("the figure is out/kinases.png");
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
