#include "scenarios/ways.hpp"

#include <cmath>
#include <cstring>

namespace apsis::scenarios {
namespace {

struct Numbers {
  std::vector<double> values;
  double largest = 0;
  explicit Numbers(const Array& a) : values(a.to_vector<double>()) {
    for (double v : values)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
};

/// What is wrong with `got`; empty if nothing is.
std::string difference(const Array& got, const Array& expected, double tolerance, double floor) {
  if (got.is_empty()) return "is empty";
  if (!(got.shape() == expected.shape()))
    return "has the shape " + to_string(got.shape()) + ", expected " + to_string(expected.shape());
  Numbers g(got), e(expected);
  const double scale = std::max(e.largest, floor);
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    const double a = g.values[i], b = e.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= tolerance * scale)) {
      char text[200];
      std::snprintf(text, sizeof text, "entry %zu of %zu is %.17g, expected %.17g (error %.2g of %.3g)", i,
                    g.values.size(), a, b, std::abs(a - b) / scale, scale);
      return text;
    }
  }
  return "";
}

void expect_agree(const char* way, const Array& got, const Array& expected, double tolerance,
                  double floor = 1e-300) {
  EXPECT_EQ(difference(got, expected, tolerance, floor), "") << way;
}

void expect_bits(const char* way, const Array& got, const Array& expected) {
  if (tree_equal(got, expected)) return;
  const std::string text = difference(got, expected, 0, 1e-300);
  if (text.empty() && got.dtype() == expected.dtype()) return;  // zeros of either sign, payloads of NaN
  ADD_FAILURE() << way << ": not the same bits: " << text;
}

void expect_derivatives(const Program& f, const Array& x, const Ways& ways) {
  auto forward = jacfwd(f);
  auto reverse = jacrev(f);
  Array exact;
  if (ways.forward) {
    exact = jit(forward)(x);
    expect_agree("eager jacfwd", forward(x), exact, ways.modes);
  }
  if (ways.reverse) {
    Array rows = jit(reverse)(x);
    if (ways.forward) expect_agree("jit(jacrev) against jit(jacfwd)", rows, exact, ways.modes);
    exact = rows;
    expect_agree("eager jacrev", reverse(x), exact, ways.modes);
    auto compiled = jit(reverse);
    expect_bits("first and second call of jacrev", compiled(x), compiled(x));
    if (ways.direct) {
      DisableJit direct;
      expect_agree("direct jacrev", reverse(x), exact, ways.modes);
    }
  }
  if (ways.differences > 0) {
    auto fast = jit(f);
    std::vector<Array> columns;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double at = x[i].item<double>(), h = ways.step * std::max(std::abs(at), 1e-3);
      columns.push_back((fast(x.at(i).set(at + h)) - fast(x.at(i).set(at - h))) / (2 * h));
    }
    expect_agree("derivative against differences", exact, stack(columns, -1), ways.differences);
  }
}

Array one_by_one(const Program& f, const Array& xs) {
  std::vector<Array> rows;
  for (std::int64_t i = 0; i < xs.dim(0); ++i) rows.push_back(f(xs[i]));
  return stack(rows);
}

Array lanes_of(const Array& x, int count, double spread) {
  Array factor = 1. + spread * (arange(double(count)) - (count - 1) / 2);
  return expand_dims(factor, 1) * expand_dims(x, 0);
}

void expect_hessians(const Program& f, const Array& x, const Ways& ways) {
  Array exact = jit(hessian(f))(x);
  expect_agree("eager hessian", hessian(f)(x), exact, ways.modes);
  expect_agree("the Hessian is symmetric", transpose(exact), exact, ways.modes);
  expect_agree("jacrev(jacfwd)", jit(jacrev(jacfwd(f)))(x), exact, ways.modes);
  expect_agree("jacrev(jacrev)", jit(jacrev(jacrev(f)))(x), exact, ways.modes);
  expect_agree("jacfwd(jacfwd)", jit(jacfwd(jacfwd(f)))(x), exact, ways.modes);
}

/// Of one program, of a batch of it in one sum, and a batch of Hessians.
void expect_second(const Program& f, const Array& x, const Ways& ways) {
  expect_hessians(f, x, ways);
  const int count = ways.lanes.back();
  SCOPED_TRACE("Hessians, batch of " + std::to_string(count));
  expect_hessians([&](const Array& v) { return sum(vmap(f)(lanes_of(v, count, ways.spread))); }, x, ways);
  Array xs = lanes_of(x, count, ways.spread);
  expect_agree("jit(vmap(hessian))", jit(vmap(hessian(f)))(xs), one_by_one(jit(hessian(f)), xs), ways.modes);
}

void expect_batches(const Program& f, const Array& x, const Ways& ways) {
  for (int count : ways.lanes) {
    SCOPED_TRACE("batch of " + std::to_string(count));
    Array xs = lanes_of(x, count, ways.spread);
    Array single = one_by_one(jit(f), xs);
    expect_bits("jit(vmap)", jit(vmap(f))(xs), single);
    expect_bits("jit(vmap), in lanes", jit(vmap(f, {.loops = LaneLoops::Lanes}))(xs), single);
    expect_bits("jit(vmap), in lockstep", jit(vmap(f, {.loops = LaneLoops::Lockstep}))(xs), single);
    expect_agree("eager vmap", vmap(f)(xs), single, ways.eager);
    if (ways.forward) {
      Array slopes = one_by_one(jit(jacfwd(f)), xs);
      expect_agree("jit(vmap(jacfwd))", jit(vmap(jacfwd(f)))(xs), slopes, ways.modes);
    }
    if (ways.reverse) {
      Array slopes = one_by_one(jit(jacrev(f)), xs);
      expect_agree("jit(vmap(jacrev))", jit(vmap(jacrev(f)))(xs), slopes, ways.modes);
      expect_agree("lockstep of jacrev", jit(vmap(jacrev(f), {.loops = LaneLoops::Lockstep}))(xs), slopes,
                   ways.modes);
      // The gradient of the whole batch: all lanes in one program.
      Program total = [&f](const Array& all) { return sum(vmap(f)(all)); };
      Array gradient = jit(grad(total))(xs);
      Array by_lane = slopes;
      while (by_lane.ndim() > 2) by_lane = sum(by_lane, {.axis = 1});
      expect_agree("jit(grad(sum(vmap)))", gradient, by_lane, ways.modes, Numbers(slopes).largest);
    }
  }
}

}  // namespace

void expect_close(const Array& got, const Array& expected, double tolerance, const std::string& what,
                  Loc loc) {
  ::testing::ScopedTrace trace(loc.file, int(loc.line), what);
  EXPECT_EQ(difference(got, expected, tolerance, 1), "");
}

void expect_all_ways(const Program& f, const Array& x, const Ways& ways, Loc loc) {
  ::testing::ScopedTrace trace(loc.file, int(loc.line), "all ways");
  auto fast = jit(f);
  Array value = fast(x);
  expect_bits("first and second call", fast(x), value);
  expect_agree("eager", f(x), value, ways.eager);
  if (ways.direct) {
    DisableJit direct;
    expect_agree("direct", f(x), value, ways.eager);
  }
  if (ways.forward || ways.reverse) expect_derivatives(f, x, ways);
  if (ways.second) expect_second(f, x, ways);
  expect_batches(f, x, ways);
  if (ways.single > 0) {
    Array narrow = fast(astype(x, f32));
    EXPECT_EQ(name_of(narrow.dtype()), "f32") << "an f32 program stays f32";
    expect_agree("f32", astype(narrow, f64), value, ways.single);
  }
}

void expect_misuse(const char* says, const std::function<void()>& run, unsigned lines, Loc loc) {
  ::testing::ScopedTrace trace(loc.file, int(loc.line), "misuse");
  try {
    run();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(says), text.npos) << "it says: " << text;
    const std::string place = std::string("\n  at ") + loc.file + ":";
    const std::size_t at = text.find(place);
    EXPECT_NE(at, text.npos) << "the place is not in the user's file: " << text;
    if (at == text.npos) return;
    const unsigned line = unsigned(std::stoul(text.substr(at + place.size())));
    EXPECT_GE(line, loc.line) << text;
    EXPECT_LE(line, loc.line + lines) << text;
    return;
  } catch (const std::exception& other) {
    ADD_FAILURE() << "not an Error: " << other.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

std::string data_file(const std::string& name) {
  return std::string(APSIS_SOURCE_DIR) + "/tests/scenarios/data/" + name;
}

}  // namespace apsis::scenarios
