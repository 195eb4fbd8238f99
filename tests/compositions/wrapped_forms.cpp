// Forms that mean the block itself: functions compiled, recomputed, converted to values, or with rules that
// say what would be so anyway.

#include "compositions/forms.hpp"

namespace apsis::compositions {
namespace {

using ArrayCall = Call<Array>;
using TensorCall = Call<Tensor>;
using Function1 = Closure<Array(Array)>;

Tensor itself(const TensorCall& c) { return c.blocks[0]({c.in[0]})[0]; }

template <auto wrap>
Form wrapped(const char* name, bool forward = false, bool moves_captures = false) {
  Form form{name, choose_function, [](const ArrayCall& c) -> Array { return wrap(unary(c))(c.in[0]); },
            itself, 1};
  form.forward = forward;
  form.moves_captures = moves_captures;
  return form;
}

/// With rules for derivatives or batches, which a function has by its arguments only.
template <auto wrap>
Form ruled(const char* name, bool forward, bool reverse_only) {
  Form form = wrapped<wrap>(name, forward);
  form.closed = true;
  form.reverse_only = reverse_only;
  return form;
}

/// A block of two parameters, the second of any shape.
bool choose_pair(Random& random, const Shape& first, Plan& plan) {
  plan.others = {any_shape(random)};
  plan.result = any_shape(random);
  plan.blocks = {{{first, plan.others[0]}, {plan.result}}};
  return true;
}
auto binary(const ArrayCall& c) {
  return [f = c.blocks[0]](const Array& x, const Array& y) { return f({x, y})[0]; };
}
Tensor itself_of_two(const TensorCall& c) { return c.blocks[0]({c.in[0], c.in[1]})[0]; }

const auto apply = [](const Function1& f, const Array& x) { return f(x); };

const Form table[] = {
    wrapped<[](auto f) { return jit(f); }>("jit"),
    wrapped<[](auto f) { return checkpoint(f); }>("checkpoint"),
    wrapped<[](auto f) {
      return [f](const Array& x) {
        error_if(x < x, "less than itself: {0}", {x});
        Array y = f(x);
        error_if(any(y * 2. < y * 2.), "twice less than itself: {0} of {1}", {sin(y), x});
        return y;
      };
    }>("error_if"),
    wrapped<[](auto f) { return checkpoint(f, {.dots = true}); }>("checkpoint_dots"),
    wrapped<[](auto f) {
      return checkpoint(f, {.when = [](const Saveable& v) { return v.op == "sin" || v.op == "tanh"; }});
    }>("checkpoint_when"),

    // Rules.
    ruled<[](auto f) {
      // A rule's array of its own is part of the program.
      return custom_jvp(f, [f, one = array({1.})](const Array& x, const Array& dx) {
        const auto [y, dy] = jvp(f, x, dx);
        return std::pair{y, dy * astype(one[0], dy.dtype())};
      });
    }>("custom_jvp", true, false),
    ruled<[](auto f) {
      return custom_jvp(
          f,
          [f](const Array& x, const Array& dx) {
            auto [y, push] = linearize(f, x);
            return std::pair{y, push(dx)};
          },
          symbolic_zeros);
    }>("custom_jvp_linearized", true, false),
    {"custom_jvp_of_two", choose_pair,
     [](const ArrayCall& c) {
       auto f = binary(c);
       using Two = std::tuple<Array, Array>;
       return custom_jvp(f, [f](const Two& at, const Two& along) { return jvp(f, at, along); })(c.in[0],
                                                                                                c.in[1]);
     },
     itself_of_two, 1, 0, false, true, true},
    ruled<[](auto f) {
      return custom_vjp(
          f, [f](const Array& x) { return vjp(f, x); },
          [](const auto& pull, const Array& ct) { return std::get<0>(pull(ct)); });
    }>("custom_vjp", false, true),
    ruled<[](auto f) {
      return custom_vjp(
          f,
          [f](const Array& x) {
            return std::pair{f(x), x};
          },
          [f](const Array& x, const Array& ct) { return std::get<0>(vjp(f, x).second(ct)); });
    }>("custom_vjp_recomputed", false, true),
    {"custom_vjp_of_two", choose_pair,
     [](const ArrayCall& c) {
       auto f = binary(c);
       using Two = std::tuple<Array, Array>;
       return custom_vjp(
           f,
           [f](const auto&, const Array& x, const Array& y) {
             return std::pair{f(x, y), Two{x, y}};
           },
           [f](const auto& moving, const Two& at, const Array& ct) {
             const auto& [x, y] = at;
             auto [dx, dy] = vjp(f, x, y).second(ct);
             if (!std::get<0>(moving).template item<bool>()) dx = Array();
             if (!std::get<1>(moving).template item<bool>()) dy = Array();
             return Two{dx, dy};
           },
           symbolic_zeros)(c.in[0], c.in[1]);
     },
     itself_of_two, 1, 0, false, false, true, true},
    ruled<[](auto f) {
      return custom_batch(f, [f](std::int64_t, const Array&, const Array& x) { return vmap(f)(x); });
    }>("custom_batch", false, false),
    {"custom_batch_of_two", choose_pair,
     [](const ArrayCall& c) {
       auto f = binary(c);
       return custom_batch(f, [f](std::int64_t lanes, const auto& mapped, const Array& x, const Array& y) {
         const auto axis = [](const Array& flag) { return flag.item<bool>() ? AxisSpec(0) : AxisSpec(); };
         const auto& [of_x, of_y] = mapped;
         return vmap(f, {.in_axes = {axis(of_x), axis(of_y)}, .axis_size = lanes})(x, y);
       })(c.in[0], c.in[1]);
     },
     itself_of_two, 1, 0, false, false, true},

    // Functions as values.
    wrapped<[](auto f) { return [f](const Array& x) { return closure_convert(f, x)(x); }; }>("closure"),
    wrapped<[](auto f) { return [f](const Array& x) { return jit(apply)(closure_convert(f, x), x); }; }>(
        "closure_through_jit"),
    wrapped<[](auto f) {
      return [f](const Array& x) { return checkpoint(apply)(closure_convert(f, x), x); };
    }>("closure_through_checkpoint"),
    {"closure_through_loop", choose_function,
     [](const ArrayCall& c) {
       using State = std::tuple<Function1, Array, Array>;
       return std::get<2>(fori_loop(
           0, 2,
           [](const Array&, const State& s) {
             const auto& [f, x, y] = s;
             return State{f, x, f(x)};
           },
           State{closure_convert(unary(c), c.in[0]), c.in[0], zeros(c.step.shape, c.in[0].dtype())}));
     },
     itself, 1},
    {"closure_gradient", choose_gradient,
     [](const ArrayCall& c) { return grad<1>(apply)(closure_convert(unary(c), c.in[0]), c.in[0]); },
     [](const TensorCall& c) { return gradient(c.blocks[0], c.in[0]); }, 1, 1},
    wrapped<[](auto f) {
      return [f](const Array& x) {
        return custom_jvp(
            apply, [](const std::tuple<Function1, Array>& at, const std::tuple<Function1, Array>& along) {
              return jvp(apply, at, along);
            })(closure_convert(f, x), x);
      };
    }>("closure_with_rule", true, true),
};

}  // namespace

std::span<const Form> wrapped_forms() { return table; }

}  // namespace apsis::compositions
