// How programs of nested loops are checked: a batch of one, or of its derivatives, must be the single calls.
//
// Compiling takes most of the time, so a seed runs its batch and one or two of the other ways:
//   always   the batch with loops as the compiler chooses, called twice, memory spoiled in between; with the
//            oracle, or, where that has no answer, another mode of differentiation in 30% of seeds
//   30%      all lanes by single calls (a quarter of them by `jit`)
//   25%      the evaluator
//   20%      the batch in lockstep, or in lanes
//   15%      op by op (a quarter), or with DisableJit
//   10%      compiled at another width, level or instruction set; so are 15% of all other compilations
// Those that differentiate the batch as a whole always run the single calls too, the evaluator and the other
// loops in 25% each. Graphs of more than `long_graph` equations, a quarter of all, took two thirds of the
// time: three in four of them are checked in a simpler mode (`simpler`) whose graph is shorter, and
// undifferentiated at last.

#include <algorithm>
#include <cmath>

#include "compositions/comparisons.hpp"
#include "compositions/runner.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::compositions {
namespace {

// A trip may make an error larger by a quarter, programs make up to sixty of them in a row:
// 2^-53 · 1.25^60 is 7e-11, of the largest number met on the way, derivatives included. Where errors grow
// more, the oracle says so and has no answer. What is wrong is off by per cents.
constexpr double tolerance = 1e-9;

constexpr std::size_t oracle_limit = 150'000;

/// What is done with the program. Those from BatchJacrev on differentiate the batch as a whole.
enum class Mode : std::uint8_t {
  Value,
  Grad,
  Jacfwd,
  Jacrev,
  Hessian,
  Jvp,
  Vjp,
  HessianProduct,
  BatchJacrev,
  BatchJacfwd,
  BatchHessian,
  BatchRevOfFwd,
  BatchRevOfRev,
  BatchGrad
};
const char* const mode_names[] = {"value",
                                  "grad",
                                  "jacfwd",
                                  "jacrev",
                                  "hessian",
                                  "jvp",
                                  "vjp",
                                  "jvp of grad",
                                  "batch jacrev",
                                  "batch jacfwd",
                                  "batch hessian",
                                  "batch jacrev of jacfwd",
                                  "batch jacrev of jacrev",
                                  "batch grad"};

/// What is checked instead, where the graph is long.
Mode simpler(Mode mode) {
  if (mode >= Mode::BatchJacrev || mode == Mode::Hessian || mode == Mode::HessianProduct) return Mode::Grad;
  return Mode::Value;
}
constexpr std::size_t long_graph = 500;

std::size_t equations(const detail::Graph& graph) {
  std::size_t n = graph.eqns().size();
  for (const detail::Eqn& e : graph.eqns())
    detail::each_region(e.params, [&n](const detail::Graph& region) { n += equations(region); });
  return n;
}

Shape shape_of(const Block& block, int name) {
  for (const auto& p : block.parameters)
    if (p.name == name) return p.shape;
  for (const Step& s : block.steps) {
    if (s.name == name) return s.shape;
    for (const auto& p : s.more)
      if (p.name == name) return p.shape;
  }
  throw std::runtime_error("there is no value v" + std::to_string(name));
}
std::int64_t largest_array(const Block& block) {
  std::int64_t most = 1;
  for (const auto& p : block.parameters) most = std::max(most, p.shape.product());
  for (const Step& s : block.steps) {
    most = std::max(most, s.shape.product());
    for (const auto& p : s.more) most = std::max(most, p.shape.product());
    for (const Block& b : s.blocks) most = std::max(most, largest_array(b));
  }
  return most;
}

bool has_step(const Block& block, std::string_view op) {
  return std::ranges::any_of(block.steps, [&](const Step& s) {
    return s.op == op || std::ranges::any_of(s.blocks, [&](const Block& b) { return has_step(b, op); });
  });
}

/// From disk where programs are kept there: under valgrind, compiling takes very long.
std::shared_ptr<const detail::Program> compiled(const detail::GraphRef& graph,
                                                const detail::CodegenOptions& options) {
  return detail::disk_cache_on() ? detail::program_for(graph, options) : detail::compile(*graph, options);
}

/// Blocks of memory that calls to come may get hold NaN: who reads what it did not write says so.
void spoil_free_memory(std::int64_t elements) {
  std::vector<Array> held;
  for (std::int64_t n : {elements, 2 * elements, std::int64_t{8}, std::int64_t{64}, std::int64_t{256}})
    for (int i = 0; i < 4; ++i) held.push_back(full({n}, std::nan("")));
}

class NestChecker {
 public:
  NestChecker(const Block& program, std::uint64_t seed, Tally& tally)
      : program_(program),
        seed_(seed),
        tally_(tally),
        random_(seed ^ 0xc0ffee),
        in_(program.parameters[0].shape),
        out_(shape_of(program, program.results[0])) {
    const std::int64_t roll = random_.below(1000);
    elements_ = largest_array(program);
    large_product_ = elements_ > 4096 && has_step(program, "dot_product");
    const bool small_in = in_.product() <= 6, small_out = out_.product() <= 8;
    choose_mode(small_in && elements_ <= 600, small_out);
    single_ = mode_ < Mode::BatchJacrev && roll % 7 == 0 && !large_product_;
    lanes_ = choose_lanes();
    weights_ = points(out_, seed + 77);
    for (int i = 0; i < 2; ++i) directions_.push_back(points(in_, seed + 78 + static_cast<std::uint64_t>(i)));
    for (std::int64_t i = 0; i < lanes_; ++i)
      xs_.push_back(of(points(in_, seed + static_cast<std::uint64_t>(i) * 1000003), in_));
  }

  std::optional<Failure> operator()() {
    settle_mode();
    say_what_runs();
    auto failure = mode_ >= Mode::BatchJacrev ? whole_batch() : lanes_of_one();
    if (failure && reads_unchosen()) return {};
    if (failure) {
      failure->kind += std::string(", ") + mode_names[static_cast<std::size_t>(mode_)];
      failure->text = "mode " + std::string(mode_names[static_cast<std::size_t>(mode_)]) + ", " +
                      std::to_string(lanes_) + " lanes" + (single_ ? ", single precision" : "") + ": " +
                      failure->text;
    }
    return failure;
  }

 private:
  using OptionalFailure = std::optional<Failure>;

  void say_what_runs() {
    what_runs_ = "mode " + std::string(mode_names[static_cast<std::size_t>(mode_)]) + ", " +
                 std::to_string(lanes_) + " lanes of arrays of up to " + std::to_string(elements_);
    note_what_runs(what_runs_);
  }

  void choose_mode(bool small_in, bool small_out) {
    const std::int64_t roll = random_.below(100);
    if (roll < 35)
      mode_ = Mode::Value;
    else if (roll < 50)
      mode_ = Mode::Grad;
    else if (roll < 54)
      mode_ = Mode::Jvp;
    else if (roll < 58)
      mode_ = Mode::Vjp;
    else if (elements_ > 4200)
      mode_ = Mode::Value;
    else if (roll < 60)
      mode_ = Mode::HessianProduct;
    else if (!small_in)
      mode_ = roll < 75 ? Mode::Value : Mode::Grad;
    else if (roll < 66)
      mode_ = Mode::Hessian;
    else if (roll < 72)
      mode_ = static_cast<Mode>(static_cast<int>(Mode::BatchHessian) + random_.below(3));
    else if (roll < 76)
      mode_ = Mode::BatchGrad;
    else if (!small_out)
      mode_ = Mode::Value;
    else
      mode_ = roll < 83   ? Mode::Jacfwd
              : roll < 90 ? Mode::Jacrev
              : roll < 97 ? Mode::BatchJacrev
                          : Mode::BatchJacfwd;
  }
  std::function<Array(const Array&)> batched(LaneLoops loops) const {
    return [this, loops](const Array& all) {
      if (mode_ >= Mode::BatchJacrev) return of_batch(all, loops);
      return vmap([this](const Array& x) { return one(x, mode_); }, {.loops = loops})(all);
    };
  }
  /// Stages the batch, in the mode chosen or in a simpler one.
  void settle_mode() {
    const Array all = stack(xs_);
    const bool any_length = random_.chance(25);
    for (;; mode_ = simpler(mode_)) {
      say_what_runs();
      usual_ = testing::staged_call(batched(LaneLoops::Automatic), all);
      if (any_length || mode_ == Mode::Value || equations(*usual_.graph) <= long_graph) return;
    }
  }
  std::int64_t choose_lanes() {
    static const std::int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 21, 33};
    const std::int64_t most = mode_ < Mode::BatchJacrev ? 13 : mode_ == Mode::BatchGrad ? 10 : 5;
    for (int attempt = 0; attempt < 4; ++attempt) {
      const std::int64_t lanes = counts[random_.below(most)];
      if (lanes * elements_ <= 30'000) return lanes;
    }
    return 2;
  }

  Array of(const std::vector<double>& values, const Shape& shape) const {
    const Array a = array(values, shape);
    return single_ ? astype(a, f32) : a;
  }
  Array value(const Array& x) const { return run(program_, x); }
  /// What `steep_if` makes without its condition has infinite derivatives. A program that reads it, as one
  /// that was shrunk may, has no right answer.
  bool reads_unchosen() const {
    if (!has_step(program_, "steep_if")) return false;
    return std::ranges::any_of(xs_, [this](const Array& x) {
      const Array usual = value(x);
      factor_of_unchosen() = 4;
      const Array other = value(x);
      factor_of_unchosen() = 0;
      return !array_equal(usual, other, true).item<bool>();
    });
  }
  Array loss(const Array& x) const { return sum(value(x) * of(weights_, out_)); }

  /// The program, or its derivative, at one x.
  Array one(const Array& x, Mode mode) const {
    const auto f = [this](const Array& y) { return value(y); };
    const auto l = [this](const Array& y) { return loss(y); };
    switch (mode) {
      case Mode::Value:
        return f(x);
      case Mode::Grad:
        return grad(l)(x);
      case Mode::Jacfwd:
        return Array(jacfwd(f)(x));
      case Mode::Jacrev:
        return Array(jacrev(f)(x));
      case Mode::Hessian:
        return Array(hessian(l)(x));
      case Mode::Jvp:
        return jvp(f, x, of(directions_[0], in_)).second;
      case Mode::Vjp: {
        auto [y, pull] = vjp(f, x);
        return std::get<0>(pull(of(weights_, out_)));
      }
      default:
        return jvp(grad(l), x, of(directions_[0], in_)).second;
    }
  }

  // Programs that run: staged, compiled with some setting, run twice.

  OptionalFailure run_twice(const testing::StagedCall& staged, const char* what, Array& got) {
    verify(*staged.graph);
    // Mostly without optimisation, which is quick: what is tested comes before it.
    static const Setting quick{{.level = 0}, "at level 0"};
    const Setting& setting = random_.chance(85) ? quick : any_setting();
    note_what_runs(what_runs_ + ", " + what + " compiled " + setting.name);
    const auto program = compiled(staged.graph, setting.options);
    spoil_free_memory(elements_ * lanes_);
    got = detail::run(*program, staged.inputs)[0];
    spoil_free_memory(elements_ * lanes_);
    const Array again = detail::run(*program, staged.inputs)[0];
    return unlike(again, got, "repeated", std::string(what) + ", called again, compiled " + setting.name);
  }
  const Setting& any_setting() {
    return settings()[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(settings().size())))];
  }
  static Array evaluated(const testing::StagedCall& staged) {
    detail::InterpretScope reference;
    return interpret(*staged.graph, staged.inputs)[0];
  }

  OptionalFailure lanes_of_one() {
    const Array all = stack(xs_);
    Array got;
    if (auto f = run_twice(usual_, "the batch", got)) return f;

    // One of the other ways; their shares are said above.
    const std::int64_t way = random_.below(100);
    OptionalFailure failure;
    if (way < 25) {
      failure = unlike(evaluated(usual_), got, "bits", "the evaluator and the compiled batch");
    } else if (way < 45) {
      const bool lockstep = random_.chance(50);
      Array other;
      const char* name = lockstep ? "the batch in lockstep" : "the batch in lanes";
      failure = run_twice(
          testing::staged_call(batched(lockstep ? LaneLoops::Lockstep : LaneLoops::Lanes), all), name, other);
      if (!failure) failure = unlike(other, got, "loops", std::string(name) + " and as usual");
    } else if (way < 55) {
      const Setting& s = any_setting();
      note_what_runs(what_runs_ + ", compiled " + s.name);
      const Array other = detail::run(*compiled(usual_.graph, s.options), usual_.inputs)[0];
      failure = unlike(other, got, "widths", std::string("the batch compiled ") + s.name + " and otherwise");
    } else if (way < 70) {
      failure = op_by_op(got, all);
    } else {
      failure = single_calls(got);
    }
    if (failure) return failure;
    return derived(got);
  }

  OptionalFailure op_by_op(const Array& got, const Array& all) {
    if (single_) return {};  // their fused multiply-adds differ: near, with no bound to be had in f32
    const auto lane = random_.below(lanes_);
    if (random_.chance(25)) {
      const Array eager = batched(LaneLoops::Automatic)(all);
      return measurable(
          far(eager.to_vector<double>(), got.to_vector<double>(), "eager", "the batch op by op and compiled"),
          xs_);
    }
    DisableJit direct;
    const Array alone = one(xs_[static_cast<std::size_t>(lane)], mode_);
    return measurable(far(alone.to_vector<double>(), Array(got[lane]).to_vector<double>(), "disable_jit",
                          "lane " + std::to_string(lane) + " without compilation and of the batch"),
                      {&xs_[static_cast<std::size_t>(lane)], 1});
  }

  /// No failure where the program makes so much of a rounding that two ways to compute it may differ.
  OptionalFailure measurable(OptionalFailure failure, std::span<const Array> xs) {
    if (!failure) return {};
    for (const Array& x : xs) {
      Tally tally;
      std::vector<double> want;
      ask_oracle(x, want, tally);
      if (tally.undecided > 0) return {};
    }
    return failure;
  }

  /// The derivative at one x as users call it, or quickly.
  std::function<Array(const Array&)> called_alone(Mode mode) {
    const auto f = [this, mode](const Array& x) { return one(x, mode); };
    if (random_.chance(25)) return jit(f);
    auto staged = std::make_shared<testing::StagedCall>(testing::staged_call(f, xs_[0]));
    const auto program = compiled(staged->graph, {.level = 0});
    return [staged, program](const Array& x) {
      std::vector<Array> inputs = staged->inputs;
      inputs[0] = x;
      return detail::run(*program, inputs)[0];
    };
  }
  OptionalFailure single_calls(const Array& got) {
    const auto alone = called_alone(mode_);
    // All: it is the program that is dear.
    for (std::int64_t i = 0; i < lanes_; ++i) {
      const Array single = alone(xs_[static_cast<std::size_t>(i)]);
      if (auto f =
              unlike(Array(got[i]), single, "lanes", "lane " + std::to_string(i) + " and its single call"))
        return f;
    }
    return {};
  }

  // Derivatives of the batch as a whole: lanes on the diagonal.

  Array batch(const Array& z, LaneLoops loops) const {
    return vmap([this](const Array& x) { return value(x); }, {.loops = loops})(z);
  }
  Array of_batch(const Array& z, LaneLoops loops) const {
    const auto twice = [this, loops](const Array& y) {
      const Array v = batch(y, loops);
      return concatenate({v, 0.5 * v});
    };
    // Of a shared factor s, at s = 1, x·s being what the lanes get.
    const auto shared = [&](const Array& s) {
      return sum(vmap([this, &s](const Array& x) { return loss(x * s); }, {.loops = loops})(z));
    };
    const auto total = [this, loops](const Array& y) { return sum(batch(y, loops) * of(weights_, out_)); };
    switch (mode_) {
      case Mode::BatchJacrev:
        return Array(jacrev(twice)(z));
      case Mode::BatchJacfwd:
        return Array(jacfwd(twice)(z));
      case Mode::BatchHessian:
        return Array(hessian(total)(z));
      case Mode::BatchRevOfFwd:
        return Array(jacrev([&](const Array& y) { return Array(jacfwd(total)(y)); })(z));
      case Mode::BatchRevOfRev:
        return Array(jacrev([&](const Array& y) { return Array(jacrev(total)(y)); })(z));
      default:
        return grad(shared)(ones(in_));
    }
  }

  OptionalFailure whole_batch() {
    const Array all = stack(xs_);
    Array result;
    if (auto f = run_twice(usual_, "the whole", result)) return f;
    const std::vector<double> got = result.to_vector<double>();
    switch (random_.below(4)) {
      case 0:
        if (auto f = unlike(evaluated(usual_), result, "bits", "the evaluator and the compiled whole"))
          return f;
        break;
      case 1: {
        Array other;
        // What loops in lockstep record counts for all lanes at once: no promise for orders above the first.
        const bool may_lockstep = !has_step(program_, "steep_if") || mode_ == Mode::BatchGrad ||
                                  mode_ == Mode::BatchJacrev || mode_ == Mode::BatchJacfwd;
        const LaneLoops loops = may_lockstep && random_.chance(50) ? LaneLoops::Lockstep : LaneLoops::Lanes;
        const char* name = loops == LaneLoops::Lanes ? "the whole in lanes" : "the whole in lockstep";
        if (auto f = run_twice(testing::staged_call(batched(loops), all), name, other)) return f;
        if (auto f = far(other.to_vector<double>(), got, "loops", std::string(name) + " and as usual"))
          return f;
        break;
      }
      default:
        break;
    }
    // Against the derivatives of single calls, which have programs of their own.
    const Mode single = mode_ == Mode::BatchJacrev   ? Mode::Jacrev
                        : mode_ == Mode::BatchJacfwd ? Mode::Jacfwd
                        : mode_ == Mode::BatchGrad   ? Mode::Grad
                                                     : Mode::Hessian;
    const auto alone = called_alone(single);
    std::vector<std::vector<double>> blocks;
    for (const Array& x : xs_) blocks.push_back(alone(x).to_vector<double>());
    if (auto f = far(got, assembled(blocks), "batch", "the derivative of the batch and those of its lanes"))
      return f;
    mode_ = single;
    return derived(stack({alone(xs_[0])}));
  }

  /// What the derivative of the batch is, from those of its lanes.
  std::vector<double> assembled(const std::vector<std::vector<double>>& blocks) const {
    const auto n = static_cast<std::size_t>(in_.product()), lanes = blocks.size();
    if (mode_ == Mode::BatchGrad) {  // by the chain rule: ∂(x·s)/∂s is x
      std::vector<double> sum(n);
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::vector<double> x = xs_[l].to_vector<double>();
        for (std::size_t i = 0; i < n; ++i) sum[i] += blocks[l][i] * x[i];
      }
      return sum;
    }
    const std::size_t rows = blocks[0].size() / n;  // of a lane
    const std::size_t copies = mode_ == Mode::BatchJacrev || mode_ == Mode::BatchJacfwd ? 2 : 1;
    std::vector<double> all(copies * lanes * rows * lanes * n);
    for (std::size_t c = 0; c < copies; ++c)
      for (std::size_t l = 0; l < lanes; ++l)
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t i = 0; i < n; ++i)
            all[(((c * lanes + l) * rows + r) * lanes + l) * n + i] =
                blocks[l][r * n + i] * (c == 0 ? 1 : 0.5);
    return all;
  }

  // The oracle, along directions.

  OptionalFailure derived(const Array& got) {
    if (single_) return {};
    // Of several lanes, as they differ in trips; while it is cheap.
    const std::int64_t known = got.shape()[0], first = random_.below(known);
    std::size_t work = 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(known, 5) && work < oracle_limit / 4; ++i) {
      const std::int64_t lane = (first + i) % known;
      const std::vector<double> mine = Array(got[lane]).to_vector<double>();
      std::vector<double> want;
      Tally uncounted;
      if (!ask_oracle(xs_[static_cast<std::size_t>(lane)], want, i == 0 ? tally_ : uncounted)) {
        if (i > 0 || mode_ == Mode::Value || !random_.chance(30)) return {};
        return other_mode(mine, lane);
      }
      work += account.work;
      if (auto f = far(along_directions(mine), want, "value",
                       "lane " + std::to_string(lane) + " and the oracle", largest_))
        return f;
    }
    return {};
  }

  /// With no oracle: the same by another mode.
  OptionalFailure other_mode(const std::vector<double>& mine, std::int64_t lane) {
    const Mode other = mode_ == Mode::Jacfwd   ? Mode::Jacrev
                       : mode_ == Mode::Jacrev ? Mode::Jacfwd
                                               : Mode::Jvp;
    const Array& x = xs_[static_cast<std::size_t>(lane)];
    if (mode_ == Mode::Jacfwd || mode_ == Mode::Jacrev) {
      const std::vector<double> theirs =
          jit([&](const Array& y) { return one(y, other); })(x).to_vector<double>();
      return far(mine, theirs, "modes", "jacfwd and jacrev");
    }
    if (mode_ != Mode::Grad && mode_ != Mode::Vjp) return {};
    const std::vector<double> slope =
        jit([&](const Array& y) { return one(y, other); })(x).to_vector<double>();
    return far({inner(mine, directions_[0])}, {inner(slope, weights_)}, "modes", "forward and reverse");
  }

  static double inner(const std::vector<double>& a, const std::vector<double>& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
    return static_cast<double>(sum);
  }

  /// What a derivative says of the directions: numbers that the oracle has without one run for each element.
  std::vector<double> along_directions(const std::vector<double>& mine) const {
    const std::vector<double>& t = directions_[0];
    const std::size_t n = t.size();
    const auto rows = [&](const std::vector<double>& matrix) {
      std::vector<double> r;
      for (std::size_t i = 0; i < matrix.size(); i += n)
        r.push_back(inner({matrix.begin() + static_cast<std::ptrdiff_t>(i),
                           matrix.begin() + static_cast<std::ptrdiff_t>(i + n)},
                          t));
      return r;
    };
    switch (mode_) {
      case Mode::Grad:
      case Mode::Vjp:
        return {inner(mine, t)};
      case Mode::Jacfwd:
      case Mode::Jacrev:
        return rows(mine);
      case Mode::Hessian:
        return {inner(rows(mine), directions_[1])};
      case Mode::HessianProduct:
        return {inner(mine, directions_[1])};
      default:
        return mine;
    }
  }

  /// False where it has no answer.
  bool ask_oracle(const Array& x, std::vector<double>& want, Tally& tally) {
    if (elements_ > 5000) return ++tally.costly, false;
    account = {};
    account.limit = oracle_limit;
    try {
      const auto tensor = [&](const std::vector<double>& values) {
        Tensor t{in_, {}};
        for (double v : values) t.elements.push_back(Number(v));
        return t;
      };
      const auto weighted = [&](const Tensor& y) {
        Number sum(0);
        for (std::size_t i = 0; i < y.elements.size(); ++i) sum = sum + Number(weights_[i]) * y.elements[i];
        return sum;
      };
      const Tensor at = tensor(x.to_vector<double>());
      const auto keep = [&](const Number& n) { want.push_back(static_cast<double>(n.value())); };
      Unit first;
      // Of a value the slope is asked for as well: it says how much rounding grows.
      const Tensor moved = first.along(at, tensor(directions_[0]));
      if (mode_ == Mode::Value) {
        for (const Number& e : evaluate(program_, moved).elements) keep(e);
      } else {
        if (mode_ == Mode::Hessian || mode_ == Mode::HessianProduct) {
          Unit second;
          const Tensor y = evaluate(program_, second.along(moved, tensor(directions_[1])));
          keep(first.slope(second.slope(weighted(y))));
        } else {
          const Tensor y = evaluate(program_, moved);
          if (mode_ == Mode::Grad || mode_ == Mode::Vjp)
            keep(first.slope(weighted(y)));
          else
            for (const Number& e : y.elements) keep(first.slope(e));
        }
      }
      largest_ = static_cast<double>(account.largest);
      if (account.ambiguous || !(largest_ < 1e9) || account.error > tolerance * std::max(1., largest_))
        return ++tally.undecided, false;
      return ++tally.derived, true;
    } catch (const TooCostly&) {
      account.order = 0;
      return ++tally.costly, false;
    } catch (const NoOracle&) {
      account.order = 0;
      return ++tally.costly, false;
    }
  }

  OptionalFailure unlike(const Array& a, const Array& b, const char* kind, const std::string& what) const {
    if (same(a, b)) return {};
    // Programs that are staged otherwise, as these are of one and of many lanes.
    const bool batches = std::string_view(kind) == "lanes" || std::string_view(kind) == "loops";
    if (batches && large_product_)  // inline in lanes, in another order than alone
      return far(a.to_vector<double>(), b.to_vector<double>(), kind, what);
    if (batches && mode_ != Mode::Value && same_but_for_signs_of_zeros(a, b)) return {};
    return Failure{kind, what + " differ\n" + to_string(a) + "\n" + to_string(b) + first_difference(a, b)};
  }
  static std::string first_difference(const Array& a, const Array& b) {
    if (!(a.shape() == b.shape())) return "\nshapes differ";
    const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i])
        return "\nelement " + std::to_string(i) + ": " + std::to_string(x[i]) + " and " +
               std::to_string(y[i]) + ", difference " + std::to_string((x[i] - y[i]) * 1e12) + "e-12";
    return "";
  }

  static OptionalFailure far(const std::vector<double>& a, const std::vector<double>& b, const char* kind,
                             const std::string& what, double scale = 1) {
    if (a.size() != b.size()) return Failure{kind, what + ": different sizes"};
    for (double x : b)
      if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      if (a[i] == b[i] || std::abs(a[i] - b[i]) <= tolerance * scale) continue;
      return Failure{kind, what + ": element " + std::to_string(i) + " of " + std::to_string(a.size()) +
                               " is " + std::to_string(a[i]) + " and " + std::to_string(b[i]) + ", " +
                               std::to_string((a[i] - b[i]) / (tolerance * scale)) + " margins"};
    }
    return {};
  }

  const Block& program_;
  const std::uint64_t seed_;
  Tally& tally_;
  Random random_;
  Shape in_, out_;
  std::string what_runs_;
  Mode mode_ = Mode::Value;
  bool single_ = false, large_product_ = false;
  std::int64_t elements_ = 1, lanes_ = 2;
  double largest_ = 1;
  std::vector<double> weights_;
  std::vector<std::vector<double>> directions_;
  std::vector<Array> xs_;
  testing::StagedCall usual_;
};

}  // namespace

std::optional<Failure> check_nest(const Block& program, std::uint64_t seed, Tally& tally) {
  ++tally.programs;
  try {
    return NestChecker(program, seed, tally)();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return Failure{"thrown: " + text.substr(0, 25), text};
  }
}

}  // namespace apsis::compositions
