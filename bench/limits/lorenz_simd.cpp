// Hand-written SIMD bound of lorenz/ensemble: packs of lanes with step sizes of their own; a lane that ends
// is stored and its place refilled with the next solve, so that no lane waits for another.
#include <cmath>
#include <cstdint>

#include "report.hpp"

namespace limits {

#if defined(__AVX512F__)
inline constexpr int width = 8;
#else
inline constexpr int width = 4;
#endif
typedef double Vector __attribute__((vector_size(8 * width)));
typedef std::int64_t Mask __attribute__((vector_size(8 * width)));

// glibc's vector pow, by its name in the vector function ABI.
#if defined(__AVX512F__)
extern "C" Vector _ZGVeN8vv_pow(Vector, Vector);
inline Vector power(Vector x, Vector p) { return _ZGVeN8vv_pow(x, p); }
#elif defined(__AVX2__)
extern "C" Vector _ZGVdN4vv_pow(Vector, Vector);
inline Vector power(Vector x, Vector p) { return _ZGVdN4vv_pow(x, p); }
#else
inline Vector power(Vector x, Vector p) {
  for (int i = 0; i < width; ++i) x[i] = std::pow(x[i], p[i]);
  return x;
}
#endif

inline Vector absolute(Vector v) { return v < 0.0 ? -v : v; }
inline Vector maximum(Vector a, Vector b) { return a > b ? a : b; }
inline Vector minimum(Vector a, Vector b) { return a < b ? a : b; }

}  // namespace limits

#include "tsit5_lorenz.hpp"

namespace {

using namespace limits;

constexpr int solves = 1000;
constexpr double t1 = 20;

struct Ensemble {
  std::vector<double> rho, x, y, z;
  std::vector<long> steps;

  Ensemble() : rho(solves), x(solves), y(solves), z(solves), steps(solves) {
    for (int i = 0; i < solves; ++i) rho[i] = 0.5 + (40.0 - 0.5) * i / (solves - 1);
  }
};

/// One register pack of lanes at work.
struct Pack {
  State<Vector> s, k1;
  Vector rho, t, next;
  Mask steps, solve;  // solve: which member a lane works on, -1 when idle

  void load(int lane, const Ensemble& e, int member) {
    const auto k = field(State<double>{1, 1, 1}, e.rho[member]);
    s.x[lane] = s.y[lane] = s.z[lane] = 1;
    k1.x[lane] = k.x, k1.y[lane] = k.y, k1.z[lane] = k.z;
    rho[lane] = e.rho[member], t[lane] = 0, next[lane] = 0.01, steps[lane] = 0, solve[lane] = member;
  }
  void store(int lane, Ensemble& e) const {
    const auto member = solve[lane];
    e.x[member] = s.x[lane], e.y[member] = s.y[lane], e.z[member] = s.z[lane], e.steps[member] = steps[lane];
  }
  /// Advances every lane by one attempted step; true when some lane has reached t1.
  [[gnu::always_inline]] bool advance(double floor) {
    const Vector h = next - t;
    const auto r = attempt(s, k1, h, rho);
    const Mask keep = r.squared_error < 1.0;
    const Vector grown = 0.9 * power(r.squared_error, Vector{} - 0.1);
    const Vector low = keep ? Vector{} + 1.0 : Vector{} + 0.2, high = keep ? Vector{} + 10.0 : Vector{} + 0.9;
    const Vector factor = minimum(maximum(grown, low), high);
    s = {keep ? r.next.x : s.x, keep ? r.next.y : s.y, keep ? r.next.z : s.z};
    k1 = {keep ? r.slope.x : k1.x, keep ? r.slope.y : k1.y, keep ? r.slope.z : k1.z};
    t = keep ? next : t;
    next = t + factor * h;
    next = next > floor ? (keep ? Vector{} + t1 : t + 0.5 * (t1 - t)) : next;
    steps += 1;
    const Mask done = t >= t1;
    std::int64_t any = 0;
    for (int i = 0; i < width; ++i) any |= done[i];
    return any != 0;
  }
};

/// Runs the ensemble with `packs` packs interleaved, which hides latencies; returns the number of refills.
template <int packs>
[[gnu::noinline]] int run(Ensemble& e) {
  double floor = t1;
  for (int i = 0; i < 100; ++i) floor = std::nextafter(floor, 0.0);
  Pack pack[packs];
  int member = 0, running = packs * width, refills = 0;
  for (auto& p : pack)
    for (int lane = 0; lane < width; ++lane) p.load(lane, e, member++);
  while (running > 0) {
    bool ended[packs];
    for (int i = 0; i < packs; ++i) ended[i] = pack[i].advance(floor);
    for (int i = 0; i < packs; ++i) {
      if (!ended[i]) continue;
      for (int lane = 0; lane < width; ++lane) {
        auto& p = pack[i];
        if (p.t[lane] < t1) continue;
        p.store(lane, e);
        if (member < solves) {
          p.load(lane, e, member++);
          ++refills;
        } else {
          --running;
          // An idle lane rests at the origin, a fixed point, and never ends.
          p.s.x[lane] = p.s.y[lane] = p.s.z[lane] = p.k1.x[lane] = p.k1.y[lane] = p.k1.z[lane] = 0;
          p.t[lane] = -1e300, p.next[lane] = -1e300;
        }
      }
    }
  }
  return refills;
}

}  // namespace

int main() {
  Ensemble e;
  int refills = 0;
  double seconds = median_seconds(7, [&] { refills = run<1>(e); });
  seconds = std::min(seconds, median_seconds(7, [&] { refills = run<2>(e); }));
  double steps = 0;
  for (auto n : e.steps) steps += static_cast<double>(n);
  if (refills == 0) return 1;
  // Members below the chaotic range, and all members' steps.
  std::vector<double> answer{steps};
  for (int i : {0, 100, 250, 400}) answer.insert(answer.end(), {e.x[i], e.y[i], e.z[i]});
  for (const char* name : {"lorenz/ensemble", "lorenz/ensemble-tuned"})
    report(name, "ns/lane-step", seconds * 1e9 / steps, answer);
}
