// Writes the canonical text of programs, a file each, into the directory given. The order in which a compiler
// evaluates operands must not show in them: this file is built with two compilers, and what it writes is
// compared (compare.py).

#include <fstream>
#include <iostream>
#include <string>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

struct Point {
  Array x, y;
};

Array energy(const Point& p, const Array& mass) { return sum(p.x * p.x) / mass + exp(p.y); }
Point decay(const Point& p) {
  return while_loop([](const Point& s) { return s.y > 0.1; },
                    [](const Point& s) {
                      return Point{s.x + s.y * cos(s.x), s.y * 0.5};
                    },
                    p);
}
Array running(const Array& xs) {
  return scan([](const Array& c, const Array& x) { return std::pair{c * 0.5 + x, c - x}; }, 0., xs).second;
}
Array operand_order(const Array& a, const Array& b) {
  return (sin(a) + cos(b)) * (exp(b) - sin(a)) + max(a) * sum(b);
}
Array branches(const Array& x) {
  return cond(
      sum(x) > 0., [](const Array& v) { return (v + exp(v)) * (cos(v) - v * v); },
      [](const Array& v) { return maximum(v * 2., sin(v)) / (exp(v) + abs(v)); }, x);
}

struct Lorenz {
  Array sigma, rho, beta;
  Array operator()(const Array&, const Array& y) const {
    auto [u, v, w] = unstack<3>(y);
    return stack({sigma * (v - u), u * (rho - w) - v, u * v - beta * w});
  }
};
Array solve(const Lorenz& model, const Array& ts) {
  return diffeqsolve(ODETerm{model}, Tsit5{}, ts[0], ts[-1], {}, ones({3}),
                     {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}, .saveat = {.ts = ts}})
      .ys;
}

std::string directory;

template <class F, class... A>
void write(const char* name, const F& f, const A&... args) {
  std::ofstream file(directory + "/" + name + ".txt");
  file << make_graph(f, args...) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + directory + "/" + name + ".txt");
}

void write_all() {
  const Point p{array({1., 2.}), array(0.7)};
  const Array x = array({1., 2., 3.}), weights = ones({3, 3});
  write("energy", energy, p, array(2.));
  write("energy_gradient", grad(energy), p, array(2.));
  write("decay", decay, p);
  write("decay_gradient", grad([](const Point& q) { return sum(decay(q).x); }), p);
  write("decay_lanes", vmap(decay), Point{array({1., 2.}), array({3., 0.5})});
  write("running_gradient", grad([](const Array& xs) { return sum(running(xs)); }), x);
  write("operand_order", operand_order, array({1., 2.}), array({3., 4.}));

  auto total = [](const Array& a, const Array& b) { return sum(operand_order(a, b)); };
  write("operand_order_hessian", hessian(total), x, x);
  write("branches_gradient", grad([](const Array& v) { return sum(branches(v)); }), x);
  write("branches_lanes", vmap(branches), weights);
  auto layers = [](const Array& w, const Array& v) {
    return sum(tanh(matmul(w, tanh(matmul(w, v) + v))) * v);
  };
  write("layers_gradient", value_and_grad<0, 1>(layers), weights, x);

  const Lorenz model{10., 28., 8. / 3.};
  const Array ts = array({0., 0.5, 1.});
  auto loss = [](const Lorenz& m, const Array& at) { return sum(square(solve(m, at))); };
  write("solve", solve, model, ts);
  write("solve_gradient", value_and_grad(loss), model, ts);
  write(
      "solve_tangent",
      [&](const Lorenz& m) { return jvp([&](const Lorenz& q) { return loss(q, ts); }, m, m); }, model);
  auto of_rho = [&](const Array& rho) { return solve({10., rho, 8. / 3.}, ts); };
  write("solve_lanes", vmap(of_rho), x);
  write("solve_lanes_gradient", grad([&](const Array& rho) { return sum(vmap(of_rho)(rho)); }), x);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: canonical DIRECTORY\n";
    return 2;
  }
  directory = argv[1];
  write_all();
}
