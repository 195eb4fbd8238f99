#include "compositions/forms.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace apsis::compositions {
namespace {

using ArrayCall = Call<Array>;
using TensorCall = Call<Tensor>;

/// How a vmap's loops run; number `at` of the step, if it has so many.
LaneLoops loops_of(const Step& step, std::size_t at) {
  return at < step.numbers.size() ? static_cast<LaneLoops>(step.numbers[at]) : LaneLoops::Automatic;
}

// The oracle's derivatives.

Number dot(const Tensor& a, const Tensor& b) {
  Number sum(0);
  for (std::size_t i = 0; i < a.elements.size(); ++i) sum = sum + a.elements[i] * b.elements[i];
  return sum;
}

/// The derivative of each element of f(x) by each of x.
Tensor jacobian(const Function<Tensor>& f, const Tensor& x) {
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    Unit e;
    columns.push_back(e.slope(f({e.along(x, i)})[0]));
  }
  Tensor r{columns[0].shape, {}};
  for (std::int64_t n : x.shape) r.shape.push_back(n);
  for (std::size_t row = 0; row < columns[0].elements.size(); ++row)
    for (const Tensor& column : columns) r.elements.push_back(column.elements[row]);
  return r;
}

Tensor scalar(long double value) { return {{}, {Number(value)}}; }

// What lanes do with each other's values.

constexpr std::int64_t collectives = 8;

Array with_others(const Array& y, int kind, const AxisNames& axis, std::int64_t lanes) {
  // Entry k: (k + 1) y.
  const auto multiples = [&] {
    std::vector<Array> entries;
    for (std::int64_t k = 1; k <= lanes; ++k) entries.push_back(static_cast<double>(k) * y);
    return stack(entries);
  };
  switch (kind) {
    case 0:
      return y - pmean(y, axis);
    case 1:
      return 0.5 * psum(y, axis);
    case 2:
      return pmax(y, axis);
    case 3:
      return pmin(y, axis);
    case 4:
      return y * all_gather(y, axis)[0];
    case 5: {
      std::vector<std::pair<int, int>> pairs;
      for (int k = 0; k + 1 < lanes; ++k) pairs.emplace_back(k, k + 1);
      return ppermute(y, axis, pairs);
    }
    case 6:
      return psum_scatter(multiples(), axis);
    default:
      return sum(all_to_all(multiples(), axis, 0, 0), {.axis = 0});
  }
}

template <class Combine>
Tensor combined(Tensor a, const Tensor& b, const Combine& combine) {
  for (std::size_t i = 0; i < a.elements.size(); ++i) a.elements[i] = combine(a.elements[i], b.elements[i]);
  return a;
}
std::vector<Tensor> with_others(const std::vector<Tensor>& lanes, int kind) {
  using N = const Number&;
  const auto n = static_cast<long double>(lanes.size());
  const auto over_all = [&](Number (*combine)(N, N)) {
    Tensor r = lanes[0];
    for (std::size_t k = 1; k < lanes.size(); ++k) r = combined(r, lanes[k], combine);
    return r;
  };
  const auto times = [](Tensor x, long double factor) {
    for (Number& e : x.elements) e = e * Number(factor);
    return x;
  };
  const Tensor total = over_all([](N a, N b) { return a + b; });
  std::vector<Tensor> results;
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    const auto place = static_cast<long double>(k + 1);
    switch (kind) {
      case 0:
        results.push_back(combined(lanes[k], times(total, 1 / n), [](N a, N b) { return a - b; }));
        break;
      case 1:
        results.push_back(times(total, 0.5L));
        break;
      case 2:
        results.push_back(over_all([](N a, N b) { return less(a, b) ? b : a; }));
        break;
      case 3:
        results.push_back(over_all([](N a, N b) { return less(b, a) ? b : a; }));
        break;
      case 4:
        results.push_back(combined(lanes[k], lanes[0], [](N a, N b) { return a * b; }));
        break;
      case 5:
        results.push_back(k == 0 ? times(lanes[0], 0) : lanes[k - 1]);
        break;
      default:
        results.push_back(times(total, place));
    }
  }
  return results;
}

// Choices that several forms share.

constexpr std::int64_t most_differentiated = 6;  // elements: the oracle runs a block for each

bool choose_tangent(Random& random, const Shape& first, Plan& plan) {
  plan.others = {first};
  return choose_function(random, first, plan);
}
bool choose_jacobian(Random& random, const Shape& first, Plan& plan) {
  choose_function(random, first, plan);
  if (first.product() > most_differentiated || plan.result.product() > most_differentiated ||
      first.size() + plan.result.size() > 3)
    return false;
  for (std::int64_t n : first) plan.result.push_back(n);
  return true;
}
/// The states that reverse mode may keep of a loop; 0: all. It is the third number of a loop, where there is
/// one.
double budget(Random& random) { return static_cast<double>(random.chance(40) ? 2 + random.below(3) : 0); }
std::int64_t checkpoints(const Step& step) {
  return step.numbers.size() > 2 ? static_cast<std::int64_t>(step.numbers[2]) : 0;
}
bool choose_loop(Random& random, const Shape& first, Plan& plan) {
  plan.others = {any_shape(random), Shape{}};
  plan.result = first;
  plan.numbers = {static_cast<double>(1 + random.below(5)), static_cast<double>(random.below(2)),
                  budget(random)};
  plan.blocks = {{{Shape{}, first, plan.others[0]}, {first, plan.others[0]}}};
  return true;
}

constexpr double bound = 2.71828, threshold = 0.0123;  // of decisions; far from what constants give

constexpr double scales[] = {0.5, 1., -0.75}, shares[] = {0.5, -0.25, 0.25};

const Form table[] = {
    // A function that is called at several places: what is derived of it is shared.
    {"called_often", choose_function,
     [](const ArrayCall& c) {
       const auto f = jit(unary(c));
       Array total = f(c.in[0] * scales[0]) * shares[0];
       for (const std::size_t k : {1, 2}) total = total + f(c.in[0] * scales[k]) * shares[k];
       return total;
     },
     [](const TensorCall& c) {
       const auto times = [](Tensor x, long double factor) {
         for (Number& e : x.elements) e = e * Number(factor);
         return x;
       };
       const auto term = [&](std::size_t k) {
         return times(c.blocks[0]({times(c.in[0], scales[k])})[0], shares[k]);
       };
       const auto sum = [](const Number& a, const Number& b) { return a + b; };
       return combined(combined(term(0), term(1), sum), term(2), sum);
     },
     1},
    // Derivatives.
    {"grad", choose_gradient, [](const ArrayCall& c) { return grad(unary(c))(c.in[0]); },
     [](const TensorCall& c) { return gradient(c.blocks[0], c.in[0]); }, 1, 1},
    {"value_times_grad", choose_gradient,
     [](const ArrayCall& c) {
       auto [value, slope] = value_and_grad(unary(c))(c.in[0]);
       return value * slope;
     },
     [](const TensorCall& c) {
       Tensor r = gradient(c.blocks[0], c.in[0]);
       const Number value = c.blocks[0]({c.in[0]})[0].elements[0];
       for (Number& e : r.elements) e = value * e;
       return r;
     },
     1, 1},
    {"vjp",
     [](Random& random, const Shape& first, Plan& plan) {
       choose_function(random, first, plan);
       plan.others = {plan.result};
       plan.result = first;
       return first.product() <= most_differentiated;
     },
     [](const ArrayCall& c) {
       auto [value, pull] = vjp(unary(c), c.in[0]);
       return std::get<0>(pull(c.in[1]));
     },
     [](const TensorCall& c) {
       return gradient(
           [&](std::vector<Tensor> x) {
             return std::vector{Tensor{{}, {dot(c.blocks[0](x)[0], c.in[1])}}};
           },
           c.in[0]);
     },
     1, 1},
    {"jvp", choose_tangent, [](const ArrayCall& c) { return jvp(unary(c), c.in[0], c.in[1]).second; },
     [](const TensorCall& c) {
       Unit e;
       return e.slope(c.blocks[0]({e.along(c.in[0], c.in[1])})[0]);
     },
     1, 1, false, true},
    {"linearize", choose_tangent,
     [](const ArrayCall& c) {
       auto [value, push] = linearize(unary(c), c.in[0]);
       return push(c.in[1]) + value;
     },
     [](const TensorCall& c) {
       Tensor value = c.blocks[0]({c.in[0]})[0];
       Unit e;
       const Tensor slope = e.slope(c.blocks[0]({e.along(c.in[0], c.in[1])})[0]);
       for (std::size_t i = 0; i < value.elements.size(); ++i)
         value.elements[i] = value.elements[i] + slope.elements[i];
       return value;
     },
     1, 1, false, true},
    {"jacfwd", choose_jacobian, [](const ArrayCall& c) { return Array(jacfwd(unary(c))(c.in[0])); },
     [](const TensorCall& c) { return jacobian(c.blocks[0], c.in[0]); }, 1, 1, false, true},
    {"jacrev", choose_jacobian, [](const ArrayCall& c) { return Array(jacrev(unary(c))(c.in[0])); },
     [](const TensorCall& c) { return jacobian(c.blocks[0], c.in[0]); }, 1, 1},
    {"hessian",
     [](Random&, const Shape& first, Plan& plan) {
       plan.result = first;
       for (std::int64_t n : first) plan.result.push_back(n);
       plan.blocks = {{{first}, {Shape{}}}};
       return first.product() <= 3;
     },
     [](const ArrayCall& c) { return Array(hessian(unary(c))(c.in[0])); },
     [](const TensorCall& c) {
       return jacobian([&](std::vector<Tensor> x) { return std::vector{gradient(c.blocks[0], x[0])}; },
                       c.in[0]);
     },
     1, 2, false, true},

    // Many at once.
    {"vmap",
     [](Random& random, const Shape& first, Plan& plan) {
       if (first.empty()) return false;
       const auto in_axis = static_cast<std::size_t>(random.below(first.rank()));
       Shape one = first;
       one.erase(in_axis);
       plan.result = any_shape(random);
       plan.blocks = {{{one}, {plan.result}}};
       const auto out_axis = static_cast<std::size_t>(random.below(plan.result.rank() + 1));
       plan.result.insert(out_axis, first[in_axis]);
       plan.numbers = {static_cast<double>(in_axis), static_cast<double>(out_axis),
                       static_cast<double>(random.below(3))};
       return plan.result.product() <= 100;
     },
     [](const ArrayCall& c) {
       const auto in = static_cast<int>(c.step.numbers[0]), out = static_cast<int>(c.step.numbers[1]);
       return vmap(unary(c), {.in_axes = {in}, .out_axes = out, .loops = loops_of(c.step, 2)})(c.in[0]);
     },
     [](const TensorCall& c) {
       const auto in = static_cast<std::size_t>(c.step.numbers[0]),
                  out = static_cast<std::size_t>(c.step.numbers[1]);
       std::vector<Tensor> lanes;
       for (std::int64_t i = 0; i < c.in[0].shape[in]; ++i)
         lanes.push_back(c.blocks[0]({entry_of(c.in[0], in, i)})[0]);
       return stacked(lanes, out);
     },
     1},
    {"sequential_map",  // number: entries at a time
     [](Random& random, const Shape& first, Plan& plan) {
       if (first.empty()) return false;
       Shape one = first;
       one.erase(0);
       plan.result = any_shape(random);
       plan.blocks = {{{one}, {plan.result}}};
       plan.result.insert(0, first[0]);
       plan.numbers = {static_cast<double>(random.below(3))};
       return plan.result.product() <= 100;
     },
     [](const ArrayCall& c) {
       return sequential_map(unary(c), c.in[0], {.batch_size = static_cast<std::int64_t>(c.step.numbers[0])});
     },
     [](const TensorCall& c) {
       std::vector<Tensor> entries;
       for (std::int64_t i = 0; i < c.in[0].shape[0]; ++i)
         entries.push_back(c.blocks[0]({entry_of(c.in[0], 0, i)})[0]);
       return stacked(entries, 0);
     },
     1},
    {"vmap_with_shared",
     [](Random& random, const Shape& first, Plan& plan) {
       if (first.empty()) return false;
       Shape one = first;
       one.erase(0);
       plan.others = {any_shape(random)};
       plan.result = any_shape(random);
       plan.blocks = {{{one, plan.others[0]}, {plan.result}}};
       plan.result.insert(0, first[0]);
       plan.numbers = {static_cast<double>(random.below(3))};
       return plan.result.product() <= 100;
     },
     [](const ArrayCall& c) {
       auto f = [g = c.blocks[0]](const Array& x, const Array& shared) { return g({x, shared})[0]; };
       return vmap(f, {.in_axes = {0, {}}, .loops = loops_of(c.step, 0)})(c.in[0], c.in[1]);
     },
     [](const TensorCall& c) {
       std::vector<Tensor> lanes;
       for (std::int64_t i = 0; i < c.in[0].shape[0]; ++i)
         lanes.push_back(c.blocks[0]({entry_of(c.in[0], 0, i), c.in[1]})[0]);
       return stacked(lanes, 0);
     },
     1},

    {"vmap_with_collective",  // number: which
     [](Random& random, const Shape& first, Plan& plan) {
       if (first.empty() || first[0] > 6) return false;
       Shape one = first;
       one.erase(0);
       plan.result = any_shape(random);
       plan.blocks = {{{one}, {plan.result}}};
       plan.result.insert(0, first[0]);
       plan.numbers = {static_cast<double>(random.below(collectives))};
       return plan.result.product() <= 60;
     },
     [](const ArrayCall& c) {
       // Axes around each other have different names.
       const std::string axis = "lane" + std::to_string(c.step.name);
       const auto each = [&](const Array& x) {
         return with_others(c.blocks[0]({x})[0], static_cast<int>(c.step.numbers[0]), axis, c.in[0].dim(0));
       };
       return vmap(each, {.axis_name = axis})(c.in[0]);
     },
     [](const TensorCall& c) {
       std::vector<Tensor> lanes;
       for (std::int64_t i = 0; i < c.in[0].shape[0]; ++i)
         lanes.push_back(c.blocks[0]({entry_of(c.in[0], 0, i)})[0]);
       return stacked(with_others(lanes, static_cast<int>(c.step.numbers[0])), 0);
     },
     1},

    // Branches.
    {"cond",
     [](Random& random, const Shape& first, Plan& plan) {
       plan.others = {Shape{}};
       plan.result = any_shape(random);
       plan.blocks.assign(2, {{first}, {plan.result}});
       return true;
     },
     [](const ArrayCall& c) { return cond(c.in[1] > threshold, unary(c, 0), unary(c, 1), c.in[0]); },
     [](const TensorCall& c) {
       return c.blocks[less(Number(threshold), c.in[1].elements[0]) ? 0 : 1]({c.in[0]})[0];
     }},
    {"switch",
     [](Random& random, const Shape& first, Plan& plan) {
       plan.others = {Shape{}};
       plan.result = any_shape(random);
       plan.blocks.assign(3, {{first}, {plan.result}});
       return true;
     },
     [](const ArrayCall& c) {
       return switch_(places(c.in[1]), std::tuple{unary(c, 0), unary(c, 1), unary(c, 2)}, c.in[0]);
     },
     [](const TensorCall& c) {
       const auto branch = std::min<std::int64_t>(place(c.in[1].elements[0]), 2);
       return c.blocks[static_cast<std::size_t>(branch)]({c.in[0]})[0];
     }},

    // Loops. The body gets a quarter of the number of its trip before the carry.
    {"while", choose_loop,
     [](const ArrayCall& c) {
       using State = std::vector<Array>;
       const Array trips = minimum(places(c.in[2]), static_cast<std::int64_t>(c.step.numbers[0]));
       const Dtype dtype = c.in[0].dtype();
       State end = while_loop(
           [&](const State& s) {
             const Array more = s[0] < trips;
             return c.step.numbers[1] != 0 ? more && sum(s[1]) < bound : more;
           },
           [&](const State& s) {
             const std::vector<Array> next = c.blocks[0]({astype(s[0], dtype) * 0.25, s[1], s[2]});
             return State{s[0] + 1, next[0], next[1]};
           },
           State{array(std::int64_t{0}), c.in[0], c.in[1]},
           {.kind = loop_kind(c.step, checkpoints(c.step)), .checkpoints = checkpoints(c.step)});
       return end[1];
     },
     [](const TensorCall& c) {
       const auto trips = std::min(place(c.in[2].elements[0]), static_cast<std::int64_t>(c.step.numbers[0]));
       Tensor a = c.in[0], b = c.in[1];
       for (std::int64_t i = 0; i < trips; ++i) {
         const Number sum = std::accumulate(a.elements.begin(), a.elements.end(), Number(0));
         if (c.step.numbers[1] != 0 && !less(sum, Number(bound))) break;
         const auto next = c.blocks[0]({scalar(0.25L * static_cast<long double>(i)), a, b});
         a = next[0];
         b = next[1];
       }
       return a;
     },
     0, 0, true},
    {"fori",
     [](Random& random, const Shape& first, Plan& plan) {
       choose_loop(random, first, plan);
       return true;
     },
     [](const ArrayCall& c) {
       using State = std::pair<Array, Array>;
       const Dtype dtype = c.in[0].dtype();
       const auto most = static_cast<std::int64_t>(c.step.numbers[0]);
       const Array trips = c.step.numbers[1] != 0 ? minimum(places(c.in[2]), most) : Array(most);
       return fori_loop(
                  0, trips,
                  [&](const Array& i, const State& s) {
                    const std::vector<Array> next = c.blocks[0]({astype(i, dtype) * 0.25, s.first, s.second});
                    return State{next[0], next[1]};
                  },
                  State{c.in[0], c.in[1]})
           .first;
     },
     [](const TensorCall& c) {
       const auto most = static_cast<std::int64_t>(c.step.numbers[0]);
       const auto trips = c.step.numbers[1] != 0 ? std::min(place(c.in[2].elements[0]), most) : most;
       Tensor a = c.in[0], b = c.in[1];
       for (std::int64_t i = 0; i < trips; ++i) {
         const auto next = c.blocks[0]({scalar(0.25L * static_cast<long double>(i)), a, b});
         a = next[0];
         b = next[1];
       }
       return a;
     },
     0, 0, true},
    {"scan",  // numbers: whether from the end, whether the result is what was stacked
     [](Random& random, const Shape& first, Plan& plan) {
       if (first.empty()) return false;
       Shape entry = first, carry = any_shape(random), y = any_shape(random);
       entry.erase(0);
       plan.others = {carry};
       plan.numbers = {static_cast<double>(random.below(2)), static_cast<double>(random.below(2)),
                       budget(random)};
       plan.blocks = {{{carry, entry}, {carry, y}}};
       plan.result = carry;
       if (plan.numbers[1] != 0) {
         plan.result = y;
         plan.result.insert(0, first[0]);
       }
       return plan.result.product() <= 100;
     },
     [](const ArrayCall& c) {
       auto [end, ys] = scan(
           [&](const Array& carry, const Array& x) {
             const std::vector<Array> next = c.blocks[0]({carry, x});
             return std::pair{next[0], next[1]};
           },
           c.in[1], c.in[0], {.reverse = c.step.numbers[0] != 0, .checkpoints = checkpoints(c.step)});
       return c.step.numbers[1] != 0 ? ys : end;
     },
     [](const TensorCall& c) {
       const std::int64_t n = c.in[0].shape[0];
       Tensor carry = c.in[1];
       std::vector<Tensor> ys(static_cast<std::size_t>(n));
       for (std::int64_t k = 0; k < n; ++k) {
         const std::int64_t i = c.step.numbers[0] != 0 ? n - 1 - k : k;
         const auto next = c.blocks[0]({carry, entry_of(c.in[0], 0, i)});
         carry = next[0];
         ys[static_cast<std::size_t>(i)] = next[1];
       }
       return c.step.numbers[1] != 0 ? stacked(ys, 0) : carry;
     },
     0, 0, true},
};

// Running blocks: the same for Apsis and the oracle.

struct OfArrays {
  using Value = Array;
  Dtype dtype;
  Array constant(const Shape& shape, double number) const { return full(shape, number, dtype); }
  Array ramp(const Shape& shape, double first, double step) const {
    return astype(reshape(first + step * arange(static_cast<double>(shape.product())), shape), dtype);
  }
  Array apply(const ArrayOp& op, std::span<const Array> in, const Step& s) const {
    return run(op, in, s.numbers);
  }
  std::vector<Array> apply(const Form& form, const Call<Array>& call) const {
    return form.run_all ? form.run_all(call) : std::vector{form.run(call)};
  }
};
struct OfTensors {
  using Value = Tensor;
  Tensor constant(const Shape& shape, double number) const {
    return {shape, std::vector<Number>(static_cast<std::size_t>(shape.product()), Number(number))};
  }
  Tensor ramp(const Shape& shape, double first, double step) const {
    Tensor r{shape, {}};
    for (std::int64_t i = 0; i < shape.product(); ++i)
      r.elements.push_back(Number(first + step * static_cast<double>(i)));
    return r;
  }
  Tensor apply(const ArrayOp& op, std::span<const Tensor> in, const Step& s) const {
    return evaluate(op, in, s.numbers);
  }
  std::vector<Tensor> apply(const Form& form, const Call<Tensor>& call) const {
    return form.oracle_all ? form.oracle_all(call) : std::vector{form.oracle(call)};
  }
};

/// Values by name, those of the blocks around included.
template <class V>
class Scope {
 public:
  explicit Scope(const Scope* around) : around_(around) {}
  void set(int name, V value) { values_.emplace_back(name, std::move(value)); }
  const V& get(int name) const {
    for (const auto& [known, value] : values_)
      if (known == name) return value;
    if (!around_) throw std::runtime_error("there is no value v" + std::to_string(name));
    return around_->get(name);
  }
  std::vector<V> get(const std::vector<int>& names) const {
    std::vector<V> found;
    for (int name : names) found.push_back(get(name));
    return found;
  }

 private:
  const Scope* around_;
  std::vector<std::pair<int, V>> values_;
};

template <class Meaning, class V = typename Meaning::Value>
std::vector<V> call(const Meaning& meaning, const Block& block, const std::vector<V>& arguments,
                    const Scope<V>* around = nullptr) {
  Scope<V> scope(around);
  for (std::size_t i = 0; i < arguments.size(); ++i) scope.set(block.parameters[i].name, arguments[i]);
  for (const Step& s : block.steps) {
    std::vector<V> in = scope.get(s.operands);
    if (s.op == "constant") {
      scope.set(s.name, meaning.constant(s.shape, s.numbers[0]));
    } else if (s.op == "ramp") {
      scope.set(s.name, meaning.ramp(s.shape, s.numbers[0], s.numbers[1]));
    } else if (const ArrayOp* op = find_array_op(s.op)) {
      scope.set(s.name, meaning.apply(*op, in, s));
    } else if (const Form* form = find_form(s.op)) {
      std::vector<Function<V>> blocks;
      // Rules run when this call is over: what they hold must not point into it.
      for (const Block& b : s.blocks)
        blocks.push_back([meaning, &b, scope = form->closed ? nullptr : &scope](std::vector<V> args) {
          return call(meaning, b, args, scope);
        });
      std::vector<V> results = meaning.apply(*form, Call<V>{s, in, blocks});
      scope.set(s.name, results[0]);
      for (std::size_t i = 0; i < s.more.size(); ++i) scope.set(s.more[i].name, results.at(i + 1));
    } else {
      throw std::runtime_error("there is no op " + s.op);
    }
  }
  return scope.get(block.results);
}

}  // namespace

Unit::Unit() : bit_(account.order++) {
  if (account.order > max_order) throw std::logic_error("derivatives of a higher order than the oracle's");
}
Tensor Unit::along(Tensor x, const Tensor& direction) const {
  for (std::size_t i = 0; i < x.elements.size(); ++i)
    for (std::size_t m = 0; m < mask(); ++m) x.elements[i].c[m | mask()] += direction.elements[i].c[m];
  return x;
}
Tensor Unit::along(Tensor x, std::size_t element) const {
  x.elements[element].c[mask()] += 1;
  return x;
}
Number Unit::slope(const Number& x) const {
  Number r;
  for (std::size_t m = 0; m < mask(); ++m) r.c[m] = x.c[m | mask()];
  return r;
}
Tensor Unit::slope(Tensor x) const {
  for (Number& e : x.elements) e = slope(e);
  return x;
}

Tensor entry_of(const Tensor& x, std::size_t axis, std::int64_t i) {
  Tensor moved = x;
  std::size_t outer = 1, inner = 1;
  for (std::size_t k = 0; k < x.shape.size(); ++k)
    (k < axis ? outer : inner) *= k == axis ? 1 : static_cast<std::size_t>(x.shape[k]);
  moved.elements.clear();
  const auto n = static_cast<std::size_t>(x.shape[axis]);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t k = 0; k < inner; ++k)
      moved.elements.push_back(x.elements[(o * n + static_cast<std::size_t>(i)) * inner + k]);
  moved.shape.erase(axis);
  return moved;
}

Tensor stacked(const std::vector<Tensor>& entries, std::size_t axis) {
  Tensor r{entries[0].shape, {}};
  std::size_t outer = 1;
  for (std::size_t k = 0; k < axis; ++k) outer *= static_cast<std::size_t>(r.shape[k]);
  const std::size_t inner = entries[0].elements.size() / outer;
  for (std::size_t o = 0; o < outer; ++o)
    for (const Tensor& e : entries)
      r.elements.insert(r.elements.end(), e.elements.begin() + static_cast<std::ptrdiff_t>(o * inner),
                        e.elements.begin() + static_cast<std::ptrdiff_t>((o + 1) * inner));
  r.shape.insert(axis, static_cast<std::int64_t>(entries.size()));
  return r;
}

Tensor gradient(const Function<Tensor>& f, const Tensor& x) {
  Tensor r = jacobian(f, x);
  r.shape = x.shape;
  return r;
}

bool choose_function(Random& random, const Shape& first, Plan& plan) {
  plan.result = any_shape(random);
  plan.blocks = {{{first}, {plan.result}}};
  return true;
}
bool choose_gradient(Random&, const Shape& first, Plan& plan) {
  plan.result = first;
  plan.blocks = {{{first}, {Shape{}}}};
  return first.product() <= most_differentiated;
}

std::span<const Form* const> forms() {
  static const std::vector<const Form*> all = [] {
    std::vector<const Form*> found;
    for (const Form& f : wrapped_forms()) found.push_back(&f);
    for (const Form& f : table) found.push_back(&f);
    return found;
  }();
  return all;
}

const Form* find_form(std::string_view name) {
  for (const Form* f : forms())
    if (f->name == name) return f;
  for (const Form& f : nest_forms())
    if (f.name == name) return &f;
  return nullptr;
}

Array run(const Block& program, const Array& x) {
  return call(OfArrays{x.dtype()}, program, std::vector{x})[0];
}
Tensor evaluate(const Block& program, const Tensor& x) {
  return call(OfTensors{}, program, std::vector{x})[0];
}

Shape any_shape(Random& random) {
  static const Shape shapes[] = {{}, {}, {3}, {3}, {2}, {2, 3}, {3, 2}, {1}, {20}, {4, 24}};
  return shapes[random.below(random.chance(90) ? 8 : 10)];
}

}  // namespace apsis::compositions
