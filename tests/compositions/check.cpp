#include "compositions/check.hpp"

#include <cmath>

#include "codegen/compiled_equal.hpp"
#include "compositions/comparisons.hpp"
#include "transform/checks.hpp"

namespace apsis::compositions {
namespace {

// The oracle's value has no rounding of its own. Apsis' error is some units in the last place of the largest
// number met on the way, derivatives included, times the steps.
constexpr double tolerance = 1e-12;

class Checker {
 public:
  Checker(const Block& program, std::uint64_t seed, Tally& tally)
      : program_(program), seed_(seed), tally_(tally), shape_(program.parameters[0].shape) {
    x_ = array(points(shape_, seed), shape_);
    // The same programs in single precision, for the bits alone.
    single_ = seed % 5 == 4;
    if (single_) x_ = astype(x_, f32);
  }

  std::optional<Failure> operator()() {
    const auto f = [this](const Array& x) { return run(program_, x); };
    const testing::StagedCall staged = testing::staged_call(f, x_);
    verify(*staged.graph);
    if (auto failure = read_back(staged.graph)) return failure;
    const Array wanted = evaluated(staged);
    if (auto failure = compiled(staged, wanted)) return failure;
    if (auto failure = against_oracle(wanted, "the evaluator")) return failure;
    if (seed_ % 4 == 0)
      if (auto failure = against_oracle(f(x_), "op by op")) return failure;
    if (seed_ % 8 == 1 && !same(jit(f)(x_), wanted))
      return fail("jit", "jit gives other bits than the evaluator");
    if (seed_ % 4 == 2) return in_lanes(f);
    return {};
  }

 private:
  std::optional<Failure> read_back(const detail::GraphRef& graph) const {
    const std::string text = to_string(*graph);
    // Rules and policies are C++ functions: programs with them can be read by people alone.
    for (const char* code : {"= custom_jvp{", "= custom_vjp{", "= custom_batch{", "when=\"a function\""})
      if (text.find(code) != text.npos) return {};
    if (!(detail::parse_graph(text) == graph)) return fail("text", "its text reads back as another");
    return {};
  }

  static Array evaluated(const testing::StagedCall& staged) {
    detail::InterpretScope reference;
    return interpret(*staged.graph, staged.inputs)[0];
  }

  std::optional<Failure> compiled(const testing::StagedCall& staged, const Array& wanted) {
    const std::span<const Setting> all = settings();
    const std::size_t count = all.size();
    for (std::size_t i : {seed_ % count, (seed_ / count + seed_ + 1) % count}) {
      const auto program = detail::compile(*staged.graph, all[i].options);
      const auto differs = [&](const Array& got, const char* how) {
        return fail("bits", how + std::string(all[i].name) + ": " + to_string(got) +
                                "\nby the evaluator: " + to_string(wanted));
      };
      const Array got = detail::run(*program, staged.inputs)[0];
      if (!same(got, wanted)) return differs(got, "compiled ");
      int shared = 0;
      const std::vector<Array> over = detail::run_over_inputs(*staged.graph, *program, staged.inputs, shared);
      if (!over.empty() && !same(over[0], wanted)) return differs(over[0], "in the memory of inputs ");
    }
    return {};
  }

  std::optional<Failure> against_oracle(const Array& got, const char* way) {
    if (single_) return {};
    if (!oracle_ && !ask_oracle()) return {};
    if (!(got.shape() == oracle_->shape))
      return fail("shape", std::string(way) + ": shape " + to_string(got.shape()));
    const std::vector<double> values = got.to_vector<double>();
    const double margin = tolerance * std::max(1., static_cast<double>(largest_));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto want = static_cast<double>(oracle_->elements[i].value());
      if (!(std::abs(values[i] - want) <= margin))
        return fail("value", std::string(way) + ": element " + std::to_string(i) + " is " +
                                 std::to_string(values[i]) + " and should be " + std::to_string(want) +
                                 ", they differ by " + std::to_string((values[i] - want) / margin) +
                                 " margins");
    }
    return {};
  }

  /// False where it has no answer.
  bool ask_oracle() {
    if (asked_) return false;
    asked_ = true;
    account = {};
    account.limit = 20'000'000;
    Tensor x{shape_, {}};
    for (double v : points(shape_, seed_)) x.elements.push_back(Number(v));
    try {
      Tensor answer = evaluate(program_, x);
      if (account.ambiguous || !std::isfinite(account.largest) || account.largest > 1e9L ||
          account.error > tolerance * std::max(1.L, account.largest)) {
        ++tally_.undecided;
        return false;
      }
      oracle_ = answer;
      largest_ = account.largest;
      ++tally_.derived;
      return true;
    } catch (const TooCostly&) {
      ++tally_.costly;
      account.order = 0;
      return false;
    }
  }

  template <class F>
  std::optional<Failure> in_lanes(const F& f) {
    std::vector<Array> xs{x_};
    for (std::uint64_t i = 1; i < 6; ++i)
      xs.push_back(astype(array(points(shape_, seed_ + i), shape_), x_.dtype()));
    const Array together = jit(vmap(f))(stack(xs));
    const auto alone = jit(f);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Array lane = together[static_cast<std::int64_t>(i)], one = alone(xs[i]);
      if (!same(lane, one))
        return fail("lanes", "lane " + std::to_string(i) + " of vmap: " + to_string(lane) +
                                 "\nalone: " + to_string(one));
    }
    return {};
  }

  static Failure fail(const char* kind, const std::string& text) { return {kind, text}; }

  const Block& program_;
  const std::uint64_t seed_;
  Tally& tally_;
  Shape shape_;
  Array x_;
  bool single_, asked_ = false;
  std::optional<Tensor> oracle_;
  long double largest_ = 0;
};

}  // namespace

std::optional<Failure> check(const Block& program, std::uint64_t seed, Tally& tally) {
  ++tally.programs;
  try {
    return Checker(program, seed, tally)();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return Failure{"thrown: " + text.substr(0, 25), text};
  }
}

}  // namespace apsis::compositions
