// Loops and branches that carry several values, and solves of differential equations: the control flow of
// users' programs. Their plans are made by generate_nest, which knows what they stand in.

#include <algorithm>
#include <stdexcept>

#include "compositions/forms.hpp"

namespace apsis::compositions {
namespace {

using ArrayCall = Call<Array>;
using TensorCall = Call<Tensor>;
using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;

constexpr double bound = 0.6180339, threshold = 0.0123;  // of decisions; far from what constants give

std::int64_t whole(const Step& step, std::size_t at) {
  return static_cast<std::int64_t>(step.numbers.at(at));
}

template <class V>
std::vector<V> without_last(const std::vector<V>& all) {
  return {all.begin(), all.end() - 1};
}
template <class V>
std::vector<V> with_first(const V& first, const std::vector<V>& rest) {
  std::vector<V> all{first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}
Tensor integer(std::int64_t value) { return {{}, {Number(static_cast<long double>(value))}, true}; }

/// Trips of loops: numbers[0] at most, numbers[3] for each that the operand says, and numbers[4].
Array trips_of(const ArrayCall& c) {
  return minimum(as_index(c.in.back()) * whole(c.step, 3) + whole(c.step, 4), whole(c.step, 0));
}
std::int64_t trips_of(const TensorCall& c) {
  return std::min(as_index(c.in.back()) * whole(c.step, 3) + whole(c.step, 4), whole(c.step, 0));
}

/// The first trip to come, then the carry.
Arrays run_while(const ArrayCall& c) {
  const Array trips = trips_of(c);
  const std::int64_t kind = whole(c.step, 1), most = whole(c.step, 0);
  Arrays end = while_loop(
      [&](const Arrays& s) {
        const Array more = s[0] < trips;
        return kind == 1 ? more && mean(s[1]) < bound : more;
      },
      [&](const Arrays& s) { return with_first(s[0] + 1, c.blocks[0](s)); },
      with_first(array(std::int64_t{0}), without_last(c.in)),
      {.max_steps = kind == 2 ? most : -1,
       .kind = loop_kind(c.step, whole(c.step, 2)),
       .checkpoints = whole(c.step, 2)});
  return {end.begin() + 1, end.end()};
}
Tensors repeat(const TensorCall& c, std::int64_t trips, bool bounded) {
  Tensors carry = without_last(c.in);
  for (std::int64_t i = 0; i < trips; ++i) {
    if (bounded) {
      Number sum(0);
      for (const Number& e : carry[0].elements) sum = sum + e;
      const long double n = static_cast<long double>(carry[0].elements.size());
      if (!less(sum * Number(1 / n), Number(bound))) break;
    }
    carry = c.blocks[0](with_first(integer(i), carry));
  }
  return carry;
}

Arrays run_fori(const ArrayCall& c) {
  const Array trips = c.step.numbers[1] != 0 ? trips_of(c) : Array(whole(c.step, 0));
  return fori_loop(0, trips, [&](const Array& i, const Arrays& s) { return c.blocks[0](with_first(i, s)); },
                   without_last(c.in), {.checkpoints = whole(c.step, 2)});
}

/// Operands are the carry and what is scanned, results the carry and what was stacked.
Arrays run_scan(const ArrayCall& c) {
  auto [end, ys] = scan(
      [&](const Arrays& carry, const Array& x) {
        Arrays in = carry;
        in.push_back(x);
        Arrays next = c.blocks[0](in);
        const Array y = next.back();
        next.pop_back();
        return std::pair{next, y};
      },
      without_last(c.in), c.in.back(), {.reverse = c.step.numbers[0] != 0, .checkpoints = whole(c.step, 1)});
  Arrays all = end;
  all.push_back(ys);
  return all;
}
Tensors scan_of(const TensorCall& c) {
  const std::int64_t n = c.in.back().shape[0];
  Tensors carry = without_last(c.in), ys(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = c.step.numbers[0] != 0 ? n - 1 - k : k;
    carry.push_back(entry_of(c.in.back(), 0, i));
    carry = c.blocks[0](carry);
    ys[static_cast<std::size_t>(i)] = carry.back();
    carry.pop_back();
  }
  carry.push_back(stacked(ys, 0));
  return carry;
}

/// By an integer's last bit, or whether a number is above the threshold.
Arrays run_cond(const ArrayCall& c) {
  const Array& by = c.in.back();
  return cond(is_integer(by.dtype()) ? by % 2 == 0 : by > threshold, c.blocks[0], c.blocks[1],
              without_last(c.in));
}
Tensors cond_of(const TensorCall& c) {
  const Tensor& by = c.in.back();
  const bool first = by.index ? as_index(by) % 2 == 0 : less(Number(threshold), by.elements[0]);
  return c.blocks[first ? 0 : 1](without_last(c.in));
}
Arrays run_switch(const ArrayCall& c) {
  return switch_(as_index(c.in.back()), std::tuple{c.blocks[0], c.blocks[1], c.blocks[2]},
                 without_last(c.in));
}
Tensors switch_of(const TensorCall& c) {
  return c.blocks[static_cast<std::size_t>(std::min<std::int64_t>(as_index(c.in.back()), 2))](
      without_last(c.in));
}

// Solves of y' = block(t, y) from 0 to numbers[2] + numbers[3]·tanh(p), in steps of numbers[4]. Numbers:
// method, whether the steps are adaptive, …, checkpoints, how many times are saved (0: the end).

const RungeKutta& method_of(const Step& step) {
  const RungeKutta* const all[] = {&Euler::method(), &Heun::method(), &Bosh3::method(), &Tsit5::method(),
                                   &Dopri5::method()};
  return *all[whole(step, 0)];
}
template <class S>
Array solved(const ArrayCall& c, S solver) {
  const auto& n = c.step.numbers;
  const Dtype dtype = c.in[0].dtype();
  const Array t1 = n[2] + n[3] * tanh(c.in[1]);
  SolveOptions options{.throw_ = false, .checkpoints = whole(c.step, 5)};
  if (n[1] != 0) options.controller = PIDController{.rtol = 1e-3, .atol = 1e-3};
  if (n[6] != 0) {
    options.saveat.ts = astype(linspace(0.1, n[2] - std::abs(n[3]) - 0.01, whole(c.step, 6)), dtype);
    options.max_steps = 300;
  }
  const auto field = [&](const Array& t, const Array& y) { return c.blocks[0]({astype(t, dtype), y})[0]; };
  const Array ys =
      diffeqsolve(ODETerm{field}, solver, astype(Array(0.), dtype), t1, n[4], c.in[0], options).ys;
  return n[6] != 0 ? ys : ys[0];
}
Array run_solve(const ArrayCall& c) {
  switch (whole(c.step, 0)) {
    case 0:
      return solved(c, Euler{});
    case 1:
      return solved(c, Heun{});
    case 2:
      return solved(c, Bosh3{});
    case 3:
      return solved(c, Tsit5{});
    default:
      return solved(c, Dopri5{});
  }
}
/// One step of an explicit method.
Tensor stepped(const RungeKutta& method, const Function<Tensor>& f, const Number& t, const Number& h,
               Tensor y) {
  Tensors k;
  for (std::size_t i = 0; i < method.stages(); ++i) {
    Tensor at = y;
    for (std::size_t j = 0; j < i; ++j)
      for (std::size_t e = 0; e < at.elements.size(); ++e)
        at.elements[e] = at.elements[e] + h * Number(method.a[i][j]) * k[j].elements[e];
    k.push_back(f({{{}, {t + Number(method.c[i]) * h}}, at})[0]);
  }
  for (std::size_t i = 0; i < k.size(); ++i)
    for (std::size_t e = 0; e < y.elements.size(); ++e)
      y.elements[e] = y.elements[e] + h * Number(method.b[i]) * k[i].elements[e];
  return y;
}
Tensor solve_of(const TensorCall& c) {
  const auto& n = c.step.numbers;
  if (n[1] != 0 || n[6] != 0) throw NoOracle{};
  const Number t1 = Number(n[2]) + Number(n[3]) * tanh(c.in[1].elements[0]);
  Tensor y = c.in[0];
  for (Number t(0); t.value() < t1.value();) {
    Number end = t + Number(n[4]);
    if (std::abs(end.value() - t1.value()) < 1e-9L) account.ambiguous = true;
    if (end.value() > t1.value()) end = t1;
    y = stepped(method_of(c.step), c.blocks[0], t, end - t, y);
    t = end;
  }
  return y;
}

Form several(const char* name, Arrays (*run)(const ArrayCall&), Tensors (*oracle)(const TensorCall&)) {
  Form form{name, nullptr, nullptr, nullptr};
  form.run_all = run;
  form.oracle_all = oracle;
  return form;
}

const Form table[] = {
    several("while_all", run_while,
            [](const TensorCall& c) { return repeat(c, trips_of(c), c.step.numbers[1] == 1); }),
    several("fori_all", run_fori,
            [](const TensorCall& c) {
              return repeat(c, c.step.numbers[1] != 0 ? trips_of(c) : whole(c.step, 0), false);
            }),
    several("scan_all", run_scan, scan_of),
    several("cond_all", run_cond, cond_of),
    several("switch_all", run_switch, switch_of),
    {"solve", nullptr, run_solve, solve_of},
};

}  // namespace

std::span<const Form> nest_forms() { return table; }

}  // namespace apsis::compositions
