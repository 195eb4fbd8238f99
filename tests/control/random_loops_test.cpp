// Random programs of nested loops and branches: lanes against single calls bit for bit, gradients against the
// same program with its loops unrolled.

#include <functional>
#include <random>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// A statement: an expression, a loop whose trips depend on the lane, a branch, or a loop over the rows of a
/// buffer, which what is in it reads.
struct Statement {
  enum class Kind { Expression, Loop, Branch, Rows } kind;
  int choice;
  double number;
  std::vector<Statement> body, other;
};

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::vector<Statement> block(int depth) {
    std::vector<Statement> statements;
    for (int i = 0, n = 1 + pick(3); i < n; ++i) {
      int kind = depth == 0 ? 0 : pick(5);
      Statement s{Statement::Kind::Expression, pick(4), 0.1 + 0.1 * pick(9), {}, {}};
      if (kind == 2) {
        s.kind = Statement::Kind::Loop;
        s.body = block(depth - 1);
      } else if (kind == 3) {
        s.kind = Statement::Kind::Branch;
        s.body = block(depth - 1);
        s.other = block(depth - 1);
      } else if (kind == 4) {
        s.kind = Statement::Kind::Rows;
        s.body = block(depth - 1);
      }
      statements.push_back(std::move(s));
    }
    return statements;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::mt19937 random_;
};

/// Reads the parameters where they are used.
using Parameters = std::function<Array()>;

Array expression(const Statement& s, const Array& x, const Array& w) {
  switch (s.choice) {
    case 0:
      return sin(s.number * x + w);
    case 1:
      return x * cos(w) + s.number;
    case 2:
      return 0.5 * x + 0.2 * roll(x, 1, 0) * x[0];
    default:
      return where(x > s.number, 0.7 * x, x - 0.1 * square(x));
  }
}

struct Trip {
  Array i, x;
};
/// Large enough that a tape has lists of what is read of them, rather than the rows.
constexpr std::int64_t row_count = 200;
struct Rows {
  Array i, x, rows;
};

/// Loops of statement s make (n + choice) mod 4 trips, those over rows always the same number.
Array run(const std::vector<Statement>& statements, const Array& n, Array x, const Parameters& w) {
  for (const Statement& s : statements) {
    if (s.kind == Statement::Kind::Expression) {
      x = expression(s, x, w());
    } else if (s.kind == Statement::Kind::Loop) {
      Array trips = (n + s.choice) % 4;
      x = while_loop([&](const Trip& t) { return t.i < trips; },
                     [&](const Trip& t) {
                       return Trip{t.i + 1, run(s.body, n + t.i, t.x, w)};
                     },
                     Trip{Array(std::int64_t{0}, i64), x})
              .x;
    } else if (s.kind == Statement::Kind::Rows) {
      const auto next = [&](const Rows& t) {
        const Array y = run(s.body, n + t.i, t.x, [&] { return 0.5 * t.rows[t.i] + w(); });
        return Rows{t.i + 1, y, t.rows.at(t.i + 1).set(0.3 * y)};
      };
      const Rows start{Array(std::int64_t{0}, i64), x, broadcast_to(x, {row_count, x.size()})};
      x = s.choice % 2 == 0
              ? fori_loop(
                    0, s.choice + 1, [&](const Array&, const Rows& t) { return next(t); }, start)
                    .x
              : while_loop([&](const Rows& t) { return t.i < s.choice + 1; }, next, start).x;
    } else {
      x = cond(
          x[1] > s.number, [&](const Array& y) { return run(s.body, n, y, w); },
          [&](const Array& y) { return run(s.other, n, y, w); }, x);
    }
  }
  return x;
}

/// The same with the control flow of C++.
Array unrolled(const std::vector<Statement>& statements, std::int64_t n, Array x, const Array& w) {
  for (const Statement& s : statements) {
    if (s.kind == Statement::Kind::Expression) {
      x = expression(s, x, w);
    } else if (s.kind == Statement::Kind::Loop) {
      for (std::int64_t i = 0, trips = (n + s.choice) % 4; i < trips; ++i) x = unrolled(s.body, n + i, x, w);
    } else if (s.kind == Statement::Kind::Rows) {
      Array row = x;
      for (std::int64_t i = 0; i <= s.choice; ++i) {
        x = unrolled(s.body, n + i, x, 0.5 * row + w);
        row = 0.3 * x;
      }
    } else {
      bool first = static_cast<bool>(x[1] > s.number);
      x = unrolled(first ? s.body : s.other, n, x, w);
    }
  }
  return x;
}

TEST(RandomLoops, LanesAreSingleCallsAndGradientsThoseOfTheUnrolledProgram) {
  const std::int64_t lanes = 21;
  // States that are written out, that loops over elements make, in registers and in memory.
  const std::int64_t widths[] = {3, 3, 20, 3, 17, 65};
  Array n = arange(lanes) % 7;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::int64_t width = widths[seed % std::size(widths)];
    Array x = reshape(cos(arange(static_cast<double>(width * lanes))), {lanes, width});
    Array w = 0.6 * cos(arange(static_cast<double>(width)));
    std::vector<Statement> program = Writer(seed).block(2);
    auto value = [&](const Array& k, const Array& y) { return run(program, k, y, [&] { return w; }); };
    auto gradient = [&](const Array& k, const Array& y) {
      return grad<0, 1>([&](const Array& z, const Array& v) {
        return sum(run(program, k, z, [&] { return v; }) * z);
      })(y, w);
    };
    auto one_value = jit(value);
    auto one_gradient = jit(gradient);
    Array values = jit(vmap(value))(n, x);
    auto [by_x, by_w] = jit(vmap(gradient))(n, x);
    expect_same_bits(jit(vmap(value, {.loops = LaneLoops::Lockstep}))(n, x), values);
    for (LaneLoops loops : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
      SCOPED_TRACE(loops == LaneLoops::Lanes ? "lanes" : "lockstep");
      auto total = [&](const Array& y, const Array& v) {
        auto lane = [&](const Array& k, const Array& z) {
          return sum(run(program, k, z, [&] { return v; }) * z);
        };
        return sum(vmap(lane, {.loops = loops})(n, y));
      };
      auto [all_by_x, all_by_w] = jit(grad<0, 1>(total))(x, w);
      expect_same_bits(all_by_x, by_x);
      expect_near(all_by_w, sum(by_w, {.axis = 0}), 1e-12);
    }
    for (std::int64_t i = 0; i < lanes; ++i) {
      SCOPED_TRACE("lane " + std::to_string(i));
      expect_same_bits(Array(values[i]), one_value(n[i], x[i]));
      auto [single_x, single_w] = one_gradient(n[i], x[i]);
      expect_same_bits(Array(by_x[i]), single_x);
      expect_same_bits(Array(by_w[i]), single_w);
      if (i % 5 != 0) continue;
      const std::int64_t k = n[i].item<std::int64_t>();
      auto [plain_x, plain_w] = grad<0, 1>(
          [&](const Array& z, const Array& v) { return sum(unrolled(program, k, z, v) * z); })(x[i], w);
      expect_near(single_x, plain_x, 1e-11);
      expect_near(single_w, plain_w, 1e-11);
    }
  }
}

}  // namespace
}  // namespace apsis::testing
