// What leaves pointers to this library's code and constants behind, one function each.

#include "unload/plugin/plugin.hpp"
#include "apsis/ops/extend.hpp"

namespace {

using namespace apsis;

Array twice_on_host(const Array& y) { return 2. * y; }
Array cubed(const Array& x) { return x * x * x; }

struct Pair {
  Array first;
  std::vector<Array> rest;
};

void same_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out.push_back(in[0]); }
void negate(const Params&, std::span<const Array> in, std::span<Array> out) {
  for (std::int64_t i = 0; i < in[0].size(); ++i)
    mutable_data<double>(out[0])[i] = -in[0].span<double>()[static_cast<std::size_t>(i)];
}
struct Note {
  std::string text = "of the plugin";
  static void each(auto& self, auto&& visit) { visit("text", self.text); }
};
const Op own_op = {.name = "unload.negate", .kind = OpKind::Index, .shape = same_shape, .evaluate = negate};

}  // namespace

extern "C" {

void plain() {}

void callback() {
  const std::vector<double> table{1., 2.};
  auto f = pure_callback([table](const Array& y) { return table[1] * y; }, Array(1.));
  jit([f](const Array& x) { return f(x) + 1.; })(3.);
  jit([](const Array& x) { return pure_callback(twice_on_host, Array(1.))(x); })(3.);
  jit([](const Array& x) {
    debug::print("x = {}", x);
    return x;
  })(3.);
}

void rules() {
  auto f = custom_jvp([](const Array& x) { return sin(x); },
                      [](const Array& x, const Array& dx) {
                        return std::pair{sin(x), cos(x) * dx};
                      });
  auto g = custom_vjp([](const Array& x) { return sin(x); },
                      [](const Array& x) {
                        return std::pair{sin(x), Pair{x, {x}}};
                      },
                      [](const Pair& kept, const Array& ct) { return ct * cos(kept.first); });
  jit(grad([=](const Array& x) { return f(x) + g(x); }))(1.);
  jit([=](const Array& x) { return f(x) * g(x); })(1.);
}

void loops() {
  const Array start = linspace(0., 1., 5);
  fori_loop(
      0, 3, [](const Array&, const Array& x) { return sin(x); }, start);
  jit(vmap([](const Array& x) { return while_loop([](const Array& s) { return s < 2.; }, cubed, 1.1 + x); }))(
      start);
}

void results_of_its_types() {
  jit([](const Array& x, const Static<std::vector<std::string>>&) {
    return Pair{x, {x, x}};
  })(1., Static<std::vector<std::string>>{{"a", "b"}});
}

void own_op_in_program() {
  static const bool registered = (register_op(own_op), true);
  (void)registered;
  jit([](const Array& x) { return bind1(own_op, make_params(Note{}), {x}); })(ones({3}));
}

void call_jitted(const plugin::Function& f) { f(2.5); }

void make_closure(plugin::Line& line) {
  const Array a = array(3.);
  line = closure_convert([a](const Array& x) { return a * x; }, Array(1.));
}
}
